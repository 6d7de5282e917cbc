// Error messages for users. Each case below is a small program with a mistake; tests/errors/GROUP.txt has its error
// below the program with numbered lines, so that a reader sees whether the message names the variable, the line, the
// types found and the accepted ones. With CROTON_UPDATE_EXPECTED=1 in the environment the files are rewritten.
//
// `#line 1 "user.cpp"` numbers the lines of a program from 1, so that lines added above it change nothing. After it the
// compiler's own messages name user.cpp too. A PLAIN_CASE has no symbolic variable, so that there is no line to name.
#include "catch.hpp"
#include "folders.hpp"

#include <croton/croton.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "unit/temporary_folder.hpp"

namespace {

using namespace croton;

struct Case {
  std::string group, name;
  bool names_lines;
  void (*run)();
};

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(std::string group, std::string name, bool names_lines, void (*run)()) {
    cases().push_back({std::move(group), std::move(name), names_lines, run});
  }
};

#define ANY_CASE(group, name, names_lines)                                              \
  void group##_##name();                                                                \
  const Register register_##group##_##name(#group, #name, names_lines, group##_##name); \
  void group##_##name()
#define ERROR_CASE(group, name) ANY_CASE(group, name, true)
#define PLAIN_CASE(group, name) ANY_CASE(group, name, false)

/// A folder for files of the cases; messages print it as FOLDER.
const std::filesystem::path& folder() {
  static const test::TemporaryFolder made;
  return made.path();
}

void put(const std::string& name, std::string_view content) { test::put_file(folder() / name, content); }

// ---- the harness ----

std::string kind_of(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error) != nullptr) return "ShapeError";
  if (dynamic_cast<const DisconnectedInputError*>(&error) != nullptr) return "DisconnectedInputError";
  if (dynamic_cast<const ValueError*>(&error) != nullptr) return "ValueError";
  if (dynamic_cast<const TypeError*>(&error) != nullptr) return "TypeError";
  if (dynamic_cast<const IndexError*>(&error) != nullptr) return "IndexError";
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return "ConfigError";
  if (dynamic_cast<const FileError*>(&error) != nullptr) return "FileError";
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return "DeviceError";
  if (dynamic_cast<const NotImplementedError*>(&error) != nullptr) return "NotImplementedError";
  return "Error";
}

/// The lines of a case's program, from this file.
std::vector<std::string> program_of(const Case& c) {
  static const std::string all = test::get_file(test::source_folder() + "/tests/errors/error_tests.cpp");
  const std::string head = "_CASE(" + c.group + ", " + c.name + ") {\n#line 1 \"user.cpp\"\n";
  const std::size_t start = all.find(head);
  if (start == std::string::npos)
    throw std::runtime_error("the program of " + c.name + " is not found: '{' and #line follow its head");
  std::istringstream in(all.substr(start + head.size(), all.find("\n}\n", start) + 1 - start - head.size()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line.substr(std::min<std::size_t>(line.size(), 2)));
  return lines;
}

/// Every "NAME is TYPE (user.cpp:N)" must name the line that makes NAME, and every line must exist.
void check_lines(const Case& c, const std::string& message, const std::vector<std::string>& program) {
  static const std::regex place(R"(user\.cpp:(\d+))"), described(R"((\w+) is \w+\[[^\]]*\] \(user\.cpp:(\d+)\))");
  bool any = false;
  for (std::sregex_iterator at(message.begin(), message.end(), place), end; at != end; ++at) {
    any = true;
    const std::size_t line = std::stoul((*at)[1]);
    CHECK((line >= 1 && line <= program.size()));
  }
  CHECK(any == c.names_lines);
  for (std::sregex_iterator at(message.begin(), message.end(), described), end; at != end; ++at) {
    const std::size_t line = std::stoul((*at)[2]);
    INFO((*at)[0]);
    CHECK((line >= 1 && line <= program.size() && program[line - 1].find((*at)[1]) != std::string::npos));
  }
}

std::string outcome_of(const Case& c, const std::vector<std::string>& program) {
  std::string text = "== " + c.name + "\n";
  for (std::size_t i = 0; i < program.size(); ++i) text += "  " + std::to_string(i + 1) + " | " + program[i] + "\n";
  std::string message;
  try {
    c.run();
    FAIL_CHECK("nothing is raised");
    return text + "nothing is raised\n";
  } catch (const Error& error) {
    message = kind_of(error) + "\n" + error.what();
  } catch (const std::exception& error) {
    FAIL_CHECK("not an Error: " << error.what());
    return text + "not an Error\n";
  }
  for (std::size_t at = message.find(folder().string()); at != std::string::npos;
       at = message.find(folder().string())) {
    message.replace(at, folder().string().size(), "FOLDER");
  }
  INFO(message);
  check_lines(c, message, program);
  return text + message + "\n";
}

}  // namespace

