"""Defaults of croton.nn are written once, in the public headers (include/croton/nn): as members of options, and as
constants named default_... of other arguments. The bindings (python_bindings/nn) take them from there.

    python3 tests/tree/python_defaults.py
"""
import re
import unittest

from check import tracked
from links import read

BINDINGS, HEADERS = "python_bindings/nn/", "include/croton/nn/"

# `"name"_a = ...`, `nb::arg(name) = ...` and `argument(name, ...)`, up to the default.
DEFAULT = re.compile(r'(?:"(\w+)"_a|nb::arg\("?(\w+)"?\))(?:\.none\(\))?\s*=\s*|\bargument\((?:const char\* )?"?(\w+)"?,\s*')
FROM_CPP = re.compile(r"default|Options\(\)\.|CallContext\(\)\.|^nb::none\(\)$")
CONSTANT = re.compile(r"\bconstexpr (?:const )?[\w:]+\*? (default_[^;]*);")

# Defaults of arguments that C++ does not have, by the file, the argument and the default: why.
ONLY_PYTHON = {
    ("initializers.cpp", "dtype", '"floatX"'): "C++ passes all arguments of an initializer",
    ("initializers.cpp", "seed", "0"): "C++ passes all arguments of an initializer",
    ("models.cpp", "return_dict", "false"): "C++ returns Logs",
    ("models.cpp", "verbose", '"auto"'): "to_verbose makes it FitOptions().verbose",
    ("optimizers.cpp", "learning_rate", "0.01"): "own_optimizer: in C++ one derives from OptimizerDefinition",
    ("optimizers.cpp", "name", '"own"'): "own_optimizer: in C++ one derives from OptimizerDefinition",
}


def expression(text, begin):
    """The C++ expression at a position of an argument or initializer, up to the comma, parenthesis or semicolon."""
    depth = 0
    for at in range(begin, len(text)):
        if depth == 0 and text[at] in ",);}":
            return " ".join(text[begin:at].split())
        depth += (text[at] in "([{") - (text[at] in ")]}")
    raise ValueError("an expression has no end")


def defaults(text):
    """[(argument, default)] of the arguments that a text of the bindings binds."""
    return [(found[1] or found[2] or found[3], expression(text, found.end())) for found in DEFAULT.finditer(text)]


def restated(text):
    return [(name, value) for name, value in defaults(text) if not FROM_CPP.search(value)]


def constants(text):
    """The names of the constants that a header defines."""
    return [name for found in CONSTANT.finditer(text) for name in re.findall(r"(default_\w+) = ", found[1])]


def texts(folder):
    return {name: read(name) for name in tracked() if name.startswith(folder) and name.endswith((".cpp", ".hpp"))}


class PythonDefaults(unittest.TestCase):
    def test_the_defaults_are_found(self):
        found = [(name, value) for text in texts(BINDINGS).values() for name, value in defaults(text)]
        self.assertGreater(len(found), 100)
        for some in [("axis", "nn::Concatenate::default_axis"), ("data_format", "nn::default_layout"),
                     ("batch_size", "fit_defaults.batch_size"), ("loss", "nb::none()")]:
            self.assertIn(some, found)

    def test_a_planted_default_is_found(self):
        text = ('f("a"_a = 1e-3, "b"_a = nn::Kind::default_b, nb::arg("c").none() = "text, more", "d"_a);\n'
                'g(nb::arg(name) = true,\n  "e"_a =\n      std::int64_t{5}, "h"_a = nn::FitOptions().epochs);\n'
                'k(argument("i", nn::Layout::channels_last), argument("j", nn::default_layout), "l"_a = nb::none());\n')
        self.assertEqual(restated(text), [("a", "1e-3"), ("c", '"text'), ("name", "true"), ("e", "std::int64_t{5}"),
                                          ("i", "nn::Layout::channels_last")])
        self.assertEqual(constants("inline constexpr double default_a = 0, default_b = 0.5;\n"
                                   'static constexpr const char* default_c = "c";\nvoid f(double a = default_a);\n'),
                         ["default_a", "default_b", "default_c"])

    def test_no_default_is_restated(self):
        found = {(path[len(BINDINGS):], name, value) for path, text in texts(BINDINGS).items()
                 for name, value in restated(text)}
        self.assertEqual(found - set(ONLY_PYTHON), set(), "take them from a constant or from options of the header")
        self.assertEqual(set(ONLY_PYTHON) - found, set(), "no file has these any more")

    def test_each_constant_is_a_default_of_cpp(self):
        all_of_them = "".join(texts(HEADERS).values())
        names = constants(all_of_them)
        self.assertGreater(len(names), 50)
        unused = {name for name in names
                  if len(re.findall(rf"(?:= |\{{|::){name}\b", all_of_them)) < names.count(name)}
        self.assertEqual(unused, set())


if __name__ == "__main__":
    unittest.main()
