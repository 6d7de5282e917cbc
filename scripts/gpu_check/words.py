"""Texts that are shortened at suitable places."""


def sentence(text, most=300):
    """One line of at most `most` characters. If it is cut, or ends by announcing more ("Tried:"), it ends with the last
    whole sentence, if it has one."""
    text = " ".join(str(text).split())
    if len(text) <= most and not text.endswith(":"):
        return text
    end = text[:most].rfind(". ")
    if end > 0:
        return text[:end + 1]
    return text.rstrip(":") if len(text) <= most else text[:most - 1] + "…"