TEST_CASE("error texts", "[errors]") {
  CHECK(cases().size() >= 40);
  std::map<std::string, std::string> found;
  for (const Case& c : cases()) {
    INFO(c.group << " " << c.name);
    found[c.group] += outcome_of(c, program_of(c)) + "\n";
  }
  const char* update = std::getenv("CROTON_UPDATE_EXPECTED");
  for (const auto& [group, text] : found) {
    const std::filesystem::path path = std::filesystem::path(test::source_folder()) / "tests/errors" / (group + ".txt");
    if (update != nullptr && std::string_view(update) == "1") std::ofstream(path) << text;
    INFO(path.string() << " (CROTON_UPDATE_EXPECTED=1 writes it again)");
    CHECK(test::get_file(path) == text);
  }
}

// ---- the cases ----

namespace {

ERROR_CASE(building, sizes_that_differ) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {3, 4}}, "x");
  Variable y = variable({DType::float32, {3, 5}}, "y");
  x + y;
}
ERROR_CASE(building, sizes_of_different_ranks) {
#line 1 "user.cpp"
  Variable images = variable({DType::float32, {8, 28, 28}}, "images");
  Variable bias = variable({DType::float32, {27}}, "bias");
  maximum(images, bias);
}
ERROR_CASE(building, where_of_three_sizes) {
#line 1 "user.cpp"
  Variable mask = variable({DType::bool_, {3}}, "mask");
  Variable x = variable({DType::float32, {4}}, "x");
  where(mask, x, 0);
}
ERROR_CASE(building, bits_of_floats) {
#line 1 "user.cpp"
  Variable x = fvector("x");
  Variable mask = ivector("mask");
  x & mask;
}
ERROR_CASE(building, not_of_floats) {
#line 1 "user.cpp"
  Variable x = vector("x");
  ~x;
}
ERROR_CASE(building, negated_bool) {
#line 1 "user.cpp"
  Variable mask = vector("mask", DType::bool_);
  -mask;
}
ERROR_CASE(building, unnamed) {
#line 1 "user.cpp"
  Variable x = dvector();
  ~(x * 2.0);
}
ERROR_CASE(building, complex_numbers) {
#line 1 "user.cpp"
  Variable z = vector("z", DType::complex64);
  z < 1;
}
ERROR_CASE(building, complex_extreme) {
#line 1 "user.cpp"
  Variable z = zvector("z");
  max(z);
}
ERROR_CASE(building, cast_of_complex) {
#line 1 "user.cpp"
  Variable z = vector("z", DType::complex64);
  z.astype(DType::float32);
}
ERROR_CASE(building, empty_variable) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable forgotten;
  Variable y = x * forgotten;
}
ERROR_CASE(building, sum_of_no_variables) {
#line 1 "user.cpp"
  add_n({});
}
ERROR_CASE(building, empty_variable_reduced) {
#line 1 "user.cpp"
  Variable forgotten;
  sum(forgotten, 0);
}
ERROR_CASE(building, negative_size) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {3, -2}}, "x");
}
ERROR_CASE(building, axis_that_is_not_there) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  sum(x, 2);
}
ERROR_CASE(building, axis_of_a_scalar) {
#line 1 "user.cpp"
  Variable x = scalar("x");
  max(x, 0);
}
ERROR_CASE(building, axis_twice) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  mean(x, {{0, -2}});
}
ERROR_CASE(building, largest_of_nothing) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {4, 0}}, "x");
  max(x, 1);
}
ERROR_CASE(building, product_sizes) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {unknown_size, 784}}, "x");
  Variable w = variable({DType::float32, {500, 10}}, "w");
  dot(x, w);
}
ERROR_CASE(building, matmul_of_a_scalar) {
#line 1 "user.cpp"
  Variable x = scalar("x");
  Variable w = matrix("w");
  matmul(x, w);
}
ERROR_CASE(building, product_of_three_dimensions) {
#line 1 "user.cpp"
  Variable x = tensor3("x");
  Variable w = variable({DType::float32, {3, 4, 5}}, "w");
  dot(x[slice(0, 2)], w);
  dot(variable({DType::float32, {2, 3}}, "y"), w);
}
ERROR_CASE(building, tensordot_axes) {
#line 1 "user.cpp"
  Variable x = tensor3("x");
  Variable w = matrix("w");
  tensordot(x, w, {0, 1}, {2, 0});
}
ERROR_CASE(building, reshape_to_other_count) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {4, 6}}, "x");
  reshape(x, {5, 5});
}
ERROR_CASE(building, reshape_does_not_divide) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {4, 6}}, "x");
  reshape(x, {5, -1});
}
ERROR_CASE(building, reshape_with_two_open_sizes) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  reshape(x, {-1, 2, -1});
}
ERROR_CASE(building, reshape_to_negative_size) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  reshape(x, {-3, 2});
}
ERROR_CASE(building, reshape_to_float_size) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Variable n = scalar("n");
  reshape(x, {n, 2});
}
ERROR_CASE(building, flatten_to_too_many) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  flatten(x, 3);
}
ERROR_CASE(building, dimshuffle_axis) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  dimshuffle(x, {0, 2});
}
ERROR_CASE(building, dimshuffle_drops_axis) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  dimshuffle(x, {0});
}
ERROR_CASE(building, dimshuffle_twice) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  dimshuffle(x, {0, 0, 1});
}
ERROR_CASE(building, transpose_axes) {
#line 1 "user.cpp"
  Variable x = tensor3("x");
  transpose(x, {1, 0});
}
ERROR_CASE(building, squeeze_of_unknown_size) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  squeeze(x, 0);
}
ERROR_CASE(building, expand_dims_axis) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  expand_dims(x, 4);
}
ERROR_CASE(building, shape_of_axis) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  x.shape(2);
}
ERROR_CASE(building, alloc_float_size) {
#line 1 "user.cpp"
  Variable n = scalar("n");
  zeros({n, 3});
}
ERROR_CASE(building, alloc_of_too_many_dimensions) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  alloc(x, {5});
}
ERROR_CASE(building, alloc_of_other_size) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {3}}, "x");
  alloc(x, {2, 4});
}
ERROR_CASE(building, alloc_negative_size) {
#line 1 "user.cpp"
  Variable x = scalar("x");
  alloc(x, {-4});
}
ERROR_CASE(building, too_many_indices) {
#line 1 "user.cpp"
  Variable x = vector("x");
  x.at({0, 1});
}
ERROR_CASE(building, float_index) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable i = scalar("i");
  x[i];
}
ERROR_CASE(building, index_outside) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {10}}, "x");
  x[10];
}
ERROR_CASE(building, slice_bound_is_vector) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable n = lvector("n");
  x[slice(0, n)];
}
ERROR_CASE(building, slice_step_zero) {
#line 1 "user.cpp"
  Variable x = vector("x");
  x[slice(0, 5, 0)];
}
ERROR_CASE(building, slice_step_float) {
#line 1 "user.cpp"
  Variable x = vector("x");
  x[slice(0, 5, 1.5)];
}
ERROR_CASE(building, two_ellipses) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  x.at({ellipsis, 0, ellipsis});
}
ERROR_CASE(building, arange_of_complex) {
#line 1 "user.cpp"
  Variable n = variable({DType::complex64, {}}, "n");
  arange(n);
}
ERROR_CASE(building, arange_of_vector) {
#line 1 "user.cpp"
  Variable n = lvector("n");
  arange(0, n);
}
ERROR_CASE(building, softmax_axis) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  nnet::softmax(x, 2);
}
ERROR_CASE(building, crossentropy_targets) {
#line 1 "user.cpp"
  Variable p = matrix("p");
  Variable t = vector("t");
  nnet::categorical_crossentropy(p, t);
}
ERROR_CASE(building, crossentropy_sizes) {
#line 1 "user.cpp"
  Variable p = variable({DType::float32, {32, 10}}, "p");
  Variable t = variable({DType::int64, {16}}, "t");
  nnet::categorical_crossentropy(p, t);
}
ERROR_CASE(indexing, nothing_to_write_to) {
#line 1 "user.cpp"
  Variable x = fmatrix("x");
  Variable y = exp(x).named("y");
  set_subtensor(y, 0);
}
ERROR_CASE(indexing, too_much_to_write) {
#line 1 "user.cpp"
  Variable x = fmatrix("x");
  Variable y = fmatrix("y");
  inc_subtensor(x[0], y);
}
ERROR_CASE(indexing, part_of_another_size) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {3, 4}}, "x");
  Variable y = variable({DType::float32, {5}}, "y");
  set_subtensor(x[0], y);
}
ERROR_CASE(indexing, positions_that_are_no_integers) {
#line 1 "user.cpp"
  Variable x = fmatrix("x");
  Variable i = fvector("i");
  x[i];
}
ERROR_CASE(indexing, positions_that_do_not_pair) {
#line 1 "user.cpp"
  Variable x = fmatrix("x");
  Variable i = variable({DType::int64, {2}}, "i");
  Variable j = variable({DType::int64, {3}}, "j");
  x.at({i, j});
}
ERROR_CASE(indexing, position_outside) {
#line 1 "user.cpp"
  Variable x = fmatrix("x");
  Variable i = lvector("i");
  Variable y = x.at({slice(), i});
  y.eval({{x, Array{{1.f, 2.f}}}, {i, Array{std::int64_t{0}, std::int64_t{-3}}}});
}
ERROR_CASE(indexing, mask_of_another_size) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {3}}, "x");
  Variable mask = variable({DType::bool_, {2}}, "mask");
  x[mask];
}
ERROR_CASE(indexing, parts_of_other_sizes) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {3, 4}}, "x");
  Variable y = variable({DType::float32, {3, 5}}, "y");
  concatenate({x, y});
}
ERROR_CASE(indexing, parts_of_other_ranks) {
#line 1 "user.cpp"
  Variable x = fmatrix("x");
  Variable y = fvector("y");
  concatenate({x, y});
}
ERROR_CASE(indexing, split_that_does_not_add_up) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {5}}, "x");
  split(x, {2, 2});
}
ERROR_CASE(indexing, padding_nothing) {
#line 1 "user.cpp"
  Variable x = fvector("x");
  Variable y = pad(x, {{1, 1}}, PadMode::edge);
  y.eval({{x, Array::zeros(DType::float32, {0})}});
}
ERROR_CASE(indexing, step_of_zero) {
#line 1 "user.cpp"
  Variable x = fvector("x");
  Variable n = lscalar("n");
  Variable y = x[slice({}, {}, n)];
  y.eval({{x, Array{1.f, 2.f}}, {n, std::int64_t{0}}});
}

