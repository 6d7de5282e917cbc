// The reader of machine code: instructions, control flow, hot paths and their figures, on small listings whose figures
// are counted by hand; occupancy and the model of a launch.
#include <croton/error.hpp>

#include <string>

#include "catch.hpp"
#include "codegen/occupancy.hpp"
#include "runtime/cuda/inspect/launch_model.hpp"
#include "runtime/cuda/inspect/machine_code.hpp"

using namespace croton::runtime::cuda;
using croton::codegen::h200;

namespace {

/// A listing of one function, as nvdisasm prints it. A line that ends with a colon is a label, "line N" a place.
std::string listing(const std::vector<std::string>& lines) {
  std::string text = ".text.k:\n";
  int address = 0;
  for (const std::string& line : lines) {
    if (line.ends_with(':')) {
      text += line + "\n";
    } else if (line.starts_with("line ")) {
      text += "//## File \"/croton/k.cu\", " + line + "\n";
    } else {
      char number[16];
      std::snprintf(number, sizeof number, "%04x", address);
      text += "        /*" + std::string(number) + "*/   " + line + " ;\n";
      address += 16;
    }
  }
  return text;
}

Code code_of(const std::vector<std::string>& lines) { return read_code(parse_sass(listing(lines)).at(0)); }

Instruction instruction(const std::string& text) { return code_of({text}).instructions.at(0); }

/// Two lines of a prelude, then the kernel's own text.
constexpr std::string_view source =
    "struct Params {\n"                           // 1
    "  const float* p0;\n"                        // 2
    "  ct::bf16* p1;\n"                           // 3
    "};\n"                                        // 4
    "const float v0 = p.p0[i0];\n"                // 5
    "p.p1[i0] = v1;\n"                            // 6
    "const float v2 = v0 + 1.0f;\n"               // 7
    "if (!v3) ct::report(p.failure, 1u, v2);\n";  // 8
constexpr KernelText text{source, 2};

MachineCode figures_of(const std::vector<std::string>& lines) { return read_machine_code(listing(lines), text).at(0); }

}  // namespace

TEST_CASE("an instruction has a guard, an opcode, registers and a target") {
  const Instruction load = instruction("@!P0 LDG.E.128.CONSTANT R8, desc[UR6][R2.64+0x10]");
  CHECK(load.guard == "!P0");
  CHECK(load.is("LDG"));
  CHECK_FALSE(load.is("LD"));
  CHECK(load.space() == Space::global);
  CHECK(load.loads());
  CHECK_FALSE(load.stores());
  CHECK(load.bytes() == 16);
  CHECK(load.loaded_registers() == std::vector<int>{8, 9, 10, 11});
  CHECK(load.reads(2));
  CHECK(load.reads(3));  // R2.64
  CHECK_FALSE(load.reads(8));
  CHECK_FALSE(load.reads(6));  // UR6 is another kind of register

  const Instruction store = instruction("STG.E.64 desc[UR6][R4.64], R10");
  CHECK(store.stores());
  CHECK(store.bytes() == 8);
  CHECK(store.reads(5));
  CHECK(store.reads(10));
  CHECK(store.reads(11));
  CHECK(store.loaded_registers().empty());

  CHECK(instruction("LDG.E.U16 R2, desc[UR4][R2.64]").bytes() == 2);
  CHECK(instruction("LDG.E.U8 R2, desc[UR4][R2.64]").bytes() == 1);
  CHECK(instruction("LDG.E R2, desc[UR4][R2.64]").bytes() == 4);
  CHECK(instruction("LDL R16, [R16]").space() == Space::local);
  CHECK(instruction("STS [R3], R4").space() == Space::shared);
  CHECK(instruction("@PT FADD R1, R2, R3").guard.empty());
  CHECK(instruction("BRA `(.L_x_7)").target == ".L_x_7");
  CHECK(instruction("CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64)").target ==
        "$__internal_0_$__cuda_sm20_div_s64");
  CHECK(instruction("FADD R1, R12, -R3").reads(12));
  CHECK_FALSE(instruction("FADD R1, R12, -R3").reads(1));
}

