"""nose.tools: unittest's assertions under names in the style of PEP 8, and a few decorators."""
import functools
import re
import unittest


class _Case(unittest.TestCase):
    def runTest(self):
        pass


_case = _Case()
_case.maxDiff = None
for _name in dir(_case):
    if _name.startswith("assert"):
        globals()[re.sub("([A-Z])", lambda m: "_" + m.group(1).lower(), _name)] = getattr(_case, _name)
assert_equals = _case.assertEqual
assert_not_equals = _case.assertNotEqual
assert_items_equal = _case.assertCountEqual
assert_raises_regexp = _case.assertRaisesRegex
assert_regexp_matches = _case.assertRegex


def eq_(a, b, message=None):
    _case.assertEqual(a, b, message)


def ok_(value, message=None):
    _case.assertTrue(value, message)


def raises(*kinds):
    """The decorated test passes when it raises one of `kinds`."""
    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            with _case.assertRaises(kinds):
                function(*args, **kwargs)
        return run
    return decorate


def istest(function):
    function.__test__ = True
    return function


def nottest(function):
    function.__test__ = False
    return function


def with_setup(setup=None, teardown=None):
    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            if setup:
                setup()
            try:
                return function(*args, **kwargs)
            finally:
                if teardown:
                    teardown()
        return run
    return decorate