ERROR_CASE(gradients, of_a_vector) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = exp(x).named("y");
  grad(y, x);
}
ERROR_CASE(gradients, of_an_integer) {
#line 1 "user.cpp"
  Variable n = lvector("n");
  Variable total = sum(n).named("total");
  grad(total, n);
}
ERROR_CASE(gradients, not_connected) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable w = vector("w");
  grad(sum(x * 2), w);
}
ERROR_CASE(gradients, through_considered_constant) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = exp(x).named("y");
  grad(sum(y), {x}, {.consider_constant = {y}});
}
ERROR_CASE(gradients, for_an_empty_variable) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable w;
  grad(sum(x), w);
}
ERROR_CASE(gradients, of_an_empty_cost) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable cost;
  grad(cost, x);
}
ERROR_CASE(gradients, not_defined) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = undefined_grad(x, "it was read from a table");
  grad(sum(y * 2), x);
}
ERROR_CASE(gradients, known_of_another_shape) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = exp(x).named("y");
  Variable g = matrix("g");
  grad({}, x, {.known_grads = {{y, g}}});
}
ERROR_CASE(gradients, eval_point_of_another_shape) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable v = matrix("v");
  Rop(exp(x), x, v);
}
ERROR_CASE(gradients, jacobian_of_integers) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable n = cast(x, DType::int32).named("n");
  jacobian(n, x);
}
ERROR_CASE(gradients, jacobian_not_connected) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable w = vector("w");
  jacobian(exp(x), w);
}
ERROR_CASE(gradients, vectorize_of_sizes) {
#line 1 "user.cpp"
  Variable n = lscalar("n");
  Variable many = lvector("many");
  vectorize({ones({n})}, {{n, many}});
}
PLAIN_CASE(gradients, verify_grad_order) {
#line 1 "user.cpp"
  verify_grad([](const std::vector<Variable>& in) { return exp(in[0]); }, {Array{0.5, 1.0}}, 3);
}