TEST_CASE("blocks end at jumps and labels; loops are found with those inside of them") {
  const Code code = code_of({"MOV R1, R2",               // 0: block 0
                             ".L_outer:",                //
                             "MOV R2, R3",               // 1: block 1
                             ".L_inner:",                //
                             "IADD3 R3, R3, R4",         // 2: block 2
                             "@P0 BRA `(.L_inner)",      //
                             "BRA.DIV UR4, `(.L_slow)",  // 4: block 3
                             ".L_back:",                 //
                             "@!P1 BRA `(.L_outer)",     // 5: block 4
                             "EXIT",                     // 6: block 5
                             ".L_slow:",                 //
                             "NOP",                      // 7: block 6
                             "BRA `(.L_back)",           //
                             ".L_end:"});
  const ControlFlow flow = find_control_flow(code);
  REQUIRE(flow.blocks.size() == 7);
  CHECK(flow.blocks[2].next == std::vector<BlockIndex>{3, 2});
  CHECK(flow.blocks[3].next == std::vector<BlockIndex>{4, 6});
  CHECK(flow.blocks[4].next == std::vector<BlockIndex>{5, 1});
  CHECK(flow.blocks[5].next.empty());
  CHECK(flow.blocks[6].next == std::vector<BlockIndex>{4});
  REQUIRE(flow.loops.size() == 2);
  CHECK(flow.loops[0].header == 1);
  CHECK(flow.loops[0].depth == 1);
  CHECK(flow.loops[0].contains == std::vector<bool>{false, true, true, true, true, false, true});
  CHECK(flow.loops[1].header == 2);
  CHECK(flow.loops[1].depth == 2);
  CHECK(flow.loops[1].outer == 0);
  CHECK(find_control_flow(code_of({"EXIT"})).loops.empty());
}

TEST_CASE("a loop's path skips slow ways, and counts what it calls") {
  // The loop divides: by a subroutine if the number is wide, else by two instructions.
  const std::vector<std::string> lines{".L_loop:",
                                       "@P0 BRA `(.L_wide)",
                                       "MUFU.RCP R4, R5",
                                       "IMAD R4, R4, R5, RZ",
                                       "BRA `(.L_ready)",
                                       ".L_wide:",
                                       "CALL.REL.NOINC `($div)",
                                       ".L_ready:",
                                       "line 7",
                                       "LDG.E R6, desc[UR4][R2.64]",
                                       "line 8",
                                       "STG.E.U16 desc[UR4][R8.64], R6",
                                       "@!P1 BRA `(.L_loop)",
                                       "EXIT",
                                       "$div:",
                                       "NOP",
                                       "NOP",
                                       "NOP",
                                       "RET.REL.NODEC R4 `(k)"};
  const MachineCode fast = figures_of(lines);
  REQUIRE(fast.passes.size() == 1);
  CHECK(fast.passes[0].instructions == 7);  // two jumps, two that divide, two accesses, one jump back
  CHECK(fast.passes[0].elements == 1);
  CHECK(fast.passes[0].calls == 1);
  CHECK(fast.passes[0].in_flight == 4);
  CHECK(fast.instructions_per_element() == 7);
  CHECK(fast.calls_in_hot_loops() == 1);
  CHECK_FALSE(fast.hot_accesses_are_wide());
  CHECK(fast.code_bytes == 13 * 16);

  // Without the other way the subroutine counts, with its four instructions.
  std::vector<std::string> always = lines;
  always.erase(always.begin() + 1, always.begin() + 5);
  CHECK(figures_of(always).passes.at(0).instructions == 4 + 4);
}

