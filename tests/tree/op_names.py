"""Stages distinguish ops by kind, by facts and as `Core` (src/expr/core_ops.def), not by name. Outside of src/ops and
of rewrite rules no string is the name of an op, unless it means something else, and no name of an op is compared.

    python3 tests/tree/op_names.py
"""
import os
import re
import unittest

from check import tracked
from links import read

# The strings of a text; comments and characters are matched too, so that a quote in them starts no string.
TOKEN = re.compile(r"""
    R"(\w*)\((?P<raw>.*?)\)\1" | //[^\n]* | /\*.*?\*/ | (?<!\w)'(?:\\.|[^\\'])+' | "(?P<text>(?:\\.|[^"\\\n])*)"
""", re.S | re.X)
COMPARED = re.compile(r'(->|\.)name *(==|!=) *"')

# How src/ops writes the names that it registers: fields, rows of tables, functions that make an op.
REGISTERS = re.compile(r"\bregistry\.add\(|\bregister_rows\(registry, (rows\(\)|\{)")
REGISTERED = (re.compile(r'\.name = "(\w+)"'), re.compile(r'^ *\{?\{"(\w+)",\s*[\d{]', re.M),
              re.compile(r'^ *(?:leaf|mark|expand_op)\("(\w+)"', re.M))

# Keys of attributes that are also names of ops, in calls that read, set or pass an attribute.
ATTRIBUTES = {"axis", "imag", "input", "result"}
KEY_BEFORE = re.compile(r"\.(integer|index|axis|real|text|set)\($|[{,]\s*\{$")

# Rewrite rules and their functions: rules are about individual ops.
RULES = ("rewrite/rules/", "rewrite/nary.cpp")

# Files of src with strings that are not ops: the strings, and their meaning.
OTHERS = {
    "base/config.cpp": ({"all"}, "a word of flags"),
    "base/flags.def": ({"all"}, "a word of flags"),
    "base/npy.cpp": ({"i1"}, "a dtype in a file"),
    "codegen/emit.cpp": ({"const"}, "a word of C++"),
    "codegen/emit_loop.cpp": ({"loop"}, "a template"),
    "codegen/schedule_overrides.cpp": ({"loop"}, "a family of schedules"),
    "devices.cpp": ({"real", "input", "constant"}, "words for users"),
    "expr/attrs.hpp": ({"axis"}, "the key of an attribute"),
    "expr/parse.cpp": ({"input", "shared", "constant"}, "words of printed graphs"),
    "expr/print.cpp": ({"input", "shared"}, "words of printed graphs"),
    "fuse/fuse.cpp": ({"transfer", "loop", "branch"}, "the kinds of calls"),
    "llvm/linker.cpp": ({"fma", "sqrt", "floor", "ceil", "trunc", "round", "fmod"}, "functions of C"),
    "nn/activations.cpp": ({"softmax", "log_softmax", "sigmoid", "tanh", "softplus"}, "names that users give"),
    "nn/initializers.cpp": ({"constant"}, "a name that users give"),
    "nn/losses.cpp": ({"sum"}, "a name that users give"),
    "nn/model.cpp": ({"input", "shared"}, "the name of a layer; a word for users"),
    "nn/norm_layers.cpp": ({"gamma"}, "the name of a weight"),
    "nn/recurrent_layers.cpp": ({"sum", "mul"}, "names that users give"),
    "nn/strategy.cpp": ({"input"}, "the name of a variable"),
    "plan/print.cpp": ({"shared", "constant"}, "words of printed plans"),
    "rewrite/loop_edit.cpp": ({"input"}, "the key of an attribute"),
    "rewrite/loops.cpp": ({"loop"}, "the root of rules"),
    "rewrite/match.cpp": ({"const"}, "a constraint of patterns"),
    "rewrite/place.cpp": ({"transfer"}, "a word of the placement log"),
    "rewrite/placed_loops.cpp": ({"loop"}, "the root of rules"),
    "rewrite/single_steps.hpp": ({"loop"}, "the root of a rule"),
    "runtime/bound/kernel_schedules.hpp": ({"loop"}, "a family of schedules"),
    "runtime/cpu/blas/openblas.cpp": ({"fma"}, "a feature of processors"),
    "runtime/cpu/dnn/dnn_prepared.cpp": ({"gemm"}, "a part of names of oneDNN's"),
    "runtime/cuda/inspect/launch_model.cpp": ({"cumsum", "cumprod"}, "routines, by the names of their texts"),
    "runtime/simulator/callbacks.cpp": ({"axis"}, "a variable of kernels"),
    "runtime/simulator/compiler.cpp": ({"const"}, "a word of C++"),
    "runtime/simulator/report.cpp": ({"shared"}, "a word for users"),
    "trace.cpp": ({"transfer"}, "a word of traces"),
}


