#include "gym/game/withheld_answers.hpp"

#include <gtest/gtest.h>

#include "gym/engine/state_index.hpp"
#include "gym/game/rules.hpp"
#include "withheld_samples.hpp"

namespace gym::game {
namespace {

using blob::ViewReader;
using move::ShowWithheld;
using namespace testing;  // NOLINT: samples

/// That the rules take an answer, and none with another byte.
void expect_right(const Result<ShowWithheld>& answer, std::size_t kept = 0) {
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    const crypto::Eip712Domain domain = gym::testing::domain();
    const Cursor at = asked(answer->request);
    const auto ruling = decide(at, *answer, &domain);
    ASSERT_TRUE(ruling.ok()) << ruling.error().message;
    Cursor next = at;
    next.answered = true;
    next.node = {};
    EXPECT_EQ(std::get<Cursor>(*ruling), next);
    for_every_altered_byte(*answer, kept, [&](const ShowWithheld& other) {
        ASSERT_FALSE(decide(at, other, &domain).ok());
    });
}

Bytes part_of(const Bytes& bytes, std::uint64_t chunk) {
    const std::size_t begin = std::min<std::size_t>(bytes.size(), chunk * commit::kChunkBytes);
    const std::size_t end = std::min<std::size_t>(bytes.size(), begin + commit::kChunkBytes);
    return {bytes.begin() + static_cast<std::ptrdiff_t>(begin),
            bytes.begin() + static_cast<std::ptrdiff_t>(end)};
}

TEST(ShowDelta, HasEveryChunk) {
    Rng rng(1);
    for (const std::uint64_t size : {1U, 1023U, 1024U, 1025U, 5000U}) {
        const Bytes delta = random_bytes(rng, size);
        for (std::uint64_t chunk = 0; chunk * commit::kChunkBytes < size; ++chunk) {
            for (const Wanted what : {Wanted::kDelta, Wanted::kLateDelta}) {
                const auto answer =
                    show_delta(ask(what, blob::blob_root(delta), 0, chunk), ViewReader(delta));
                ASSERT_NO_FATAL_FAILURE(expect_right(answer));
                EXPECT_EQ(answer->content, part_of(delta, chunk));
                EXPECT_TRUE(answer->above.empty());
            }
        }
    }
}

TEST(ShowDelta, HasItsTreeRootForAChunkThatItDoesNotHave) {
    Rng rng(1);
    for (const std::uint64_t size : {0U, 1U, 1024U, 5000U}) {
        const Bytes delta = random_bytes(rng, size);
        const std::uint64_t chunks = (size + commit::kChunkBytes - 1) / commit::kChunkBytes;
        for (const std::uint64_t chunk : {chunks, chunks + 1, ~std::uint64_t{0}}) {
            const auto answer = show_delta(ask(Wanted::kDelta, blob::blob_root(delta), 0, chunk),
                                           ViewReader(delta));
            ASSERT_NO_FATAL_FAILURE(expect_right(answer));
            EXPECT_TRUE(answer->content.empty());
            EXPECT_EQ(answer->path, std::vector{commit::chunk_tree_root(delta)});
        }
    }
}

TEST(ShowDelta, OfAnotherDeltaIsRefused) {
    Rng rng(1);
    const Bytes delta = random_bytes(rng, 3000), other = random_bytes(rng, 3000);
    const DataRequest request = ask(Wanted::kDelta, blob::blob_root(delta), 0, 1);
    EXPECT_EQ(show_delta(request, ViewReader(other)).error().code, ErrorCode::kMismatch);
}

TEST(ShowState, HasEveryChunkOfEveryTensor) {
    const engine::State state = sample_state();
    const Bytes encoded = engine::encode_state(state);
    for (std::uint32_t tensor = 0; tensor < state.tensors.size(); ++tensor) {
        const Bytes& bytes = state.tensors[tensor].bytes;
        for (std::uint64_t chunk = 0; chunk * commit::kChunkBytes < bytes.size() + 1024; ++chunk) {
            for (const Wanted what : {Wanted::kBase, Wanted::kOuter}) {
                const auto answer = show_state(ask(what, engine::state_root(state), tensor, chunk),
                                               ViewReader(encoded));
                ASSERT_NO_FATAL_FAILURE(expect_right(answer));
                EXPECT_EQ(answer->content, part_of(bytes, chunk));
                EXPECT_EQ(answer->head,
                          tensor_head({state.tensors[tensor].dtype, state.tensors[tensor].dims}));
            }
        }
    }
}

/// Counts what is read.
class CountingReader final : public blob::BlobReader {
  public:
    explicit CountingReader(ByteView content) : content_(content) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        bytes += out.size();
        return content_.read(offset, out);
    }
    mutable std::uint64_t bytes = 0;

