#include "hooks.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "codegen/emit.hpp"
#include "rewrite/pipeline.hpp"
#include "runtime/bound/sizes.hpp"

namespace differential {

Hooks& hooks() {
  static auto* all = new Hooks;
  return *all;
}

namespace {

/// The library's own function with this mangled name.
template <class Function>
Function* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) throw std::runtime_error(std::string("the library has no ") + name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace
}  // namespace differential

namespace croton {

using differential::hooks;
using differential::next;

namespace expr {
const Op* find_op(std::string_view name) {
  static const auto original =
      next<const Op*(std::string_view)>("_ZN6croton4expr7find_opESt17basic_string_viewIcSt11char_traitsIcEE");
  const Op* found = original(name);
  return hooks().op ? hooks().op(found) : found;
}

const Op& op(Core core) {
  static const auto original = next<const Op&(Core)>("_ZN6croton4expr2opENS0_4CoreE");
  const Op& found = original(core);
  return hooks().op ? *hooks().op(&found) : found;
}

bool is_exact(const Op& op, std::span<const Scalar> operands, DType result) {
  static const auto original = next<bool(const Op&, std::span<const Scalar>, DType)>(
      "_ZN6croton4expr8is_exactERKNS0_2OpESt4spanIKNS0_6ScalarELm18446744073709551615EENS_5DTypeE");
  const bool exact = original(op, operands, result);
  return hooks().exact ? hooks().exact(op, exact) : exact;
}
}  // namespace expr

namespace codegen {
std::string prelude(Target target, bool simulator) {
  static const auto original = next<std::string(Target, bool)>("_ZN6croton7codegen7preludeB5cxx11ENS0_6TargetEb");
  std::string text = original(target, simulator);
  return hooks().prelude ? hooks().prelude(std::move(text)) : text;
}

Text emit(const Part& part, Target target) {
  static const auto original = next<Text(const Part&, Target)>("_ZN6croton7codegen4emitERKNS0_4PartENS0_6TargetE");
  Text text = original(part, target);
  if (hooks().text) hooks().text(text.code, target);
  if (hooks().part) hooks().part(part);
  return text;
}

Text emit_loop(const LoopParts& loop, Target target) {
  static const auto original =
      next<Text(const LoopParts&, Target)>("_ZN6croton7codegen9emit_loopERKNS0_9LoopPartsENS0_6TargetE");
  Text text = original(loop, target);
  if (hooks().loop_text) hooks().loop_text(text.code);
  return text;
}
}  // namespace codegen

namespace plan {
Plan make_plan(const fuse::Program& program) {
  static const auto original = next<Plan(const fuse::Program&)>("_ZN6croton4plan9make_planERKNS_4fuse7ProgramE");
  Plan plan = original(program);
  if (hooks().plan) hooks().plan(plan);
  return plan;
}
}  // namespace plan

namespace rewrite {
std::span<const Group> groups() {
  static const auto original = next<std::span<const Group>()>("_ZN6croton7rewrite6groupsEv");
  return hooks().groups != nullptr ? std::span<const Group>(*hooks().groups) : original();
}
}  // namespace rewrite

namespace runtime {
void check_requirements(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                        const SizeTable& sizes) {
  static const auto original = next<void(const Executable&, const CallArrays&, fuse::SegmentId, const SizeTable&)>(
      "_ZN6croton7runtime18check_requirementsERKNS0_10ExecutableERKNS0_10CallArraysE"
      "NS_4base2IdINS_4fuse10SegmentTagEEERKNS0_9SizeTableE");
  if (!hooks().skip_requirements) original(executable, arrays, segment, sizes);
}
}  // namespace runtime

}  // namespace croton