TEST_CASE("guards of tails, remainders of unrolled loops and tails of tiles are not the hot path") {
  SECTION("a guard") {
    const MachineCode guarded =
        figures_of({".L_loop:", "@P0 BRA `(.L_next)", "line 7", "LDG.E R6, desc[UR4][R2.64]", "line 8",
                    "STG.E.U16 desc[UR4][R8.64], R6", ".L_next:", "@!P1 BRA `(.L_loop)", "EXIT"});
    CHECK(guarded.passes.at(0).instructions == 4);
  }
  SECTION("an unrolled loop and its remainder are one pass") {
    const MachineCode unrolled = figures_of(
        {"line 7", ".L_main:", "LDG.E R6, desc[UR4][R2.64]", "LDG.E R7, desc[UR4][R2.64+0x80]", "FADD R8, R6, R8",
         "FADD R8, R7, R8", "@!P1 BRA `(.L_main)", ".L_rest:", "LDG.E R6, desc[UR4][R2.64]", "FADD R8, R6, R8",
         "@!P1 BRA `(.L_rest)", "line 8", "STG.E.U16 desc[UR4][R10.64], R8", "EXIT"});
    REQUIRE(unrolled.passes.size() == 1);
    CHECK(unrolled.passes[0].in_loop);
    CHECK(unrolled.passes[0].elements == 2);
    CHECK(unrolled.passes[0].instructions == 5);
    CHECK(unrolled.passes[0].in_flight == 8);
    CHECK(unrolled.loads == Widths{{4, 3}});
    CHECK(unrolled.instructions_per_element() == 2.5);
  }
  SECTION("two loops with accesses of different lines are two passes") {
    const MachineCode twice =
        figures_of({".L_a:", "line 7", "LDG.E R6, desc[UR4][R2.64]", "@!P1 BRA `(.L_a)", ".L_b:", "line 8",
                    "STG.E.U16 desc[UR4][R8.64], R6", "FADD R6, R6, R6", "@!P1 BRA `(.L_b)", "EXIT"});
    REQUIRE(twice.passes.size() == 2);
    CHECK(twice.instructions_per_element() == 2 + 3);
  }
  SECTION("the way of a failed check, which stores more") {
    const MachineCode checked = figures_of(
        {".L_loop:", "@!P0 BRA `(.L_right)", "line 10", "STG.E.128 desc[UR4][R20.64], R12", ".L_right:", "line 7",
         "LDG.E R6, desc[UR4][R2.64]", "line 8", "STG.E.U16 desc[UR4][R8.64], R6", "@!P1 BRA `(.L_loop)", "EXIT"});
    CHECK(checked.passes.at(0).instructions == 4);
    CHECK(checked.passes.at(0).stores == Widths{{2, 1}});
    CHECK(checked.stores == Widths{{2, 1}});
  }
  SECTION("the loop over points for the case that they have no elements") {
    const MachineCode unswitched =
        figures_of({"@P0 BRA `(.L_none)", ".L_point:", "MOV R8, RZ", ".L_element:", "line 7",
                    "LDG.E R6, desc[UR4][R2.64]", "FADD R8, R6, R8", "@!P1 BRA `(.L_element)", "line 8",
                    "STG.E.U16 desc[UR4][R10.64], R8", "@!P2 BRA `(.L_point)", "EXIT", ".L_none:", "line 8",
                    "STG.E.U16 desc[UR4][R10.64], RZ", "@!P2 BRA `(.L_none)", "EXIT"});
    REQUIRE(unswitched.passes.size() == 1);
    CHECK(unswitched.passes[0].instructions == 3);
    CHECK(unswitched.passes[0].stores.empty());
  }
  SECTION("a tile without a loop, whose tail is a loop") {
    const MachineCode tile =
        figures_of({"@P0 BRA `(.L_tail)", "line 7", "LDG.E.128 R4, desc[UR4][R2.64]", "line 8",
                    "STG.E.64 desc[UR4][R8.64], R4", "EXIT", ".L_tail:", "line 7", "LDG.E R6, desc[UR4][R2.64]",
                    "line 8", "STG.E.U16 desc[UR4][R8.64], R6", "@!P1 BRA `(.L_tail)", "EXIT"});
    REQUIRE(tile.passes.size() == 1);
    CHECK_FALSE(tile.passes[0].in_loop);
    CHECK(tile.passes[0].instructions == 4);
    CHECK(tile.passes[0].elements == 4);
    CHECK(tile.instructions_per_element() == 1);
    CHECK(tile.passes[0].loads == Widths{{16, 1}});
  }
}