  private:
    ViewReader content_;
};

TEST(ShowState, WithTheTensorsRootsReadsOneTensorAlone) {
    const engine::State state = sample_state();
    const Bytes encoded = engine::encode_state(state);
    const auto roots = tensor_roots(ViewReader(encoded));
    ASSERT_TRUE(roots.ok());
    for (const std::uint32_t tensor : {0U, 1U, 2U, 3U}) {
        const DataRequest request = ask(Wanted::kBase, engine::state_root(state), tensor, 0);
        const CountingReader whole(encoded), part(encoded);
        const auto answer = show_state(request, part, *roots);
        ASSERT_NO_FATAL_FAILURE(expect_right(answer));
        const auto same = show_state(request, whole);
        EXPECT_EQ(answer->content, same->content);
        EXPECT_EQ(answer->path, same->path);
        EXPECT_EQ(answer->above, same->above);
        EXPECT_LE(part.bytes + 3 * 300 * 4 + 10 + 1024, whole.bytes) << "the pass over all tensors";
    }
    EXPECT_EQ(show_state(ask(Wanted::kBase, engine::state_root(state), 0, 0), ViewReader(encoded),
                         std::vector<Digest>{})
                  .error()
                  .code,
              ErrorCode::kMismatch);
}

/// The tree of three tensors has four places; higher numbers begin again.
TEST(ShowState, HasTheAbsentLeafWhereThereIsNoTensor) {
    const engine::State state = sample_state();
    const Bytes encoded = engine::encode_state(state);
    for (const std::uint32_t tensor : {3U, 7U, 0xFFFFFFFFU}) {
        const auto answer = show_state(ask(Wanted::kBase, engine::state_root(state), tensor, 5),
                                       ViewReader(encoded));
        ASSERT_NO_FATAL_FAILURE(expect_right(answer));
        EXPECT_TRUE(answer->head.empty());
        EXPECT_TRUE(answer->content.empty());
        EXPECT_EQ(answer->above.size(), 2U);
    }
    const auto again =
        show_state(ask(Wanted::kBase, engine::state_root(state), 6, 0), ViewReader(encoded));
    ASSERT_NO_FATAL_FAILURE(expect_right(again));
    EXPECT_EQ(again->content, state.tensors[2].bytes);
}

TEST(ShowState, MayHaveOneTensorOrNone) {
    Rng rng(3);
    for (const std::uint32_t tensor : {0U, 1U, 9U}) {
        const engine::State none;
        const Bytes nothing = engine::encode_state(none);
        const auto absent = show_state(ask(Wanted::kOuter, engine::state_root(none), tensor, 0),
                                       ViewReader(nothing));
        ASSERT_NO_FATAL_FAILURE(expect_right(absent));
        EXPECT_TRUE(absent->above.empty());
        const engine::State one = random_state(rng, {{commit::DType::kI16, {7, 2}}});
        const Bytes encoded = engine::encode_state(one);
        const auto whole = show_state(ask(Wanted::kOuter, engine::state_root(one), tensor, 0),
                                      ViewReader(encoded));
        ASSERT_NO_FATAL_FAILURE(expect_right(whole));
        EXPECT_EQ(whole->content, one.tensors[0].bytes);
    }
}

TEST(ShowState, IsReadPieceByPiece) {
    Rng rng(3);
    const engine::State state =
        random_state(rng, {{commit::DType::kU8, {100}}, {commit::DType::kU8, {(2U << 20) + 5}}});
    const Bytes encoded = engine::encode_state(state);
    for (const std::uint64_t chunk : {0U, 1023U, 1024U, 2047U, 2048U}) {
        const auto answer = show_state(ask(Wanted::kBase, engine::state_root(state), 1, chunk),
                                       ViewReader(encoded));
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        EXPECT_EQ(answer->content, part_of(state.tensors[1].bytes, chunk));
    }
}

TEST(ShowState, OfAnotherStateIsRefused) {
    const engine::State state = sample_state();
    const DataRequest request = ask(Wanted::kBase, engine::state_root(state), 1, 0);
    engine::State other = state;
    other.tensors[2].bytes[9] ^= 1;
    const Bytes encoded = engine::encode_state(other);
    EXPECT_EQ(show_state(request, ViewReader(encoded)).error().code, ErrorCode::kMismatch);
    const Bytes cut(encoded.begin(), encoded.end() - 1);
    EXPECT_EQ(show_state(request, ViewReader(cut)).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(show_state(request, ViewReader({})).error().code, ErrorCode::kMalformed);
}

TEST(ShowChunk, RefusesABlobThatEndsWithinTheTensor) {
    const Bytes bytes(100);
    const auto answer = show_chunk(ask(Wanted::kDelta, filled(1), 0, 0),
                                   {ViewReader(bytes), 1, {commit::DType::kU8, {100}}}, {});
    EXPECT_EQ(answer.error().code, ErrorCode::kOutOfRange);
}

TEST(ShowDataset, OfTheFirstFormatIsOneTensor) {
    const blob::Dataset dataset = sample_dataset({256, {}});
    ASSERT_EQ(dataset.header().format(), 1U);
    const Bytes file = dataset.encode();
    for (const std::uint32_t leaf : {0U, 1U, 6U})
        for (std::uint64_t chunk = 0; chunk < 5; ++chunk) {
            const auto answer =
                show_dataset(ask(Wanted::kDataset, dataset.root(), leaf, chunk), ViewReader(file));
            ASSERT_NO_FATAL_FAILURE(expect_right(answer));
            EXPECT_EQ(answer->content, part_of(dataset.token_bytes(), chunk));
            EXPECT_TRUE(answer->above.empty());
        }
}

TEST(ShowDataset, OfTheSecondFormatHasItsHeadBesideTheTokens) {
    for (const std::uint32_t vocabulary : {256U, 70'000U}) {
        const blob::Dataset dataset = sample_dataset({vocabulary, gym::testing::digest(3)});
        ASSERT_EQ(dataset.header().format(), 2U);
        const Bytes file = dataset.encode();
        for (std::uint64_t chunk = 0; chunk < 8; ++chunk) {
            const auto tokens =
                show_dataset(ask(Wanted::kDataset, dataset.root(), 1, chunk), ViewReader(file));
            ASSERT_NO_FATAL_FAILURE(expect_right(tokens));
            EXPECT_EQ(tokens->content, part_of(dataset.token_bytes(), chunk));
            const auto head =
                show_dataset(ask(Wanted::kDataset, dataset.root(), 2, chunk), ViewReader(file));
            ASSERT_NO_FATAL_FAILURE(expect_right(head));
            EXPECT_EQ(head->content, Bytes(file.begin(), file.begin() + 64));
            EXPECT_TRUE(head->head.empty());
        }
    }
}

TEST(ShowDataset, OfAnotherDatasetIsRefused) {
    const blob::Dataset dataset = sample_dataset({256, {}});
    const Bytes file = sample_dataset({255, {}}).encode();
    const DataRequest request = ask(Wanted::kDataset, dataset.root(), 0, 0);
    EXPECT_EQ(show_dataset(request, ViewReader(file)).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(show_dataset(request, ViewReader({})).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(show_dataset(request, ViewReader(ByteView(file).first(file.size() - 1))).error().code,
              ErrorCode::kMalformed);
}

class ShowCommitment : public ::testing::Test {
  protected:
    Result<ShowWithheld> show(const DataRequest& request) const {
        return show_commitment(gym::testing::domain(), request, {epochs_.own, epochs_.next});
    }
    static Address worker(std::uint32_t slot) { return gym::testing::key(slot).address(); }

    SampleEpochs epochs_;
};

TEST_F(ShowCommitment, InTheEpochOfItsRound) {
    for (std::uint32_t slot = 0; slot < epochs_.own.size(); ++slot) {
        const auto answer = show(epochs_.ask(epochs_.own[slot], worker(slot)));
        ASSERT_NO_FATAL_FAILURE(expect_right(answer, 1));
        EXPECT_EQ(answer->head, (Bytes{0, 0, 0, 0, static_cast<std::uint8_t>(slot)}));
        EXPECT_EQ(answer->content, protocol::encode(epochs_.own[slot]));
    }
}

TEST_F(ShowCommitment, InTheNextEpoch) {
    epochs_.next.push_back(epochs_.own[1]);
    epochs_.own.erase(epochs_.own.begin() + 1);
    const auto answer = show(epochs_.ask(epochs_.next[2], worker(1)));
    ASSERT_NO_FATAL_FAILURE(expect_right(answer, 1));
    EXPECT_EQ(answer->head, (Bytes{1, 0, 0, 0, 2}));
    EXPECT_EQ(answer->content, protocol::encode(epochs_.next[2]));
}

TEST_F(ShowCommitment, IsAnotherOneOfItsWorkerToTheSameUnit) {
    const protocol::SignedCommitment second = epochs_.second(2);
    const auto answer = show(epochs_.ask(second, worker(2)));
    ASSERT_NO_FATAL_FAILURE(expect_right(answer, 1));
    EXPECT_EQ(answer->content, protocol::encode(epochs_.own[2]));
    // The one that is asked for comes first.
    epochs_.next.push_back(second);
    EXPECT_EQ(show(epochs_.ask(second, worker(2)))->content, protocol::encode(second));
}

TEST_F(ShowCommitment, IsNotOfAnotherUnitOrWorker) {
    const auto code = [&](const DataRequest& request) { return show(request).error().code; };
    const DataRequest request = epochs_.ask(epochs_.second(2), worker(2));
    ASSERT_TRUE(show(request).ok());
    DataRequest other = request;
    other.slot = 7;
    EXPECT_EQ(code(other), ErrorCode::kNotFound);
    other = request;
    other.round_record = filled(1);
    EXPECT_EQ(code(other), ErrorCode::kNotFound);
    other = request;
    other.worker = worker(1);
    EXPECT_EQ(code(other), ErrorCode::kNotFound);
}

TEST_F(ShowCommitment, OfOtherEpochsIsRefused) {
    DataRequest request = epochs_.ask(epochs_.own[1], worker(1));
    request.root.data[0] ^= 1;
    EXPECT_EQ(show(request).error().code, ErrorCode::kMismatch);
    request = epochs_.ask(epochs_.own[1], worker(1));
    request.leaves = 2;
    EXPECT_EQ(show(request).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(show_commitment(gym::testing::domain(), request, {}).error().code,
              ErrorCode::kNotFound);
}

TEST(TensorHead, IsReadBack) {
    for (const dispute::Shape& shape :
         {dispute::Shape{commit::DType::kF32, {}}, dispute::Shape{commit::DType::kU32, {3, 5}},
          dispute::Shape{commit::DType::kU8, std::vector<std::uint64_t>(8, ~std::uint64_t{0})}}) {
        const Bytes head = tensor_head(shape);
        EXPECT_EQ(head.size(), 2 + 8 * shape.dims.size());
        EXPECT_EQ(*read_tensor_head(head), shape);
        commit::Hasher hasher;
        EXPECT_EQ(dispute::tensor_digest(shape, filled(1)),
                  hasher.update_u8(2).update(head).update(filled(1)).finish());
    }
}

}  // namespace
}  // namespace gym::game
