#include "gym/program/reach.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gym/program/expand.hpp"
#include "program_samples.hpp"
#include "reference_runner.hpp"

namespace gym::program {
namespace {

using testing::ReferenceRunner;
using testing::Rng;

void fill_at_random(Rng& rng, const Slot& slot, std::uint8_t* bytes, std::uint64_t begin,
                    std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
        std::uint8_t* at = bytes + i * commit::size_bytes(slot.dtype);
        const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
        const std::uint64_t word = rng();
        switch (slot.dtype) {
            case DType::kF32:
                put(static_cast<float>(static_cast<std::int32_t>(word)) * 0x1.2p-31F);
                break;
            case DType::kI32:
                put(static_cast<std::int32_t>(word % 12));
                break;
            case DType::kI64:
                put(static_cast<std::int64_t>(word % 100000));
                break;
            default:
                put(static_cast<std::int16_t>(word % 16384 - 8192));
                break;
        }
    }
}

/// The bytes of element `out` of the op's output.
std::uint64_t output_bits(ReferenceRunner& runner, const ProgramParts& parts, std::uint64_t out) {
    const SlotId id = parts.ops[0].outputs[0];
    const std::size_t size = commit::size_bytes(parts.slots[id].dtype);
    std::uint64_t bits = 0;
    std::memcpy(&bits, runner.bytes(id) + out * size, size);
    return bits;
}

class EveryPrimitive : public ::testing::TestWithParam<Opcode> {};

TEST_P(EveryPrimitive, StaysWithinItsDeclaredReach) {
    Rng rng(testing::test_seed());
    for (int round = 0; round < 40 * testing::test_scale(); ++round) {
        const ProgramParts parts = testing::sample(rng, GetParam());
        const Op& op = parts.ops[0];
        ASSERT_TRUE(validate(parts).ok()) << validate(parts).error().message;
        const std::uint64_t count = element_count(parts.slots[op.outputs[0]].dims);
        const auto any_index = [&](SlotId, std::uint64_t) {
            return static_cast<std::int32_t>(rng() % 16) - 3;
        };
        for (int k = 0; k < 20; ++k) {
            const std::uint64_t out = rng() % count;
            for (std::size_t operand = 0; operand < op.inputs.size(); ++operand) {
                const Slot& input = parts.slots[op.inputs[operand]];
                const ElementRange range = depends_on(parts.slots, op, operand, out, any_index);
                EXPECT_LE(range.first + range.count, element_count(input.dims));
                EXPECT_LE(range.count, info(op.code).reach.elements);
                EXPECT_LE(chunks_of(range, commit::size_bytes(input.dtype)),
                          info(op.code).reach.chunks);
            }
        }
    }
}

// The leaf rule, for real: whatever changes outside the named elements, the output element does
// not.
TEST_P(EveryPrimitive, DependsOnNothingOutsideTheNamedElements) {
    Rng rng(testing::test_seed());
    int changed = 0;
    for (int round = 0; round < 40 * testing::test_scale(); ++round) {
        const ProgramParts parts = testing::sample(rng, GetParam());
        const Op& op = parts.ops[0];
        ReferenceRunner runner(parts);
        for (const SlotId id : op.inputs)
            fill_at_random(rng, parts.slots[id], runner.bytes(id), 0,
                           element_count(parts.slots[id].dims));
        runner.run();
        const std::uint64_t out = rng() % element_count(parts.slots[op.outputs[0]].dims);
        const std::uint64_t before = output_bits(runner, parts, out);
        const auto read = [&](SlotId slot, std::uint64_t element) {
            return runner.get<std::int32_t>(slot)[element];
        };
        std::vector<ElementRange> ranges;
        for (std::size_t operand = 0; operand < op.inputs.size(); ++operand)
            ranges.push_back(depends_on(parts.slots, op, operand, out, read));
        for (std::size_t operand = 0; operand < op.inputs.size(); ++operand) {
            const Slot& slot = parts.slots[op.inputs[operand]];
            std::uint8_t* bytes = runner.bytes(op.inputs[operand]);
            const ElementRange kept = ranges[operand];
            fill_at_random(rng, slot, bytes, 0, kept.first);
            fill_at_random(rng, slot, bytes, kept.first + kept.count, element_count(slot.dims));
        }
        runner.run();
        EXPECT_EQ(output_bits(runner, parts, out), before)
            << to_string(op.code) << " element " << out;
        // The named elements do matter, or the above would say nothing.
        for (std::size_t operand = 0; operand < op.inputs.size(); ++operand)
            fill_at_random(rng, parts.slots[op.inputs[operand]], runner.bytes(op.inputs[operand]),
                           ranges[operand].first, ranges[operand].first + ranges[operand].count);
        runner.run();
        changed += output_bits(runner, parts, out) != before ? 1 : 0;
    }
    EXPECT_EQ(changed > 0, GetParam() != Opcode::kFill);
}

std::vector<Opcode> primitives() {
    std::vector<Opcode> codes;
    for (const OpcodeInfo& op : opcode_table())
        if (!op.macro) codes.push_back(op.code);
    return codes;
}

INSTANTIATE_TEST_SUITE_P(Reach, EveryPrimitive, ::testing::ValuesIn(primitives()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(Chunks, CountTheKilobytesThatARangeTouches) {
    EXPECT_EQ(chunks_of({0, 0}, 4), 0U);
    EXPECT_EQ(chunks_of({0, 256}, 4), 1U);
    EXPECT_EQ(chunks_of({255, 2}, 4), 2U);
    EXPECT_EQ(chunks_of({1, 1024}, 4), 5U);
    EXPECT_EQ(chunks_of({1, 1024}, 8), 9U);
    EXPECT_EQ(chunks_of({1, 1024}, 2), 3U);
}

}  // namespace
}  // namespace gym::program
