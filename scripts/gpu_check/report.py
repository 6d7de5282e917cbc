"""The report: gpu_check.json, gpu_check.md and gpu_check.log.xz, written anew after every part."""
import datetime
import json
import lzma
import os

import tables


class Report:
    def __init__(self, folder, device, total):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.logs = folder, {}
        self.data = {"date": datetime.date.today().isoformat(), "device": device, "total_s": total,
                     "status": "running", "parts": {}}

    def part(self, name):
        return self.data["parts"].setdefault(name, {})

    def finish(self, status, seconds):
        self.data.update(status=status, seconds=round(seconds, 1))
        self.write()

    def write(self):
        for name, part in self.data["parts"].items():
            if "log" in part:
                self.logs[name] = part.pop("log")
        if self.logs:
            text = "".join(f"==== {name}\n{log}\n" for name, log in self.logs.items())
            self.put("gpu_check.log.xz", lzma.compress(text.encode(errors="replace"), preset=1))
        self.put("gpu_check.json", (json.dumps(self.data, indent=1) + "\n").encode())
        self.put("gpu_check.md", tables.markdown(self.data).encode(errors="replace"))

    def put(self, name, content):
        """Never leaves half a file behind, whenever the script is stopped."""
        path = os.path.join(self.folder, name)
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.replace(path + ".new", path)
