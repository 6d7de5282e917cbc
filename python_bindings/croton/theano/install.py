"""Makes `import theano` import this package."""

import importlib
import importlib.abc
import importlib.util
import sys

_PACKAGE = __package__  # croton.theano


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds theano.X as the module croton.theano.X: one module with two names."""

    def find_spec(self, name, path=None, target=None):
        if name != "theano" and not name.startswith("theano."):
            return None
        own_name = _PACKAGE + name[len("theano"):]
        if own_name in sys.modules or importlib.util.find_spec(own_name) is not None:
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        module = importlib.import_module(_PACKAGE + spec.name[len("theano"):])
        has_loader = hasattr(module, "__loader__")
        self._first = (module.__spec__, module.__loader__) if has_loader else (None, None)
        return module

    def exec_module(self, module):
        # The import system has overwritten these for the module's second name.
        module.__spec__, module.__loader__ = self._first


def install():
    """Makes `import theano`, and every module of it, import this package. RuntimeError if another theano is
    imported."""
    other = sys.modules.get("theano")
    package = sys.modules[_PACKAGE]
    if other is package:
        return
    if other is not None:
        raise RuntimeError(f"theano is imported already, from {getattr(other, '__file__', 'somewhere')}; call "
                           "croton.theano.install() before that")
    sys.meta_path.insert(0, _Finder())
    sys.modules["theano"] = package
    for name in [n for n in sys.modules if n.startswith(_PACKAGE + ".")]:
        sys.modules["theano" + name[len(_PACKAGE):]] = sys.modules[name]