ERROR_CASE(functions, unused_input) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  function({x, y}, x * 2);
}
ERROR_CASE(functions, missing_input) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  function({x}, x + y);
}
ERROR_CASE(functions, input_twice) {
#line 1 "user.cpp"
  Variable x = vector("x");
  function({x, x}, x + 1);
}
ERROR_CASE(functions, empty_input) {
#line 1 "user.cpp"
  Variable x = vector("x");
  function({x, Variable()}, x + 1);
}
ERROR_CASE(functions, empty_output) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y;
  function({x}, {x + 1, y});
}
ERROR_CASE(functions, shared_variable_as_input) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  function({w}, w + 1);
}
ERROR_CASE(functions, update_of_an_input) {
#line 1 "user.cpp"
  Variable x = vector("x");
  function({x}, x + 1, {.updates = {{x, x * 2}}});
}
ERROR_CASE(functions, update_twice) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  function({}, w + 1, {.updates = {{w, w * 2}, {w, w * 3}}});
}
ERROR_CASE(functions, update_of_other_dtype) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  Variable rate = dscalar("rate");
  function({rate}, w + 1, {.updates = {{w, w * rate}}});
}
ERROR_CASE(functions, update_of_other_rank) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  function({}, w + 1, {.updates = {{w, sum(w)}}});
}
ERROR_CASE(functions, update_that_broadcasts) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  function({}, w + 1, {.updates = {{w, sum(w, {{{0}}, true})}}});
}
ERROR_CASE(functions, empty_update) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  Variable next;
  function({}, w + 1, {.updates = {{w, next}}});
}
ERROR_CASE(functions, givens_of_other_type) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = dvector("y");
  function({y}, x + 1, {.givens = {{x, y}}});
}
ERROR_CASE(functions, givens_of_an_input) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  function({x, y}, x + 1, {.givens = {{x, y}}});
}
ERROR_CASE(functions, givens_in_a_circle) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  function({y}, x + y, {.givens = {{x, x * y}}});
}
ERROR_CASE(functions, sizes_found_to_differ) {
#line 1 "user.cpp"
  Variable weights = arange(3).named("weights");
  Variable total = weights + arange(4);
  function({}, total);
}
ERROR_CASE(functions, shapes_for_too_many_inputs) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Function f = function({x}, x + 1, {.name = "step"});
  f.kernels("cuda:sm_90", {.shapes = {{4, 4}, {4}}});
}

