#include "gym/program/validate.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "program_samples.hpp"

namespace gym::program {
namespace {

using testing::Rng;

/// x [3, 4] and y [4] (inputs), p [4] (param); sum = x + y, next of p = p + y.
ProgramParts small() {
    ProgramParts parts;
    parts.slots = {
        {.name = "x", .kind = SlotKind::kInput, .dims = {3, 4}},
        {.name = "y", .kind = SlotKind::kInput, .dims = {4}},
        {.name = "p",
         .kind = SlotKind::kParam,
         .dims = {4},
         .init = {Init::Kind::kNormal, 0},
         .next = 4},
        {.name = {}, .dims = {3, 4}},
        {.name = {}, .dims = {4}},
        {.name = "c", .kind = SlotKind::kConstant, .dims = {1}, .value = Bytes(4)},
    };
    parts.ops = {{Opcode::kAdd, {0, 1}, {3}, {}}, {Opcode::kAdd, {2, 1}, {4}, {}}};
    parts.outputs = {{"sum", 3}};
    return parts;
}

TEST(Validate, AcceptsALegalProgram) {
    EXPECT_TRUE(validate(small()).ok());
    const auto program = Program::create(small());
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(program->find_slot("y"), 1U);
    EXPECT_EQ(program->find_slot(""), kNoSlot);
    EXPECT_EQ(program->find_output("sum"), 3U);
    EXPECT_EQ(program->find_output("none"), kNoSlot);
    EXPECT_EQ(program->slots_of(SlotKind::kInput), (std::vector<SlotId>{0, 1}));
}

struct Break {
    const char* name;
    const char* message;  ///< part of the error
    std::function<void(ProgramParts&)> change;
};

class EveryRule : public ::testing::TestWithParam<Break> {};

TEST_P(EveryRule, IsAnErrorThatSaysSo) {
    ProgramParts parts = small();
    GetParam().change(parts);
    const Status status = validate(parts);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos)
        << status.error().message;
    EXPECT_FALSE(Program::create(parts).ok());
}

using P = ProgramParts;
INSTANTIATE_TEST_SUITE_P(
    Rules, EveryRule,
    ::testing::Values(
        Break{"version", "numerics version 2", [](P& p) { p.numerics_version = 2; }},
        Break{"zero_dim", "slot 0 'x': a dim is 0",
              [](P& p) {
                  p.slots[0].dims = {0, 4};
              }},
        Break{"no_dims", "rank must be", [](P& p) { p.slots[0].dims = {}; }},
        Break{"rank", "rank must be", [](P& p) { p.slots[0].dims = {1, 1, 1, 1, 1, 1}; }},
        Break{"size", "more than 2^31",
              [](P& p) {
                  p.slots[0].dims = {1U << 31, 2};
              }},
        Break{"wrapping_size", "more than 2^31",
              [](P& p) {
                  p.slots[0].dims = {1U << 31, 1U << 31, 1U << 31, 2};
              }},
        Break{"kind", "unknown kind", [](P& p) { p.slots[0].kind = static_cast<SlotKind>(9); }},
        Break{"name", "1 to 48 characters", [](P& p) { p.slots[0].name = "X"; }},
        Break{"no_name", "1 to 48 characters", [](P& p) { p.slots[0].name = ""; }},
        Break{"long_name", "1 to 48 characters", [](P& p) { p.slots[0].name.assign(49, 'a'); }},
        Break{"named_temp", "temps have no name", [](P& p) { p.slots[3].name = "t"; }},
        Break{"same_name", "two slots are named 'x'", [](P& p) { p.slots[1].name = "x"; }},
        Break{"param_dtype", "must be f32", [](P& p) { p.slots[2].dtype = DType::kI32; }},
        Break{"param_without_next", "next value", [](P& p) { p.slots[2].next = kNoSlot; }},
        Break{"input_with_next", "next value", [](P& p) { p.slots[0].next = 3; }},
        Break{"next_of_other_shape", "another dtype or shape", [](P& p) { p.slots[2].next = 3; }},
        Break{"next_is_input", "neither itself nor a temp", [](P& p) { p.slots[2].next = 1; }},
        Break{"next_nowhere", "neither itself nor a temp", [](P& p) { p.slots[2].next = 77; }},
        Break{"param_without_init", "begin somewhere", [](P& p) { p.slots[2].init = {}; }},
        Break{"input_with_init", "begin somewhere",
              [](P& p) {
                  p.slots[0].init = {Init::Kind::kConstant, 0};
              }},
        Break{"random_state", "only params begin at random",
              [](P& p) { p.slots[2].kind = SlotKind::kState; }},
        Break{"init_bits", "without an initial value", [](P& p) { p.slots[0].init.bits = 1; }},
        Break{"init_kind", "unknown kind of initial",
              [](P& p) { p.slots[2].init.kind = static_cast<Init::Kind>(3); }},
        Break{"constant_size", "exactly their bytes", [](P& p) { p.slots[5].value.resize(5); }},
        Break{"input_value", "others none", [](P& p) { p.slots[0].value.resize(48); }},
        Break{"constant_nan", "NaN other than",
              [](P& p) {
                  p.slots[5].value = {0, 0, 0xC0, 0xFF};
              }},
        Break{"no_ops", "without ops", [](P& p) { p.ops.clear(); }},
        Break{"opcode", "op 0: unknown opcode",
              [](P& p) { p.ops[0].code = static_cast<Opcode>(999); }},
        Break{"inputs", "wrong number", [](P& p) { p.ops[0].inputs = {0}; }},
        Break{"outputs", "wrong number", [](P& p) { p.ops[0].outputs = {3, 4}; }},
        Break{"input_slot", "no such input", [](P& p) { p.ops[0].inputs[0] = 99; }},
        Break{"output_slot", "no such output", [](P& p) { p.ops[0].outputs[0] = 99; }},
        Break{"attribute", "unused attribute", [](P& p) { p.ops[0].attributes[7] = 1; }},
        Break{"order", "op 0 (add): slot 4 is read before", [](P& p) { p.ops[0].inputs[0] = 4; }},
        Break{"own_output", "read before", [](P& p) { p.ops[0].inputs[0] = 3; }},
        Break{"twice", "written twice", [](P& p) { p.ops.push_back(p.ops[0]); }},
        Break{"writes_input", "not a temp", [](P& p) { p.ops[0].outputs[0] = 0; }},
        Break{"never_written", "slot 4 is never written", [](P& p) { p.ops.pop_back(); }},
        Break{"shape", "cannot be repeated", [](P& p) { p.slots[1].dims = {5}; }},
        Break{"dtype", "must be f32, not i32", [](P& p) { p.slots[1].dtype = DType::kI32; }},
        Break{"output_name", "name is not legal", [](P& p) { p.outputs[0].name = "a b"; }},
        Break{"output_nowhere", "has no slot", [](P& p) { p.outputs[0].slot = 99; }},
        Break{"same_output", "two outputs", [](P& p) { p.outputs.push_back(p.outputs[0]); }}),
    [](const auto& test) { return std::string(test.param.name); });

// Whatever slot of a legal op gets another dtype, one more dim or a longer last dim: no crash, and
// the op is refused unless the new shape is legal too (then its expansion must be).
TEST(Validate, SurvivesEveryChangedShape) {
    Rng rng(testing::test_seed());
    for (const OpcodeInfo& op : opcode_table()) {
        int refused = 0;
        for (int round = 0; round < 60 * testing::test_scale(); ++round) {
            ProgramParts parts = testing::sample(rng, op.code);
            Slot& slot = parts.slots[rng() % parts.slots.size()];
            switch (rng() % 4) {
                case 0:
                    slot.dtype = slot.dtype == DType::kF32 ? DType::kI64 : DType::kU8;
                    break;
                case 1:
                    slot.dims.push_back(2);
                    break;
                case 2:
                    slot.dims.back() += 1;
                    break;
                default:
                    slot.dims.front() *= 2;
                    break;
            }
            refused += validate(parts).ok() ? 0 : 1;
        }
        if (op.code != Opcode::kFill) {
            EXPECT_GT(refused, 0) << op.name;
        }
    }
}

TEST(Validate, ChecksAttributes) {
    Rng rng(testing::test_seed());
    ProgramParts product = testing::sample(rng, Opcode::kMatmul);
    product.ops[0].attributes[0] = 2;
    EXPECT_FALSE(validate(product).ok());
    ProgramParts fill = testing::sample(rng, Opcode::kFill);
    fill.ops[0].attributes[0] = 0x7FC00000;  // NaN
    EXPECT_FALSE(validate(fill).ok());
    fill.ops[0].attributes[0] = std::uint64_t{1} << 32;
    EXPECT_FALSE(validate(fill).ok());
    ProgramParts exponent = testing::sample(rng, Opcode::kConstantExponent);
    exponent.ops[0].attributes[0] = 128;
    EXPECT_FALSE(validate(exponent).ok());
}

TEST(Validate, KeepsStridedCopiesInsideTheirInput) {
    Rng rng(testing::test_seed());
    ProgramParts parts = testing::sample(rng, Opcode::kStridedCopy);
    ASSERT_TRUE(validate(parts).ok());
    parts.ops[0].attributes[0] = 1;  // the last element is used already
    EXPECT_FALSE(validate(parts).ok());
    parts.ops[0].attributes[0] = ~std::uint64_t{0};
    EXPECT_FALSE(validate(parts).ok());
    parts.ops[0].attributes[0] = 0;
    parts.ops[0].attributes[4] = 1;  // a stride beyond the rank
    EXPECT_FALSE(validate(parts).ok());
}

TEST(Broadcast, TakesTheFirstRuleThatFits) {
    EXPECT_EQ(broadcast({2, 3}, {2, 3}), (Broadcast{1, 6}));
    EXPECT_EQ(broadcast({0, 3}, {2, 3}), std::nullopt) << "a dim that overflowed";
    EXPECT_EQ(broadcast({6}, {2, 3}), (Broadcast{1, 6}));
    EXPECT_EQ(broadcast({1}, {2, 3}), (Broadcast{1, 1}));
    EXPECT_EQ(broadcast({2, 1}, {2, 3}), (Broadcast{3, 2}));
    EXPECT_EQ(broadcast({3}, {2, 3}), (Broadcast{1, 3}));
    EXPECT_EQ(broadcast({2, 3}, {4, 3}), (Broadcast{1, 6}));
    EXPECT_EQ(broadcast({2}, {2, 3}), std::nullopt);
    EXPECT_EQ(broadcast({3, 3}, {4, 3}), std::nullopt);
}

}  // namespace
}  // namespace gym::program
