"""Runs programs that were written for Python 2: their text is converted in memory, never on disk.

`source_of(path)` returns a file's text as Python 3, `install(folder)` converts modules below a folder when they are
imported. lib2to3 (or fissix, for Python versions without it) converts the syntax; this module converts the rest:

- `/` between integers rounds down, unless the file has `from __future__ import division`;
- `pickle` and `cPickle` read the pickles of Python 2 and accept files opened as text;
- `.decode` of a text returns the text, `round` returns a float and rounds halves away from zero,
  `cmp`, `execfile`, `reload` and `file` exist.

The order of dictionaries, comparisons between values of different types and text as bytes are those of Python 3. The
module needs only the standard library and NumPy, so that it also works without the rest of the package.
"""

import ast
import bisect
import builtins
import importlib.machinery
import importlib.util
import io
import operator
import os
import pickle
import sys
import tokenize
import types
import warnings

import numpy as np

# Modules of Python 2 only; a file that imports one of them outside of `try` is Python 2.
_OLD_MODULES = {
    "cPickle", "cStringIO", "StringIO", "urllib2", "urlparse", "Queue", "ConfigParser", "commands", "HTMLParser",
    "httplib", "Tkinter", "tkFileDialog", "__builtin__", "copy_reg", "exceptions", "itertools.izip", "itertools.imap",
    "itertools.ifilter", "urllib.urlopen", "urllib.urlretrieve", "urllib.urlencode", "urllib.quote",
}
_OLD_BUILTINS = {"xrange", "unicode", "raw_input", "basestring", "unichr", "long", "reduce", "execfile", "cmp"}
_OLD_METHODS = {"iteritems", "itervalues", "iterkeys", "has_key"}


# Functions that a converted file calls


def _is_integer(value):
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return True
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return False
    # Arrays have a NumPy dtype, symbolic variables the name of one.
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", "")
    return name.startswith(("int", "uint"))


def divide(a, b):
    """`a / b` of Python 2 without `from __future__ import division`: rounded down if both are integers."""
    if isinstance(a, (list, tuple)) and isinstance(b, np.ndarray):
        a = np.asarray(a)
    if isinstance(b, (list, tuple)) and isinstance(a, np.ndarray):
        b = np.asarray(b)
    return a // b if _is_integer(a) and _is_integer(b) else a / b


def divide_in_place(a, b):
    """`a /= b` of Python 2; the caller stores the result."""
    return operator.ifloordiv(a, b) if _is_integer(a) and _is_integer(b) else operator.itruediv(a, b)


def divide_item(holder, key, b):
    """`holder[key] /= b` of Python 2."""
    holder[key] = divide_in_place(holder[key], b)


def divide_attribute(holder, name, b):
    """`holder.name /= b` of Python 2."""
    setattr(holder, name, divide_in_place(getattr(holder, name), b))


class _Index:
    """`index[1:2, ...]` is the subscript in the brackets."""

    def __getitem__(self, key):
        return key


def decode(value, *args, **kwargs):
    """`value.decode(...)`; text is returned unchanged, since literals and lines of files were bytes in Python 2."""
    return value if isinstance(value, str) else value.decode(*args, **kwargs)


def round_half_away(number, digits=0):
    """`round` of Python 2: always a float, halves away from zero."""
    if type(number) not in (int, float, bool):
        return builtins.round(number, digits)
    scale = 10.0**digits
    scaled = abs(float(number)) * scale
    whole = float(int(scaled))
    return float(np.copysign((whole + 1 if scaled - whole >= 0.5 else whole) / scale, number))


def cmp(a, b):
    """The order of a and b: -1, 0 or 1."""
    return (a > b) - (a < b)


def execfile(path, scope=None, local=None):
    """Runs a file in the caller's namespace, or in `scope`."""
    frame = sys._getframe(1)
    scope = frame.f_globals if scope is None else scope
    exec(compile(source_of(path, python2=True), path, "exec"), scope, scope if local is None else local)


_NAMES = {
    "_python2_divide": divide,
    "_python2_divide_in_place": divide_in_place,
    "_python2_divide_item": divide_item,
    "_python2_divide_attribute": divide_attribute,
    "_python2_index": _Index(),
    "_python2_decode": decode,
}
_BUILTINS = {"cmp": cmp, "execfile": execfile, "reload": importlib.reload, "file": open, "round": round_half_away}