ERROR_CASE(functions, shapes_of_another_rank) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Function f = function({x}, x + 1, {.name = "step"});
  f.kernels("cuda:sm_90", {.shapes = {{4}}});
}

ERROR_CASE(functions, shapes_with_a_negative_size) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Function f = function({x}, x + 1, {.name = "step"});
  f.kernels("cuda:sm_90", {.shapes = {{4, -1}}});
}

ERROR_CASE(functions, shapes_that_do_not_match) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  Function f = function({x, y}, x + y, {.name = "step"});
  f.kernels("cuda:sm_90", {.shapes = {{4}, {5}}});
}

ERROR_CASE(functions, shapes_without_a_number) {
#line 1 "user.cpp"
  Variable n = iscalar("n");
  Variable ones = zeros({n}) + 1;
  Function f = function({n}, ones, {.name = "step"});
  f.kernels("cuda:sm_90", {.shapes = {{}}});
}

ERROR_CASE(functions, shapes_of_a_computed_size) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable positions = flatnonzero(x) + 1;
  Function f = function({x}, positions, {.name = "step"});
  f.kernels("cuda:sm_90", {.shapes = {{4}}});
}

PLAIN_CASE(functions, unknown_target) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1, {.name = "step"});
  f.kernels("gpu");
}
PLAIN_CASE(functions, misspelt_target) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1, {.name = "step"});
  f.source("cuda_sm90");
}
PLAIN_CASE(functions, ptx_of_the_cpu) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1);
  f.kernels("cpu")[0].ptx();
}
PLAIN_CASE(functions, assembly_of_cuda) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1);
  f.kernels("cuda:sm_90")[0].assembly();
}
PLAIN_CASE(functions, empty_function) {
#line 1 "user.cpp"
  Function f;
  f(1.0);
}

