#include "gym/program/expand.hpp"

#include <gtest/gtest.h>

#include <set>

#include "gym/program/train_program.hpp"
#include "program_samples.hpp"

namespace gym::program {
namespace {

using testing::Rng;

class EveryOpcode : public ::testing::TestWithParam<Opcode> {};

/// The parts with their ops replaced by the expansion.
ProgramParts expanded(const ProgramParts& parts) {
    ProgramParts out = parts;
    out.ops.clear();
    Expansion expansion =
        expand(parts.slots, parts.ops[0], static_cast<SlotId>(parts.slots.size()));
    for (Slot& temp : expansion.temps)
        out.slots.push_back(std::move(temp));
    out.ops = std::move(expansion.ops);
    return out;
}

TEST_P(EveryOpcode, ExpandsToLegalPrimitives) {
    Rng rng(testing::test_seed());
    for (int round = 0; round < 20 * testing::test_scale(); ++round) {
        const ProgramParts parts = testing::sample(rng, GetParam());
        const Status legal = validate(parts);
        ASSERT_TRUE(legal.ok()) << legal.error().message;
        const ProgramParts out = expanded(parts);
        // validate() also says that every output and temp is written once, before it is read.
        const Status status = validate(out);
        ASSERT_TRUE(status.ok()) << status.error().message;
        for (const Op& op : out.ops)
            EXPECT_FALSE(info(op.code).macro) << to_string(op.code);
    }
}

TEST_P(EveryOpcode, ExpandsTheSameWayEveryTime) {
    Rng rng(testing::test_seed());
    const ProgramParts parts = testing::sample(rng, GetParam());
    EXPECT_EQ(expanded(parts), expanded(parts));
    if (!info(GetParam()).macro) {
        EXPECT_EQ(expanded(parts), parts);
    }
}

std::vector<Opcode> all_opcodes() {
    std::vector<Opcode> codes;
    for (const OpcodeInfo& op : opcode_table())
        codes.push_back(op.code);
    return codes;
}

INSTANTIATE_TEST_SUITE_P(Expand, EveryOpcode, ::testing::ValuesIn(all_opcodes()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(ExpandProgram, KeepsSlotsAndOutputsAndHasPrimitivesAlone) {
    TrainConfig config;
    config.batch = 2;
    config.model = {.vocabulary = 17, .context = 5, .layers = 2, .heads = 2, .width = 6};
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto out = expand(*program);
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_EQ(out->outputs(), program->outputs());
    for (std::size_t i = 0; i < program->slots().size(); ++i)
        EXPECT_EQ(out->slots()[i], program->slots()[i]);
    for (const Op& op : out->ops())
        EXPECT_FALSE(info(op.code).macro);
}

}  // namespace
}  // namespace gym::program
