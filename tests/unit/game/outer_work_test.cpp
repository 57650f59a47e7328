#include <gtest/gtest.h>

#include "gym/codec/row_layout.hpp"
#include "gym/engine/unit.hpp"
#include "gym/game/outer_tensors.hpp"
#include "players.hpp"
#include "sample_outer.hpp"
#include "temporary_folder.hpp"

namespace gym::game {
namespace {

using testing::kSamples;
using testing::must;
using testing::SampleOuter;

class OuterWorkOf : public ::testing::TestWithParam<dispute::testing::Sample> {
  protected:
    [[nodiscard]] engine::AggregateResult aggregate(const std::vector<OuterDelta>& included) const {
        std::vector<engine::Delta> deltas;
        for (const OuterDelta& delta : included)
            deltas.push_back(
                must(engine::Delta::decode(sample_.unit.program, must(sample_.source()(delta)))));
        const auto held = std::ranges::count(included, true, &OuterDelta::held);
        return must(engine::run_aggregate(sample_.unit.program, sample_.base, sample_.momentum,
                                          deltas, static_cast<std::size_t>(held)));
    }
    SampleOuter sample_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Samples, OuterWorkOf, ::testing::ValuesIn(kSamples),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Update, OuterWorkOf, ::testing::Values(dispute::testing::kUpdateSample),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(OuterWorkOf, GivesTheEnginesBits) {
    const auto work = sample_.rerun();
    for (std::size_t count = 1; count <= 2 * SampleOuter::kSlots.size(); ++count) {
        const std::size_t held = count / 2;
        std::vector<OuterDelta> included;
        for (std::size_t i = 0; i < count - held; ++i)
            included.push_back({SampleOuter::kSlots[i], sample_.epoch[i].commitment.delta_root});
        for (std::size_t i = 0; i < held; ++i)
            included.push_back(
                {SampleOuter::kSlots[i], sample_.previous_epoch[i].commitment.delta_root, true});
        const engine::AggregateResult right = aggregate(included);
        const OuterTrees& trees = *must(work->run(included));
        EXPECT_EQ(commit::merkle_root(trees.base), right.base_root);
        EXPECT_EQ(commit::merkle_root(trees.momentum), right.momentum_root);
        EXPECT_EQ(trees.state_root, right.records.at(0).state_root);
        EXPECT_EQ(engine::included_root(count, held, trees.deltas_root),
                  right.records.at(0).batch_root);
        const std::uint32_t last = work->trace().header.parameters - 1;
        for (const std::uint32_t i : {0U, last})
            EXPECT_EQ(must(work->tensor(OuterTree::kBase, i))->root(), trees.base[i]);
        for (std::uint32_t i = 0; i < right.momentum.tensors.size(); ++i)
            EXPECT_TRUE(std::ranges::equal(must(work->tensor(OuterTree::kMomentum, i))->bytes(),
                                           right.momentum.tensors[i].bytes))
                << right.momentum.tensors[i].name;
    }
}

/// Also where all are of the round before, which is as if none was.
TEST_P(OuterWorkOf, CountsHeldDeltasHalf) {
    const auto work = sample_.rerun();
    std::vector<OuterDelta> included = sample_.included;
    const auto base = [&](std::size_t held) {
        for (std::size_t i = 0; i < included.size(); ++i)
            included[i].held = i >= included.size() - held;
        const Digest root = commit::merkle_root(must(work->run(included))->base);
        EXPECT_EQ(root, aggregate(included).base_root) << held;
        return root;
    };
    EXPECT_EQ(base(3), base(0));
    EXPECT_NE(base(1), base(0));
    EXPECT_NE(base(1), base(2));
}

/// NaN, infinities, -0, numbers far apart.
TEST_P(OuterWorkOf, GivesTheEnginesBitsOfStrangeNumbers) {
    sample_.add_held();
    Bytes strange = sample_.deltas.at(sample_.included[1].root);
    const std::uint32_t words[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000,
                                   0x00000001, 0x7F7FFFFF, 0x33000000};
    for (std::size_t i = 0; i < std::size(words); ++i)
        std::memcpy(&strange[16 + 4 * i], &words[i], 4);
    if (sample_.unit.program.find_slot(program::kDeltaCodec) != program::kNoSlot) {
        // The largest and the smallest elements that rows have.
        strange = sample_.deltas.at(sample_.included[1].root);
        const auto put_row = [&](std::uint64_t row, std::uint8_t scale, std::uint8_t levels) {
            const auto begin = strange.begin() + static_cast<std::ptrdiff_t>(codec::row_begin(row));
            std::fill(begin + 1, begin + codec::kRowBytes, levels);
            *begin = scale;
        };
        put_row(1, 252, 0x97);
        put_row(2, 1, 0x1F);
    }
    sample_.included[1].root = blob::blob_root(strange);
    sample_.deltas[sample_.included[1].root] = strange;
    const auto work = sample_.rerun();
    const engine::AggregateResult right = aggregate(sample_.included);
    const OuterTrees& trees = *must(work->run(sample_.included));
    EXPECT_EQ(commit::merkle_root(trees.base), right.base_root);
    EXPECT_EQ(commit::merkle_root(trees.momentum), right.momentum_root);
}

TEST_P(OuterWorkOf, OpensWhatAnElementIsMadeFrom) {
    const auto work = sample_.rerun();
    const OuterTrees& trees = *must(work->run(sample_.included));
    const dispute::TraceHeader& header = work->trace().header;
    const std::uint32_t parameter = header.parameters - 1;
    const auto& tensor = sample_.base.tensors[parameter];
    const std::uint64_t element = tensor.bytes.size() / 4 - 1;
    const dispute::Shape shape{program::DType::kF32, tensor.dims};
    const auto before = must(work->before(parameter, element));
    const auto expect_in = [&](const Digest& root, commit::LeafPosition place,
                               const dispute::ChunksOpening& opening) {
        EXPECT_TRUE(commit::merkle_verify(root, place, tensor_digest(shape, opening.tree_root),
                                          opening.path)
                        .ok());
    };
    const std::uint64_t outer = outer_count(header);
    expect_in(sample_.record.base_state_root, {parameter, header.parameters}, before.base);
    expect_in(sample_.record.momentum_root, {parameter, outer}, before.momentum);
    if (has_update(header))
        expect_in(sample_.record.momentum_root, {header.parameters + parameter, outer},
                  before.residual);
    const Bytes values = must(work->column(parameter, element));
    ASSERT_EQ(values.size(), 4 * sample_.included.size());
    for (std::uint32_t k = 0; k < sample_.included.size(); ++k) {
        const auto delta = must(engine::Delta::decode(sample_.unit.program,
                                                      must(sample_.source()(sample_.included[k]))));
        float last = 0, value = 0;
        delta.read(parameter, element, {&last, 1});
        std::memcpy(&value, &values[std::size_t{4} * k], sizeof value);
        EXPECT_EQ(value, last);
        const auto opening = must(work->delta_element(k, parameter, element));
        const dispute::Shape bytes = dispute::delta_shape(header);
        EXPECT_TRUE(commit::merkle_verify(trees.deltas_root, {k, sample_.included.size()},
                                          tensor_digest(bytes, opening.tree_root), opening.path)
                        .ok());
    }
}

TEST(OuterWork, FilesAndThreadsChangeNothing) {
    const gym::testing::TemporaryFolder folder;
    RerunWorkOptions small;
    small.engine.threads = 3;
    small.spill = {folder.path(), 256};
    const SampleOuter sample(kSamples[2]);
    const auto a = sample.rerun(), b = sample.rerun(small);
    EXPECT_EQ(must(a->run(sample.included))->base, must(b->run(sample.included))->base);
    EXPECT_EQ(must(a->run(sample.included))->state_root, must(b->run(sample.included))->state_root);
    EXPECT_EQ(must(b->tensor(OuterTree::kBase, 1))->root(), must(a->run(sample.included))->base[1]);
    EXPECT_EQ(must(a->column(1, 3)), must(b->column(1, 3)));
}

TEST(OuterWork, BeginsWithNoMomentum) {
    SampleOuter sample(kSamples[4]);
    sample.momentum = engine::zero_momentum(sample.base);
    const Digest right = must(sample.rerun()->run(sample.included))->state_root;
    sample.momentum.tensors.clear();
    EXPECT_EQ(must(sample.rerun()->run(sample.included))->state_root, right);
}

TEST(OuterWork, SaysWhatIsWrongWithItsInputs) {
    SampleOuter sample(kSamples[4]);
    const auto code = [&] {
        const auto work = RerunOuter::create(sample.inputs(), sample.source());
        return work.ok() ? ErrorCode::kInternal : work.error().code;
    };
    const engine::State base = sample.base;
    sample.base.tensors.pop_back();
    EXPECT_EQ(code(), ErrorCode::kShapeMismatch);
    sample.base = base;
    sample.base.tensors[0].bytes.pop_back();
    EXPECT_EQ(code(), ErrorCode::kShapeMismatch);
    sample.base = base;
    std::swap(sample.included[0], sample.included[1]);
    EXPECT_EQ(code(), ErrorCode::kInvalidArgument);
    std::swap(sample.included[0], sample.included[1]);
    sample.included[1].held = true;
    EXPECT_EQ(code(), ErrorCode::kInvalidArgument) << "one of the round behind a held one";
    sample.included[1].held = false;
    sample.included[2] = sample.included[1];
    EXPECT_EQ(code(), ErrorCode::kInvalidArgument) << "twice";
    sample.included[2].held = true;
    EXPECT_TRUE(RerunOuter::create(sample.inputs(), sample.source()).ok()) << "of both rounds";
    sample.included[2] = {SampleOuter::kSlots[3], sample.epoch[3].commitment.delta_root};

    const auto work = sample.rerun();
    EXPECT_EQ(work->column(0, 0).error().code, ErrorCode::kConflict) << "nothing was run";
    EXPECT_EQ(work->run({}).error().code, ErrorCode::kInvalidArgument);
    std::vector<OuterDelta> other = sample.included;
    other[2].root.data[0] ^= 1;
    EXPECT_EQ(work->run(other).error().code, ErrorCode::kNotFound);
    sample.deltas[other[2].root] = sample.deltas.at(sample.included[2].root);
    EXPECT_EQ(work->run(other).error().code, ErrorCode::kMismatch);
    sample.deltas[other[2].root].pop_back();
    EXPECT_EQ(work->run(other).error().code, ErrorCode::kShapeMismatch);

    (void)must(work->run(sample.included));
    const std::uint32_t parameters = work->trace().header.parameters;
    EXPECT_EQ(work->tensor(OuterTree::kBase, parameters).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(work->tensor(OuterTree::kBoth, 0).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(work->column(0, 1U << 30).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(work->delta_element(3, 0, 0).error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace gym::game
