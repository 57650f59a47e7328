#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>

#include "../kernels/kernel_test_support.hpp"
#include "gym/blob/piece_list.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/encoded_aggregate.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/range_roots.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/rows.h"
#include "gym/program/builder.hpp"
#include "gym/program/train_program.hpp"
#include "gym/program/update_codec.hpp"
#include "noise.hpp"

// Aggregates by ranges (docs/adr/0024-aggregation-by-ranges.md): however the parameters are cut and
// wherever the deltas are, the bits and the roots are the same.
namespace gym::engine {
namespace {

using testing::base_of_noise;
using ::testing::HasSubstr;
using testing::noisy_deltas;

struct Kind {
    program::DeltaCodec codec = program::DeltaCodec::kFloat;
    bool has_update = false;
};
constexpr Kind kPlain{program::DeltaCodec::kFloat, false};
constexpr Kind kRows{program::DeltaCodec::kDense, false};
constexpr Kind kUpdated{program::DeltaCodec::kDense, true};

/// A train program as far as the outer step is concerned.
program::Program program_of(const std::vector<std::uint32_t>& sizes, const Kind& kind) {
    program::Builder b;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        b.param("p" + std::to_string(i), {sizes[i]},
                program::Init{program::Init::Kind::kConstant, 0});
    b.constant(std::string(program::kOuterLearningRate), {1}, {0.7F});
    b.constant(std::string(program::kOuterMomentum), {1}, {0.9F});
    if (kind.codec == program::DeltaCodec::kDense)
        b.constant(std::string(program::kDeltaCodec), {1}, {1});
    if (kind.has_update) b.constant(std::string(program::kUpdateCodec), {1}, {1});
    b.output(std::string(program::kLossOutput), b.scalar(0));
    return b.build().value();
}

/// What a store hands out, counted.
class CountedReader final : public blob::BlobReader {
  public:
    explicit CountedReader(Bytes bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        if (is_lost) return fail(ErrorCode::kIo, "the disk is gone");
        largest = std::max<std::uint64_t>(largest, out.size());
        total += out.size();
        std::ranges::copy(ByteView(bytes_).subspan(offset, out.size()), out.begin());
        return {};
    }
    mutable std::atomic<std::uint64_t> largest{0}, total{0};
    std::atomic<bool> is_lost{false};

