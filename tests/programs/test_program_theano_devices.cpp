// The programs of Theano's tutorials on several GPUs, and TensorFlow's device scopes: names of devices, a variable on
// a GPU, a function that a flag moves to another one, scopes, and results that are merged on the host.
#include "folders.hpp"
#include "programs.hpp"
#include "unit/temporary_folder.hpp"

#include <thread>
#include <type_traits>

namespace ct = croton;
using namespace croton::test;
using ct::Array;
using ct::DType;
using Kind = ct::TransferInfo::Kind;

namespace {

const std::vector<double> two_four_six{2, 4, 6};

ct::SharedVariable vector_on(const std::string& target) {
  return ct::shared_constructor(Array{1.f, 2.f, 3.f}, {.name = "x", .target = target});
}

/// The MLP with the tutorial's own code, for arrays of its sizes.
ct::Function train_mlp(const ct::FunctionOptions& options = {}) {
  const auto x = ct::matrix("x"), y = ct::ivector("y");
  const auto w = ct::shared(uniform({4, 3}, 1), {.name = "w"});
  const auto y_pred = ct::nnet::softmax(ct::dot(x, w));
  const auto loss = ct::mean(ct::nnet::categorical_crossentropy(y_pred, y));
  ct::FunctionOptions all = options;
  all.updates = {{w, w - 0.1 * ct::grad(loss, w)}};
  return ct::function({x, y}, loss, all);
}

}  // namespace

// ---- the behaviour of such code in the original systems ----

TEST_CASE("C0.1 use() takes every spelling of a GPU's name, and for others lists the devices present") {
  const Machine machine(GENERATE(Machine::Kind::simulated, Machine::Kind::fake));
  const ct::change_flags quiet{"print_active_device=false"};
  for (const char* name : {"gpu,0", "gpu0", "gpu:0", "/gpu:0", "cuda", "gpu", "cuda0"}) {
    CAPTURE(name);
    ct::use("cpu");
    ct::use(name);
    CHECK(ct::flag("device") == "cuda0");
    CHECK(ct::shared(Array{1.f}).home() == "cuda0");
  }
  const auto refused = [&](const char* name) {
    std::string message = error_of<ct::ValueError>([&] { ct::use(name); });
    CHECK(ct::flag("device") == "cuda0");
    return message;
  };
  CHECK(refused("tpu") ==
        "device=tpu: 'tpu' is not the name of a device; write cpu, cuda0, cuda1, ... (gpu, gpu,0, /gpu:0 and /cpu:0 "
        "are understood); there are: cpu, " +
            machine.listed());
  for (const char* name : {"", "gpu,", "gpu-1", "gpu 0", "gpu0,1", "/job:worker/gpu:0"}) {
    CAPTURE(name);
    CHECK_THAT(refused(name), contains("is not the name of a device") && contains("there are: cpu, cuda0"));
  }
  CHECK(error_of<ct::DeviceError>([] {
          ct::use("gpu,2");
        }).starts_with("device=gpu,2: there is no device cuda2; there are: cpu, " + machine.listed()));
}

TEST_CASE("C0.2 shared_constructor, whose target gpu is the first GPU") {
  const Machine machine(GENERATE(Machine::Kind::simulated, Machine::Kind::fake));
  const auto x = ct::shared_constructor(Array{1.f, 2.f}, {.name = "x", .target = "gpu"});
  CHECK(x.home() == "cuda0");
  CHECK(x.pinned());
  CHECK(x.name() == "x");
  CHECK(x.dtype() == DType::float32);
  // Not the device of the flag.
  const ct::change_flags other{"device=cuda1"};
  CHECK(ct::shared_constructor(Array{1.f}, {.target = "gpu"}).home() == "cuda0");
  CHECK(ct::shared_constructor(Array{1.f}).home() == "cuda1");
  CHECK_THAT(error_of<ct::DeviceError>([] { ct::shared_constructor(Array{1.f}, {.name = "w", .target = "gpu2"}); }),
             contains("shared 'w'") && contains("there is no device cuda2; there are: cpu, " + machine.listed()));
}

TEST_CASE("C0.3 change_flags(device=...) has a meaning after the start, and is no error") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto x = vector_on(machine.first);
  const ct::Function f = ct::function({}, x * 2);
  CHECK(f.devices() == std::vector{machine.first});
  f();
  {
    const ct::change_flags on("device=" + machine.second);
    CHECK(values(f()) == two_four_six);
    CHECK(f.devices() == std::vector{machine.second});
  }
  CHECK(f.devices() == std::vector{machine.first});
}