ERROR_CASE(calls, too_many_arguments) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1, {.name = "step"});
  f(Array{1.f}, Array{2.f});
}
ERROR_CASE(calls, missing_argument) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  Function f = function({x, y}, x + y, {.name = "step"});
  f(Array{1.f});
}
ERROR_CASE(calls, other_rank) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Function f = function({x}, x + 1);
  f(Array{1.f, 2.f});
}
ERROR_CASE(calls, other_dtype) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1);
  f(Array{1.0, 2.0});
}
ERROR_CASE(calls, strict_input) {
#line 1 "user.cpp"
  Variable x = dvector("x");
  In strict(x);
  strict.strict = true;
  Function f = function({strict}, x + 1);
  f(Array{1.f, 2.f});
}
ERROR_CASE(calls, number_that_does_not_fit) {
#line 1 "user.cpp"
  Variable n = bscalar("n");
  Function f = function({n}, n + 1);
  f(1000);
}
ERROR_CASE(calls, complex_argument) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, x + 1);
  f(Array::zeros(DType::complex64, {2}));
}
ERROR_CASE(calls, stated_size) {
#line 1 "user.cpp"
  Variable x = variable({DType::float32, {unknown_size, 784}}, "x");
  Function f = function({x}, sum(x, 1));
  f(Array::zeros(DType::float32, {32, 783}));
}
ERROR_CASE(calls, row_that_is_a_matrix) {
#line 1 "user.cpp"
  Variable bias = row("bias");
  Function f = function({bias}, bias + 1);
  f(Array::zeros(DType::float32, {2, 3}));
}
ERROR_CASE(calls, sizes_that_differ) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  Function f = function({x, y}, x + y);
  f(Array{1.f, 2.f}, Array{1.f, 2.f, 3.f});
}
ERROR_CASE(calls, size_one_does_not_repeat) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Variable y = matrix("y");
  Function f = function({x, y}, x + y);
  f(Array::zeros(DType::float32, {4, 3}), Array::zeros(DType::float32, {1, 3}));
}
ERROR_CASE(calls, product_sizes) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  SharedVariable w = shared(Array::zeros(DType::float32, {784, 10}), {.name = "w"});
  Function f = function({x}, dot(x, w));
  f(Array::zeros(DType::float32, {32, 783}));
}
ERROR_CASE(calls, reshape_does_not_divide) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, reshape(x, {-1, 3}));
  f(Array::arange(7, DType::float32));
}
ERROR_CASE(calls, index_outside) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable i = lscalar("i");
  Function f = function({x, i}, x[i]);
  f(Array{1.f, 2.f}, 5);
}
ERROR_CASE(calls, largest_of_nothing) {
#line 1 "user.cpp"
  Variable x = matrix("x");
  Function f = function({x}, max(x, 1));
  f(Array::zeros(DType::float32, {3, 0}));
}
ERROR_CASE(calls, negative_size) {
#line 1 "user.cpp"
  Variable n = lscalar("n");
  Function f = function({n}, zeros({n, 2}));
  f(-3);
}
ERROR_CASE(calls, target_is_no_class) {
#line 1 "user.cpp"
  Variable p = matrix("p");
  Variable t = lvector("t");
  Function f = function({p, t}, nnet::categorical_crossentropy(p, t));
  f(Array::full(DType::float32, {2, 3}, 0.3), Array{std::int64_t{0}, std::int64_t{3}});
}
ERROR_CASE(calls, reference_mode) {
#line 1 "user.cpp"
  change_flags slow("mode=reference");
  Variable x = vector("x");
  Variable y = vector("y");
  Function f = function({x, y}, x + y);
  f(Array{1.f, 2.f}, Array{1.f, 2.f, 3.f});
}
PLAIN_CASE(calls, unknown_name) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable rate = scalar("rate");
  Function f = function({x, rate}, x * rate, {.name = "step"});
  f.call_named({{"x", Array{1.f}}, {"rate", 0.1f}, {"rat", 0.2f}});
}
ERROR_CASE(calls, missing_name) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable rate = scalar("rate");
  Function f = function({x, rate}, x * rate, {.name = "step"});
  f.call_named({{"x", Array{1.f}}});
}
PLAIN_CASE(calls, one_name_for_two) {
#line 1 "user.cpp"
  Variable a = vector("x");
  Variable b = vector("x");
  Function f = function({a, b}, a + b, {.name = "step"});
  f.call_named({{"x", Array{1.f}}});
}
PLAIN_CASE(calls, one_of_two_outputs) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Function f = function({x}, {x + 1, x + 2}, {.name = "step"});
  Array y = f(Array{1.f});
}
ERROR_CASE(calls, set_value_of_other_rank) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  w.set_value(Array::zeros(DType::float32, {2, 2}));
}
ERROR_CASE(calls, set_value_of_other_dtype) {
#line 1 "user.cpp"
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w"});
  w.set_value(Array{1.0, 2.0});
}
ERROR_CASE(calls, eval_without_a_value) {
#line 1 "user.cpp"
  Variable x = vector("x");
  Variable y = vector("y");
  (x + y).eval({{x, Array{1.f}}});
}
ERROR_CASE(calls, unknown_device) {
#line 1 "user.cpp"
  change_flags scope("cuda_simulator=2");
  SharedVariable w = shared(Array{1.f, 2.f}, {.name = "w", .target = "cuda7"});
}