TEST_CASE("a way never contradicts itself") {
  SECTION("a full pack computes: its later guards compare the same register with other numbers") {
    const MachineCode pack = figures_of({"ISETP.GT.AND P0, PT, R8, 0x3, PT",
                                         "@P0 BRA `(.L_wide)",
                                         "line 7",
                                         "LDG.E R4, desc[UR4][R2.64]",
                                         "BRA `(.L_join)",
                                         ".L_wide:",
                                         "line 7",
                                         "LDG.E.128 R4, desc[UR4][R2.64]",
                                         ".L_join:",
                                         "ISETP.GE.AND P1, PT, R8, 0x1, PT",
                                         "@!P1 BRA `(.L_none)",  // a guard
                                         "FADD R4, R4, R4",
                                         "FADD R5, R5, R5",
                                         "FADD R6, R6, R6",
                                         ".L_none:",
                                         "FSETP.GT.AND P2, PT, R4, 104, PT",
                                         "@!P2 BRA `(.L_store)",  // a slow way
                                         "FMUL R4, R4, R4",
                                         ".L_store:",
                                         "line 8",
                                         "STG.E.64 desc[UR4][R8.64], R4",
                                         "EXIT"});
    REQUIRE(pack.passes.size() == 1);
    CHECK(pack.passes[0].instructions == 12);
    CHECK(pack.passes[0].elements == 4);
  }
  SECTION("a guarded access, and an end with the same guard") {
    const MachineCode add =
        figures_of({"ISETP.GE.AND P0, PT, R16, R5, PT", "line 7", "@P0 LDG.E.128 R4, desc[UR4][R2.64]", "line 8",
                    "@P0 STG.E.64 desc[UR4][R8.64], R4", "@P0 EXIT", "line 7", "LDG.E R4, desc[UR4][R2.64]", "line 8",
                    "STG.E.U16 desc[UR4][R8.64], R4", "EXIT"});
    REQUIRE(add.passes.size() == 1);
    CHECK(add.passes[0].instructions == 4);
    CHECK(add.passes[0].elements == 4);
    CHECK(add.passes[0].loads == Widths{{16, 1}});
  }
  SECTION("sums, copies and choices of compared registers") {
    // R4 elements are left, if the row R2 is before R3; the second guard is about the sum R1 + 4 = R2.
    const MachineCode row = figures_of(
        {"IADD3 R2, R1, 0x4, RZ", "ISETP.GE.AND P0, PT, R2, R3, PT", "SEL R5, R4, RZ, !P0", "MOV R6, R5",
         "ISETP.GT.U32.AND P0, PT, R6, 0x3, PT", "@!P0 BRA `(.L_next)", "line 7", "LDG.E.128 R8, desc[UR4][R12.64]",
         ".L_next:", "VIADD R7, R1, 0x4", "ISETP.LT.AND P1, PT, R7, R3, PT", "@!P1 EXIT", "FADD R8, R8, R9", "EXIT"});
    CHECK(row.passes.at(0).instructions == 12);
  }
  SECTION("predicates that are kept as bits of a register") {
    const MachineCode bits =
        figures_of({"MOV R9, RZ", "ISETP.GE.AND P0, PT, R8, 0x1, PT", "line 7", "@P0 LDG.E R4, desc[UR4][R2.64]",
                    "LOP3.LUT R9, R9, 0xfffffffd, RZ, 0xc0, !PT", "@P0 LOP3.LUT R9, R9, 0x2, RZ, 0xfc, !PT",
                    "FSETP.GT.AND P0, PT, R1, R2, PT", "LOP3.LUT P0, RZ, R9, 0x2, RZ, 0xc0, !PT", "@!P0 EXIT",
                    "FADD R4, R4, R4", "EXIT"});
    CHECK(bits.passes.at(0).instructions == 10);
  }
  SECTION("numbers that a loop changes are not known after it") {
    const MachineCode counted = figures_of(
        {"MOV R1, RZ", ".L_loop:", "VIADD R1, R1, 0x1", "FSETP.GT.AND P0, PT, R6, R7, PT", "@P0 BRA `(.L_loop)",
         "ISETP.GT.AND P1, PT, R1, 0x1, PT", "@!P1 EXIT", "line 7", "LDG.E R4, desc[UR4][R2.64]", "EXIT"});
    CHECK(counted.passes.at(0).instructions == 8);
    CHECK(counted.passes.at(0).loads == Widths{{4, 1}});
  }
}

