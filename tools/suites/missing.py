"""Names that a test file needs at import time and the package does not have.

Without this, one missing name would fail a whole file. `fill(path, package, file_of)` reads the file's module-level
code (and that of class bodies, decorators and default arguments), looks up each name of the package it uses, and
replaces missing ones by substitutes. A substitute can be passed around and subclassed while the file is imported;
afterwards any use raises MissingName, which the runner counts as a missing op.
"""
import ast
import importlib
import sys
import types

importing = False


class MissingName(Exception):
    pass


def _refuse(name):
    raise MissingName(f"the package has no {name}")


class _Meta(type):
    def __call__(cls, *args, **kwargs):
        if cls._missing_base and not importing:
            _refuse(cls._missing)
        if cls._missing_base:
            return _stand_in(cls._missing + "()")
        return super().__call__(*args, **kwargs)

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if importing:
            return _stand_in(cls._missing + "." + name)
        return _refuse(cls._missing)


def _stand_in(name):
    body = {"_missing": name, "_missing_base": True, "__module__": "missing",
            "__init_subclass__": classmethod(lambda cls, **_: setattr(cls, "_missing_base", False)),
            "__init__": lambda self, *args, **kwargs: None if importing else _refuse(name),
            "__getattr__": lambda self, attribute: _own_attribute(name, attribute)}
    return _Meta(name.replace(".", "_"), (), body)


def _own_attribute(name, attribute):
    if attribute.startswith("__"):
        raise AttributeError(attribute)
    _refuse(name)


def _module_level(node):
    """The expressions that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in (*child.decorator_list, *child.args.defaults, *[d for d in child.args.kw_defaults if d]):
                yield part
                yield from _module_level(part)
        elif not isinstance(child, ast.Lambda):
            yield child
            yield from _module_level(child)


def _chain(node):
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, names[::-1]) if isinstance(node, ast.Name) else None


class _Filler:
    def __init__(self, package):
        self.package, self.bound, self.missing, self.files = package, {}, [], []

    def wanted(self, module):
        """Whether a dotted name belongs to the package; a file of the suite does not, but is examined too."""
        if not module or module.split(".")[0] != self.package:
            return False
        if ".tests" not in module:
            return True
        self.files.append(module)
        return False

    def module(self, name):
        """The module of this name, or a substitute module (which is recorded as missing)."""
        try:
            return importlib.import_module(name)
        except ImportError:
            self.missing.append(name)
        stand_in = types.ModuleType(name)
        stand_in.__path__ = []
        stand_in._missing = name
        sys.modules[name] = stand_in
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(self.module(parent), last, stand_in)
        return stand_in

    def give(self, holder, name, full):
        """holder.name, added if it is missing."""
        try:
            return getattr(holder, name)
        except AttributeError:
            pass
        except Exception:
            return None
        if isinstance(holder, types.ModuleType):
            try:
                return importlib.import_module(f"{holder.__name__}.{name}")
            except ImportError:
                pass
        elif not isinstance(holder, type):
            return None
        self.missing.append(full)
        value = _stand_in(full)
        try:
            setattr(holder, name, value)
        except (AttributeError, TypeError):
            return None
        return value

    def imports(self, node):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if self.wanted(alias.name):
                    module = self.module(alias.name)
                    top = alias.name.split(".")[0]
                    self.bound[alias.asname or top] = (module, alias.name) if alias.asname else (sys.modules[top], top)
        elif isinstance(node, ast.ImportFrom) and not node.level and self.wanted(node.module):
            module = self.module(node.module)
            for alias in node.names:
                if alias.name == "*":
                    continue
                full = f"{node.module}.{alias.name}"
                if self.wanted(full):
                    self.bound[alias.asname or alias.name] = (self.give(module, alias.name, full), full)

    def use(self, node):
        chain = _chain(node) if isinstance(node, ast.Attribute) else None
        if not chain or chain[0] not in self.bound:
            return
        holder, full = self.bound[chain[0]]
        for name in chain[1]:
            if not isinstance(holder, (types.ModuleType, type)):
                return
            full += "." + name
            if not self.wanted(full):
                return
            holder = self.give(holder, name, full)


def fill(path, package, file_of):
    """Adds substitutes for the names that `path`, and the test files that it imports, lack at import; returns these
    names. file_of(dotted name) is the path of a test file of the suite, or None."""
    missing, waiting, seen = set(), [path], set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        with open(path, encoding="utf-8") as file:
            nodes = list(_module_level(ast.parse(file.read())))
        filler = _Filler(package)
        for node in nodes:
            filler.imports(node)
        for node in nodes:
            filler.use(node)
        missing.update(filler.missing)
        waiting += [found for found in map(file_of, filler.files) if found]
    return sorted(missing)
