// Random streams: <croton/random.hpp> and, with Theano's and NumPy's numbers, <croton/theano_random.hpp>.
#include <croton/nnet_layers.hpp>
#include <croton/random.hpp>
#include <croton/theano_random.hpp>

#include "core/arrays.hpp"
#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "core/where.hpp"

namespace croton::python {
namespace {

DrawShape to_shape(nb::handle object) {
  return object.is_none() ? DrawShape(std::nullopt) : DrawShape(to_sizes(object));
}

DType dtype_or(nb::handle object, DType otherwise) { return to_optional_dtype(object).value_or(otherwise); }

/// The states that all streams have: to save, set and pass to functions.
template <class Streams>
void bind_states(nb::class_<Streams>& c) {
  c.def(
       "state", [](const Streams& s) { return to_numpy(s.state()); }, "The states of all draws so far, as an array.")
      .def(
          "set_state", [](Streams& s, nb::handle state) { s.set_state(to_array(state)); }, "state"_a,
          "Sets the states of all draws. ValueError for another number of states.")
      .def("state_updates", &Streams::state_updates, "Pairs of each state and its default update.");
}

template <class Streams>
void bind_uniform(nb::class_<Streams>& c) {
  c.def(
      "uniform",
      [](Streams& s, nb::handle size, nb::handle low, nb::handle high, nb::handle dtype) {
        return s.uniform(to_shape(size), to_operand(low), to_operand(high), to_optional_dtype(dtype), here());
      },
      "size"_a = nb::none(), "low"_a = 0.0, "high"_a = 1.0, "dtype"_a = nb::none(),
      "Uniformly distributed numbers between low and high; floatX by default.");
}

void bind_streams(nb::module_& m) {
  using Streams = RandomStreams;
  nb::class_<Streams> c(
      m, "RandomStreams",
      "Random numbers that are the same on every device, drawn in the kernels that use them (Philox4x32-10). Each call "
      "of a method is one draw with its own state: functions give new numbers at each call. size: a size or list of "
      "sizes, which may be symbolic; None: that of the parameters.");
  c.def(
      "__init__",
      [](Streams* self, std::optional<std::uint64_t> seed) {
        if (seed) {
          new (self) Streams(*seed, here());
        } else {
          new (self) Streams(here());
        }
      },
      "seed"_a = nb::none());
  bind_uniform(c);
  bind_states(c);
  c.def("seed", &Streams::seed, "seed"_a, "Sets all states to those of the seed.");
  c.def(
      "independent", [](const Streams& s, std::uint64_t number) { return s.independent(number, here()); }, "number"_a,
      "Streams that are independent of these and of those of another number.");
  const auto moved = [&c](const char* name, auto method, double second, const char* doc) {
    c.def(
        name,
        [method](Streams& s, nb::handle size, nb::handle mean, nb::handle deviation, nb::handle dtype) {
          return (s.*method)(to_shape(size), to_operand(mean), to_operand(deviation), to_optional_dtype(dtype), here());
        },
        "size"_a = nb::none(), "avg"_a = 0.0, "std"_a = second, "dtype"_a = nb::none(), doc);
  };
  moved("normal", &Streams::normal, 1,
        "Normally distributed numbers with mean avg and standard deviation std; floatX by default.");
  moved("truncated_normal", &Streams::truncated_normal, 1,
        "Normally distributed numbers within two standard deviations; floatX by default.");
  c.def(
      "exponential",
      [](Streams& s, nb::handle size, nb::handle scale, nb::handle dtype) {
        return s.exponential(to_shape(size), to_operand(scale), to_optional_dtype(dtype), here());
      },
      "size"_a = nb::none(), "scale"_a = 1.0, "dtype"_a = nb::none(),
      "Exponentially distributed numbers with mean scale.");
  const auto shaped = [&c](const char* name, auto method, const char* first, const char* second, const char* doc) {
    c.def(
        name,
        [method](Streams& s, nb::handle size, nb::handle a, nb::handle b, nb::handle dtype) {
          return (s.*method)(to_shape(size), to_operand(a), to_operand(b), to_optional_dtype(dtype), here());
        },
        "size"_a, nb::arg(first), nb::arg(second) = 1.0, "dtype"_a = nb::none(), doc);
  };
  shaped("gamma", &Streams::gamma, "alpha", "scale", "Gamma-distributed numbers with shape alpha and the given scale.");
  shaped("beta", &Streams::beta, "a", "b", "Beta-distributed numbers.");
  const auto whole = [&c](const char* name, auto method, const char* doc) {
    c.def(
        name,
        [method](Streams& s, nb::handle size, nb::handle low, nb::handle high, nb::handle dtype) {
          return (s.*method)(to_shape(size), to_operand(low), to_operand(high), dtype_or(dtype, DType::int64), here());
        },
        "size"_a, "low"_a, "high"_a, "dtype"_a = nb::none(), doc);
  };
  whole("integers", &Streams::integers, "Integers from low to high - 1.");
  whole("random_integers", &Streams::random_integers, "Integers from low to high, inclusive.");
  c.def(
      "bernoulli",
      [](Streams& s, nb::handle size, nb::handle p, nb::handle dtype) {
        return s.bernoulli(to_shape(size), to_operand(p), dtype_or(dtype, DType::bool_), here());
      },
      "size"_a = nb::none(), "p"_a = 0.5, "dtype"_a = nb::none(), "1 with probability p, else 0; bool.");
  c.def(
      "binomial",
      [](Streams& s, nb::handle size, nb::handle n, nb::handle p, nb::handle dtype) {
        return s.binomial(to_shape(size), to_operand(n), to_operand(p), dtype_or(dtype, DType::int64), here());
      },
      "size"_a = nb::none(), "n"_a = 1, "p"_a = 0.5, "dtype"_a = nb::none(), "The number of successes in n trials.");
  c.def(
      "poisson",
      [](Streams& s, nb::handle size, nb::handle lam, nb::handle dtype) {
        return s.poisson(to_shape(size), to_operand(lam), dtype_or(dtype, DType::int64), here());
      },
      "size"_a = nb::none(), "lam"_a = 1.0, "dtype"_a = nb::none(), "Poisson-distributed numbers with mean lam.");
  c.def(
      "multinomial",
      [](Streams& s, nb::handle size, nb::handle n, nb::handle pvals, nb::handle dtype) {
        return s.multinomial(to_shape(size), to_operand(n), to_operand(pvals), dtype_or(dtype, DType::int64), here());
      },
      "size"_a = nb::none(), "n"_a = 1, "pvals"_a, "dtype"_a = nb::none(),
      "The counts of each class, along the last axis of pvals, in n draws.");
  c.def(
      "choice",
      [](Streams& s, nb::handle size, nb::handle a, bool replace, nb::handle p) {
        return s.choice(to_shape(size), to_operand(a), {replace, to_optional_operand(p)}, here());
      },
      "size"_a, "a"_a, "replace"_a = true, "p"_a = nb::none(),
      "Random elements of the vector a, or integers below the integer a.");
  c.def(
      "permutation",
      [](Streams& s, nb::handle n, nb::handle size, nb::handle dtype) {
        const DrawShape rows = size.is_none() ? DrawShape(std::vector<Operand>()) : to_shape(size);
        return s.permutation(to_operand(n), rows, dtype_or(dtype, DType::int64), here());
      },
      "n"_a, "size"_a = nb::none(), "dtype"_a = nb::none(),
      "Random permutations of 0 to n - 1, one row for each element of size.");
  c.def(
      "shuffle_row_elements", [](Streams& s, nb::handle x) { return s.shuffle_row_elements(to_operand(x), here()); },
      "x"_a, "x with the elements of each row in random order.");
  c.def(
      "dropout", [](Streams& s, nb::handle x, double rate) { return nnet::dropout(to_operand(x), rate, s); }, "x"_a,
      "rate"_a, "x with a random fraction `rate` of its elements set to 0, and the others divided by 1 - rate.");
}

void bind_mrg(nb::module_& m) {
  using Streams = MrgRandomStreams;
  using Count = std::optional<std::int64_t>;
  nb::class_<Streams> c(m, "MrgRandomStreams",
                        "Theano's MRG_RandomStreams (MRG31k3p): the same numbers for the same seed and calls.");
  c.def(nb::init<std::int64_t>(), "seed"_a = 12345);
  c.def(nb::init<const std::vector<std::int64_t>&>(), "seed"_a);
  bind_states(c);
  const auto real = [&c](const char* name, auto method, const char* a, const char* b, double first, const char* doc) {
    c.def(
        name,
        [method](Streams& s, nb::handle size, nb::handle x, nb::handle y, nb::handle dtype, Count streams) {
          return (s.*method)(to_shape(size), to_operand(x), to_operand(y), to_optional_dtype(dtype), streams, here());
        },
        "size"_a, nb::arg(a) = first, nb::arg(b) = 1.0, "dtype"_a = nb::none(), "nstreams"_a = nb::none(), doc);
  };
  real("uniform", &Streams::uniform, "low", "high", 0, "Uniformly distributed numbers between low and high.");
  real("normal", &Streams::normal, "avg", "std", 0, "Normally distributed numbers.");
  real("truncated_normal", &Streams::truncated_normal, "avg", "std", 0,
       "Normally distributed numbers within two standard deviations.");
  c.def(
      "binomial",
      [](Streams& s, nb::handle size, nb::handle n, nb::handle p, nb::handle dtype, Count streams) {
        return s.binomial(to_shape(size), to_operand(n), to_operand(p), dtype_or(dtype, DType::int64), streams, here());
      },
      "size"_a = nb::none(), "n"_a = 1, "p"_a = 0.5, "dtype"_a = nb::none(), "nstreams"_a = nb::none(),
      "1 with probability p, else 0.");
  c.def(
      "multinomial",
      [](Streams& s, nb::handle pvals, nb::handle n, nb::handle dtype, Count streams) {
        return s.multinomial(to_operand(pvals), to_operand(n), dtype_or(dtype, DType::int64), streams, here());
      },
      "pvals"_a, "n"_a = 1, "dtype"_a = nb::none(), "nstreams"_a = nb::none(),
      "The counts of each column in n draws, for each row of pvals.");
  c.def(
      "choice",
      [](Streams& s, nb::handle size, nb::handle p, nb::handle dtype, Count streams) {
        return s.choice(to_operand(size), to_operand(p), dtype_or(dtype, DType::int64), streams, here());
      },
      "size"_a, "p"_a, "dtype"_a = nb::none(), "nstreams"_a = nb::none(), "Distinct random columns for each row of p.");
  c.def("seed", nb::overload_cast<>(&Streams::seed), "Sets all states to those of the constructor's seed.");
  c.def("seed", nb::overload_cast<std::int64_t>(&Streams::seed), "seed"_a);
  c.def("seed", nb::overload_cast<const std::vector<std::int64_t>&>(&Streams::seed), "seed"_a);
}

void bind_numpy_streams(nb::module_& m) {
  using Streams = NumpyRandomStreams;
  nb::class_<Streams> c(m, "NumpyRandomStreams",
                        "Theano's RandomStreams: the numbers of numpy.random.RandomState in Theano's order.");
  c.def(nb::init<>());
  c.def(nb::init<std::int64_t>(), "seed"_a);
  bind_uniform(c);
  bind_states(c);
  c.def(
      "normal",
      [](Streams& s, nb::handle size, nb::handle avg, nb::handle std, nb::handle dtype) {
        return s.normal(to_shape(size), to_operand(avg), to_operand(std), to_optional_dtype(dtype), here());
      },
      "size"_a = nb::none(), "avg"_a = 0.0, "std"_a = 1.0, "dtype"_a = nb::none(), "Normally distributed numbers.");
  c.def(
      "binomial",
      [](Streams& s, nb::handle size, nb::handle n, nb::handle p, nb::handle dtype) {
        return s.binomial(to_shape(size), to_operand(n), to_operand(p), dtype_or(dtype, DType::int64), here());
      },
      "size"_a = nb::none(), "n"_a = 1, "p"_a = 0.5, "dtype"_a = nb::none(), "The number of successes in n trials.");
  c.def(
      "random_integers",
      [](Streams& s, nb::handle size, nb::handle low, nb::handle high, nb::handle dtype) {
        return s.random_integers(to_shape(size), to_operand(low), to_operand(high), dtype_or(dtype, DType::int64),
                                 here());
      },
      "size"_a = nb::none(), "low"_a = 0, "high"_a = 1, "dtype"_a = nb::none(),
      "Integers from low to high, inclusive.");
  c.def(
      "choice",
      [](Streams& s, nb::handle size, nb::handle a, nb::handle replace, nb::handle p, nb::handle dtype) {
        return s.choice(to_shape(size), to_operand(a), {to_operand(replace), to_optional_operand(p)},
                        dtype_or(dtype, DType::int64), here());
      },
      "size"_a, "a"_a = 2, "replace"_a = true, "p"_a = nb::none(), "dtype"_a = nb::none(),
      "Random elements of the vector a, or integers below the integer a.");
  c.def(
      "poisson",
      [](Streams& s, nb::handle size, nb::handle lam, nb::handle dtype) {
        return s.poisson(to_shape(size), to_operand(lam), dtype_or(dtype, DType::int64), here());
      },
      "size"_a, "lam"_a, "dtype"_a = nb::none(), "Poisson-distributed numbers with mean lam.");
  c.def(
      "permutation",
      [](Streams& s, nb::handle size, nb::handle n, nb::handle dtype) {
        const DrawShape rows = size.is_none() ? DrawShape(std::vector<Operand>()) : to_shape(size);
        return s.permutation(rows, to_operand(n), dtype_or(dtype, DType::int64), here());
      },
      "size"_a = nb::none(), "n"_a = 1, "dtype"_a = nb::none(),
      "Random permutations of 0 to n - 1, along a last axis.");
  c.def(
      "multinomial",
      [](Streams& s, nb::handle size, nb::handle n, nb::handle pvals, nb::handle dtype) {
        return s.multinomial(to_shape(size), to_operand(n), to_operand(pvals), dtype_or(dtype, DType::int64), here());
      },
      "size"_a = nb::none(), "n"_a = 1, "pvals"_a, "dtype"_a = nb::none(), "The counts of each class in n draws.");
  c.def(
      "shuffle_row_elements",
      [](Streams& s, nb::handle x) { return s.shuffle_row_elements(to_operand(x), here()).result; }, "x"_a,
      "x with the elements of each row in random order.");
  c.def("seed", nb::overload_cast<>(&Streams::seed), "Sets new states from the constructor's seed.");
  c.def("seed", nb::overload_cast<std::int64_t>(&Streams::seed), "seed"_a);
}

}  // namespace

void bind_random(nb::module_& m) {
  bind_streams(m);
  bind_mrg(m);
  bind_numpy_streams(m);
}

}  // namespace croton::python