ERROR_CASE(calls, scope_of_a_device_that_is_not_there) {
#line 1 "user.cpp"
  change_flags scope("cuda_simulator=2");
  Variable x = vector("x"), y;
  {
    device_scope on("cuda7");
    y = exp(x).named("y");
  }
  function({x}, y);
}

PLAIN_CASE(calls, device_of_a_call_that_is_not_there) {
#line 1 "user.cpp"
  change_flags scope("cuda_simulator=2");
  Variable x = vector("x");
  Function f = function({x}, x + 1);
  change_flags on("device=cuda7");
  f(Array{1.f});
}

PLAIN_CASE(calls, use_of_a_device_that_is_not_there) {
#line 1 "user.cpp"
  change_flags scope("cuda_simulator=2");
  use("gpu,2");
}

PLAIN_CASE(flags, unknown_name) {
#line 1 "user.cpp"
  set_flag("thread", "4");
}
PLAIN_CASE(flags, not_a_boolean) {
#line 1 "user.cpp"
  set_flag("verify", "maybe");
}
PLAIN_CASE(flags, not_a_number) {
#line 1 "user.cpp"
  set_flag("threads", "many");
}
PLAIN_CASE(flags, number_out_of_range) {
#line 1 "user.cpp"
  set_flag("threads", "-1");
}
PLAIN_CASE(flags, not_a_choice) {
#line 1 "user.cpp"
  set_flag("floatX", "float");
}
PLAIN_CASE(flags, not_in_the_list) {
#line 1 "user.cpp"
  change_flags scope("print=graph+kernel");
}
PLAIN_CASE(flags, relative_path) {
#line 1 "user.cpp"
  set_flag("cache_dir", "my/cache");
}
PLAIN_CASE(flags, no_value) {
#line 1 "user.cpp"
  change_flags scope("threads");
}
PLAIN_CASE(flags, quote_without_end) {
#line 1 "user.cpp"
  change_flags scope("cache_dir='/tmp/a,b");
}
PLAIN_CASE(flags, unknown_device) {
#line 1 "user.cpp"
  change_flags scope("cuda_simulator=2,device=tpu");
  Variable x = vector("x");
  function({x}, x + 1)(Array{1.f});
}

