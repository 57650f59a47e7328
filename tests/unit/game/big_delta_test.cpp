#include <gtest/gtest.h>

#include "gym/commit/codec.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/transcript.hpp"
#include "move_samples.hpp"
#include "random_seed.hpp"
#include "sparse_tree.hpp"

// Deltas that no test has memory for: all their words are 0 but the head's and one. Games go from
// the steps down to that word. contracts/test/DisputeBigDelta.t.sol plays the same on the
// contracts.

namespace gym::game {
namespace {

using dispute::kDeltaBytesMax;
using dispute::Shape;
using testing::filled;
using testing::Rng;
using testing::SparseTree;

constexpr std::uint64_t k4GiB = std::uint64_t{1} << 32;
constexpr std::uint64_t kSevenBillion = 26'953'662'480;  // bytes of llama-7b's
constexpr std::uint64_t kLargestTensor = std::uint64_t{1} << 31;
constexpr std::uint64_t kChunkWords = commit::kChunkBytes / 4;
constexpr std::uint32_t kValue = 0x3F800001;

using ShapeWord = abi::Type<std::optional<Shape>>;

Shape of_bytes(std::uint64_t size) {
    return {program::DType::kU8, {size}};
}
std::string word_of_size(std::uint64_t size) {
    return to_hex(ShapeWord::value(of_bytes(size)).amount().value().to_be32());
}

// The words of contracts/test/DisputeBigDelta.t.sol.
TEST(WordOfADelta, IsTheContracts) {
    const std::string zeros(20, '0');
    EXPECT_EQ(word_of_size(16), zeros +
                                    "0501"
                                    "0000001000000000000000000000000000000000");
    EXPECT_EQ(word_of_size(k4GiB - 4), zeros +
                                           "0501"
                                           "fffffffc00000000000000000000000000000000");
    EXPECT_EQ(word_of_size(k4GiB), zeros +
                                       "0501"
                                       "0000000000000001000000000000000000000000");
    EXPECT_EQ(word_of_size(kSevenBillion), zeros +
                                               "0501"
                                               "4690401000000006000000000000000000000000");
    EXPECT_EQ(word_of_size(kDeltaBytesMax), zeros +
                                                "0501"
                                                "0000000000000100000000000000000000000000");
}

TEST(WordOfADelta, IsReadBack) {
    Rng rng(gym::testing::random_seed());
    std::vector<std::uint64_t> sizes{1, 16, k4GiB - 4, k4GiB - 1, k4GiB, k4GiB + 1, kDeltaBytesMax};
    for (int i = 0; i < 1000; ++i)
        sizes.push_back(1 + (rng() % kDeltaBytesMax >> rng() % 40));
    for (const std::uint64_t size : sizes) {
        std::optional<Shape> read;
        ASSERT_TRUE(ShapeWord::read(ShapeWord::value(of_bytes(size)), read).ok()) << size;
        EXPECT_EQ(read, of_bytes(size));
    }
}

TEST(WordOfADelta, OfNoSizeOrTooLargeAOneIsRefused) {
    std::optional<Shape> read;
    for (const std::uint64_t size : {std::uint64_t{0}, kDeltaBytesMax + 1, ~std::uint64_t{0}})
        EXPECT_FALSE(ShapeWord::read(ShapeWord::value(of_bytes(size)), read).ok()) << size;
    // A bit behind the two halves, or in front of the dtype.
    for (const std::size_t at : {20, 31, 0, 9}) {
        auto word = ShapeWord::value(of_bytes(kSevenBillion)).amount().value().to_be32();
        word[at] ^= 1;
        EXPECT_FALSE(ShapeWord::read(Amount::from_be32(word), read).ok()) << at;
    }
    auto none = ShapeWord::value(of_bytes(1)).amount().value().to_be32();
    none[15] = 0;
    EXPECT_FALSE(ShapeWord::read(Amount::from_be32(none), read).ok());
}

/// One parameter of a program, and where it lies in its delta.
struct Big {
    std::uint64_t delta_bytes = 0;
    std::uint64_t offset = 16;
    std::uint64_t elements = 0;
};

void put(Bytes& chunk, std::uint64_t word, std::uint32_t bits) {
    for (std::size_t k = 0; k < 4; ++k)
        chunk[4 * word + k] ^= static_cast<std::uint8_t>(bits >> 8 * k);
}

class BigUnit {
  public:
    /// The final state has kValue in word `trained` of the delta, which itself has `bits` in
    /// `word`.
    BigUnit(Big big, std::uint64_t trained, std::uint64_t word, std::uint32_t bits)
        : big_(big), word_(word), bits_(bits), element_(trained - big.offset / 4) {
        const dispute::StateRecord other{
            {program::DType::kF32, {1}}, {dispute::Source::Kind::kState, 0, {}}, 0, 0};
        record_ = dispute::encode(dispute::StateRecord{
            parameter_shape(), {dispute::Source::Kind::kState, 1, {}}, big.offset, 0});
        other_ = dispute::state_record_digest(dispute::encode(other));
        header_.state_slots = 2;
        header_.parameters = 1;
        header_.delta_bytes = big.delta_bytes;
        header_.state_root = commit::merkle_node(other_, dispute::state_record_digest(record_));
        facts_.trace_root = dispute::trace_root(header_);
        facts_.delta_root = dispute::tensor_digest(dispute::delta_shape(header_), delta().root());
        facts_.final_state_root = state_of(parameter(kValue).root());
        facts_.initial_state_root = state_of(parameter(0).root());
    }