TEST_CASE("a scalar that all threads of a block load is no narrow access") {
  // A pack of each thread, and a value at an address that the given lines put into R6.
  const auto figures = [](std::vector<std::string> lines) {
    lines.insert(lines.begin(), {"S2R R0, SR_TID.X", "ULDC.64 UR4, c[0x0][0x208]", "LDC.64 R2, c[0x0][0x210]",
                                 "IMAD.WIDE R4, R0, 0x10, R2"});
    lines.insert(lines.end(), {"line 9", "LDG.E.128 R8, desc[UR4][R4.64]", "LDG.E R12, desc[UR4][R6.64]",
                               "FADD R8, R8, R12", "EXIT"});
    return figures_of(lines);
  };
  const MachineCode scalar = figures({"LDC.64 R6, c[0x0][0x218]"});
  CHECK(scalar.passes.at(0).loads == Widths{{4, 1}, {16, 1}});
  CHECK(scalar.passes.at(0).scalars == Widths{{4, 1}});
  CHECK(scalar.narrow_accesses() == 0);
  CHECK(scalar.hot_accesses_are_wide());
  // The pointer is that of the block's part: from the parameters, or from a table in memory.
  CHECK(figures({"S2R R7, SR_CTAID.X", "LDC.64 R6, c[0x0][R7+0x600]"}).narrow_accesses() == 0);
  CHECK(
      figures({"S2R R7, SR_CTAID.X", "IMAD.WIDE R6, R7, 0x8, R2", "LDG.E.64 R6, desc[UR4][R6.64]"}).narrow_accesses() ==
      0);
  // An element of each thread, one through a position that is a thread's, and one of which nothing is known.
  CHECK(figures({"LDC.64 R6, c[0x0][0x218]", "IMAD.WIDE R6, R0, 0x4, R6"}).narrow_accesses() == 1);
  CHECK(figures({"LDC.64 R6, c[0x0][0x218]", "LDS R7, [R0]", "IMAD.WIDE R6, R7, 0x4, R6"}).narrow_accesses() == 1);
  CHECK(figures({}).narrow_accesses() == 1);
  // A loop that advances the address, and one that does not.
  const auto loop = [](const std::string& step) {
    return figures_of({"LDC.64 R6, c[0x0][0x218]", "ULDC.64 UR4, c[0x0][0x208]", ".L_loop:", "line 9",
                       "LDG.E R12, desc[UR4][R6.64]", step, "@!P1 BRA `(.L_loop)", "EXIT"});
  };
  CHECK(loop("IADD3 R6, R6, 0x4, RZ").narrow_accesses() == 1);
  CHECK(loop("FADD R8, R8, R12").narrow_accesses() == 0);
}