PLAIN_CASE(arrays, npy_not_there) {
#line 1 "user.cpp"
  load_npy(folder() / "weights.npy");
}
PLAIN_CASE(arrays, npy_of_something_else) {
#line 1 "user.cpp"
  put("text.npy", "hello, this is no array");
  load_npy(folder() / "text.npy");
}
PLAIN_CASE(arrays, npy_cut_off) {
#line 1 "user.cpp"
  save_npy(folder() / "cut.npy", Array{1.f, 2.f, 3.f});
  std::filesystem::resize_file(folder() / "cut.npy", 130);
  load_npy(folder() / "cut.npy");
}
PLAIN_CASE(arrays, npy_header_cut_off) {
#line 1 "user.cpp"
  save_npy(folder() / "head.npy", Array{1.f, 2.f, 3.f});
  std::filesystem::resize_file(folder() / "head.npy", 40);
  load_npy(folder() / "head.npy");
}
PLAIN_CASE(arrays, npy_of_bfloat16) {
#line 1 "user.cpp"
  save_npy(folder() / "w.npy", Array::zeros(DType::bfloat16, {2}));
}
PLAIN_CASE(arrays, item_of_many) {
#line 1 "user.cpp"
  Array{1.f, 2.f}.item<float>();
}
PLAIN_CASE(arrays, data_of_other_dtype) {
#line 1 "user.cpp"
  Array{1.f, 2.f}.data<double>();
}
PLAIN_CASE(arrays, data_of_a_view) {
#line 1 "user.cpp"
  Array a = Array::zeros(DType::float32, {2, 3});
  a.transpose().data<float>();
}
PLAIN_CASE(arrays, index_outside) {
#line 1 "user.cpp"
  Array a = Array::zeros(DType::float32, {2, 3});
  a.at<float>(1, 3);
}
PLAIN_CASE(arrays, too_many_indices) {
#line 1 "user.cpp"
  Array a = Array::zeros(DType::float32, {2, 3});
  a.at<float>(1, 2, 0);
}
PLAIN_CASE(arrays, reshape_to_other_count) {
#line 1 "user.cpp"
  Array::zeros(DType::float32, {2, 3}).reshape({4, 2});
}
PLAIN_CASE(arrays, reshape_with_two_open_sizes) {
#line 1 "user.cpp"
  Array::zeros(DType::float32, {2, 3}).reshape({-1, -1});
}
PLAIN_CASE(arrays, transpose_axes) {
#line 1 "user.cpp"
  Array::zeros(DType::float32, {2, 3}).transpose({0, 0});
}
PLAIN_CASE(arrays, slice_axis) {
#line 1 "user.cpp"
  Array::zeros(DType::float32, {2, 3}).slice(2, 0, 1);
}
PLAIN_CASE(arrays, slice_step_zero) {
#line 1 "user.cpp"
  Array::zeros(DType::float32, {2, 3}).slice(0, 0, 1, 0);
}
PLAIN_CASE(arrays, copy_of_other_shape) {
#line 1 "user.cpp"
  Array a = Array::zeros(DType::float32, {2, 3});
  a.copy_from(Array::zeros(DType::float32, {3, 2}));
}
PLAIN_CASE(arrays, negative_size) {
#line 1 "user.cpp"
  Array::zeros(DType::float32, {2, -3});
}
PLAIN_CASE(arrays, rows_of_other_lengths) {
#line 1 "user.cpp"
  Array a{{1.f, 2.f}, {3.f}};
}
PLAIN_CASE(arrays, read_only) {
#line 1 "user.cpp"
  const float values[] = {1, 2};
  Array a = Array::view_of(static_cast<const void*>(values), DType::float32, {2});
  a.data<float>()[0] = 3;
}

}  // namespace
