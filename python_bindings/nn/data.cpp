// Batches to train on. Those of Python are read with the GIL, also by the thread that makes batches ahead.
#include "nn/data.hpp"
#include "core/arrays.hpp"
#include "core/gil.hpp"
#include "core/kept.hpp"
#include "core/lists.hpp"
#include "nn/fields.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// (x, y) or (x, y, weights); several inputs, or outputs, are a list of arrays.
nn::Batch to_batch(nb::handle object) {
  const std::size_t parts = is_list(object) ? nb::len(object) : 0;
  if (parts != 2 && parts != 3)
    throw TypeError("a batch is a tuple (x, y) or (x, y, weights), not " +
                    (parts == 0 ? name_of_type(object) : "one of " + std::to_string(parts) + " parts"));
  nn::Batch batch{to_array_list(object[0]), to_array_list(object[1])};
  if (parts == 3) batch.weights = to_optional_array(nb::object(object[2]));
  return batch;
}

/// The same with memory of its own: who makes batches may fill the same array again.
nn::Batch to_own_batch(nb::handle object) {
  nn::Batch batch = to_batch(object);
  for (std::vector<Array>* arrays : {&batch.x, &batch.y}) {
    for (Array& array : *arrays) array = array.copy();
  }
  if (batch.weights) batch.weights = batch.weights->copy();
  return batch;
}

nb::tuple from_batch(const nn::Batch& batch) {
  const nb::object x = from_some_arrays(batch.x), y = from_some_arrays(batch.y);
  return batch.weights ? nb::make_tuple(x, y, to_numpy(*batch.weights)) : nb::make_tuple(x, y);
}

/// A pass through an object: what its iterator gives, or that of what it gives when it is called.
class Passes {
 public:
  explicit Passes(nb::handle object)
      : object_(keep(nb::borrow(object))), calls_(PyCallable_Check(object.ptr()) && !nb::hasattr(object, "__iter__")) {}

  nn::Dataset::Next begin() {
    const AcquireGil gil;
    const nb::object all = calls_ ? call_python(*object_) : *object_;
    nb::object iterator = nb::iter(all);
    if (iterator.is(*object_) && std::exchange(begun_, true))
      throw ValueError(
          "an iterator (" + name_of_type(iterator) +
          ") can be gone through once, and a second pass was asked for: give a list, an object with __iter__, a "
          "function that returns an iterator, or steps_per_epoch");
    return [iterator = keep(std::move(iterator))]() -> std::optional<nn::Batch> {
      const AcquireGil locked;
      const nb::object item = nb::steal(in_python([&] { return PyIter_Next(iterator->ptr()); }));
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      if (!item.is_valid()) return std::nullopt;
      return to_own_batch(item);
    };
  }

 private:
  Kept object_;
  bool calls_, begun_ = false;
};

nn::Dataset go_through(nb::handle object) {
  std::optional<std::int64_t> batches;
  if (nb::hasattr(object, "__len__")) batches = static_cast<std::int64_t>(nb::len(object));
  return {[passes = std::make_shared<Passes>(object)](std::int64_t) { return passes->begin(); }, batches};
}

nn::Dataset from_files(nb::handle files, nb::object read) {
  std::vector<std::filesystem::path> paths;
  for (const nb::handle file : files) paths.emplace_back(nb::cast<std::string>(nb::str(file)));
  if (read.is_none()) return nn::Dataset::from_files(std::move(paths));
  return nn::Dataset::from_files(std::move(paths), [read = keep(std::move(read))](const std::filesystem::path& file) {
    const AcquireGil gil;
    return to_own_batch(call_python(*read, file.string()));
  });
}

nn::Dataset map(const nn::Dataset& dataset, nb::object function) {
  return dataset.map([function = keep(std::move(function))](nn::Batch batch) {
    const AcquireGil gil;
    return to_own_batch(call_python_with(*function, from_batch(batch)));
  });
}

/// A pass that Python goes through.
struct Pass {
  ReleasedNext<nn::Batch> next;
};

/// A data set, and how many passes `for` has made.
struct PythonDataset {
  nn::Dataset dataset;
  std::int64_t passes = 0;
};

