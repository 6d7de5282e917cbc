"""`import theano` for programs that say so."""

import importlib
import importlib.abc
import importlib.util
import sys

_OURS = __package__  # croton.theano


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds theano.X as the module croton.theano.X: one module by two names."""

    def find_spec(self, name, path=None, target=None):
        if name != "theano" and not name.startswith("theano."):
            return None
        ours = _OURS + name[len("theano"):]
        if ours in sys.modules or importlib.util.find_spec(ours) is not None:
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        module = importlib.import_module(_OURS + spec.name[len("theano"):])
        self._own = (module, module.__spec__, module.__loader__) if hasattr(module, "__loader__") else (module, None, None)
        return module

    def exec_module(self, module):
        # What the import system wrote into the module for its second name is taken back.
        _, module.__spec__, module.__loader__ = self._own


def install():
    """Makes `import theano`, and every module of it, mean this package. RuntimeError if another theano is imported."""
    other = sys.modules.get("theano")
    ours = sys.modules[_OURS]
    if other is ours:
        return
    if other is not None:
        raise RuntimeError(f"theano is imported already, from {getattr(other, '__file__', 'somewhere')}; call "
                           "croton.theano.install() before")
    sys.meta_path.insert(0, _Finder())
    sys.modules["theano"] = ours
    for name in [n for n in sys.modules if n.startswith(_OURS + ".")]:
        sys.modules["theano" + name[len(_OURS):]] = sys.modules[name]