  private:
    const Bytes bytes_;
};

std::shared_ptr<CountedReader> reader_of(const Delta& delta) {
    const ByteView bytes = delta.bytes().bytes;
    return std::make_shared<CountedReader>(Bytes(bytes.begin(), bytes.end()));
}

std::vector<Delta> stored(const program::Program& train, const std::vector<Delta>& deltas) {
    std::vector<Delta> out;
    for (const Delta& delta : deltas)
        out.push_back(Delta::open(train, delta.root(), reader_of(delta)).value());
    return out;
}

/// Bits and roots, of which the latter are compared with those of the bytes, too.
void expect_same(const AggregateResult& made, const AggregateResult& expected) {
    EXPECT_EQ(made.base, expected.base);
    EXPECT_EQ(made.momentum, expected.momentum);
    EXPECT_EQ(made.base_root, state_root(made.base));
    EXPECT_EQ(made.momentum_root, state_root(made.momentum));
    EXPECT_EQ(made.records, expected.records);
    EXPECT_EQ(made.records_root, expected.records_root);
}

std::vector<std::uint32_t> random_sizes(std::mt19937_64& random) {
    std::vector<std::uint32_t> sizes;
    for (std::uint64_t i = 1 + random() % 5; i > 0; --i) {
        const std::uint64_t most = random() % 2 == 0 ? 300 : 60'000;
        sizes.push_back(static_cast<std::uint32_t>(1 + random() % most));
    }
    return sizes;
}

TEST(Ranges, AnyCutsOnAnyThreadsGiveTheSameBitsAndRoots) {
    std::mt19937_64 random(kernels::test_seed());
    for (int round = 0; round < 9; ++round) {
        const Kind kind = std::array{kPlain, kRows, kUpdated}[round % 3];
        const auto sizes = random_sizes(random);
        SCOPED_TRACE(::testing::PrintToString(sizes) + " round " + std::to_string(round) + " " +
                     kernels::seed_note());
        const program::Program train = program_of(sizes, kind);
        const State base = base_of_noise(train, random());
        const auto deltas = noisy_deltas(train, base, 1 + random() % 5, random());
        const auto on_disk = stored(train, deltas);
        const std::size_t held = random() % (deltas.size() + 1);
        const State outer = run_aggregate(train, base, {}, deltas).value().momentum;
        const auto run = [&](const std::vector<Delta>& from, std::uint64_t ranges,
                             unsigned threads) {
            return run_aggregate(train, base, outer, from, held, {.threads = threads},
                                 program::kSlotElementsMax, static_cast<RangeCount>(ranges))
                .value();
        };
        const AggregateResult whole = run(deltas, 1, 1);
        for (const std::uint64_t ranges : {0U, 1U, 3U, 64U}) {
            SCOPED_TRACE(std::to_string(ranges) + " ranges");
            expect_same(run(deltas, ranges, 3), whole);
            expect_same(run(on_disk, ranges, 1 + ranges % 2), whole);
        }
    }
}

/// As many deltas as an aggregate can have, some of them many times, in either form and in a store:
/// each element is the exact mean of all.
TEST(Ranges, OfTheMostDeltasAreExactMeans) {
    std::mt19937_64 random(kernels::test_seed());
    for (const Kind& kind : {kPlain, kRows}) {
        const program::Program train = program_of({130}, kind);
        const State base = base_of_noise(train, random());
        const auto some = noisy_deltas(train, base, 50, random());
        const auto stores = stored(train, some);
        std::vector<Delta> deltas, in_store;
        for (std::uint32_t k = 0; k < program::kDeltasMax; ++k) {
            deltas.push_back(some[k % 50]);
            in_store.push_back(stores[k % 50]);
        }
        for (const std::uint64_t held : {std::uint64_t{0}, std::uint64_t{3000}}) {
            const auto made = run_aggregate(train, base, {}, deltas, held);
            ASSERT_TRUE(made.ok()) << made.error().message;
            expect_same(run_aggregate(train, base, {}, in_store, held).value(), *made);
            for (const std::size_t i : {0U, 64U, 129U}) {
                std::vector<float> terms(deltas.size());
                for (std::size_t k = 0; k < deltas.size(); ++k) {
                    deltas[k].read(0, i, {&terms[k], 1});
                    if (held > 0 && k < deltas.size() - held) terms[k] *= 2;
                }
                const auto shares = static_cast<float>(2 * deltas.size() - held);
                const float mean = kernels::exact_sum(terms.data(), program::kDeltasMax) /
                                   (held == 0 ? static_cast<float>(deltas.size()) : shares);
                float element = 0;
                std::memcpy(&element, made->momentum.tensors[0].bytes.data() + 4 * i, 4);
                EXPECT_EQ(element, mean) << held << " " << i;
            }
        }
        deltas.push_back(some[0]);
        const auto refused = run_aggregate(train, base, {}, deltas);
        EXPECT_THAT(refused.error().message, HasSubstr("1 to 8192"));
    }
}

TEST(Ranges, AreWholeChunksOfEveryTensorAndOfTheUpdate) {
    std::mt19937_64 random(kernels::test_seed());
    for (int round = 0; round < 200; ++round) {
        const auto sizes = random_sizes(random);
        const std::uint64_t count = 1 + random() % 70;
        const ParameterRanges ranges({sizes.begin(), sizes.end()}, count);
        ASSERT_EQ(ranges.size(), count);
        std::vector<std::uint64_t> done(sizes.size());
        std::uint64_t chunks = 0;
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            for (const ParameterPart& part : ranges.parts(i)) {
                ASSERT_EQ(part.first, done[part.parameter]) << "the next elements";
                ASSERT_EQ(part.first % 256, 0U) << "a chunk of f32";
                done[part.parameter] += part.count;
            }
            ASSERT_EQ(ranges.update_chunks(i).first, chunks);
            chunks += ranges.update_chunks(i).count;
        }
        ASSERT_TRUE(std::ranges::equal(done, sizes)) << "all elements, each once";
        std::uint64_t rows = 1;
        for (const std::uint64_t size : sizes)
            rows += codec::rows_of(size);
        ASSERT_EQ(chunks, (codec::row_begin(rows) + 1023) / 1024);
    }
}

TEST(Ranges, OfALargeModelAreAboutAsLarge) {
    const std::uint64_t million = 1'000'000;
    const ParameterRanges ranges({3 * million, 5 * million, 100, 2 * million}, 10);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        std::uint64_t elements = 0;
        for (const ParameterPart& part : ranges.parts(i))
            elements += part.count;
        EXPECT_NEAR(static_cast<double>(elements), 1e6, 2 * 7936) << i;
    }
}