TEST_CASE("C0.4 the program of the tutorial runs as docs/use/devices.md shows it") {
  // doc_snippets checks that the page has this program, and runs it there.
  const Machine machine(Machine::Kind::simulated);
  const CapturedErrors errors;
  std::ostringstream out;
  {
    using namespace ct;
    use("gpu,0");
    auto x = shared_constructor(Array{1.f, 2.f, 3.f}, {.name = "x", .target = "gpu"});
    auto f = function({}, x * 2);
    out << f() << "\n";
    change_flags on{"device=cuda1"};
    out << f() << "\n";
  }
  CHECK(out.str() == "[2. 4. 6.]\n[2. 4. 6.]\n");
  CHECK(errors.text() == "Mapped name None to device cuda0: simulated GPU (simulated)\n");
  const std::string page = get_file(source_folder() + "/docs/use/devices.md");
  const std::size_t start = page.find("ct::use(\"gpu,0\");\nauto x = ct::shared_constructor(");
  REQUIRE(start != std::string::npos);
  CHECK(page.rfind("<!-- run -->\n```cpp\n", start) > page.rfind("```\n", start));
  CHECK(page.find("```text\n[2. 4. 6.]\n[2. 4. 6.]\n```", start) != std::string::npos);
}

TEST_CASE("C0.5 an update that floatX=float64 makes wider than its variable is refused, with what to do") {
  const ct::change_flags wide{"floatX=float64"};
  CHECK(without_lines(error_of<ct::TypeError>([] { train_mlp(); })) ==
        "function: w is f32[?, ?], but its update has dtype float64; it must be float32: set floatX=float32, or cast "
        "it with astype to float32");
}

TEST_CASE("C0.6 int64 labels for an ivector are refused, with what to do") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const ct::change_flags on("device=" + machine.first);
  const Array x = uniform({2, 4}, 2);
  Array y = Array::zeros(DType::int64, {2});
  y.at<std::int64_t>(1) = 2;
  const ct::Function train = train_mlp();
  CHECK(without_lines(error_of<ct::TypeError>([&] { train(x, y); })) ==
        "y is i32[?] was given i64[2]: converting int64 to int32 may lose precision; pass allow_input_downcast, or "
        "convert with astype to int32");
  CHECK(train.counts().kernels == 0);
  // The two ways out that the message names.
  const float expected = train(x, y.astype(DType::int32)).item<float>();
  CHECK(train_mlp({.allow_input_downcast = true})(x, y).item<float>() == expected);
}

TEST_CASE("C0.7 an array is no output, and a variable that was overwritten is asked about") {
  // Python finds at run time that y_pred became an array; C++ does not compile the program.
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Array, ct::OutputList>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<ct::Outputs, ct::OutputList>);
  STATIC_REQUIRE_FALSE(std::is_assignable_v<ct::Variable&, Array>);
  STATIC_REQUIRE_FALSE(std::is_assignable_v<ct::Variable&, ct::Outputs>);
  // The remaining case at run time: a variable without an expression.
  const auto x = ct::matrix("x");
  ct::Variable y_pred = ct::nnet::softmax(x);
  y_pred = {};
  CHECK(without_lines(error_of<ct::TypeError>([&] { ct::function({x}, y_pred); })) ==
        "function: output 1 of 1 is an empty Variable; was the symbolic variable overwritten?");
}

