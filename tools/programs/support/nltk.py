"""Stand-in for the few functions of nltk that the programs call; simple rules, enough for the sentences of data.py."""

import collections
import re


def sent_tokenize(text):
    """The sentences of a text: up to a full stop, a question or an exclamation mark that blanks follow."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


def word_tokenize(sentence):
    """Words and punctuation marks, each for itself."""
    return re.findall(r"\w+|[^\w\s]", sentence)


class FreqDist(collections.Counter):
    """Counts words."""
