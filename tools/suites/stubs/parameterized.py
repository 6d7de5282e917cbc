"""A substitute for the package `parameterized`: its decorators `expand` (methods of a TestCase) and plain use
(functions)."""
import functools
import inspect
import re


class param:
    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs


def _params(values):
    values = values() if callable(values) else values
    for value in values:
        if isinstance(value, param):
            yield value
        elif isinstance(value, (tuple, list)):
            yield param(*value)
        else:
            yield param(value)


class parameterized:
    def __init__(self, values):
        self.values = list(_params(values))

    def __call__(self, function):
        """A generator of one check per set of arguments, which the runner takes as a nose-style test."""
        @functools.wraps(function)
        def generate(*fixed):
            for value in self.values:
                yield (functools.partial(function, *fixed, *value.args, **value.kwargs),)
        del generate.__wrapped__
        return generate

    @staticmethod
    def to_safe_name(text):
        return re.sub("[^a-zA-Z0-9_]+", "_", str(text))

    @classmethod
    def expand(cls, values, name_func=None, **_):
        """One method for each set of arguments, added to the class of the decorated one."""
        def decorate(function):
            scope = inspect.currentframe().f_back.f_locals
            for number, value in enumerate(_params(values)):
                if name_func:
                    name = name_func(function, number, value)
                else:
                    name = f"{function.__name__}_{number}"
                    if value.args and isinstance(value.args[0], str):
                        name += "_" + cls.to_safe_name(value.args[0])

                def method(self, value=value):
                    return function(self, *value.args, **value.kwargs)
                method.__name__ = name
                method.__doc__ = function.__doc__
                scope[name] = method
            return None
        return decorate