TEST_CASE("C0.8 matpow(M, n) has n + 1 factors and n products; matrix_power has n factors") {
  const auto matpow = [](const ct::Variable& m, int n) {
    ct::Variable r = m;
    for (; n >= 1; --n) r = ct::dot(m, r);
    return r;
  };
  const auto m = ct::dmatrix("m");
  // Powers of a matrix of ones are powers of its size: exact, and different for each number of factors.
  const Array ones = Array::full(DType::float64, {3, 3}, 1);
  const ct::Function f = ct::function({m}, matpow(m, 10));
  CHECK(values(f(ones)) == std::vector<double>(9, 59049));  // 3^10: M^11
  {
    const ct::change_flags as_written{"optimizer=none"};
    const ct::Function all = ct::function({m}, matpow(m, 10));
    CHECK(all.product_count() == 10);
    CHECK(values(all(ones)) == std::vector<double>(9, 59049));
  }
  CHECK(f.product_count() == 5);  // the rule dot-powers: squares are shared
  CHECK(values(ct::function({m}, ct::matrix_power(m, 11))(ones)) == std::vector<double>(9, 59049));
  CHECK(values(ct::function({m}, ct::matrix_power(m, 10))(ones)) == std::vector<double>(9, 19683));
  CHECK(values(ct::function({m}, matpow(m, 0))(ones)) == std::vector<double>(9, 1));
  CHECK(values(ct::function({m}, ct::matrix_power(m, 0))(ones)) == std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
}

// ---- Theano on several GPUs ----

TEST_CASE("C1.0 devices() and `croton devices` tell what there is, of what kind, with its memory and its PCI id") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const std::vector<ct::DeviceInfo> devices = ct::devices();
  REQUIRE(devices.size() == 3);
  CHECK(devices[0].name == "cpu");
  CHECK(devices[0].kind == ct::DeviceInfo::Kind::host);
  CHECK(devices[1].name == machine.first);
  CHECK(devices[2].name == machine.second);
  const std::string text = devices[2].to_string();
  if (machine.kind() == Machine::Kind::logical) {
    CHECK(devices[2].kind == ct::DeviceInfo::Kind::logical);
    CHECK_THAT(text, contains("cpu2: ") && contains("(logical)"));
    return;
  }
  CHECK(devices[2].memory > 0);
  CHECK_FALSE(devices[2].compute_capability.empty());
  CHECK_THAT(text, contains(" GiB, compute capability " + devices[2].compute_capability));
  if (machine.is_fake()) {
    CHECK(devices[2].kind == ct::DeviceInfo::Kind::real);
    CHECK_FALSE(devices[2].pci.empty());
    CHECK_THAT(text, contains("cuda1: " + devices[2].title) && contains(", PCI " + devices[2].pci));
    CHECK(devices[1].pci != devices[2].pci);
  } else {
    CHECK(devices[2].kind == ct::DeviceInfo::Kind::simulated);
    CHECK(text == "cuda1: simulated GPU, 16.0 GiB, compute capability 9.0");
    // The command prints the same lines.
    const TemporaryFolder folder;
    const std::string out = (folder.path() / "devices.txt").string();
    const char* tool = std::getenv("CROTON_TOOL");
    if (tool == nullptr) {
      WARN("CROTON_TOOL does not name the tool, so its output is not looked at");
      return;
    }
    REQUIRE(std::system(
                ("CROTON_FLAGS=cuda_simulator=2 '" + std::string(tool) + "' devices > '" + out + "'").c_str()) == 0);
    std::string expected;
    for (const ct::DeviceInfo& device : devices) expected += device.to_string() + "\n";
    CHECK(get_file(out) == expected);
  }
}

TEST_CASE("C1.1 use() picks the default for later variables and functions, and says which device that is") {
  const Machine machine(GENERATE(from_range(program_machines())));
  STATIC_REQUIRE(std::is_void_v<decltype(ct::use("cpu"))>);
  const auto v = ct::vector("v");
  const auto said = [](const std::string& device) {
    const CapturedErrors errors;
    ct::use(device);
    return errors.text();
  };
  const auto expected = [](const std::string& name) {
    for (const ct::DeviceInfo& d : ct::devices()) {
      if (d.name != name) continue;
      const char* kind = d.kind == ct::DeviceInfo::Kind::simulated ? "simulated" : "logical";
      return "Mapped name None to device " + name + ": " + d.title + " (" + (d.pci.empty() ? kind : d.pci) + ")\n";
    }
    return "there is no " + name;
  };
  CHECK(said(machine.kind() == Machine::Kind::logical ? "cpu:1" : "gpu,0") == expected(machine.first));
  const auto before = ct::shared(Array{1.f}, {.name = "before"});
  const ct::Function f = ct::function({v}, ct::exp(v));
  CHECK(before.home() == machine.first);
  CHECK(f.devices() == std::vector{machine.first});
  // Another one later: new work runs there, and nothing has moved.
  CHECK(said(machine.second) == expected(machine.second));
  const auto after = ct::shared(Array{1.f}, {.name = "after"});
  CHECK(after.home() == machine.second);
  CHECK(before.home() == machine.first);
  CHECK(f.devices() == std::vector{machine.second});
  CHECK(values(f(Array{0.f})) == std::vector<double>{1});
  CHECK(sent_by(f, Kind::input) == std::vector<std::string>{"input v: cpu -> " + machine.second + ", 4 bytes"});
  CHECK(before.home() == machine.first);
  const ct::change_flags quiet{"print_active_device=false"};
  CHECK(said(machine.first).empty());
  CHECK(ct::flag("device") == machine.first);
}

