// The reader of PTX: which instructions it refuses, and what the less obvious ones compute.
#include <gtest/gtest.h>

#include <stdexcept>

#include "ptx_arithmetic.hpp"
#include "ptx_module.hpp"

namespace gym::ptx {
namespace {

/// A module with one kernel of these instructions.
std::string module_of(const std::string& body, const std::string& declarations = {}) {
    return ".version 9.0\n.target sm_80\n.address_size 64\n" + declarations +
           ".visible .entry k(\n\t.param .align 8 .b8 k_param_0[16]\n)\n.maxntid 256\n{\n"
           "\t.reg .b32 \t%r<9>;\n\t// a comment; with a semicolon\n" +
           body + "\tret;\n}\n";
}

std::string refusal(const std::string& text) {
    try {
        parse_module("m.ptx", text);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

TEST(Ptx, TakesCorrectlyRoundedArithmeticOnly) {
    for (const char* const opcode :
         {"add.rn.f32", "sub.rn.f32", "mul.rn.f32", "div.rn.f32", "fma.rn.f32", "sqrt.rn.f32",
          "rcp.rn.f32", "neg.f32", "cvt.rn.f32.s64"})
        EXPECT_NE(find_step(opcode), nullptr) << opcode;
    for (const char* const opcode : {"add.f32",         "add.ftz.f32",        "add.rn.ftz.f32",
                                     "mul.f32",         "mul.rz.f32",         "fma.rn.ftz.f32",
                                     "mad.f32",         "div.approx.f32",     "div.full.f32",
                                     "sqrt.approx.f32", "rsqrt.approx.f32",   "rcp.approx.f32",
                                     "ex2.approx.f32",  "lg2.approx.f32",     "sin.approx.f32",
                                     "tanh.approx.f32", "cvt.rn.ftz.f32.s32", "cvt.rz.f32.s32",
                                     "add.rn.f64",      "add.rn.sat.f32",     "setp.lt.ftz.f32",
                                     "fma.rn.f16",      "red.global.add.f32"})
        EXPECT_EQ(find_step(opcode), nullptr) << opcode;
}

TEST(Ptx, TakesOneFormOfMatrices) {
    EXPECT_NE(find_step("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), nullptr);
    for (const char* const opcode :
         {"ldmatrix.sync.aligned.m8n8.x2.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.b16",
          "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"})
        EXPECT_EQ(find_step(opcode), nullptr) << opcode;
}

TEST(Ptx, NamesTheLineThatItRefuses) {
    EXPECT_EQ(refusal(module_of("\tadd.rn.f32 %r1, %r2, %r3;\n")), "");
    EXPECT_EQ(refusal(module_of("\tadd.ftz.f32 %r1, %r2, %r3;\n")),
              "m.ptx, line 11: kernels may not have 'add.ftz.f32'");
    EXPECT_NE(refusal(module_of("\tmov.b32 %r1, nobody;\n")).find("'nobody' is not known"),
              std::string::npos);
    EXPECT_NE(refusal(module_of("\tbra $nowhere;\n")).find("no label $nowhere"), std::string::npos);
    EXPECT_NE(refusal(module_of("", ".global .align 4 .b8 table[64];\n")).find("is not known"),
              std::string::npos);
}

TEST(Ptx, RefusesMoreSharedMemoryThanABlockHas) {
    const std::string use = "\tmov.b32 %r1, big;\n";
    EXPECT_EQ(refusal(module_of(use, ".shared .align 4 .b8 big[49152];\n")), "");
    EXPECT_NE(refusal(module_of(use, ".shared .align 4 .b8 big[49156];\n")).find("49156 bytes"),
              std::string::npos);
}

TEST(Ptx, PlacesSharedVariablesNoBetterThanTheyAskFor) {
    const Module module =
        parse_module("m.ptx", module_of("",
                                        ".shared .align 4 .b8 a[6];\n.shared .align 16 .b8 "
                                        "b[32];\n.shared .align 4 .b8 c[4];\n"));
    ASSERT_EQ(module.shared.size(), 3U);
    EXPECT_EQ(module.shared[0].begin % 8, 4U);
    EXPECT_EQ(module.shared[1].begin % 32, 16U);
    EXPECT_GE(module.shared[1].begin, module.shared[0].begin + 64);
    EXPECT_EQ(module.shared[2].begin % 8, 4U);
}

TEST(Ptx, ReadsGuardsLabelsAndGroups) {
    const Module module =
        parse_module("m.ptx", module_of("$L_1:\n\t@!%p1 bra \t$L_1;\n"
                                        "\tld.global.v2.b32 \t{%r1, %r2}, [%rd1+8];\n"
                                        "\tmov.b64 \t%rd2, {%r1, %r2};\n"));
    const auto& code = module.kernels.at(0).instructions;
    ASSERT_EQ(code.size(), 4U);
    EXPECT_TRUE(code[0].guard_negated);
    EXPECT_EQ(code[0].target, 0U);
    EXPECT_EQ(code[1].operands.size(), 3U);
    EXPECT_EQ(code[1].operands[2].offset, 8);
    EXPECT_EQ(code[2].first_group, 1U);
}

TEST(Ptx, ComputesAsTheManualSays) {
    EXPECT_EQ(permute_bytes(0x33221100, 0x77665544, 0x7140), 0x77114400U);
    EXPECT_EQ(permute_bytes(0x00000080, 0, 0x0008),
              0x808080FFU);  // the sign of byte 0, then byte 0
    EXPECT_EQ(funnel_left(0x80000000U, 1, 1), 3U);
    EXPECT_EQ(funnel_right(0x80000001U, 1, 1), 0xC0000000U);
    EXPECT_EQ(insert_bits(0xFF, 0, 28, 8), 0xF0000000U);
    EXPECT_EQ(extract_bits(0xABCD1234, 8, 8), 0x12U);
    EXPECT_EQ(logic_of_three(0xF0F0F0F0U, 0xCCCCCCCCU, 0xAAAAAAAAU, 0x96),
              0xF0F0F0F0U ^ 0xCCCCCCCCU ^ 0xAAAAAAAAU);
    EXPECT_EQ(ShiftLeft()(1U, 32U), 0U);
    EXPECT_EQ(ShiftRight()(-8, 99U), -1);
    EXPECT_EQ(Truncate()(3e9F), INT32_MAX);
    EXPECT_EQ(Truncate()(-3e9F), INT32_MIN);
    EXPECT_EQ(RoundToEven()(2.5F), 2.0F);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(Subtract()(INFINITY, INFINITY)), 0x7FFFFFFFU);
}

}  // namespace
}  // namespace gym::ptx