def _binary(file):
    """The binary file of a file that was opened as text."""
    return getattr(file, "buffer", file)


def load(file, **options):
    """`pickle.load`, also for pickles of Python 2 with strings that are not text, and for files opened as text."""
    # `file` stays referenced: a text file closes its binary file when it is destroyed.
    data = _binary(file)
    start = data.tell() if hasattr(data, "tell") else None
    try:
        return pickle.load(data, **options)
    except UnicodeDecodeError:
        if start is None or "encoding" in options:
            raise
        data.seek(start)
        return pickle.load(data, encoding="latin1", **options)


def loads(data, **options):
    """`pickle.loads`, as `load`."""
    return load(io.BytesIO(data.encode("latin1") if isinstance(data, str) else data), **options)


def dump(value, file, protocol=0):
    """`pickle.dump`, also to files opened as text."""
    pickle.dump(value, _binary(file), protocol)


def _pickle_module():
    """The module `pickle` with the functions above, which converted programs import as pickle and cPickle."""
    module = types.ModuleType("_python2_pickle", "pickle, as a program of Python 2 expects it")
    module.__dict__.update({name: value for name, value in vars(pickle).items() if not name.startswith("__")})
    module.__dict__.update(load=load, loads=loads, dump=dump)
    return module


# Detection of Python 2


def _guarded(tree):
    """The nodes inside of `try` and `if`, where files that run on both versions may use names of Python 2."""
    return {
        inner for node in ast.walk(tree) if isinstance(node, (ast.Try, ast.If))
        for inner in ast.walk(node) if inner is not node
    }


def _own_names(tree):
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
            if node.name == "*":
                # A star may import any of these names.
                names |= _OLD_BUILTINS
    return names