TEST_CASE("C1.2 a shared vector lives on the GPU and tells where; its value on the host is a copy") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto dtype = GENERATE(DType::float32, DType::float64);
  const ct::change_flags flags("floatX=" + std::string(ct::name_of(dtype)));
  Array host = Array{1., 2., 3.}.astype(dtype);
  const auto x =
      ct::shared_constructor(host, {.name = "x", .target = machine.kind() == Machine::Kind::logical ? "cpu1" : "gpu"});
  CHECK(x.rank() == 1);
  CHECK(x.dtype() == dtype);
  CHECK(x.home() == machine.first);
  CHECK(x.pinned());
  CHECK(device_called(machine.first).memory_use().bytes_in_use >= 3 * ct::size_of(dtype));
  host.copy_from(Array::full(dtype, {3}, 100));
  Array copy = x.get_value();
  CHECK(copy.device() == "cpu");
  CHECK(values(copy) == std::vector<double>{1, 2, 3});
  copy.copy_from(host);
  CHECK(values(x.get_value()) == std::vector<double>{1, 2, 3});
}

TEST_CASE("C1.3 a function of it gives an array on the host, by one kernel of the device's text") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto x = vector_on(machine.first);
  const auto doubled = x * 2;
  CHECK(doubled.dtype() == DType::float32);
  const ct::Function f = ct::function({}, doubled);
  const ct::Outputs outputs = f();
  CHECK_FALSE(outputs.is_list());
  const Array& result = outputs;
  CHECK(result.device() == "cpu");
  CHECK(result.shape() == ct::Sizes{3});
  CHECK(result.dtype() == DType::float32);
  CHECK(values(result) == two_four_six);
  std::ostringstream printed;
  printed << outputs;
  CHECK(printed.str() == "[2. 4. 6.]");
  REQUIRE(f.kernels().size() == 1);
  CHECK(f.counts().kernels == 1);
  const ct::KernelInfo kernel = f.kernels()[0];
  CHECK(kernel.target == machine.target());
  CHECK((kernel.unit.find("__global__") != std::string::npos) == (machine.kind() != Machine::Kind::logical));
  CHECK_THAT(f.kernels("cuda:sm_90")[0].source, contains("CT_KERNEL"));
  CHECK(sent_by(f).size() == 1);
}

TEST_CASE("C1.4 change_flags moves the work of a call, not the variable; its copy there is sent once") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto x = vector_on(machine.first);
  const ct::Function f = ct::function({}, x * 2, {.name = "f"});
  CapturedLog log;
  f();
  log.take();
  const auto output = [&](const std::string& from) { return "f: output " + f.transfers().back().what + ": " + from; };
  {
    const ct::change_flags on("device=" + machine.second);
    std::ostringstream printed;
    printed << f();
    CHECK(printed.str() == "[2. 4. 6.]");
    CHECK(f.devices() == std::vector{machine.second});
    CHECK(x.home() == machine.first);
    // Three elements, between the devices; the result's copy to the host is separate.
    std::vector<std::string> lines = lines_of(log.take());
    REQUIRE(lines.size() >= 2);
    CHECK(lines[lines.size() - 2] == "f: shared variable x: " + machine.first + " -> " + machine.second + ", 12 bytes");
    CHECK(lines.back() == output(machine.second) + " -> cpu, 12 bytes");
    REQUIRE(f.transfers().size() == 2);
    // A second call only sends its result, and compiles nothing.
    const ct::CallCounts before = f.counts();
    CHECK(values(f()) == two_four_six);
    CHECK(log.take() == output(machine.second) + " -> cpu, 12 bytes\n");
    CHECK(f.counts().compiled == before.compiled);
    CHECK(f.counts().cached == before.cached);
    CHECK(f.counts().transfers == before.transfers + 1);
    CHECK(f.counts().transferred_bytes == before.transferred_bytes + 12);
  }
  // Back, and again to the second device: the variant is kept, and so is the copy.
  const ct::CallCounts before = f.counts();
  f();
  CHECK(f.devices() == std::vector{machine.first});
  CHECK(log.take() == output(machine.first) + " -> cpu, 12 bytes\n");
  const ct::change_flags on("device=" + machine.second);
  f();
  CHECK(log.take() == output(machine.second) + " -> cpu, 12 bytes\n");
  CHECK(f.counts().compiled == before.compiled);
  CHECK(f.counts().cached == before.cached);
  // A variable that is already on the device is not sent.
  const auto there = vector_on(machine.second);
  const ct::Function g = ct::function({}, there * 2);
  CHECK(values(g()) == two_four_six);
  CHECK(sent_by(g, Kind::shared).empty());
}