TEST_CASE("an operand is the parameter from which an address is computed") {
  // The compiler gives both loads one line.
  const MachineCode add =
      figures_of({"LDC.64 R2, c[0x0][0x210]", "LDC.64 R4, c[0x0][0x218]", "ULDC.64 UR4, c[0x0][0x208]",
                  "IMAD.WIDE R2, R9, 0x4, R2", "IMAD.WIDE R4, R9, 0x4, R4", "line 9", "LDG.E.128 R8, desc[UR4][R2.64]",
                  "LDG.E.128 R12, desc[UR4][R4.64]", "FADD R8, R8, R12", "EXIT"});
  CHECK(add.passes.at(0).elements == 8);  // 16 bytes of ct::bf16, the second parameter
  // The factors of a wide product are single registers, whose neighbours may be other addresses.
  const MachineCode older =
      figures_of({"IMAD.WIDE R4, R0, R3, c[0x0][0x160]", "IMAD.WIDE R8, R0, R3, c[0x0][0x168]", "line 9",
                  "LDG.E.128 R12, [R4.64]", "LDG.E.128 R16, [R8.64]", "FADD R12, R12, R16", "EXIT"});
  CHECK(older.passes.at(0).elements == 8);
  const MachineCode same =
      figures_of({"LDC.64 R2, c[0x0][0x210]", "ULDC.64 UR4, c[0x0][0x208]", "line 9", "LDG.E.128 R8, desc[UR4][R2.64]",
                  "LDG.E.128 R12, desc[UR4][R2.64+0x200]", "FADD R8, R8, R12", "EXIT"});
  CHECK(same.passes.at(0).elements == 8);
}

TEST_CASE("the work of the last block for all is no pass, and calls count in loops alone") {
  constexpr std::string_view parts =
      "struct Params {\n"
      "  const float* p0;\n"
      "};\n"
      "  void point() {\n"
      "    in.l0 = p.p0[i0];\n"                       // 5
      "    if (!team.is_last(p.counters)) return;\n"  // 6
      "    const auto r0 = team.total();\n"           // 7
      "  }\n";
  const std::vector<std::string> lines{"line 7",
                                       ".L_a:",
                                       "LDG.E.128 R4, desc[UR4][R2.64]",
                                       "FADD R4, R4, R5",
                                       "@!P1 BRA `(.L_a)",
                                       "@P2 EXIT",
                                       "line 9",
                                       ".L_b:",
                                       "LDG.E R6, desc[UR4][R8.64]",
                                       "@!P3 BRA `(.L_b)",
                                       "CALL.REL.NOINC `($div)",
                                       "EXIT",
                                       "$div:",
                                       "RET.REL.NODEC R4 `(k)"};
  const MachineCode code = read_machine_code(listing(lines), {parts, 2}).at(0);
  REQUIRE(code.passes.size() == 1);
  CHECK(code.passes[0].instructions == 3);
  CHECK(code.hot_accesses_are_wide());
  CHECK(code.in_flight() == 16);
  CHECK(code.calls_in_hot_loops() == 0);
  CHECK(figures_of({"line 7", "LDG.E R6, desc[UR4][R8.64]", "CALL.REL.NOINC `($div)", "EXIT",
                    "$div:", "RET.REL.NODEC R4 `(k)"})
            .calls_in_hot_loops() == 0);
}

TEST_CASE("two reductions that load by one line are two passes") {
  const MachineCode twice = figures_of({"line 7", "line 9", ".L_a:", "line 7", "line 9", "LDG.E R6, desc[UR4][R2.64]",
                                        "@!P1 BRA `(.L_a)", "NOP", ".L_b:", "line 7", "line 10",
                                        "LDG.E R6, desc[UR4][R2.64]", "FADD R6, R6, R6", "@!P1 BRA `(.L_b)", "EXIT"});
  REQUIRE(twice.passes.size() == 2);
  CHECK(twice.instructions_per_element() == 2 + 3);
}