    [[nodiscard]] const Facts& facts() const { return facts_; }
    [[nodiscard]] const dispute::TraceHeader& header() const { return header_; }
    [[nodiscard]] dispute::RecordProof slot() const { return {1, record_, {other_}}; }
    [[nodiscard]] Bytes chunk() const {
        const std::uint64_t rest = big_.delta_bytes - word_ / kChunkWords * commit::kChunkBytes;
        Bytes bytes(std::min<std::uint64_t>(rest, commit::kChunkBytes));
        if (word_ < kChunkWords) {
            const Bytes head = head_bytes();
            std::ranges::copy(head, bytes.begin());
        }
        put(bytes, word_ % kChunkWords, bits_);
        return bytes;
    }
    /// The delta's chunks.
    [[nodiscard]] SparseTree delta() const {
        SparseTree tree{chunks(big_.delta_bytes), commit::chunk_leaf({}), {}};
        tree.others[0] = commit::chunk_leaf(head_bytes());
        tree.others[word_ / kChunkWords] = commit::chunk_leaf(chunk());
        return tree;
    }
    /// The parameter's tensor with the trained element.
    [[nodiscard]] SparseTree parameter(std::uint32_t bits) const {
        Bytes chunk(commit::kChunkBytes);
        put(chunk, element_ % kChunkWords, bits);
        return {chunks(4 * big_.elements),
                commit::chunk_leaf({}),
                {{element_ / kChunkWords, commit::chunk_leaf(chunk)}}};
    }
    /// The element of the disputed word in it, up to the state.
    [[nodiscard]] dispute::ChunksOpening open(std::uint32_t bits) const {
        const SparseTree tree = parameter(bits);
        const std::uint64_t at = (word_ - big_.offset / 4) / kChunkWords;
        const std::uint64_t rest = 4 * big_.elements - at * commit::kChunkBytes;
        Bytes chunk(std::min<std::uint64_t>(rest, commit::kChunkBytes));
        if (at == element_ / kChunkWords) put(chunk, element_ % kChunkWords, bits);
        return {{{std::move(chunk), tree.path(at, 0, tree.depth())}}, tree.root(), {filled(77)}};
    }
    [[nodiscard]] dispute::ChunksOpening open_delta() const {
        const SparseTree tree = delta();
        return {{{chunk(), tree.path(word_ / kChunkWords, 0, tree.depth())}}, tree.root(), {}};
    }

  private:
    static std::uint64_t chunks(std::uint64_t bytes) {
        return (bytes + commit::kChunkBytes - 1) / commit::kChunkBytes;
    }
    static Bytes head_bytes() {
        commit::Encoder out;
        out.raw(as_bytes("GYMDLTA1")).u32(0).u32(1);
        return out.take();
    }
    [[nodiscard]] Shape parameter_shape() const { return {program::DType::kF32, {big_.elements}}; }
    [[nodiscard]] Digest state_of(const Digest& tree) const {
        return commit::merkle_node(filled(77), dispute::tensor_digest(parameter_shape(), tree));
    }

