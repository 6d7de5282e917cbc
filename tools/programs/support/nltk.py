"""A substitute for the few functions of nltk that the programs call; simple rules, enough for the sentences of
data.py."""

import collections
import re


def sent_tokenize(text):
    """The sentences of a text: each ends with a full stop, a question mark or an exclamation mark before a blank."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


def word_tokenize(sentence):
    """Words and punctuation marks as separate tokens."""
    return re.findall(r"\w+|[^\w\s]", sentence)


class FreqDist(collections.Counter):
    """Counts words."""
