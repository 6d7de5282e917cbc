"""Writes the stubs (.pyi) for type checkers and editors: those of croton._croton by nanobind's generator, with the
methods that croton/*.py adds to its classes, and that of croton.tensor, whose functions are those of the native module.

Usage: stubs.py FOLDER    (FOLDER has the package croton with its native module; the stubs are written into it)
"""

import importlib
import inspect
import pathlib
import re
import sys

from nanobind.stubgen import StubGen

GENERIC = {"list": "list[Any]", "dict": "dict[Any, Any]", "tuple": "tuple[Any, ...]"}
CALL = "    def __call__(self, *args: object, **kwargs: object) -> Any: ...\n"


def stub_of(module):
    """The stub of a native module by nanobind. Results that are any Python object in C++ have the type Any."""
    generator = StubGen(module)
    generator.put(module)
    text = re.sub(r"(?m)^ *def .*", lambda line: signature(line[0]), generator.get())
    return re.sub(r"(?m)^from croton\._croton import io as io.*\n", "", text)


def signature(line):
    """One line of a stub with types that strict checkers accept."""
    line = line.replace("-> object:", "-> Any:")
    line = re.sub(r"(?<=[:>\[]) ?\b(list|dict|tuple)(?=[],:)]| [|=])", lambda m: " " + GENERIC[m[1]], line)
    line = re.sub(r"(\*+\w+)(?=[,)])", r"\1: object", line)
    return re.sub(r"( *def \w+\()(.*)(\) -> )", lambda m: m[1] + in_order(m[2]) + m[3], line)


def in_order(arguments):
    """The arguments with defaults where Python's syntax requires them: nanobind allows parameters without a default
    after others with one, if they are named."""
    parts, has_default = re.split(r", (?=\w+:|\*|/)", arguments), False
    for i, part in enumerate(parts):
        if has_default and ":" in part and " = " not in part:
            parts[i] = part + " = ..."
        has_default = has_default or " = " in part
    return ", ".join(parts)


def with_imports(text, *lines):
    """The stub with more imports after its docstring."""
    end = text.index('"""\n', 3) + 4
    return text[:end] + "\n" + "\n".join(lines) + "\n" + text[end:]


def without_methods(cls):
    """Removes the methods that Python files added to a native class, and returns their names in order."""
    names = [name for name, value in vars(cls).items() if inspect.isfunction(value)]
    for name in names:
        delattr(cls, name)
    return names


def method(name, text):
    """The stub of a method that calls the function of its name with the object as first argument."""
    found = re.search(rf"^def {name}\(\w+: [^,)]+(.*)\) -> (.*):", text, re.MULTILINE)
    arguments, result = found.groups() if found else (", *args: object, **kwargs: object", "Variable")
    return f"    def {name}(self{arguments}) -> {result}: ..."


def in_class(text, cls, lines):
    """The stub with more members in a class, before the others."""
    if not lines:
        return text
    head = re.search(rf'^class {cls}(\(\w+\))?:\n(    """\n(.*\n)*?    """\n)?', text, re.MULTILINE)
    return text[:head.end()] + "\n" + "\n".join(lines) + "\n" + text[head.end():]


def exception(cls):
    bases = [base.__name__ if base.__module__.startswith("croton") else f"builtins.{base.__name__}"
             for base in cls.__bases__]
    return f"class {cls.__name__}({', '.join(bases)}):\n    \"\"\"{cls.__doc__}\"\"\"\n"


def native(module):
    """The stub of croton._croton."""
    special = {"reshape": "    def reshape(self, *shape: object) -> Variable: ..."}
    added = {cls: without_methods(cls) for cls in (module.Variable, module.SharedVariable, module.Function)}
    errors = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, BaseException)]
    for error in errors:
        delattr(module, error.__name__)
    text = with_imports(stub_of(module), "import builtins", "from typing import Any", "",
                        "from . import io as io, nnet as nnet")
    for cls, names in added.items():
        lines = [special.get(name) or method(name, text) for name in names if not name.startswith("_")]
        if cls is module.Function:  # __call__ is a slot of the type, which nanobind does not see
            text = re.sub(r"(?m)^    def __call__\(self, .*\n(        .*\n)*", CALL, text)
        text = in_class(text, cls.__name__, lines)
    for error in sorted(errors, key=lambda error: len(error.__mro__)):
        text += "\n\n" + exception(error)
    return text


def tensor(module, native_module):
    """The stub of croton.tensor: imports of the native functions, and Python functions, which make variables."""
    lists = {"scalars", "vectors", "matrices"}
    lines = ["from typing import Any", "", "from . import nnet as nnet", "from ._croton import Variable as Variable"]
    functions = []
    for name, value in vars(module).items():
        known = getattr(value, "__name__", None)
        if name.startswith("_") or name == "Variable" or inspect.ismodule(value):
            continue
        if known and getattr(native_module, known, None) is value:
            lines.append(f"from ._croton import {known} as {name}")
        elif inspect.isfunction(value):
            arguments = str(inspect.signature(value))[1:-1]
            typed = re.sub(r"(\*?\b[a-z]\w*)(=|,|$)", lambda m: f"{m[1]}: Any" + m[2].replace("=", " = "), arguments)
            functions.append(f"def {name}({typed}) -> {'list[Variable]' if name in lists else 'Variable'}: ...")
        else:
            functions.append(f"{name}: Any")
    return f'"""{module.__doc__}"""\n\n' + "\n".join(lines + [""] + functions) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    package = importlib.import_module("croton")
    native_module, tensor_stub = package._croton, tensor(package.tensor, package._croton)
    parts = {name: stub_of(getattr(native_module, name)) for name in ("io", "nnet")}
    target = folder / "croton" / "_croton"
    target.mkdir(exist_ok=True)
    for name, text in parts.items():
        (target / f"{name}.pyi").write_text(with_imports(text, "from typing import Any"))
    (folder / "croton" / "tensor.pyi").write_text(tensor_stub)
    (target / "__init__.pyi").write_text(native(native_module))


if __name__ == "__main__":
    main()
