// Batches for training. Batches of Python objects are read with the GIL, also by the prefetching thread.
#include "nn/data.hpp"
#include "core/arrays.hpp"
#include "core/gil.hpp"
#include "core/lists.hpp"
#include "core/object_ref.hpp"
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

/// A copy of a batch: the producer of batches may reuse its arrays.
nn::Batch to_own_batch(nb::handle object) {
  nn::Batch batch = to_batch(object);
  for (std::vector<Array>* arrays : {&batch.x, &batch.y}) {
    for (Array& array : *arrays) array = array.copy();
  }
  if (batch.weights) batch.weights = batch.weights->copy();
  return batch;
}

nb::tuple from_batch(const nn::Batch& batch) {
  const nb::object x = from_arrays(batch.x), y = from_arrays(batch.y);
  return batch.weights ? nb::make_tuple(x, y, to_numpy(*batch.weights)) : nb::make_tuple(x, y);
}

/// Passes over an iterable of batches, or over a function that returns an iterable.
class Passes {
 public:
  explicit Passes(nb::handle object)
      : object_(make_ref(nb::borrow(object))),
        calls_(PyCallable_Check(object.ptr()) && !nb::hasattr(object, "__iter__")) {}

  nn::Dataset::Next begin() {
    const AcquireGil gil;
    const nb::object all = calls_ ? call_python(*object_) : *object_;
    nb::object iterator = nb::iter(all);
    if (iterator.is(*object_) && std::exchange(begun_, true))
      throw ValueError("an iterator (" + name_of_type(iterator) +
                       ") can only be gone through once, but a second pass was requested: pass a list, an object with "
                       "__iter__, a function that returns an iterator, or steps_per_epoch");
    return [iterator = make_ref(std::move(iterator))]() -> std::optional<nn::Batch> {
      const AcquireGil locked;
      const nb::object item = nb::steal(in_python([&] { return PyIter_Next(iterator->ptr()); }));
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      if (!item.is_valid()) return std::nullopt;
      return to_own_batch(item);
    };
  }

 private:
  ObjectRef object_;
  bool calls_, begun_ = false;
};

nn::Dataset from_iterable(nb::handle object) {
  std::optional<std::int64_t> batches;
  if (nb::hasattr(object, "__len__")) batches = static_cast<std::int64_t>(nb::len(object));
  return {[passes = std::make_shared<Passes>(object)](std::int64_t) { return passes->begin(); }, batches};
}

nn::Dataset from_files(nb::handle files, nb::object read) {
  std::vector<std::filesystem::path> paths;
  for (const nb::handle file : files) paths.emplace_back(nb::cast<std::string>(nb::str(file)));
  if (read.is_none()) return nn::Dataset::from_files(std::move(paths));
  return nn::Dataset::from_files(std::move(paths),
                                 [read = make_ref(std::move(read))](const std::filesystem::path& file) {
                                   const AcquireGil gil;
                                   return to_own_batch(call_python(*read, file.string()));
                                 });
}

nn::Dataset map(const nn::Dataset& dataset, nb::object function) {
  return dataset.map([function = make_ref(std::move(function))](nn::Batch batch) {
    const AcquireGil gil;
    return to_own_batch(call_python_with(*function, from_batch(batch)));
  });
}

/// A pass over a data set, as a Python iterator.
struct Pass {
  ReleasedNext<nn::Batch> next;
};

/// A data set, and the number of passes of `for` so far.
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
                 "A data set of the rows of arrays, which must all have the same number of rows (ShapeError). The "
                 "arrays are not copied. shuffle: in an order that depends on seed and epoch. drop_remainder: omits a "
                 "last batch of fewer samples. ValueError for a batch_size below 1.");
  };
  std::apply(define, options.arguments());
}

}  // namespace

nn::Dataset to_dataset(nb::handle object) {
  if (nb::isinstance<PythonDataset>(object)) return nb::cast<const PythonDataset&>(object).dataset;
  const bool array = nb::hasattr(object, "__array__") || PyObject_CheckBuffer(object.ptr());
  if (object.is_none() || array || PyUnicode_Check(object.ptr()))
    throw TypeError("x without y is a Dataset, or an iterable of (x, y), not " + name_of_type(object));
  return from_iterable(object);
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
      "A sequence of batches for any number of passes: a list of (x, y) or (x, y, weights), any object with __iter__, "
      "or a function that returns an iterator. x and y are arrays, or lists of arrays for models with several inputs "
      "or outputs; axis 0 of all of them is the batch. Each pass of `for` is the next epoch.");
  add_from_arrays(c);
  c.def(
       "__init__", [](PythonDataset* self, nb::handle batches) { new (self) PythonDataset{to_dataset(batches)}; },
       "batches"_a)
      .def_static(
          "from_files", [](nb::handle files, nb::object read) { return PythonDataset{from_files(files, read)}; },
          "files"_a, "read"_a = nb::none(),
          "A data set with one batch for each file, read(file); by default the files are .npz files with arrays 'x' "
          "(or 'x0', 'x1', ...) and 'y'. A pass raises FileError at a file that cannot be read.")
      .def(
          "map", [](const PythonDataset& d, nb::object f) { return PythonDataset{map(d.dataset, std::move(f))}; },
          "function"_a,
          "The data set with each batch replaced by function(x, y) or function(x, y, weights), a tuple of the same "
          "form.")
      .def(
          "take", [](const PythonDataset& d, std::int64_t n) { return PythonDataset{d.dataset.take(n)}; }, "count"_a,
          "The first `count` batches. ValueError for a negative count.")
      .def(
          "repeat", [](const PythonDataset& d, std::int64_t n) { return PythonDataset{d.dataset.repeat(n)}; },
          "count"_a,
          "The data set repeated: `count` passes, each of them another epoch. ValueError for a negative count.")
      .def(
          "prefetch", [](const PythonDataset& d, std::int64_t n) { return PythonDataset{d.dataset.prefetch(n)}; },
          "buffer_size"_a = nn::Dataset::default_prefetch,
          "The data set with up to buffer_size batches made ahead, on another thread. Exceptions there are raised "
          "where the batches are read. ValueError for a buffer_size below 1.")
      .def(
          "begin",
          [](const PythonDataset& d, std::int64_t epoch) {
            return Pass{ReleasedNext<nn::Batch>([&] { return d.dataset.begin(epoch); })};
          },
          "epoch"_a = nn::Dataset::default_epoch, "An iterator of the batches of an epoch.")
      .def("__iter__",
           [](PythonDataset& d) { return Pass{ReleasedNext<nn::Batch>([&] { return d.dataset.begin(d.passes++); })}; })
      .def_prop_ro(
          "batches", [](const PythonDataset& d) { return d.dataset.batches(); },
          "The number of batches in a pass; None if it is unknown.")
      .def("__len__", [](const PythonDataset& d) {
        if (!d.dataset.batches()) throw TypeError("the number of batches in the data set is unknown");
        return *d.dataset.batches();
      });
}

}  // namespace croton::python