class Combined : public ::testing::Test {
  protected:
    [[nodiscard]] Result<AggregateRoots> combine(const std::vector<RangeRoots>& roots) const {
        return combine_ranges(train_, plan_, roots);
    }
    /// Of zeros.
    [[nodiscard]] std::vector<RangeRoots> roots() const {
        std::vector<RangeRoots> out;
        const State outer = zero_outer_state(train_, base_).value();
        const Bytes base_blob = encode_state(base_), outer_blob = encode_state(outer);
        const ParameterRanges& cut = plan_.cuts();
        const auto part_of = [](ByteView bytes, const ChunkSpan& span) {
            const auto leaves = commit::chunk_leaves(bytes);
            return commit::tree_part(std::span(leaves).subspan(span.first, span.count), span.first);
        };
        for (std::size_t i = 0; i < plan_.size(); ++i) {
            RangeRoots& range = out.emplace_back();
            for (const ParameterPart& part : cut.parts(i)) {
                const ChunkSpan span = chunks_of(part);
                range.base.push_back(part_of(base_.tensors[part.parameter].bytes, span));
                range.momentum.push_back(part_of(outer.tensors[part.parameter].bytes, span));
                range.residual.push_back(
                    part_of(outer.tensors[base_.tensors.size() + part.parameter].bytes, span));
            }
            range.update = part_of(update_of(outer), cut.update_chunks(i));
            const RangeChunks runs = plan_.chunks(i);
            range.base_run = part_of(base_blob, runs.base);
            range.momentum_run = part_of(outer_blob, runs.momentum);
            range.residual_run = part_of(outer_blob, runs.residual);
            range.update_run = part_of(outer_blob, runs.update);
        }
        return out;
    }

    const program::Program train_ = program_of({20'000, 7, 31'000}, kUpdated);
    const State base_ = base_of_noise(train_, 3);
    const RangePlan plan_ = RangePlan::of(train_, 4).value();
};

TEST_F(Combined, SubtreesGiveTheRootsOfTheStatesAndOfTheirBlobs) {
    const auto made = combine(roots()).value();
    const State outer = zero_outer_state(train_, base_).value();
    EXPECT_EQ(made.base, state_root(base_));
    EXPECT_EQ(made.momentum, state_root(outer));
    State both = base_;
    both.tensors.insert(both.tensors.end(), outer.tensors.begin(), outer.tensors.end());
    EXPECT_EQ(made.state, state_root(both));
    EXPECT_EQ(made.base_blob, blob::blob_root(encode_state(base_)));
    EXPECT_EQ(made.momentum_blob, blob::blob_root(encode_state(outer)));
}

TEST_F(Combined, RangesThatDoNotFitAreNamed) {
    const auto expect_refused = [&](const std::vector<RangeRoots>& of, const std::string& what) {
        const auto made = combine(of);
        ASSERT_FALSE(made.ok()) << what;
        EXPECT_THAT(made.error().message, HasSubstr(what));
    };
    auto changed = roots();
    changed.pop_back();
    expect_refused(changed, "the results of 3 ranges, there are 4");
    changed = roots();
    std::swap(changed[0], changed[1]);
    expect_refused(changed, "range 0 are not of its parts");
    changed = roots();
    changed[2].residual.pop_back();
    expect_refused(changed, "range 2 are not of its parts");
    changed = roots();
    changed[3].update.count -= 1;
    expect_refused(changed, "range 3 are not of its parts");
    for (const auto run : {&RangeRoots::base_run, &RangeRoots::momentum_run,
                           &RangeRoots::residual_run, &RangeRoots::update_run}) {
        changed = roots();
        (changed[1].*run).first += 1;
        expect_refused(changed, "range 1 are not of its parts");
        changed = roots();
        (changed[1].*run).nodes.pop_back();
        expect_refused(changed, "too few nodes");
    }
    changed = roots();
    changed[1].momentum[0].nodes.pop_back();
    expect_refused(changed, "too few nodes");
    changed = roots();
    changed[1].base[0].nodes[0].data[0] ^= 1;
    EXPECT_NE(combine(changed).value().base, state_root(base_));
    changed = roots();
    changed[1].base_run.nodes[0].data[0] ^= 1;
    EXPECT_NE(combine(changed).value().base_blob, combine(roots()).value().base_blob);
    EXPECT_EQ(combine(changed).value().base, state_root(base_));
}