void add_from_arrays(nb::class_<PythonDataset>& c) {
  using Options = nn::Dataset::ArrayOptions;
  const auto options = keywords(
      std::tuple{}, std::tuple{Field{"batch_size", &Options::batch_size}, Field{"shuffle", &Options::shuffle},
                               Field{"seed", &Options::seed}, Field{"drop_remainder", &Options::drop_remainder}});
  const auto make = [](nb::handle x, nb::handle y, nb::handle weights, const Options& chosen) {
    return PythonDataset{
        nn::Dataset::from_arrays(to_array_list(x), to_array_list(y), to_optional_array(weights), chosen)};
  };
  const auto define = [&](const auto&... fields) {
    c.def_static("from_arrays", options.function<nb::handle, nb::handle, nb::handle>(make), "x"_a, "y"_a,
                 "sample_weight"_a = nb::none(), fields...,
                 "Rows of arrays, which all have as many (ShapeError). The arrays are kept, not copied. shuffle: in an "
                 "order that follows from seed and epoch. drop_remainder: a last batch of fewer samples is left out. "
                 "ValueError for a batch_size below 1.");
  };
  std::apply(define, options.arguments());
}

}  // namespace

nn::Dataset to_dataset(nb::handle object) {
  if (nb::isinstance<PythonDataset>(object)) return nb::cast<const PythonDataset&>(object).dataset;
  const bool array = nb::hasattr(object, "__array__") || PyObject_CheckBuffer(object.ptr());
  if (object.is_none() || array || PyUnicode_Check(object.ptr()))
    throw TypeError("x without y is a Dataset, or something to go through whose elements are (x, y), not " +
                    name_of_type(object));
  return go_through(object);
}

void bind_nn_data(nb::module_& m) {
  nb::class_<Pass>(m, "DatasetPass", "One pass through a Dataset: an iterator of (x, y) or (x, y, weights).")
      .def("__iter__", [](nb::object self) { return self; })
      .def("__next__", [](Pass& pass) {
        const std::optional<nn::Batch> batch = pass.next();
        if (!batch) throw nb::stop_iteration();
        return from_batch(*batch);
      });
  nb::class_<PythonDataset> c(
      m, "Dataset",
      "A sequence of batches that can be gone through again and again: a list of (x, y) or (x, y, weights), any object "
      "with __iter__, or a function that returns an iterator. x and y are arrays, or lists of them for models of "
      "several inputs or outputs; the batch is axis 0 of all. Each pass of `for` is the next epoch.");
  add_from_arrays(c);
  c.def(
       "__init__", [](PythonDataset* self, nb::handle batches) { new (self) PythonDataset{to_dataset(batches)}; },
       "batches"_a)
      .def_static(
          "from_files", [](nb::handle files, nb::object read) { return PythonDataset{from_files(files, read)}; },
          "files"_a, "read"_a = nb::none(),
          "One batch for each file, by read(file); by default a .npz file with arrays 'x' (or 'x0', 'x1', ...) and "
          "'y'. FileError when a file is reached that cannot be read.")
      .def(
          "map", [](const PythonDataset& d, nb::object f) { return PythonDataset{map(d.dataset, std::move(f))}; },
          "function"_a, "Each batch changed: function(x, y) or function(x, y, weights) gives such a tuple.")
      .def(
          "take", [](const PythonDataset& d, std::int64_t n) { return PythonDataset{d.dataset.take(n)}; }, "count"_a,
          "The first batches. ValueError for numbers below 0, as of repeat.")
      .def(
          "repeat", [](const PythonDataset& d, std::int64_t n) { return PythonDataset{d.dataset.repeat(n)}; },
          "count"_a, "So many passes one after another, each an epoch of its own.")
      .def(
          "prefetch", [](const PythonDataset& d, std::int64_t n) { return PythonDataset{d.dataset.prefetch(n)}; },
          "buffer_size"_a = 2,
          "Batches are made on a thread of their own, up to so many ahead. What is raised there is raised where they "
          "are read. ValueError for less than 1.")
      .def(
          "begin",
          [](const PythonDataset& d, std::int64_t epoch) {
            return Pass{ReleasedNext<nn::Batch>([&] { return d.dataset.begin(epoch); })};
          },
          "epoch"_a = 0, "The pass of an epoch: an iterator.")
      .def("__iter__",
           [](PythonDataset& d) { return Pass{ReleasedNext<nn::Batch>([&] { return d.dataset.begin(d.passes++); })}; })
      .def_prop_ro(
          "batches", [](const PythonDataset& d) { return d.dataset.batches(); },
          "How many batches a pass has; None where that is not known.")
      .def("__len__", [](const PythonDataset& d) {
        if (!d.dataset.batches()) throw TypeError("how many batches the data set has is not known");
        return *d.dataset.batches();
      });
}

}  // namespace croton::python