def strings(text):
    """The string literals of a C++ text, each with its begin and end."""
    for found in TOKEN.finditer(text):
        content = found.group("text") if found.group("raw") is None else found.group("raw")
        if content is not None:
            yield content, found.start(), found.end()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def is_key(text, name, begin, end):
    """Whether a string is the key of an attribute: `.integer("axis")`, `.set("axis", ...)`, `{{"axis", ...}}`."""
    before = text[max(0, begin - 80):begin]
    return name in ATTRIBUTES and text[end:end + 1] in (",", ")") and bool(KEY_BEFORE.search(before))


def names_of_ops(text, ops):
    """[(line, name)] of the strings that are names of ops, without keys of attributes."""
    return [(line_of(text, begin), name) for name, begin, end in strings(text)
            if name in ops and not is_key(text, name, begin, end)]


def compared_names(text):
    """The lines that compare a name with a string."""
    return [line_of(text, found.start()) for found in COMPARED.finditer(text)]


def registered(text):
    """The names of the ops that a file of src/ops registers."""
    return {found.group(1) for form in REGISTERED for found in form.finditer(text)} if REGISTERS.search(text) else set()


def registered_ops(texts):
    return set().union(*(registered(text) for name, text in texts.items() if name.startswith("ops/")))


def core_ops(texts):
    return {name.rstrip("_") for name in re.findall(r"^CROTON_CORE_OP\((\w+)\)", texts["expr/core_ops.def"], re.M)}


class OpNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.texts = {os.path.relpath(name, "src"): read(name) for name in tracked()
                     if name.startswith("src/") and name.endswith((".cpp", ".hpp", ".def"))}
        cls.ops = registered_ops(cls.texts)

    def test_the_ops_are_found(self):
        self.assertGreaterEqual(len(self.ops), 190)
        some = """add arange argsort branch cast concatenate const convolve crossentropy_logits_grad ctc_paths cumsum
            dimshuffle gamma gather gemm left_shift load_if loop max normal32 random_bits real scatter slide softmax
            subtensor sum transfer where zero_grad"""
        self.assertEqual(set(some.split()) - self.ops, set())
        self.assertEqual(core_ops(self.texts) - self.ops, set())

    def test_every_file_that_registers_ops_gives_names(self):
        silent = [name for name, text in self.texts.items()
                  if name.startswith("ops/") and REGISTERS.search(text) and not registered(text)]
        self.assertEqual(silent, [])

    def test_a_planted_name_is_found(self):
        ops = {"add", "axis", "cast", "loop"}
        text = ('// arena.make("add", {a, b})\n'
                "const char quote = '\"', other = '\\'';  /* \"add\" */\n"
                'arena.make("cast", {x}, {{"dtype", to}});\n'
                'f(attrs.integer("axis"), R"(not "loop")");\n'
                'g({{"input", i}, {"axis", k}}, "add\\"", "adds");\n'
                'if (name == "add") h("axis");\n'
                'if (op.name == "loop") i(1\'000);\n')
        self.assertEqual(names_of_ops(text, ops), [(3, "cast"), (6, "add"), (6, "axis"), (7, "loop")])
        self.assertEqual(compared_names(text), [7])
        self.assertEqual(compared_names('f(node.op->name != "other");\n'), [1])

    def test_no_name_is_compared(self):
        found = [f"src/{name}:{line}" for name, text in self.texts.items() if not name.startswith(RULES)
                 for line in compared_names(text)]
        self.assertEqual(found, [])

    def test_no_name_is_spelled(self):
        spelled = {name: names_of_ops(text, self.ops) for name, text in self.texts.items()
                   if not name.startswith(("ops/", *RULES))}
        allowed = {(name, word) for name, (words, _) in OTHERS.items() for word in words}
        found = [f"src/{name}:{line}: {op}" for name, places in spelled.items() for line, op in places
                 if (name, op) not in allowed]
        self.assertEqual(found, [])
        seen = {(name, op) for name, places in spelled.items() for _, op in places}
        self.assertEqual(allowed - seen, set(), "no file has these any more")


if __name__ == "__main__":
    unittest.main()