def _imports_sibling(node, folder):
    """Whether it is an implicit relative import: `import x` in a package where only package/x.py exists."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        names = [node.module]
    else:
        return False
    for name in (name.split(".")[0] for name in names):
        sibling = os.path.join(folder, name)
        if (os.path.isfile(sibling + ".py") or os.path.isdir(sibling)) and name not in sys.builtin_module_names:
            try:
                if importlib.util.find_spec(name) is None:
                    return True
            except (ImportError, ValueError):
                return True
    return False


def is_python2(text, path=None):
    """Whether a text is Python 2: it is not valid Python 3, or it uses names of Python 2 only."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError:
        return True
    guarded, own = _guarded(tree), _own_names(tree)
    is_in_package = path and os.path.isfile(os.path.join(os.path.dirname(path), "__init__.py"))
    folder = os.path.dirname(path) if is_in_package else None
    for node in ast.walk(tree):
        if node in guarded:
            continue
        if isinstance(node, ast.Import) and any(alias.name in _OLD_MODULES for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            members = {node.module + "." + alias.name for alias in node.names}
            if node.module in _OLD_MODULES or members & _OLD_MODULES:
                return True
        if isinstance(node, ast.Name) and node.id in _OLD_BUILTINS and node.id not in own:
            return True
        if isinstance(node, ast.Attribute):
            owner = node.value.id + "." if isinstance(node.value, ast.Name) else ""
            if node.attr in _OLD_METHODS or owner + node.attr in _OLD_MODULES:
                return True
        if folder and _imports_sibling(node, folder):
            return True
    return False


# From Python 2 to Python 3


def _refactoring():
    """The refactoring module of lib2to3, or of fissix from Python 3.13 on, and the name of its fixes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from lib2to3 import refactor
        return refactor, "lib2to3.fixes"
    except ImportError:
        try:
            from fissix import refactor
        except ImportError:
            raise ImportError(
                "a program of Python 2 has to be converted, and this Python has no lib2to3: pip install fissix"
            ) from None
        return refactor, "fissix.fixes"


_tool = None


def _convert_syntax(text, path):
    global _tool
    if _tool is None:
        refactor, fixes = _refactoring()
        # Skipped: fixes that do not change the meaning, but cost time.
        skipped = {fixes + ".fix_" + name for name in ("idioms", "set_literal", "buffer", "ws_comma", "asserts")}
        _tool = refactor.RefactoringTool(
            [name for name in refactor.get_fixers_from_package(fixes) if name not in skipped])
    # The parser does not accept a last line of blanks only.
    text = text.rstrip(" \t\f") if text.rstrip(" \t\f").endswith("\n") else text + "\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(_tool.refactor_string(text, path))
        except Exception as error:
            if type(error).__name__ not in ("ParseError", "TokenError", "BadInput"):
                raise
            # It is not Python 2 either; Python's own message is better.
            compile(text, path, "exec", dont_inherit=True)
            raise SyntaxError("neither Python 2 nor Python 3: %s" % error, (path, None, None, None)) from None


def _has_true_division(text):
    """Whether a file has `from __future__ import division`."""
    names = [token.string for token in _tokens(text) if token.type in (tokenize.NAME, tokenize.NEWLINE)]
    for at, name in enumerate(names):
        if name == "__future__" and names[at - 1 : at] == ["from"]:
            line = names[at:]
            ends = [place for place, word in enumerate(line) if not word.strip()]
            if "division" in line[: ends[0] if ends else None]:
                return True
    return False


def _tokens(text):
    """The tokens of a text up to the first one that Python 3 does not have."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return


class _Edits:
    """Insertions and replacements in a text, by position; lines keep their numbers."""

    def __init__(self, text):
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.text = text
        self.changes = []
        self.tokens = [
            (self.at(*token.start), self.at(*token.end), token.string)
            for token in _tokens(text)
            if token.type in (tokenize.OP, tokenize.NAME)
        ]
        self.begins = [token[0] for token in self.tokens]

    def at(self, line, column):
        return self.starts[line - 1] + column

    def place(self, line, column):
        """The position of the AST's (line, byte)."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def start(self, node):
        return self.place(node.lineno, node.col_offset)

    def end(self, node):
        return self.place(node.end_lineno, node.end_col_offset)

    def find(self, what, first, last):
        """The first such token between two positions."""
        for begin, end, string in self.tokens[bisect.bisect_left(self.begins, first) :]:
            if begin >= last:
                break
            if string == what:
                return begin, end
        raise ValueError("no %r between positions %d and %d" % (what, first, last))

    def insert(self, position, text):
        self.changes.append((position, position, text))

    def replace(self, span, text):
        self.changes.append((*span, text))

    def result(self):
        pieces, done = [], 0
        for begin, end, text in sorted(self.changes, key=lambda change: change[:2]):
            pieces += [self.text[done:begin], text]
            done = end
        return "".join(pieces + [self.text[done:]])


def _mark_division(edits, node):
    edits.insert(edits.start(node), "_python2_divide(")
    edits.replace(edits.find("/", edits.end(node.left), edits.start(node.right)), ",")
    edits.insert(edits.end(node), ")")


def _mark_division_in_place(edits, node):
    target, sign = node.target, edits.find("/=", edits.end(node.target), edits.start(node.value))
    if isinstance(target, ast.Name):
        edits.replace(sign, "= _python2_divide_in_place(%s," % target.id)
    elif isinstance(target, ast.Attribute):
        dot = edits.find(".", edits.end(target.value), edits.end(target))
        edits.insert(edits.start(target), "_python2_divide_attribute(")
        edits.replace((dot[0], edits.end(target)), ", %r" % target.attr)
        edits.replace(sign, ",")
    else:
        bracket = edits.find("[", edits.end(target.value), edits.end(target))
        edits.insert(edits.start(target), "_python2_divide_item(")
        edits.insert(bracket[0], ", _python2_index")
        edits.replace(sign, ",")
    edits.insert(edits.end(node), ")")


def _mark_decode(edits, node):
    """`x.decode(...)` becomes a call with x as the first argument."""
    method = node.func
    dot = edits.find(".", edits.end(method.value), edits.end(method))
    bracket = edits.find("(", edits.end(method), edits.end(node))
    edits.insert(edits.start(node), "_python2_decode(")
    edits.replace((dot[0], bracket[1]), ", " if node.args or node.keywords else "")


def _mark_pickle(edits, node):
    """`import pickle` and `from pickle import ...` import the module of _pickle_module instead."""
    if isinstance(node, ast.Import):
        after = edits.start(node)
        for alias in node.names:
            begin, after = edits.find(alias.name.split(".")[0], after, edits.end(node))
            if alias.name == "pickle":
                edits.replace((begin, after), "_python2_pickle" + ("" if alias.asname else " as pickle"))
    elif node.module == "pickle":
        edits.replace(edits.find(node.module, edits.start(node), edits.end(node)), "_python2_pickle")


def _convert_meaning(text, floors):
    """Converts the semantics: division, pickles, decoding. Lines keep their numbers."""
    tree, edits = ast.parse(text), _Edits(text)
    for node in ast.walk(tree):
        if floors and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            _mark_division(edits, node)
        elif floors and isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            _mark_division_in_place(edits, node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            _mark_pickle(edits, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "decode":
            _mark_decode(edits, node)
    return edits.result()


def converted(text, path="<text>"):
    """A text of Python 2 as Python 3; `install` defines the names that it needs."""
    floors = not _has_true_division(text)
    return _convert_meaning(_convert_syntax(text.expandtabs(8) if _mixes_tabs(text) else text, path), floors)


def _mixes_tabs(text):
    """Whether some lines are indented by tabs and some by blanks, which Python 2 allows: tab stops are 8 columns
    apart."""
    starts = {line[0] for line in text.splitlines() if line[:1] in (" ", "\t") and line.strip()}
    return len(starts) > 1 or any(" \t" in line[: len(line) - len(line.lstrip())] for line in text.splitlines())


def source_of(path, python2=None):
    """The text of a file as Python 3. `python2`: whether the file is Python 2; None: detected from the text."""
    path = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = importlib.util.decode_source(data)
    except (UnicodeDecodeError, SyntaxError):
        # Python 2 accepts any bytes in comments and strings.
        text = data.decode("latin1").replace("\r\n", "\n")
    if python2 is None:
        python2 = is_python2(text, path)
    return converted(text, path) if python2 else text


# Modules in the program's folder


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of Python 2 without a bytecode cache, which would not match the file on disk."""

    def path_stats(self, path):
        raise OSError("converted in memory")

    def set_data(self, path, data, *, _mode=0o666):
        pass

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(source_of(path, python2=True), path, "exec", dont_inherit=True)

    def exec_module(self, module):
        for name, value in _BUILTINS.items():
            module.__dict__.setdefault(name, value)
        super().exec_module(module)


class _Finder:
    """Finds modules of Python 2 below the given folders."""

    def __init__(self):
        self.folders = {}

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None
        origin = os.path.realpath(spec.origin)
        for folder, python2 in self.folders.items():
            if origin.startswith(folder + os.sep) and "site-packages" not in origin[len(folder) :].split(os.sep):
                with open(origin, "rb") as file:
                    text = file.read().decode("utf-8", "replace")
                if python2 or is_python2(text, origin):
                    spec.loader = _Loader(spec.loader.name, spec.loader.path)
                    return spec
        return None


_finder = _Finder()


def install(folder=None, python2=False):
    """Defines the names that converted files need, and makes modules of Python 2 below `folder` importable.

    With `python2` all modules below the folder are Python 2: one interpreter ran the whole program, and a file without
    a print statement also has the division of Python 2.
    """
    vars(builtins).update(_NAMES)
    shim = sys.modules.setdefault("_python2_pickle", _pickle_module())
    sys.modules.setdefault("cPickle", shim)
    if folder is not None:
        folder = os.path.realpath(folder)
        _finder.folders[folder] = _finder.folders.get(folder, False) or python2
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)


def uninstall():
    """Reverts `install`, except for modules that are loaded."""
    _finder.folders.clear()
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in _NAMES:
        vars(builtins).pop(name, None)
    if sys.modules.get("cPickle") is sys.modules.get("_python2_pickle"):
        sys.modules.pop("cPickle", None)
    sys.modules.pop("_python2_pickle", None)


def run(path):
    """Runs a program of Python 2 or 3 as `__main__` and returns its namespace; modules in its folder are found and
    converted."""
    path = os.path.abspath(os.fspath(path))
    with open(path, "rb") as file:
        old = is_python2(file.read().decode("utf-8", "replace"), path)
    install(os.path.dirname(path), python2=old)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins)
    if old:
        module.__dict__.update(_BUILTINS)
    code = compile(source_of(path, python2=old), path, "exec", dont_inherit=True)
    before = sys.modules["__main__"]
    # Pickles find the program's own classes in __main__.
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)
    finally:
        sys.modules["__main__"] = before
    return module.__dict__