/// The blobs that a node of one range has: of states the range's chunks, of each delta the pieces
/// that they lie in. Everything else reads as an error.
class SparseReader final : public blob::BlobReader {
  public:
    SparseReader(Bytes bytes, const DeltaSpan& span) : bytes_(std::move(bytes)) {
        begin_ = span.begin / blob::kPieceBytes * blob::kPieceBytes;
        const std::uint64_t end = span.begin + span.size;
        end_ = std::min<std::uint64_t>(
            (end + blob::kPieceBytes - 1) / blob::kPieceBytes * blob::kPieceBytes, bytes_.size());
    }
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        if (offset < begin_ || offset + out.size() > end_)
            return fail(ErrorCode::kIo, "a piece that was not fetched");
        std::ranges::copy(ByteView(bytes_).subspan(offset, out.size()), out.begin());
        return {};
    }

  private:
    const Bytes bytes_;
    std::uint64_t begin_ = 0, end_ = 0;
};

Bytes run_of(const Bytes& blob, const ChunkSpan& span) {
    const ByteView bytes = ByteView(blob).subspan(span.first * 1024, span.count * 1024);
    return {bytes.begin(), bytes.end()};
}

void put_run(Bytes& blob, const ChunkSpan& span, const Bytes& run) {
    std::ranges::copy(run, blob.begin() + static_cast<std::ptrdiff_t>(span.first * 1024));
}

/// An aggregate whose ranges are each made from the range's bytes alone.
class RangeUnits : public ::testing::TestWithParam<Kind> {
  protected:
    /// A range's delta pieces, opened as its node does.
    [[nodiscard]] std::vector<Delta> pieces_of(const RangePlan& plan, std::size_t range) const {
        std::vector<Delta> out;
        const DeltaSpan span = plan.delta_bytes(range);
        for (const Delta& delta : deltas_) {
            const ByteView all = delta.bytes().bytes;
            auto opened = Delta::open_part(
                train_, blob::PieceList::of(all),
                std::make_shared<SparseReader>(Bytes(all.begin(), all.end()), span), span);
            EXPECT_TRUE(opened.ok()) << opened.error().message;
            out.push_back(std::move(opened).value());
        }
        return out;
    }
    [[nodiscard]] RangeBytes bytes_of(const RangeChunks& chunks) const {
        return {run_of(base_blob_, chunks.base),
                run_of(outer_blob_, chunks.momentum),
                run_of(outer_blob_, chunks.residual),
                {}};
    }

    /// Small tensors, one that no cut lies in, and one whose deltas have more than a piece.
    struct Sample {
        explicit Sample(const Kind& kind)
            : train(program_of({70'001, 3, 9'000, 2'100'000, 64}, kind)) {}
        program::Program train;
        State base = base_of_noise(train, 7);
        std::vector<Delta> deltas = noisy_deltas(train, base, 3, 8);
        State outer = run_aggregate(train, base, {}, deltas).value().momentum;
        Bytes base_blob = encode_state(base), outer_blob = encode_state(outer);
        program::DeltaGroups groups{1, 1, 0};
        AggregateResult whole = run_aggregate(train, base, outer, deltas, groups).value();
    };
    static const Sample& sample_of(const Kind& kind) {
        static const Sample plain(kPlain), rows(kRows), updated(kUpdated);
        if (kind.has_update) return updated;
        return kind.codec == program::DeltaCodec::kFloat ? plain : rows;
    }