    Big big_;
    std::uint64_t word_;
    std::uint32_t bits_;
    std::uint64_t element_;
    Bytes record_;
    Digest other_;
    dispute::TraceHeader header_;
    Facts facts_;
};

Cursor decided(const Cursor& at, const Move& move) {
    const auto ruling = decide(at, move);
    EXPECT_TRUE(ruling.ok()) << name_of(move) << ": " << ruling.error().message;
    return ruling.ok() ? std::get<Cursor>(*ruling) : at;
}

/// From where the steps are answered to the chunk of a word, and the proof about it.
struct AtChunk {
    Cursor at;
    move::ProveDelta proof;
};
AtChunk play(const BigUnit& unit, std::uint64_t word) {
    const Digest states = filled(9);
    Cursor at;
    at.stage = Stage::kSteps;
    at.answered = true;
    at.frame = steps_frame(hash_of(unit.facts()), states);
    at = decided(at, move::PickDelta{unit.facts(), states, dispute::encode(unit.header())});
    OpFrame op;
    op.step = hash_of(unit.facts());
    op.program = unit.facts().trace_root;
    op.leaf = dispute::kNoLeaf;
    op.shape = of_bytes(unit.header().delta_bytes);
    const SparseTree tree = unit.delta();
    EXPECT_EQ(at.leaves, tree.leaves);
    unsigned height = tree.depth();
    at = decided(at, move::OpenTensor{op, tree.root(), tree.children(height, 0)});
    const std::uint64_t chunk = word / kChunkWords;
    while (at.height > 0) {
        const unsigned to = height - answer_levels(height, kAnswerLevelsMax);
        Pick pick{
            chunk >> to, tree.node(to, chunk >> to), tree.path(chunk >> to, to, height), {}, {}};
        at = decided(at, move::PickNode{std::move(pick)});
        height = to;
        if (at.height > 0) at = decided(at, move::Answer{tree.children(height, chunk >> to)});
        if (::testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(at.index, chunk);
    at = decided(at, move::PostChunk{op, unit.chunk()});
    return {at, {op, unit.facts(), dispute::encode(unit.header()), word, unit.chunk(), {}, {}, {}}};
}

AtChunk with_element(const BigUnit& unit, std::uint64_t word) {
    AtChunk out = play(unit, word);
    out.proof.slot_record = unit.slot();
    out.proof.final = unit.open(kValue);
    out.proof.base = unit.open(0);
    return out;
}

std::uint64_t number_of(const Digest& word) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : word.data)
        number = number << 8 | byte;
    return number;
}

/// The asserter's delta has kValue in `word`, as the final state says; and with another bit not.
void check(const Big& big, std::uint64_t word) {
    SCOPED_TRACE("word " + std::to_string(word) + " of " + std::to_string(big.delta_bytes));
    const AtChunk right = with_element({big, word, word, kValue}, word);
    EXPECT_EQ(decide(right.at, right.proof).error().code, ErrorCode::kConflict);
    const AtChunk wrong = with_element({big, word, word, kValue ^ 1}, word);
    const auto ruling = decide(wrong.at, wrong.proof);
    ASSERT_TRUE(ruling.ok()) << ruling.error().message;
    const Finding& found = std::get<Finding>(*ruling);
    EXPECT_EQ(found.element, word);
    EXPECT_EQ(number_of(found.claimed), kValue ^ 1);
    EXPECT_EQ(number_of(found.computed), kValue);
}

TEST(BigDelta, AroundTheSizeThatADimensionHas) {
    for (const std::uint64_t size : {k4GiB - 4, k4GiB, k4GiB + 4})
        check({size, 16, size / 4 - 4}, size / 4 - 1);
}

TEST(BigDelta, OfSevenBillionParameters) {
    Big big{kSevenBillion, 16, kLargestTensor};
    for (const std::uint64_t word :
         {std::uint64_t{4}, k4GiB / 4 - 1, k4GiB / 4, kLargestTensor + 3})
        check(big, word);
    big.offset = kSevenBillion - 4 * kLargestTensor;
    check(big, big.offset / 4);
    check(big, kSevenBillion / 4 - 1);
}

TEST(BigDelta, AsLargeAsCanBe) {
    check({std::uint64_t{1} << 36, (std::uint64_t{1} << 36) - 64, 16},
          (std::uint64_t{1} << 34) - 1);
    const Big big{kDeltaBytesMax, kDeltaBytesMax - 4 * kLargestTensor, kLargestTensor};
    check(big, big.offset / 4);
    check(big, kDeltaBytesMax / 4 - 1);
}

TEST(BigDelta, AtAnyWord) {
    Rng rng(gym::testing::random_seed());
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t words = (kDeltaBytesMax / 4 >> rng() % 12) - rng() % 1000;
        const std::uint64_t elements = std::min(words - 4, kLargestTensor);
        const Big big{4 * words, 4 * (words - elements), elements};
        check(big, words - elements + rng() % elements);
    }
}

TEST(BigDelta, HasItsHead) {
    const Big big{kSevenBillion, 16, kLargestTensor};
    for (std::uint64_t word = 0; word < 4; ++word) {
        const AtChunk right = play({big, 7, word, 0}, word);
        EXPECT_EQ(decide(right.at, right.proof).error().code, ErrorCode::kConflict);
        const AtChunk wrong = play({big, 7, word, 1}, word);
        EXPECT_TRUE(decide(wrong.at, wrong.proof).ok());
    }
}

TEST(BigDelta, IsNotReadModulo32Bits) {
    const Big big{kSevenBillion, 16, kLargestTensor};
    const std::uint64_t word = k4GiB / 4 + 4;
    AtChunk at = with_element({big, word, word, kValue ^ 1}, word);
    for (const std::uint64_t other : {std::uint64_t{4}, k4GiB + word, ~std::uint64_t{0}}) {
        at.proof.word = other;
        EXPECT_EQ(decide(at.at, at.proof).error().code, ErrorCode::kOutOfRange) << other;
    }
    // The element of the parameter 4 GiB before it.
    at.proof.word = word;
    at.proof.final = BigUnit(big, word, 4, kValue).open(kValue);
    EXPECT_FALSE(decide(at.at, at.proof).ok());
    // A frame with the size modulo 2^32.
    const BigUnit unit(big, word, word, kValue);
    AtChunk opened = with_element(unit, word);
    opened.proof.op.shape = of_bytes(kSevenBillion % k4GiB);
    EXPECT_EQ(decide(opened.at, opened.proof).error().code, ErrorCode::kMismatch);
}

/// A value of an aggregate's column.
TEST(BigDelta, OfAnAggregate) {
    for (const std::uint64_t word : {k4GiB / 4 - 1, k4GiB / 4, kSevenBillion / 4 - 1}) {
        Big big{kSevenBillion, 16, kLargestTensor};
        if (word >= big.elements) big.offset = kSevenBillion - 4 * big.elements;
        const BigUnit unit(big, word, word, kValue);
        move::ProveColumn proof;
        proof.outer.deltas = 1;
        proof.outer.deltas_root = unit.facts().delta_root;
        proof.op.step = hash_of(proof.outer);
        proof.op.program = unit.facts().trace_root;
        proof.op.record = dispute::state_record_digest(unit.slot().record);
        proof.header = dispute::encode(unit.header());
        proof.slot = unit.slot();
        proof.delta = unit.open_delta();
        Cursor at;
        at.stage = Stage::kColumn;
        at.answered = true;
        at.leaves = 1;
        at.index = word - big.offset / 4;
        at.frame = hash_of(proof.op);
        proof.values = {0x01, 0x00, 0x80, 0x3F};
        at.twin = crypto::keccak256(proof.values);
        EXPECT_EQ(decide(at, proof).error().code, ErrorCode::kConflict) << word;
        proof.values[0] = 0;
        at.twin = crypto::keccak256(proof.values);
        const auto ruling = decide(at, proof);
        ASSERT_TRUE(ruling.ok()) << ruling.error().message;
        EXPECT_EQ(number_of(std::get<Finding>(*ruling).computed), kValue);
    }
}

}  // namespace
}  // namespace gym::game