TEST_CASE("C1.4 the flag ends with its scope, also after an exception, nested and of one thread") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const std::string before = ct::flag("device");
  const auto x = vector_on(machine.first);
  const auto n = ct::lscalar("n");
  const ct::Function f = ct::function({n}, x[n]);
  CHECK_THROWS_AS(
      [&] {
        const ct::change_flags on("device=" + machine.second);
        f(5);
      }(),
      ct::IndexError);
  CHECK(ct::flag("device") == before);
  CHECK(f.devices() == std::vector{machine.first});
  const ct::change_flags outer("device=" + machine.second);
  {
    const ct::change_flags inner{"device=cpu"};
    CHECK(f.devices() == std::vector<std::string>{"cpu"});
  }
  CHECK(f.devices() == std::vector{machine.second});
  std::vector<std::string> elsewhere;
  std::thread([&] {
    const ct::change_flags here(machine.flags());
    elsewhere = f.devices();
  }).join();
  CHECK(elsewhere == std::vector{machine.first});
}

TEST_CASE("C1.4 without a second device the call is an error that lists those that there are") {
  const auto [flags, first, second, listed] = GENERATE(table<std::string, std::string, std::string, std::string>(
      {{"logical_devices=cpu:2", "cpu1", "cpu2", "cpu, cpu1 (logical)"},
       {"cuda_simulator=1", "cuda0", "cuda1", "cpu, cuda0 (simulated)"}}));
  const ct::change_flags few(flags + ",cuda_root=none");
  const auto x = vector_on(first);
  const ct::Function f = ct::function({}, x * 2);
  {
    const ct::change_flags on("device=" + second);
    CHECK_THAT(error_of<ct::DeviceError>([&] { f(); }),
               contains("device=" + second + ": there is no device " + second + "; there are: " + listed));
  }
  CHECK(values(f()) == two_four_six);
  // Simulated devices, or more parts of the host, are alternatives.
  const ct::change_flags more{"logical_devices=cpu:3,cuda_simulator=2"};
  const ct::change_flags on("device=" + second);
  CHECK(values(f()) == two_four_six);
  CHECK(f.devices() == std::vector{second});
}

// ---- device scopes ----

TEST_CASE("C1.5 scopes mark the ops created inside, the innermost wins, and what is outside is free") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const bool logical = machine.kind() == Machine::Kind::logical;
  const auto x = ct::matrix("x");
  const auto model = [&](const ct::Variable& in) {
    const ct::device_scope outer(logical ? "/cpu:1" : "/gpu:0");
    const ct::Variable h = ct::exp(in).named("h");
    ct::Variable inside;
    {
      const ct::device_scope inner(logical ? "/cpu:2" : "/gpu:1");
      inside = ct::dot(h, h).named("inside");
    }
    const ct::Variable after = ct::tanh(inside).named("after");
    const ct::device_scope host("/cpu:0");
    return (after + h).named("sum");
  };
  const ct::Variable sum = model(x);
  const ct::Variable outside = ct::dot(sum, sum).named("outside");
  const ct::Function f = ct::function({x}, outside, {.name = "f"});
  const auto expect = [&](const std::string& free, const std::string& reason) {
    const std::string placement = f.placement();
    CHECK_THAT(placement, contains("  h: (exp): " + machine.first + "  [device_scope]\n"));
    CHECK_THAT(placement, contains("  inside: (dot): " + machine.second + "  [device_scope]\n"));
    CHECK_THAT(placement, contains("  after: (tanh): " + machine.first + "  [device_scope]\n"));
    CHECK_THAT(placement, contains("  sum: (add): cpu  [device_scope]\n"));
    CHECK_THAT(placement, contains("  outside: (dot): " + free + "  [" + reason + "]\n"));
  };
  expect(machine.is_fake() ? "cuda0" : "cpu", "default");
  const Array in = uniform({3, 3}, 1);
  const Array got = f(in);
  // Placement is not fixed: the flag of a call moves only the work outside scopes.
  const ct::change_flags on("device=" + machine.second);
  expect(machine.second, "change_flags");
  CHECK(Array(f(in)).all_close(got, 1e-5));
  const ct::change_flags reference{"mode=reference"};
  CHECK(Array(ct::function({x}, outside)(in)).all_close(got, 1e-5));
}

