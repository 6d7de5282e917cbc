#!/usr/bin/env python3
"""Writes expected_numpy_random.hpp: the draws of NumPy's RandomState, by each method in each of its regimes.

Run it again after a change, and commit the result:

    python3 tests/unit/make_numpy_random.py > tests/unit/expected_numpy_random.hpp
"""

import textwrap

import numpy as np

LEAST = -(2**63)
ONE, SHORT, QUARTERS, UNEVEN = [1.0], [0.5, 0.25], [0.25] * 4, [0.2, 0.3, 0.1, 0.4]
HOLES, MANY = [0.0, 0.5, 0.0, 0.125, 0.375, 0.0], [(i % 7) / 141 for i in range(48)]
PROBABILITIES = {"one": ONE, "less": SHORT, "quarters": QUARTERS, "uneven": UNEVEN, "holes": HOLES, "many": MANY}

# Method, integer arguments, other arguments, probabilities, count: drawn in this order from one generator.
DRAWS = [
    ("random_sample", (), (), None, 4), ("random_sample", (), (), None, 0), ("random_sample", (), (), None, 1),
    ("uniform", (), (-3.7, 1e9), None, 3), ("uniform", (), (5.0, 5.0), None, 1), ("uniform", (), (2.0, -1.0), None, 3),
    ("standard_normal", (), (), None, 3), ("randint", (0, 10), (), None, 7), ("normal", (), (2.0, 3.0), None, 2),
    ("binomial", (10,), (0.3,), None, 5), ("normal", (), (-1e3, 1e-3), None, 4), ("normal", (), (1.0, 0.0), None, 2),
    # Eleven so far: a spare normal number is kept until the last line.
    ("binomial", (0,), (0.3,), None, 2), ("binomial", (1,), (0.5,), None, 6), ("binomial", (10,), (0.0,), None, 2),
    ("binomial", (10,), (1.0,), None, 2), ("binomial", (100,), (0.3,), None, 6), ("binomial", (101,), (0.3,), None, 6),
    ("binomial", (60,), (0.5,), None, 6), ("binomial", (61,), (0.5,), None, 6), ("binomial", (100,), (0.75,), None, 6),
    ("binomial", (1000,), (0.75,), None, 6), ("binomial", (10**6,), (1e-5,), None, 6),
    ("binomial", (10**6,), (0.999,), None, 6), ("binomial", (10**15,), (0.4,), None, 6),
    ("poisson", (), (0.0,), None, 2), ("poisson", (), (1e-3,), None, 3), ("poisson", (), (2.5,), None, 8),
    ("poisson", (), (9.999,), None, 6), ("poisson", (), (10.0,), None, 6), ("poisson", (), (25.5,), None, 6),
    ("poisson", (), (1e4,), None, 6), ("poisson", (), (1e12,), None, 4), ("poisson", (), (9.2e18,), None, 3),
    ("randint", (5, 6), (), None, 2), ("randint", (0, 2), (), None, 10), ("randint", (-5, 1000), (), None, 6),
    ("randint", (0, 2**30), (), None, 4), ("randint", (0, 2**32 - 1), (), None, 3), ("randint", (0, 2**32), (), None, 3),
    ("randint", (0, 2**32 + 1), (), None, 3), ("randint", (-(2**40), 2**41), (), None, 3),
    ("randint", (LEAST, 2**63 - 1), (), None, 3), ("random_integers", (1, 6), (), None, 8),
    ("random_integers", (7, 7), (), None, 1), ("random_integers", (LEAST, 2**63 - 1), (), None, 3),
    ("multinomial", (20,), (), UNEVEN, 2), ("multinomial", (0,), (), UNEVEN, 1), ("multinomial", (7,), (), ONE, 1),
    ("multinomial", (1000,), (), HOLES, 2), ("multinomial", (10**6,), (), QUARTERS, 2), ("multinomial", (5,), (), SHORT, 1),
    ("choice", (5,), (), None, 7), ("choice", (5,), (), None, 0), ("choice", (1,), (), None, 1),
    ("choice", (6,), (), HOLES, 8), ("choice", (4,), (), UNEVEN, 1), ("choice", (48,), (), MANY, 6),
    ("choice_different", (9,), (), None, 4), ("choice_different", (9,), (), None, 0), ("choice_different", (4,), (), None, 4),
    ("choice_different", (6,), (), HOLES, 3), ("choice_different", (4,), (), UNEVEN, 4), ("choice_different", (48,), (), MANY, 30),
    ("choice_different", (4,), (), UNEVEN, 0), ("permutation", (0,), (), None, 1), ("permutation", (1,), (), None, 1),
    ("permutation", (2,), (), None, 1), ("permutation", (12,), (), None, 2), ("normal", (), (0.0, 1.0), None, 2),
]
# Long runs reach rarely taken branches; only their fingerprint is kept. With 240 trials the last step of BTPE, with
# Stirling's errors, decides more often than elsewhere.
RUNS = [
    (20000, "random_sample", (), (), None), (20000, "standard_normal", (), (), None),
    (20000, "binomial", (20,), (0.45,), None), (20000, "binomial", (100,), (0.4,), None),
    (2000000, "binomial", (240,), (0.5,), None), (20000, "binomial", (400,), (0.4,), None),
    (20000, "binomial", (10**5,), (0.7,), None), (20000, "binomial", (10**10,), (0.01,), None),
    (20000, "poisson", (), (4.0,), None), (200000, "poisson", (), (11.0,), None), (20000, "poisson", (), (150.0,), None),
    (20000, "poisson", (), (1e7,), None), (20000, "randint", (-3, 5 * 10**9), (), None),
    (20000, "multinomial", (300,), (), UNEVEN), (20000, "choice", (48,), (), MANY),
    (20000, "choice_different", (20000,), (), None), (1, "permutation", (20000,), (), None),
]
SEEDS = [[0], [1], [2**32 - 1], [123456789]]
SEED_LISTS = [[0], [1, 2, 3], [2**32 - 1, 0, 7, 7], list(range(700))]  # the last is longer than the state


