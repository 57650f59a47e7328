#include "gym/dispute/macro_trace.hpp"

#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/program/train_program.hpp"
#include "sample_unit.hpp"
#include "temporary_folder.hpp"

namespace gym::dispute {
namespace {

using testing::kSamples;
using testing::SampleUnit;

class MacroTraceOf : public ::testing::TestWithParam<testing::Sample> {
  protected:
    SampleUnit unit_{GetParam()};
    StepTrace step_ = unit_.step(1);

    MacroTrace macro(std::uint32_t op, const MacroOptions& options = {}) const {
        auto found = MacroTrace::create(unit_.unit(), unit_.trace, step_, op, options);
        EXPECT_TRUE(found.ok()) << op << (found.ok() ? "" : found.error().message);
        return std::move(found).value();
    }
    [[nodiscard]] std::uint32_t ops() const {
        return static_cast<std::uint32_t>(unit_.trace.macros.size());
    }
};
INSTANTIATE_TEST_SUITE_P(Samples, MacroTraceOf, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Later, MacroTraceOf, ::testing::ValuesIn(testing::kLaterSamples),
                         [](const auto& test) { return std::string(test.param.name); });

/// create() compares the outputs with the fused kernels' itself.
TEST_P(MacroTraceOf, EveryMacroOpOfAStepHasTheFusedBits) {
    for (std::uint32_t op = 0; op < ops(); ++op) {
        const MacroTrace trace = macro(op);
        EXPECT_EQ(trace.roots().size(), unit_.trace.macros[op].primitives);
        EXPECT_EQ(trace.range(), unit_.trace.macros[op]);
    }
}

TEST_P(MacroTraceOf, TensorsHaveTheRootsOfThePrimitiveTree) {
    for (std::uint32_t op = 0; op < ops(); op += 7) {
        MacroTrace trace = macro(op);
        const MacroRange& range = trace.range();
        for (std::uint32_t i = 0; i < range.primitives; ++i) {
            const TensorTrace tensor = trace.tensor(i).value();
            EXPECT_EQ(tensor.output.root(), trace.roots()[i]);
            const auto& inputs = unit_.trace.primitives[range.first_primitive + i].inputs;
            ASSERT_EQ(tensor.operands.size(), inputs.size());
            for (std::size_t k = 0; k < inputs.size(); ++k) {
                const Source& source = inputs[k].source;
                const Digest expected =
                    source.kind == Source::Kind::kPrimitive ? trace.roots()[source.index]
                    : source.kind == Source::Kind::kLeaf    ? step_.leaf_roots[source.index]
                    : source.kind == Source::Kind::kState   ? step_.before_roots[source.index]
                                                            : source.root;
                EXPECT_EQ(tensor.operands[k].root(), expected) << op << " " << i << " " << k;
            }
        }
        EXPECT_FALSE(trace.tensor(range.primitives).ok());
    }
}

TEST_P(MacroTraceOf, ThreadsAndFilesChangeNoRoot) {
    const gym::testing::TemporaryFolder folder;
    MacroOptions small;
    small.engine.threads = 3;
    small.engine.isa = "scalar";
    small.spill = {folder.path(), 256};
    bool spilled = false;
    for (std::uint32_t op = 0; op < ops(); op += 5) {
        MacroTrace in_memory = macro(op), in_files = macro(op, small);
        EXPECT_EQ(in_memory.roots(), in_files.roots());
        EXPECT_FALSE(in_memory.spilled());
        spilled = spilled || in_files.spilled();
        const std::uint32_t last = in_files.range().primitives - 1;
        EXPECT_EQ(in_files.tensor(last)->output.root(), in_memory.roots()[last]);
    }
    EXPECT_TRUE(spilled);
}

TEST_P(MacroTraceOf, HoldsNotAllOutputsAtOnce) {
    for (std::uint32_t op = 0; op < ops(); ++op) {
        const MacroRange& range = unit_.trace.macros[op];
        if (range.primitives < 15) continue;
        std::uint64_t all = 0;
        for (std::uint32_t i = 0; i < range.primitives; ++i)
            all += size_bytes(unit_.trace.primitives[range.first_primitive + i].output);
        EXPECT_LT(macro(op).peak_bytes(), all * 3 / 4) << op;
    }
}

TEST_P(MacroTraceOf, FindsAStepWhoseLeavesAreNotThoseOfItsState) {
    StepTrace wrong = step_;
    wrong.leaf_roots.back().data[5] ^= 1;
    const auto trace =
        MacroTrace::create(unit_.unit(), unit_.trace, wrong, ops() - 1, MacroOptions{});
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, ErrorCode::kInternal);
    EXPECT_FALSE(MacroTrace::create(unit_.unit(), unit_.trace, step_, ops()).ok());
}

}  // namespace
}  // namespace gym::dispute
