// The tutorials of Theano and TensorFlow for two GPUs, as one program: a default device, a vector that is stored on one
// device and doubled on another, operations in device scopes, and results merged on the CPU. If the machine does not
// have these devices, they are simulated (device_names.hpp).
//
// Usage: theano_devices [FIRST SECOND [HOST]]    (cuda0 cuda1 cpu)
#include <croton/croton.hpp>

#include <exception>
#include <iostream>
#include <string>

#include "device_names.hpp"

namespace ct = croton;

namespace {

void print_transfers(const ct::Function& f) {
  for (const ct::TransferInfo& t : f.transfers()) {
    std::cout << "  sent " << t.what << ": " << t.from << " -> " << t.to << ", " << t.bytes << " bytes\n";
  }
}

/// Pins place storage; the flag of a call places work.
void double_a_vector(const std::string& first, const std::string& second) {
  std::cout << "\n-- x on " << first << ", doubled there and on " << second << "\n";
  const ct::SharedVariable x = ct::shared(ct::Array{1.f, 2.f, 3.f}, {.name = "x", .target = first});
  const ct::Function f = ct::function({}, (x * 2).named("y"), {.name = "f"});
  std::cout << "x is " << x.get_value() << " on " << x.home() << "; f has " << f.kernels().size() << " kernel\n";
  std::cout << f() << "\n";
  print_transfers(f);
  {
    const ct::change_flags on("device=" + second);
    std::cout << f() << "\n";
    print_transfers(f);
    const auto made = [&] { return f.counts().compiled + f.counts().cached; };
    const auto before = made();
    std::cout << f() << " again\n";
    print_transfers(f);
    std::cout << "  kernels made for it: " << made() - before << "\n";
  }
  std::cout << "x is still on " << x.home() << ", and so is the work: " << f() << "\n";
}

struct Branches {
  ct::Variable a, b, loss;
};

/// A layer on each device; their sum and a loss on the host. Work built in a scope runs there.
Branches branches(const ct::Variable& x, const ct::Variable& w, const ct::Variable& v, const std::string& first,
                  const std::string& second, const std::string& host) {
  Branches made;
  {
    const ct::device_scope on(first);
    made.a = ct::tanh(ct::dot(x, w)).named("a");
    const ct::device_scope inner(second);  // of nested scopes the innermost one applies
    made.b = ct::tanh(ct::dot(x, v)).named("b");
  }
  const ct::device_scope on(host);
  made.loss = ct::sum(ct::sqr(ct::add_n({made.a, made.b}).named("a + b"))).named("loss");
  return made;
}

void merge_on_the_host(const std::string& first, const std::string& second, const std::string& host) {
  std::cout << "\n-- two branches, merged on " << host << "\n";
  const ct::Variable x = ct::matrix("x");
  const ct::SharedVariable w = ct::shared(ct::Array{{1.f, 0.f}, {0.f, 1.f}}, {.name = "w", .target = first});
  const ct::SharedVariable v = ct::shared(ct::Array{{0.f, 1.f}, {1.f, 0.f}}, {.name = "v", .target = second});
  const ct::Variable loss = branches(x, w, v, first, second, host).loss;
  const ct::Function merge = ct::function({x}, loss, {.name = "merge"});
  const ct::Array rows{{0.5f, -1.f}, {1.f, 2.f}};
  ct::log_device_placement(std::cout);
  merge(rows);
  ct::log_device_placement(nullptr);

  std::cout << "\n-- the same, training on " << host << "\n";
  // The gradient of an op runs where the op does, the updates where they are built.
  const ct::device_scope on(host);
  const auto [by_w, by_v] = ct::grad(loss, w, v);
  const ct::Function step =
      ct::function({x}, loss, {.updates = {{w, w - 0.1 * by_w}, {v, v - 0.1 * by_v}}, .name = "step"});
  for (int i = 0; i < 3; ++i) std::cout << "loss " << command_line::text("%.4f", step(rows).item<double>()) << "\n";
  print_transfers(step);
  std::cout << "w is on " << w.home() << ", v on " << v.home() << "\n";
}

void run(const std::string& first, const std::string& second, const std::string& host) {
  device_names::provide({first, second, host});
  for (const ct::DeviceInfo& device : ct::devices()) {
    if (device.name != "cpu") std::cout << device.to_string() << "\n";
  }
  // The default for all later calls. The old spelling "gpu,0" is also accepted. The line that it writes goes to
  // std::cerr.
  ct::use(first == "cuda0" ? "gpu,0" : first);
  std::cout << "new variables are stored on " << ct::shared(ct::Array{0.f}).home() << "\n";
  double_a_vector(first, second);
  merge_on_the_host(first, second, host);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && argc != 3 && argc != 4) {
    std::cerr << "usage: theano_devices [FIRST SECOND [HOST]]\n";
    return 2;
  }
  try {
    run(argc > 2 ? argv[1] : "cuda0", argc > 2 ? argv[2] : "cuda1", argc > 3 ? argv[3] : "cpu");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "theano_devices: " << error.what() << "\n";
    return 1;
  }
}
