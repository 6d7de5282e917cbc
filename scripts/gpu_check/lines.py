"""Lines of JSON among others."""
import json


def objects(line):
    """The object that the line is; an empty one for other lines, and for one that was cut."""
    try:
        found = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