    const Sample& sample_ = sample_of(GetParam());
    const program::Program& train_ = sample_.train;
    const std::vector<Delta>& deltas_ = sample_.deltas;
    const Bytes &base_blob_ = sample_.base_blob, &outer_blob_ = sample_.outer_blob;
    const program::DeltaGroups& groups_ = sample_.groups;
    const AggregateResult& whole_ = sample_.whole;
};
INSTANTIATE_TEST_SUITE_P(Kinds, RangeUnits, ::testing::Values(kPlain, kRows, kUpdated),
                         [](const auto& test) {
                             if (test.param.has_update) return "update";
                             return test.param.codec == program::DeltaCodec::kFloat ? "none"
                                                                                    : "dense";
                         });

TEST_P(RangeUnits, MakeTheAggregateFromTheirOwnBytesAlone) {
    for (const std::uint64_t count : {1U, 3U, 64U}) {
        SCOPED_TRACE(std::to_string(count) + " ranges");
        const RangePlan plan = RangePlan::of(train_, count).value();
        Bytes base = plan.base().encode(), outer = plan.outer().encode();
        base.resize(plan.base().size_bytes());
        outer.resize(plan.outer().size_bytes());
        std::vector<RangeRoots> roots;
        for (std::size_t i = 0; i < count; ++i) {
            const auto deltas = pieces_of(plan, i);
            RangeBytes bytes = bytes_of(plan.chunks(i));
            const auto made = run_range({train_, plan, deltas, groups_}, i, bytes,
                                        {.threads = static_cast<unsigned>(1 + i % 3)});
            ASSERT_TRUE(made.ok()) << made.error().message;
            roots.push_back(*made);
            put_run(base, plan.chunks(i).base, bytes.base);
            put_run(outer, plan.chunks(i).momentum, bytes.momentum);
            put_run(outer, plan.chunks(i).residual, bytes.residual);
            put_run(outer, plan.chunks(i).update, bytes.update);
        }
        EXPECT_EQ(base, encode_state(whole_.base)) << "the ranges' bytes are all of the blob";
        EXPECT_EQ(outer, encode_state(whole_.momentum));
        const AggregateRoots combined = combine_ranges(train_, plan, roots).value();
        EXPECT_EQ(combined.base, whole_.base_root);
        EXPECT_EQ(combined.momentum, whole_.momentum_root);
        EXPECT_EQ(combined.state, whole_.records.front().state_root);
        EXPECT_EQ(combined.base_blob, blob::blob_root(base));
        EXPECT_EQ(combined.momentum_blob, blob::blob_root(outer));
    }
}

TEST_P(RangeUnits, OfEncodedStatesAreTheAggregate) {
    for (const std::uint64_t count : {0U, 1U, 64U}) {
        const auto made = run_encoded_aggregate(train_, base_blob_, outer_blob_, deltas_, groups_,
                                                {.threads = 2}, static_cast<RangeCount>(count));
        ASSERT_TRUE(made.ok()) << made.error().message;
        EXPECT_EQ(made->base, encode_state(whole_.base)) << count;
        EXPECT_EQ(made->momentum, encode_state(whole_.momentum));
        EXPECT_EQ(made->roots.base, whole_.base_root);
        EXPECT_EQ(made->roots.momentum, whole_.momentum_root);
        EXPECT_EQ(made->roots.base_blob, blob::blob_root(made->base));
        EXPECT_EQ(made->roots.momentum_blob, blob::blob_root(made->momentum));
        EXPECT_EQ(made->records, whole_.records);
        EXPECT_EQ(made->records_root, whole_.records_root);
        EXPECT_EQ(made->flops, whole_.flops);
        EXPECT_TRUE(std::ranges::equal(
            ByteView(made->momentum).subspan(made->update.begin, made->update.size),
            update_of(whole_.momentum)));
    }
    const auto first = run_encoded_aggregate(train_, base_blob_, {}, deltas_).value();
    EXPECT_EQ(first.momentum, outer_blob_) << "of no outer state";
}

