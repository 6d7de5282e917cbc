"""The graph of the modules of the Python package, from their imports: it has no cycles. Imports are at the head of a
file, where this test finds them, and not within functions; the few exceptions are listed with their reasons.

    python3 tests/tree/python_imports.py          # the test
    python3 tests/tree/python_imports.py --graph  # the imports of each module within the package
"""
import ast
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "python_bindings", "croton")
NATIVE = "croton._croton"  # in C++; it imports nothing of the package when it is loaded

# {(module, import within a function): why}
WITHIN = {
    ("croton.notebook", "html"): "its tables of names take longer to load than all of the package",
    ("croton.theano.python2", "lib2to3"): "Python 3.13 has it no more, and only programs of Python 2 need it",
    ("croton.theano.python2", "fissix"): "a package that replaces it, which users may lack",
}


def sources():
    """{name of a module: (its text, whether it is a package)}."""
    found = {}
    for folder, _, names in os.walk(PACKAGE):
        for name in names:
            if not name.endswith(".py"):
                continue
            path = os.path.join(folder, name)
            parts = os.path.relpath(path, os.path.dirname(PACKAGE))[:-len(".py")].split(os.sep)
            package = parts[-1] == "__init__"
            with open(path, encoding="utf-8") as file:
                found[".".join(parts[:-1] if package else parts)] = file.read(), package
    return found


def named(module, package, node):
    """The modules that an import statement names: a list of (module, name in it or None)."""
    if isinstance(node, ast.Import):
        return [(alias.name, None) for alias in node.names]
    base = node.module or ""
    if node.level:
        parts = module.split(".")
        parts = parts[:len(parts) - node.level + (1 if package else 0)]
        base = ".".join(parts + ([node.module] if node.module else []))
    return [(base, alias.name) for alias in node.names]


def imports(module, text, package):
    """The (module, name) of the imports of a module: those at its head, and those within functions."""
    head, within = [], []

    def walk(node, into):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                into.extend(named(module, package, child))
            walk(child, within if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else into)

    walk(ast.parse(text), head)
    return head, within


def graph(texts):
    """{module: the modules of the package that it imports}. A module's own packages are loaded before it, and do not
    count."""
    arrows = {}
    for module, (text, package) in texts.items():
        arrows[module] = set()
        for base, name in imports(module, text, package)[0]:
            target = f"{base}.{name}" if f"{base}.{name}" in texts else base
            if target in texts and f"{base}.{name}" != NATIVE:
                arrows[module].add(target)
    return arrows


def circle(arrows):
    """The modules of a cycle, the first one again at the end; empty if there is none."""
    done, way = set(), []

    def visit(module):
        if module in way:
            return way[way.index(module):] + [module]
        if module in done:
            return []
        way.append(module)
        for other in sorted(arrows[module]):
            found = visit(other)
            if found:
                return found
        done.add(way.pop())
        return []

    for module in sorted(arrows):
        found = visit(module)
        if found:
            return found
    return []


def within_functions(texts):
    """The (module, imported package) of imports within functions."""
    return {(module, base if base.startswith("croton") else base.split(".")[0])
            for module, (text, package) in texts.items() for base, _ in imports(module, text, package)[1]}


class Imports(unittest.TestCase):
    def setUp(self):
        self.texts = sources()
        self.arrows = graph(self.texts)

    def test_the_graph_is_drawn(self):
        self.assertGreater(len(self.arrows), 80)
        self.assertGreater(sum(len(of) for of in self.arrows.values()), 300)
        self.assertIn("croton.theano.types", self.arrows["croton.theano.variables"])
        self.assertIn("croton.theano.tensor.elementwise", self.arrows["croton.theano.tensor.nnet.softmax_ops"])
        self.assertIn("croton.flags", self.arrows["croton"])

    def test_there_is_no_circle(self):
        self.assertEqual(" -> ".join(circle(self.arrows)), "")

    def test_imports_are_at_the_head(self):
        self.assertEqual(within_functions(self.texts), set(WITHIN))

    def test_a_circle_would_be_found(self):
        planted = {"croton": ("from .one import x", True), "croton.one": ("from . import two", False),
                   "croton.two": ("try:\n    from .three import y\nexcept ImportError:\n    pass", False),
                   "croton.three": ("from croton import _croton\nimport croton.one", False)}
        self.assertEqual(circle(graph(planted)), ["croton.one", "croton.two", "croton.three", "croton.one"])
        whole = {**planted, "croton.three": ("from . import x", False)}
        self.assertEqual(circle(graph(whole))[0], "croton")
        none = {**planted, "croton.three": ("from croton import _croton", False)}
        self.assertEqual(circle(graph(none)), [])

    def test_an_import_within_a_function_would_be_found(self):
        planted = {"croton.one": ("class A:\n    def f(self):\n        if self:\n            from .two import x", False),
                   "croton.two": ("def f():\n    import os.path", False)}
        self.assertEqual(within_functions(planted), {("croton.one", "croton.two"), ("croton.two", "os")})


if __name__ == "__main__":
    if sys.argv[1:] == ["--graph"]:
        for one, others in sorted(graph(sources()).items()):
            print(f"{one} -> {', '.join(sorted(others))}" if others else one)
    else:
        unittest.main()
