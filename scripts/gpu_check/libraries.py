"""`croton doctor`, and the places of its findings."""
from lines import objects

# The parts of `croton doctor --json` that are libraries and tools, and the flags that name them.
FLAGS = {"nvrtc": "cuda_nvrtc", "cublaslt": "cuda_blaslt", "cudnn": "cuda_dnn", "nvdisasm": "cuda_nvdisasm",
         "compute-sanitizer": "cuda_sanitizer"}


def parts_in(output):
    """The findings by name; an incomplete line is omitted."""
    return {part["part"]: part for part in map(objects, output.splitlines()) if "part" in part and "state" in part}


def examine(context, limit):
    """The doctor's parts by name. Paths are shown on the terminal, versions and kinds of places in the report."""
    done = context.run("doctor", [context.programs.path("croton"), "doctor", "--json"], limit, context.env())
    parts = parts_in(done.output)
    for part in parts.values():
        if part.get("path"):
            context.say(f"{part['part']} {part.get('version', '')}: {part.get('place', '')}, {part['path']}")
            context.records.add("library", name=part["part"], state=part["state"], version=part.get("version"),
                                place=part.get("place"))
        elif part["part"].lower() in FLAGS:
            context.say(f"{part['part']}: {part['state']}")
            context.records.add("library", name=part["part"], state=part["state"])
    return done, parts


def path_of(context, name, limit):
    """The place where Croton finds a tool, or None."""
    done = context.run("doctor", [context.programs.path("croton"), "doctor", "--json"], min(20, limit), context.env())
    return parts_in(done.output).get(name, {}).get("path")
