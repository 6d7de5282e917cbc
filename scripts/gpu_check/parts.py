"""The parts of the check: each has its own limit, its failure is recorded, and the next one runs.

The report is written before and after every part, so that it is there whatever stops the script.
"""
import time
import traceback


class Failed(Exception):
    """What a part found wrong; `fields` is what it found besides."""

    def __init__(self, why, **fields):
        super().__init__(why)
        self.fields = fields


class Parts:
    def __init__(self, total, limits, report):
        """`limits`: {part: seconds at most}, in order. What a part leaves is for those after it."""
        self.end, self.limits, self.report = time.monotonic() + total, limits, report

    def left(self):
        return self.end - time.monotonic()

    def limit_of(self, name):
        """The seconds that the part may take: its own limit, less where later parts would not get a tenth of theirs."""
        names = list(self.limits)
        later = names[names.index(name) + 1:]
        return min(self.limits[name], self.left() - sum(0.1 * self.limits[part] for part in later))

    def run(self, name, function):
        """Calls `function(seconds)`, which returns what it found or raises Failed. One without a limit is left out."""
        if name not in self.limits:
            return
        limit = self.limit_of(name)
        part = self.report.part(name)
        if limit < 1:
            part.update(status="not run", why="no time was left")
            self.report.write()
            return
        part.update(status="running", limit_s=round(limit, 1))
        self.report.write()
        print(f"==> {name} (at most {limit:.0f} s)", flush=True)
        begin = time.monotonic()
        try:
            part.update(function(limit) or {}, status="passed")
        except Failed as failure:
            part.update(failure.fields, status="failed", why=str(failure))
        except Exception:  # a fault of this script ends the part, not the check
            part.update(status="failed", why="a fault of gpu_check", tail=traceback.format_exc()[-2000:])
        part["seconds"] = round(time.monotonic() - begin, 1)
        print(f"    {part['status']}{': ' + part['why'] if 'why' in part else ''} ({part['seconds']} s)", flush=True)
        self.report.write()
