# !/usr/bin/env python3
"""Writes expected_theano_random.hpp: the draws of Theano's two kinds of random streams, by each of their methods.

It needs Theano 1.0.5 (so a Python up to 3.9, NumPy 1.19 and a C++ compiler). Run it again after a change, and commit
the result:

    python3 tests/ops/make_theano_random.py > tests/ops/expected_theano_random.hpp
"""

import os
import subprocess
import sys

HEAD = """// Made by make_theano_random.py; do not edit. The values are those of Theano 1.0.5 with NumPy {numpy}.
// clang-format off
#pragma once

#include <croton/array.hpp>

#include <limits>
#include <string_view>
#include <vector>

namespace croton_test {{

/// Results of the first two calls of a function with one draw, with floatX and seed 234 (MRG: 42).
struct TheanoDraw {{
  std::string_view name;
  croton::DType float_x, dtype;
  croton::Sizes shape;
  std::vector<double> first, second;
}};

inline const std::vector<TheanoDraw> theano_draws = {{
"""


def draws(np, tensor):
    """Name, method, arguments."""
    array = np.array
    numpy = [
        ("uniform", "uniform", ((2, 3),), {}),
        ("uniform of one number", "uniform", ((),), {}),
        ("uniform of no numbers", "uniform", ((0, 2),), {}),
        ("uniform with bounds", "uniform", ((2, 3), 0.1, 0.7), {}),
        ("uniform of parameters", "uniform", (None, array([0.0, 1, 2]), array([[5.0], [6.0]])), {}),
        ("uniform with -1", "uniform", ((2, -1), array([[0.0, 1, 2]]), 5.0), {}),
        ("uniform float16", "uniform", ((3,),), {"dtype": "float16"}),
        ("uniform integers", "uniform", ((4,), 0.0, 9.0), {"dtype": "int32"}),
        ("normal", "normal", ((3,),), {}),
        ("normal of parameters", "normal", ((2, 2), array([1.0, 2]), array([[1.0], [3.0]])), {}),
        ("binomial", "binomial", ((5,),), {}),
        ("binomial of 100", "binomial", ((5,), 100, 0.3), {}),
        ("binomial of parameters", "binomial", (None, array([10, 100]), array([[0.1], [0.9]])), {}),
        ("binomial floats", "binomial", ((5,),), {"dtype": "float32"}),
        ("random_integers", "random_integers", ((5,),), {}),
        ("random_integers of parameters", "random_integers", (None, array([3, 5]), array([[9], [20]])), {}),
        ("random_integers huge", "random_integers", ((3,), 0, 2**60), {}),
        ("choice", "choice", ((5,),), {}),
        ("choice of 8 without replacement", "choice", ((2, 2), 8, False), {}),
        ("choice by probabilities", "choice", ((5,), 3, True, [0.2, 0.3, 0.5]), {}),
        ("choice by probabilities without replacement", "choice", ((2,), 3, False, tensor.constant(array([0.2, 0.3, 0.5]))), {}),
        ("choice of elements", "choice", ((5,), array([1.5, 2.5, 7.0])), {}),
        ("choice of elements as floats", "choice", ((5,), array([1.5, 2.5, 7.0])), {"dtype": "float64"}),
        ("choice of one", "choice", ((), 9), {}),
        ("poisson", "poisson", ((5,), 1.0), {}),
        ("poisson of 30.1", "poisson", ((5,), 30.1), {}),
        ("poisson of parameters", "poisson", ((2, 2), array([1.0, 50.0])), {}),
        ("permutation", "permutation", ((), 6), {}),
        ("permutations", "permutation", ((2,), 4), {"dtype": "int16"}),
        ("multinomial", "multinomial", ((3,),), {"n": 5}),
        ("multinomial of rows", "multinomial", (None, array([[2], [7]]), array([[0.2, 0.8, 0.0], [0.5, 0.25, 0.25]])), {}),
        ("multinomial with -1", "multinomial", ((2, -1), 3, array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])), {}),
        ("multinomial above 1", "multinomial", ((4,), 50, array([0.25, 0.25, 0.5000001], "float32")), {}),
        ("multinomial of many classes", "multinomial", ((), 1000, (np.arange(150) / np.arange(150).sum()).astype("float32")), {}),
    ]
    rows = array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.0, 0.5, 0.5]])
    mrg = [
        ("uniform", "uniform", ((2, 3),), {}),
        ("uniform of one number", "uniform", ((),), {}),
        ("uniform of 30", "uniform", ((30,),), {}),
        ("uniform with bounds", "uniform", ((4,), -1.5, 2.25), {}),
        ("uniform of parameters", "uniform", ((2, 3),), {"low": array([0.0, 1, 2]), "high": 5.0}),
        ("uniform with 2 streams", "uniform", ((5,),), {"nstreams": 2}),
        ("uniform of a symbolic size", "uniform", ((tensor.as_tensor_variable(5) + 0,),), {}),
        ("uniform float32", "uniform", ((4,),), {"dtype": "float32"}),
        ("uniform float64", "uniform", ((4,),), {"dtype": "float64"}),
        ("normal", "normal", ((5,),), {}),
        ("normal of a matrix", "normal", ((2, 3),), {}),
        ("normal float64", "normal", ((7,),), {"dtype": "float64"}),
        ("normal with 3 streams", "normal", ((7,),), {"nstreams": 3}),
        ("normal moved", "normal", ((9,), 2.0, 3.0), {}),
        ("normal of parameters", "normal", ((2, 2), array([0.5, 1.5]), 0.1), {}),
        ("truncated_normal moved", "truncated_normal", ((5,), -1.0, 0.25), {}),
        ("truncated_normal", "truncated_normal", ((40,),), {}),
        ("binomial", "binomial", ((8,),), {}),
        ("binomial floats", "binomial", ((2, 3), 1, array([0.2, 0.5, 0.9])), {"dtype": "float32"}),
        ("multinomial", "multinomial", (), {"pvals": rows}),
        ("multinomial of 9", "multinomial", (), {"pvals": rows.astype("float32"), "n": 9}),
        ("choice", "choice", (), {"size": 2, "replace": False, "p": rows}),
        ("choice float32", "choice", (), {"size": 2, "replace": False, "p": rows.astype("float32"), "dtype": "int32"}),
    ]
    return [("numpy", 234, numpy), ("mrg", 42, mrg)]


