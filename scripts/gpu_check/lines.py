"""Lines of JSON among others."""
import json


def objects(line):
    """The object on the line; an empty one for other lines, and for an incomplete one."""
    try:
        found = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