def draw(random, method, whole, other, p, count):
    if method == "random_integers":
        return random.randint(whole[0], whole[1] + 1, size=count, dtype=np.int64)
    if method in ("choice", "choice_different"):
        return random.choice(whole[0], count, method == "choice", None if p is None else np.array(p))
    if method == "multinomial":
        return random.multinomial(whole[0], p, count)
    if method == "permutation":
        return np.concatenate([random.permutation(whole[0]) for _ in range(count)])
    return getattr(random, method)(*whole, *other, size=count)


def state(random):
    _, words, position, has_kept, kept = random.get_state()
    kept = np.array([kept if has_kept else 0.0]).view(np.uint32)
    return np.concatenate([words, np.array([position, has_kept], np.uint32), kept])


def fingerprint(values):
    result = 0
    for bits in np.ascontiguousarray(values).ravel():
        result = (result * 6364136223846793005 + int(bits) + 1442695040888963407) % 2**64
    return f"{result}u"


def bits_of(values):
    return np.asarray(values).view(np.uint64)


def integer(value):
    return "least" if value == LEAST else str(value)


def braces(texts):
    return "{" + ", ".join(texts) + "}"


def numbers(values):
    return braces(float(value).hex() for value in values)


def call(method, whole, other, p):
    whole = list(whole) + [0] * (2 - len(whole))
    other = list(other) + [0.0] * (2 - len(other))
    name = next((name for name, values in PROBABILITIES.items() if values is p), "{}")
    return f'"{method}", {integer(whole[0])}, {integer(whole[1])}, {other[0]!r}, {other[1]!r}, {name}'


def print_list(element, name, texts):
    lines = textwrap.wrap(f"inline const std::vector<{element}> {name}{braces(texts)};", 120, subsequent_indent="    ")
    print("\n".join(lines))


def print_probabilities():
    for name, values in PROBABILITIES.items():
        print_list("double", name, (float(value).hex() for value in values))
    print()


def print_draws():
    random = np.random.RandomState(2024)
    print("inline const NumpyDraw expected_draws[] = {")
    for method, whole, other, p, count in DRAWS:
        values = np.asarray(draw(random, method, whole, other, p, count)).ravel()
        real = values.dtype == np.float64
        drawn = f"{numbers(values)}, {{}}" if real else f"{{}}, {braces(map(integer, values.tolist()))}"
        print(f"    {{{call(method, whole, other, p)}, {count},\n     {drawn}}},")
    print(f"}};\ninline constexpr std::uint64_t expected_last_state = {fingerprint(state(random))};\n")


def print_runs():
    print("inline const NumpyRun expected_runs[] = {")
    for count, method, whole, other, p in RUNS:
        random = np.random.RandomState(7)
        values = draw(random, method, whole, other, p, count)
        print(f"    {{{{{call(method, whole, other, p)}, {count}, {{}}, {{}}}},\n"
              f"     {fingerprint(bits_of(values))}, {fingerprint(state(random))}}},")
    print("};\n")


def print_seeds(name, seeds, as_list):
    print(f"inline const NumpySeed {name}[] = {{")
    for seed in seeds:
        random = np.random.RandomState(seed if as_list else seed[0])
        seed_text = braces(f"{s}u" for s in seed) if len(seed) < 9 else f"counted({len(seed)})"
        print(f"    {{{seed_text}, {fingerprint(state(random))}, {numbers(random.random_sample(3))}}},")
    print("};")


def main():
    print(f"// Made by make_numpy_random.py; do not edit. The values are those of NumPy {np.__version__}.")
    print("// clang-format off")
    print("#pragma once\n\n#include <cstdint>\n#include <limits>\n#include <numeric>\n#include <string_view>\n#include <vector>\n")
    print("namespace croton_test {\n")
    print("inline constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();\n")
    print("/// `count` draws of a method with its whole arguments, its others, and probabilities.")
    print("struct NumpyDraw {\n  std::string_view method;\n  std::int64_t a, b;\n  double x, y;\n  std::vector<double> p;")
    print("  std::int64_t count;\n  std::vector<double> numbers;\n  std::vector<std::int64_t> integers;\n};")
    print("/// Fingerprints of what is drawn and of the state after it.")
    print("struct NumpyRun {\n  NumpyDraw draw;\n  std::uint64_t drawn, state;\n};")
    print("struct NumpySeed {\n  std::vector<std::uint32_t> seeds;\n  std::uint64_t state;\n  std::vector<double> numbers;\n};\n")
    print("/// 0, 1, ..., count - 1")
    print("inline std::vector<std::uint32_t> counted(std::uint32_t count) {\n  std::vector<std::uint32_t> seeds(count);")
    print("  std::iota(seeds.begin(), seeds.end(), 0u);\n  return seeds;\n}\n")
    print_probabilities()
    print_draws()
    print_runs()
    print_seeds("expected_seeds", SEEDS, as_list=False)
    print_seeds("expected_seed_lists", SEED_LISTS, as_list=True)
    print("\n}  // namespace croton_test")


if __name__ == "__main__":
    main()