def rows_of_one(float_x):
    # Theano lets its compiler fuse products and sums, which depends on the processor; here this is disabled.
    flags = ",device=cpu,blas.ldflags=,gcc.cxxflags=-ffp-contract=off,floatX=" + float_x
    os.environ["THEANO_FLAGS"] = os.environ.get("THEANO_FLAGS", "") + flags
    import warnings

    warnings.simplefilter("ignore")
    import numpy as np
    import theano
    from theano import tensor
    from theano.sandbox.rng_mrg import MRG_RandomStreams
    from theano.tensor.shared_randomstreams import RandomStreams

    make = {"numpy": RandomStreams, "mrg": MRG_RandomStreams}
    for kind, seed, all_draws in draws(np, tensor):
        for name, method, given, named in all_draws:
            function = theano.function([], getattr(make[kind](seed), method)(*given, **named))
            first, second = function(), function()
            values = [", ".join(float(x).hex() for x in np.asarray(a).ravel()) for a in (first, second)]
            sizes = ", ".join(str(n) for n in np.shape(first))
            print('    {"%s: %s", croton::DType::%s, croton::DType::%s, {%s},\n     {%s},\n     {%s}},'
                  % (kind, name, float_x, np.asarray(first).dtype, sizes, values[0], values[1]))


def main():
    if len(sys.argv) > 1:
        return rows_of_one(sys.argv[1])
    import numpy

    sys.stdout.write(HEAD.format(numpy=numpy.__version__))
    for float_x in ("float32", "float64"):
        sys.stdout.write(subprocess.run([sys.executable, __file__, float_x], stdout=subprocess.PIPE, check=True).stdout.decode())
    print("};\n\n}  // namespace croton_test")


main()
