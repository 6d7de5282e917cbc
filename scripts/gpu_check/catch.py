"""Reads the output of Catch2's XML reporter while it is written."""
import os
import xml.etree.ElementTree as xml


def one_line(text, most=300):
    text = " ".join((text or "").split())
    return text if len(text) <= most else text[:most - 1] + "…"


def failures_of(case):
    """A line for each failure, with the test's message; paths are shortened to their last part."""
    said = []
    for element in case.iter():
        if element.tag == "Info":
            said.append(one_line(element.text))
            continue
        where = f"{os.path.basename(element.get('filename', ''))}:{element.get('line', '')}"
        if element.tag == "Expression" and element.get("success") == "false":
            raised = [child for child in element if child.tag in ("Exception", "FatalErrorCondition")]
            expanded = one_line(element.findtext("Expanded"))
            what = f" ({expanded})" if not raised else f": {one_line(raised[0].text)}"
            yield "; ".join([f"{where}: {one_line(element.findtext('Original'))}{what}", *said])
        elif element.tag in ("Exception", "FatalErrorCondition", "Failure"):
            yield "; ".join([f"{where}: {one_line(element.text)}", *said])
        if element.tag in ("Expression", "Exception", "FatalErrorCondition", "Failure"):
            said = []


class Reader:
    """Follows a file. `current` is the test case that runs, or ran when the file ended."""

    def __init__(self, path):
        self.path, self.at, self.parser, self.current = path, 0, xml.XMLPullParser(["start", "end"]), None

    def cases(self):
        """(name, passed, failures, seconds) of each test case that has ended since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.at)
                new = file.read()
        except OSError:
            return
        self.at += len(new)
        if not new:
            return
        try:
            self.parser.feed(new)
        except xml.ParseError:  # a program was killed inside a line, or wrote its own text there
            return
        for event, element in self.parser.read_events():
            if element.tag != "TestCase":
                continue
            if event == "start":
                self.current = element.get("name")
                continue
            overall = element.find("OverallResult")
            passed = overall is not None and overall.get("success") == "true"
            seconds = overall.get("durationInSeconds") if overall is not None else None
            yield element.get("name"), passed, list(failures_of(element)), float(seconds) if seconds else None
            self.current = None
            element.clear()


def pattern(name):
    """The test case as Catch2's command line names it."""
    return '"' + "".join("\\" + c if c in '\\[],"*~' else c for c in name) + '"'