TEST_P(RangeUnits, RefuseBytesThatAreNotTheirs) {
    const RangePlan plan = RangePlan::of(train_, 3).value();
    const auto run = [&](std::size_t range, RangeBytes bytes) {
        return run_range({train_, plan, deltas_, groups_}, range, bytes).error();
    };
    EXPECT_EQ(run(3, bytes_of(plan.chunks(0))).code, ErrorCode::kInvalidArgument);
    RangeBytes bytes = bytes_of(plan.chunks(1));
    bytes.momentum.pop_back();
    EXPECT_THAT(run(1, bytes).message, HasSubstr("bytes of the momentum, the range has"));
    bytes = bytes_of(plan.chunks(2));
    bytes.base.back() = 1;
    EXPECT_THAT(run(2, bytes).message, HasSubstr("behind tensor 'p4'"));
    bytes = bytes_of(plan.chunks(2));
    const program::DeltaGroups none{0, 3, 0};
    EXPECT_EQ(run_range({train_, plan, deltas_, none}, 2, bytes).error().code,
              ErrorCode::kInvalidArgument);
    const program::Program other = program_of({70'001}, GetParam());
    const auto strange = noisy_deltas(other, base_of_noise(other, 1), 1, 2);
    EXPECT_EQ(run_range({train_, plan, strange, {}}, 2, bytes).error().code,
              ErrorCode::kShapeMismatch);
}

TEST_P(RangeUnits, OfEncodedStatesOfOtherTensorsAreRefused) {
    const program::Program other = program_of({70'001, 3}, GetParam());
    const Bytes strange = encode_state(base_of_noise(other, 1));
    const auto run = [&](Bytes base, Bytes outer) {
        return run_encoded_aggregate(train_, std::move(base), std::move(outer), deltas_).error();
    };
    EXPECT_THAT(run(strange, {}).message, HasSubstr("no tensor 'p2'"));
    EXPECT_THAT(run(base_blob_, strange).message, HasSubstr("no tensor 'momentum.p0'"));
    EXPECT_EQ(run({1, 2, 3}, {}).code, ErrorCode::kMalformed);
    Bytes cut = base_blob_;
    cut.resize(cut.size() - 1024);
    EXPECT_EQ(run(cut, {}).code, ErrorCode::kMalformed);
    Bytes dirty = outer_blob_;
    dirty[RangePlan::of(train_, 1)->outer().end(1) - 1] = 1;
    EXPECT_THAT(run(base_blob_, dirty).message, HasSubstr("behind tensor 'momentum.p1'"));
}

TEST_P(RangeUnits, NoticeAPieceOfADeltaThatIsNotItsOwn) {
    const RangePlan plan = RangePlan::of(train_, 3).value();
    const ByteView all = deltas_.front().bytes().bytes;
    const blob::PieceList pieces = blob::PieceList::of(all);
    const DeltaSpan span = plan.delta_bytes(2);
    Bytes altered(all.begin(), all.end());
    altered[span.begin + 500] ^= 1;
    const auto refused =
        Delta::open_part(train_, pieces, std::make_shared<SparseReader>(altered, span), span);
    EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
    EXPECT_THAT(refused.error().message, HasSubstr("piece "));
    const auto malformed = Delta::open_part(
        train_, blob::PieceList::of(ByteView(all).first(all.size() - 1)),
        std::make_shared<SparseReader>(Bytes(all.begin(), all.end() - 1), span), span);
    EXPECT_EQ(malformed.error().code, ErrorCode::kMalformed);
    Bytes headless(all.begin(), all.end());
    headless[0] ^= 1;
    const DeltaSpan first = plan.delta_bytes(0);
    EXPECT_EQ(Delta::open_part(train_, blob::PieceList::of(headless),
                               std::make_shared<SparseReader>(headless, first), first)
                  .error()
                  .code,
              ErrorCode::kMalformed);
}

TEST_P(RangeUnits, SayAllOfThePlansBytesOnce) {
    for (const std::uint64_t count : {1U, 3U, 64U}) {
        const RangePlan plan = RangePlan::of(train_, count).value();
        std::uint64_t base = plan.base().head_bytes() / 1024, deltas = 0;
        std::uint64_t outer = plan.outer().head_bytes() / 1024;
        for (std::size_t i = 0; i < count; ++i) {
            const RangeChunks chunks = plan.chunks(i);
            base += chunks.base.count;
            outer += chunks.momentum.count + chunks.residual.count + chunks.update.count;
            deltas += plan.delta_bytes(i).size;
        }
        EXPECT_EQ(base * 1024, base_blob_.size());
        EXPECT_EQ(outer * 1024, outer_blob_.size());
        const std::uint64_t size = delta_bytes(train_).value();
        EXPECT_GE(deltas, size);
        EXPECT_LE(deltas,
                  size + (GetParam().codec == program::DeltaCodec::kFloat ? count : 0) * 1024);
    }
}

class StoredDelta : public ::testing::TestWithParam<Kind> {
  protected:
    [[nodiscard]] Result<Delta> open(Bytes bytes, const Digest& root) const {
        return Delta::open(train_, root, std::make_shared<CountedReader>(std::move(bytes)));
    }
    [[nodiscard]] Bytes bytes() const {
        const ByteView all = delta_.bytes().bytes;
        return {all.begin(), all.end()};
    }

    /// Of more than two pieces of 1 MiB.
    const program::Program train_ = program_of({300'000, 5, 4'200'000}, GetParam());
    const State base_ = base_of_noise(train_, 5);
    const Delta delta_ = noisy_deltas(train_, base_, 1, 6).front();
};
INSTANTIATE_TEST_SUITE_P(Codecs, StoredDelta, ::testing::Values(kPlain, kRows),
                         [](const auto& test) {
                             return test.param.codec == program::DeltaCodec::kFloat ? "none"
                                                                                    : "dense";
                         });

TEST_P(StoredDelta, HasTheNormOfTheOneInMemory) {
    const auto reader = reader_of(delta_);
    const Delta opened = Delta::open(train_, delta_.root(), reader).value();
    EXPECT_EQ(opened.norm_bits(), delta_.norm_bits());
    EXPECT_LE(reader->largest, std::uint64_t{1} << 20);
    const std::uint64_t passes = GetParam().codec == program::DeltaCodec::kFloat ? 2 : 1;
    EXPECT_LE(reader->total, passes * reader->size() + 16);
}

TEST_P(StoredDelta, OfOtherBytesIsAMismatch) {
    Bytes altered = bytes();
    altered[altered.size() / 2] ^= 1;
    EXPECT_EQ(open(altered, delta_.root()).error().code, ErrorCode::kMismatch);
    altered = bytes();
    altered.pop_back();
    EXPECT_EQ(open(altered, delta_.root()).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(open({}, delta_.root()).error().code, ErrorCode::kMismatch);
}

TEST_P(StoredDelta, ThatIsNoneOfTheProgramSaysWhy) {
    Bytes other = bytes();
    if (GetParam().codec == program::DeltaCodec::kFloat) {
        std::fill(other.end() - 4, other.end(), std::uint8_t{0xFF});  // a NaN that no op produces
    } else {
        other[3 * 1024 * 1024 / 2] |= 0x08;
        other[1023] = 1;
    }
    const auto in_memory = blob::VerifiedBlob::hash(other);
    const auto refused = open(other, in_memory.root());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, Delta::decode(train_, in_memory).error().message);
    other.resize(20);
    EXPECT_EQ(open(other, blob::blob_root(other)).error().code, ErrorCode::kMalformed);
}

TEST_P(StoredDelta, IsReadOnceMoreByTheAggregateAndLittleAtATime) {
    const auto reader = reader_of(delta_);
    const std::vector deltas{Delta::open(train_, delta_.root(), reader).value(), delta_};
    for (const std::uint64_t ranges : {1U, 7U}) {
        reader->total = reader->largest = 0;
        ASSERT_TRUE(run_aggregate(train_, base_, {}, deltas, 0, {}, program::kSlotElementsMax,
                                  static_cast<RangeCount>(ranges))
                        .ok());
        const std::uint64_t edges = ranges * 2 * 65'536;
        EXPECT_GE(reader->total, reader->size() - 1024) << "all but the head";
        EXPECT_LE(reader->total, reader->size() + edges);
        EXPECT_LE(reader->largest, 2U * 65'536);
    }
}

TEST_P(StoredDelta, OfADiskThatFailsEndsTheAggregate) {
    const auto reader = reader_of(delta_);
    const std::vector deltas{delta_, Delta::open(train_, delta_.root(), reader).value()};
    reader->is_lost = true;
    const auto made = run_aggregate(train_, base_, {}, deltas, 0, {.threads = 2});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kIo);
    EXPECT_THAT(made.error().message, HasSubstr("delta " + delta_.root().hex()));
}

}  // namespace
}  // namespace gym::engine