TEST_CASE("C1.6 a loss and its training on the host: its ops run there, and gradients follow their ops") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto x = ct::matrix("x"), y = ct::matrix("y");
  const auto w = ct::shared(uniform({4, 3}, 1), {.name = "w", .target = machine.first});
  ct::Variable p, loss, gradient, update;
  {
    const ct::device_scope device(machine.first);
    p = ct::tanh(ct::dot(x, w)).named("p");
  }
  {
    const ct::device_scope host("/cpu:0");
    loss = ct::mean(ct::sqr(p - y)).named("loss");
    gradient = ct::grad(loss, w);
    update = (w - 0.1 * gradient).named("update");
  }
  const ct::Function f = ct::function({x, y}, loss, {.updates = {{w, update}}, .name = "train"});
  // Both products, including the gradient's, run on the device; the work on the loss runs on the host.
  std::size_t products = 0;
  for (const std::string& line : lines_of(f.placement())) {
    INFO(line);
    if (line.find("(dot)") != std::string::npos || line.find("(tanh)") != std::string::npos) {
      CHECK_THAT(line, contains("): " + machine.first + "  ["));
      products += line.find("(dot)") != std::string::npos ? 1U : 0U;
    }
    if (line.starts_with("  loss: (sum)") || line.starts_with("  update: (sub)"))
      CHECK_THAT(line, contains("): cpu  [device_scope]"));
  }
  CHECK(products == 2);
  CHECK(f.devices() == std::vector<std::string>{"cpu", machine.first});
  const Array in = uniform({5, 4}, 2), wanted = uniform({5, 3}, 3);
  const Array before = w.get_value();
  const double got = f(in, wanted).item<double>();
  // Transfers: the prediction to the host and its gradient back; w's gradient to the host, where it is subtracted, and
  // the new value to the device.
  const auto is = [&](const std::string& from, const std::string& to, std::size_t bytes) {
    return std::ranges::count_if(f.transfers(), [&](const ct::TransferInfo& t) {
      return t.kind == Kind::value && t.from == from && t.to == to && t.bytes == bytes;
    });
  };
  CHECK(is(machine.first, "cpu", 60) == 1);
  CHECK(is("cpu", machine.first, 60) == 1);
  CHECK(is(machine.first, "cpu", 48) == 1);
  CHECK(w.home() == machine.first);
  // The results are those of one device.
  const auto one = ct::shared(before, {.name = "one"});
  const auto q = ct::mean(ct::sqr(ct::tanh(ct::dot(x, one)) - y));
  const ct::change_flags host{"device=cpu"};
  CHECK(ct::function({x, y}, q, {.updates = {{one, one - 0.1 * ct::grad(q, one)}}})(in, wanted).item<double>() ==
        Approx(got).epsilon(1e-5));
  CHECK(w.get_value().all_close(one.get_value(), 1e-5));
}

TEST_CASE("C1.7 results of two devices are merged on the host: two copies, one addition, both at the same time") {
  const Machine machine(GENERATE(from_range(program_machines())));
  const auto a = ct::shared(uniform({256, 256}, 1), {.name = "a", .target = machine.first});
  const auto b = ct::shared(uniform({256, 256}, 2), {.name = "b", .target = machine.second});
  ct::Variable p, q, sum;
  {
    const ct::device_scope on(machine.first);
    p = ct::dot(a, a).named("p");
  }
  {
    const ct::device_scope on(machine.second);
    q = ct::dot(b, b).named("q");
  }
  {
    const ct::device_scope on("cpu");
    sum = ct::add_n({p, q}).named("sum");
  }
  const ct::Function f = ct::function({}, sum);
  const Array got = f();
  CHECK(sent_by(f) == std::vector<std::string>{"value p: " + machine.first + " -> cpu, 262144 bytes",
                                               "value q: " + machine.second + " -> cpu, 262144 bytes"});
  CHECK(count_of(f.placement(), "): cpu  [") == 1);
  CHECK_THAT(f.placement(), contains("  sum: (add): cpu  [device_scope]\n"));
  REQUIRE(f.kernels().size() == 1);
  CHECK(f.kernels()[0].target == "cpu");
  CHECK(overlaps(machine.first, machine.second, [&] { f(); }));
  CHECK(Array(f()).same_bits(got));
}
