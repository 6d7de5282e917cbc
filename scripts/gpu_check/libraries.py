"""`croton doctor`, and what it found where."""
import json

# The parts of `croton doctor --json` that are libraries and tools, and the flags that name them.
FLAGS = {"nvrtc": "cuda_nvrtc", "cublaslt": "cuda_blaslt", "cudnn": "cuda_dnn", "nvdisasm": "cuda_nvdisasm",
         "compute-sanitizer": "cuda_sanitizer"}


def examine(context, limit):
    """The doctor's parts by name. Paths go to the terminal, versions and kinds of places to the report."""
    done = context.run("doctor", [context.programs.path("croton"), "doctor", "--json"], limit, context.env())
    parts = {}
    for line in done.output.splitlines():
        if line.startswith("{"):
            part = json.loads(line)
            parts[part["part"]] = part
    for part in parts.values():
        if part.get("path"):
            context.say(f"{part['part']} {part.get('version', '')}: {part.get('place', '')}, {part['path']}")
            context.records.add("library", name=part["part"], state=part["state"], version=part.get("version"),
                                place=part.get("place"))
        elif part["part"].lower() in FLAGS:
            context.say(f"{part['part']}: {part['state']}")
            context.records.add("library", name=part["part"], state=part["state"])
    return done, parts


def path_of(context, name):
    """Where Croton finds a tool, or None."""
    done = context.run("doctor", [context.programs.path("croton"), "doctor", "--json"], 20, context.env())
    for line in done.output.splitlines():
        if line.startswith("{") and (part := json.loads(line))["part"] == name:
            return part.get("path")
    return None