TEST_CASE("bytes in flight end at the first use of a load, in the next iteration too") {
  const auto in_flight = [](const std::vector<std::string>& lines) { return figures_of(lines).passes.at(0).in_flight; };
  CHECK(in_flight({".L_x:", "LDG.E.128 R4, desc[UR4][R2.64]", "LDG.E.128 R8, desc[UR4][R2.64+0x10]", "FADD R1, R9, R1",
                   "LDG.E R12, desc[UR4][R2.64+0x20]", "FADD R1, R12, R1", "BRA `(.L_x)"}) == 32);
  // Each load is used only in the next iteration, after the next load.
  CHECK(in_flight({".L_x:", "LDG.E R5, desc[UR4][R2.64]", "FADD R1, R4, R1", "LDG.E R4, desc[UR4][R2.64]",
                   "FADD R1, R5, R1", "BRA `(.L_x)"}) == 8);
  // An address that was loaded ends the flight.
  CHECK(in_flight({"LDG.E.64 R2, desc[UR4][R8.64]", "LDG.E R4, desc[UR4][R2.64]", "FADD R1, R4, R1", "EXIT"}) == 8);
}

TEST_CASE("the element of an access is that of the operand that its line names") {
  CHECK(element_bytes(text, 5) == 4);
  CHECK(element_bytes(text, 6) == 2);
  CHECK(element_bytes(text, 7) == 0);
  CHECK(element_bytes(text, 0) == 0);
  CHECK(element_bytes(text, 99) == 0);
}

TEST_CASE("broken listings have no figures, and end") {
  CHECK(read_machine_code("", text).empty());
  CHECK(figures_of({}).passes.empty());
  CHECK(figures_of({"BRA `(.L_nowhere)"}).passes.empty());
  CHECK(figures_of({".L_x:", "BRA `(.L_x)"}).passes.empty());
  CHECK(figures_of({".L_x:", "LDG.E R6, desc[UR4][R2.64]", "CALL.REL.NOINC `(.L_x)", "EXIT"}).passes.size() == 1);
  CHECK(read_machine_code(".text.k:\n/*", text).at(0).code_bytes == 0);
}

TEST_CASE("occupancy is limited by threads, blocks, registers or shared memory") {
  const auto of = [](std::int64_t threads, std::int64_t registers, std::int64_t shared, std::string_view architecture) {
    return croton::codegen::occupancy_of({threads, registers, shared}, architecture);
  };
  CHECK(of(256, 32, 0, "sm_90").share == 1);
  CHECK(of(256, 32, 0, "sm_90").limiter == "threads");
  CHECK(of(256, 40, 0, "sm_90").blocks == 6);  // 51 warps of 1280 registers, in fours: 48
  CHECK(of(256, 40, 0, "sm_90").limiter == "registers");
  CHECK(of(256, 255, 0, "sm_90").warps == 8);
  CHECK(of(32, 16, 0, "sm_90").blocks == 32);
  CHECK(of(32, 16, 0, "sm_90").limiter == "blocks");
  CHECK(of(256, 32, 100 * 1024, "sm_90").blocks == 2);
  CHECK(of(256, 32, 100 * 1024, "sm_80").blocks == 1);
  CHECK(of(256, 32, 0, "sm_90a").share == 1);
  CHECK(of(1024, 64, 0, "sm_75").blocks == 1);
  CHECK_THROWS_AS(of(256, 32, 0, "sm_1"), croton::ValueError);
  CHECK_THROWS_AS(of(256, 32, 0, ""), croton::ValueError);
}

TEST_CASE("a launch is limited by memory, instructions or a chain of accesses") {
  croton::KernelInfo kernel;
  kernel.name = "pointwise_0";
  kernel.items = kernel.points = 100'000'000;
  kernel.length = 1;
  kernel.blocks = 2048;
  kernel.threads = 256;
  kernel.operands = {{.bytes = 400'000'000}, {.bytes = 400'000'000, .written = true}};
  EntryCode entry;
  entry.facts = {.entry = "pointwise_0", .registers = 32};
  Pass pass{
      .in_loop = true, .instructions = 8, .elements = 4, .in_flight = 16, .loads = {{16, 1}}, .stores = {{16, 1}}};
  entry.code.passes = {pass};
  const auto limiter = [&] { return model_launch(kernel, entry, "sm_90", h200).limiter(); };
  CHECK(limiter() == "memory");
  CHECK(memory_bytes(kernel, entry, "sm_90", h200) == 800'000'000);
  const double seconds = model_launch(kernel, entry, "sm_90", h200).seconds();
  CHECK(seconds > 0.99 * 8e8 / (0.92 * 4.229e12));
  CHECK(seconds < 1.01 * 8e8 / (0.92 * 4.229e12));
  CHECK(bytes_in_flight(kernel, entry, "sm_90", h200) == 16 * 2048);

  entry.code.passes[0].instructions = 2000;
  CHECK(limiter() == "instructions");

  entry.code.passes[0].instructions = 8;
  kernel.blocks = 4;
  CHECK(limiter() == "chain");
  CHECK(bytes_in_flight(kernel, entry, "sm_90", h200) == 16 * 256);

  // Rows that are read three times: from memory only if those that run at the same time do not fit in the cache.
  kernel.name = "row_0";
  kernel.blocks = 512;
  kernel.items = kernel.points = 4096;
  kernel.length = 1024;
  kernel.operands = {{.bytes = 1 << 24, .point_bytes = 4096, .passes = 3}};
  CHECK(memory_bytes(kernel, entry, "sm_90", h200) == 1 << 24);
  kernel.operands = {{.bytes = 1 << 29, .point_bytes = 1 << 17, .passes = 3}};
  CHECK(memory_bytes(kernel, entry, "sm_90", h200) == 3ll << 29);
  CHECK(rereads_memory(kernel, entry, "sm_90", h200));
  CHECK(serial_joins(kernel) == 1);
  // The second pass waits for the cache instead of memory if it has the rows.
  entry.code.passes = {pass, pass};
  const double from_memory = model_launch(kernel, entry, "sm_90", h200).chain;
  kernel.operands = {{.bytes = 1 << 24, .point_bytes = 4096, .passes = 2}};
  const double from_cache = model_launch(kernel, entry, "sm_90", h200).chain;
  CHECK(from_cache / from_memory > 0.6);  // (0.47 + 0.115) / (2 * 0.47)
  CHECK(from_cache / from_memory < 0.63);
  // A row that is held in registers is read once, by all threads of its team.
  kernel.operands = {{.bytes = 1 << 29, .point_bytes = 1 << 17, .passes = 1}};
  const double without_team = model_launch(kernel, entry, "sm_90", h200).chain;
  kernel.schedule = "threads=256 lanes=32 warps=8 packs=8 held=1 index=narrow";
  kernel.blocks = kernel.items;
  CHECK(memory_bytes(kernel, entry, "sm_90", h200) == 1 << 29);
  CHECK(model_launch(kernel, entry, "sm_90", h200).chain < without_team);
  kernel.schedule.clear();
  // Threads of contractions use an element many times, and loops have no launch without a device.
  kernel.name = "contract_0";
  CHECK(model_launch(kernel, entry, "sm_90", h200).chain == 0);
  kernel.name = "split_0";
  kernel.length = 1 << 27;
  CHECK(serial_joins(kernel) == 256);  // of 8192 parts, 32 at a time
  kernel.threads = 256;
  kernel.schedule = "threads=256 part=131072 index=narrow";
  CHECK(serial_joins(kernel) == 4 + 4);
  kernel.name = "column_0";
  kernel.schedule = "threads=256 across=32 vector=4 run=8 part=1024 index=narrow";
  kernel.length = 16384;
  CHECK(serial_joins(kernel) == 8 + 2);
}
