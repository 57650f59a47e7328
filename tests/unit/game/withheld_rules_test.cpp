#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/transcript.hpp"
#include "withheld_mutations.hpp"
#include "withheld_samples.hpp"

// What the rules refuse of an answer that shows withheld data. What they take:
// withheld_answers_test.cpp.

namespace gym::game {
namespace {

using blob::ViewReader;
using gym::testing::must;
using move::ShowWithheld;
using namespace testing;  // NOLINT: samples

class ShowWithheldRules : public ::testing::Test {
  protected:
    static constexpr ErrorCode kMalformed = ErrorCode::kMalformed;
    static constexpr ErrorCode kMismatch = ErrorCode::kMismatch;

    using Change = std::function<void(ShowWithheld&)>;

    static Result<Ruling> ruling(const ShowWithheld& answer) {
        static const crypto::Eip712Domain kDomain = gym::testing::domain();
        return decide(asked(answer.request), answer, &kDomain);
    }
    static void expect_taken(const ShowWithheld& answer) {
        const auto decided = ruling(answer);
        EXPECT_TRUE(decided.ok()) << decided.error().message;
    }
    /// Changes an answer that the rules take.
    static void expect_refused(const ShowWithheld& right, ErrorCode code, const Change& change) {
        expect_taken(right);
        ShowWithheld other = right;
        change(other);
        const auto decided = ruling(other);
        ASSERT_FALSE(decided.ok());
        EXPECT_EQ(decided.error().code, code) << decided.error().message;
    }
    /// The same, with the root of the request made that to which the answer leads.
    static void expect_form_refused(const ShowWithheld& right, ErrorCode code,
                                    const Change& change) {
        expect_refused(right, code, [&](ShowWithheld& m) {
            change(m);
            lead_to_root(m);
        });
    }
    static ShowWithheld of_state(std::uint32_t tensor, std::uint64_t chunk) {
        const engine::State state = sample_state();
        const Bytes encoded = engine::encode_state(state);
        return must(show_state(ask(Wanted::kBase, engine::state_root(state), tensor, chunk),
                               ViewReader(encoded)));
    }
    static ShowWithheld of_delta(std::uint64_t chunk) {
        Rng rng(1);
        const Bytes delta = random_bytes(rng, 3000);
        return must(
            show_delta(ask(Wanted::kDelta, blob::blob_root(delta), 0, chunk), ViewReader(delta)));
    }
    static ShowWithheld of_dataset(std::uint32_t leaf) {
        const blob::Dataset dataset = sample_dataset({256, gym::testing::digest(3)});
        const Bytes file = dataset.encode();
        return must(show_dataset(ask(Wanted::kDataset, dataset.root(), leaf, 1), ViewReader(file)));
    }
    [[nodiscard]] ShowWithheld of_commitment() const {
        return must(show_commitment(gym::testing::domain(),
                                    epochs_.ask(epochs_.own[1], gym::testing::key(1).address()),
                                    {epochs_.own, epochs_.next}));
    }
    /// Of a commitment that is in no epoch: another one of its worker.
    [[nodiscard]] ShowWithheld of_second() const {
        return must(show_commitment(gym::testing::domain(),
                                    epochs_.ask(epochs_.second(2), gym::testing::key(2).address()),
                                    {epochs_.own, epochs_.next}));
    }
    /// The one under the root of an epoch of one commitment.
    static ShowWithheld alone(const DataRequest& request, const Bytes& commitment) {
        ShowWithheld m{request, {0, 0, 0, 0, 0}, commitment, {}, {}};
        commit::Hasher hasher;
        m.request.root = hasher.update(as_bytes("gym.commitment.v1")).update(commitment).finish();
        m.request.leaves = 1;
        return m;
    }

    SampleEpochs epochs_;
};

TEST_F(ShowWithheldRules, AnswersAtTheBeginningAlone) {
    const ShowWithheld answer = of_delta(0);
    for (const auto& change : std::vector<std::function<void(Cursor&)>>{
             [](Cursor& c) { c.answered = true; }, [](Cursor& c) { c.stage = Stage::kIncluded; }}) {
        Cursor c = asked(answer.request);
        ASSERT_TRUE(decide(c, Move(answer)).ok());
        change(c);
        EXPECT_EQ(decide(c, Move(answer)).error().code, ErrorCode::kConflict);
    }
}

/// Whatever else the answer has: another request is another game.
TEST_F(ShowWithheldRules, AnswersWhatIsAskedFor) {
    Rng rng(7);
    for (const ShowWithheld& right : {of_state(0, 1), of_commitment()}) {
        ShowWithheld other = right;
        const Cursor at = asked(right.request);
        const auto change = [&](auto& member) {
            const auto before = member;
            while (member == before)
                randomise(rng, member);
            EXPECT_EQ(decide(at, Move(other)).error().code, kMismatch);
            member = before;
        };
        std::apply([&](auto&... member) { (change(member), ...); }, abi::members(other.request));
    }
}

TEST_F(ShowWithheldRules, KeepsTheRestOfTheCursor) {
    const ShowWithheld answer = of_state(0, 1);
    Cursor at = asked(answer.request);
    at.height = 3;
    at.index = 4;
    at.leaves = 5;
    at.twin = filled(6);
    Cursor next = at;
    next.answered = true;
    next.node = {};
    EXPECT_EQ(*decide(at, Move(answer)), Ruling(next));
}

TEST_F(ShowWithheldRules, TheCommitmentIsInThePlaceThatTheAnswerSays) {
    const ShowWithheld right = of_commitment();
    expect_refused(right, kMalformed, [](auto& m) { m.above.push_back(filled(1)); });
    expect_refused(right, kMalformed, [](auto& m) { m.head.pop_back(); });
    expect_refused(right, kMalformed, [](auto& m) { m.head.push_back(0); });
    expect_refused(right, kMalformed, [](auto& m) { m.head.clear(); });
    expect_refused(right, kMalformed, [](auto& m) { m.head[4] = 3; });
    expect_refused(right, kMismatch, [](auto& m) { m.head[4] = 2; });
    expect_refused(right, kMalformed, [](auto& m) { m.path.pop_back(); });
    expect_refused(right, kMalformed, [](auto& m) { m.path.push_back(filled(1)); });
    expect_refused(right, kMalformed, [](auto& m) { m.head[0] = 1; });  // a path of two levels
    expect_refused(right, kMalformed, [](auto& m) { m.request.leaves = 2; });
    expect_refused(right, kMalformed, [](auto& m) { m.request.root = {}; });
}

TEST_F(ShowWithheldRules, ThereMayBeNoNextEpoch) {
    epochs_.own.push_back(epochs_.own[1]);
    ShowWithheld right = of_commitment();
    right.request.next_root = right.request.root;
    right.request.next_leaves = right.request.leaves;
    expect_taken(right);
    right.request.root = filled(1);
    for (const std::uint8_t byte : {1, 2, 255}) {  // anything but 0 is the next
        right.head[0] = byte;
        expect_taken(right);
    }
    expect_refused(right, kMalformed, [](auto& m) {
        m.request.next_root = {};
        m.request.next_leaves = 0;
    });
}

TEST_F(ShowWithheldRules, AnotherCommitmentIsOfTheSameUnitAndWorker) {
    const ShowWithheld right = of_second();
    expect_refused(right, kMismatch, [](auto& m) { m.request.slot = 1; });
    expect_refused(right, kMismatch, [](auto& m) { m.request.round_record = filled(1); });
    expect_refused(right, kMismatch,
                   [](auto& m) { m.request.worker = gym::testing::key(1).address(); });
    expect_refused(right, kMismatch, [](auto& m) { m.request.worker = {}; });
    EXPECT_EQ(decide(asked(right.request), Move(right)).error().code, ErrorCode::kInvalidArgument)
        << "nobody can say who signed it without a domain";
    EXPECT_TRUE(decide(asked(of_commitment().request), Move(of_commitment())).ok())
        << "of the one that is asked for nobody has to";
}

TEST_F(ShowWithheldRules, AnotherCommitmentIsOneWithASignature) {
    const DataRequest request = of_second().request;
    const Bytes bytes = protocol::encode(epochs_.own[2]);
    expect_taken(alone(request, bytes));
    const auto code = [&](const Bytes& commitment, const DataRequest& of) {
        const auto decided = ruling(alone(of, commitment));
        return decided.ok() ? std::optional<ErrorCode>() : decided.error().code;
    };
    Bytes other = bytes;
    other.push_back(0);
    EXPECT_EQ(code(other, request), kMalformed);
    other = bytes;
    other.pop_back();
    EXPECT_EQ(code(other, request), kMalformed);
    EXPECT_EQ(code({}, request), kMalformed);
    other = bytes;
    other[1] ^= 1;  // the format
    EXPECT_EQ(code(other, request), kMalformed);
    other = bytes;
    other.back() = 0;  // nobody's
    EXPECT_EQ(code(other, request), kMismatch);
    // No request names nobody, but if one did: nobody's commitment is nobody's.
    DataRequest nobody = request;
    nobody.worker = {};
    EXPECT_EQ(code(other, nobody), std::nullopt);
    other = bytes;
    other[2] = 77;  // a kind that there is not: signed by somebody else, too
    EXPECT_EQ(code(other, request), kMismatch);
}

/// The leaf alone counts of the one that is asked for, as far as the contract looks.
TEST_F(ShowWithheldRules, WhatIsAskedForIsNotRead) {
    ShowWithheld m = alone(of_second().request, {1, 2, 3});
    m.request.leaf = m.request.root;
    expect_taken(m);
}

TEST_F(ShowWithheldRules, ADeltaIsOneTensor) {
    const ShowWithheld right = of_delta(1);
    expect_form_refused(right, kMalformed, [](auto& m) { m.above = {filled(1)}; });
    expect_form_refused(right, kMalformed, [](auto& m) {
        m.request.what = Wanted::kLateDelta;
        m.above = {filled(1)};
    });
    expect_form_refused(right, kMalformed, [](auto& m) {
        m.head.clear();
        m.path.clear();
        m.content.clear();
    });
    ShowWithheld state = right;
    state.request.what = Wanted::kBase;
    state.above = {filled(1)};
    lead_to_root(state);
    expect_taken(state);
}

TEST_F(ShowWithheldRules, AHeadIsATensors) {
    const ShowWithheld right = of_delta(1);
    expect_form_refused(right, kMalformed, [](auto& m) { m.head.resize(1); });
    expect_form_refused(right, kMalformed, [](auto& m) { m.head.pop_back(); });
    expect_form_refused(right, kMalformed, [](auto& m) { m.head.push_back(0); });
    expect_form_refused(right, kMalformed, [](auto& m) { m.head[0] = 0; });
    expect_form_refused(right, kMalformed, [](auto& m) { m.head[0] = 8; });
    expect_form_refused(right, kMalformed, [](auto& m) { m.head[1] = 2; });
    expect_form_refused(right, kMalformed, [](auto& m) { m.head = Bytes{5, 9}; });
    expect_form_refused(right, kMalformed, [](auto& m) {
        m.head.resize(2 + 9 * 8);
        m.head[1] = 9;
    });
}

TEST_F(ShowWithheldRules, AChunkIsWhole) {
    for (const ShowWithheld& right : {of_delta(1), of_delta(2), of_state(0, 3), of_state(1, 0)}) {
        expect_form_refused(right, kMalformed, [](auto& m) { m.content.pop_back(); });
        expect_form_refused(right, kMalformed, [](auto& m) { m.content.push_back(0); });
        expect_form_refused(right, kMalformed, [](auto& m) { m.content.clear(); });
        expect_form_refused(right, kMalformed, [](auto& m) { m.path.push_back(filled(1)); });
        expect_form_refused(right, kMalformed, [](auto& m) { m.content.resize(5000); });
    }
    expect_form_refused(of_delta(1), kMalformed, [](auto& m) { m.path.pop_back(); });
    // Its tree root alone is not enough where there is such a chunk.
    expect_form_refused(of_delta(1), kMalformed, [](auto& m) {
        m.content.clear();
        m.path.resize(1);
    });
}

TEST_F(ShowWithheldRules, AChunkThatIsNotThereHasTheTreeRoot) {
    for (const ShowWithheld& right : {of_delta(3), of_delta(~std::uint64_t{0}), of_state(1, 1)}) {
        expect_form_refused(right, kMalformed, [](auto& m) { m.content = {0}; });
        expect_form_refused(right, kMalformed, [](auto& m) { m.path.clear(); });
        expect_form_refused(right, kMalformed, [](auto& m) { m.path.push_back(filled(1)); });
        expect_refused(right, kMismatch, [](auto& m) { m.path[0].data[7] ^= 1; });
    }
}

TEST_F(ShowWithheldRules, NothingElseOfAStateIsTheTensor) {
    const ShowWithheld right = of_state(0, 1);
    expect_refused(right, kMismatch, [](auto& m) {
        m.head = of_state(2, 0).head;
        m.path.clear();
        m.request.chunk = 0;
    });
    expect_refused(right, kMismatch, [](auto& m) { m.content = of_state(0, 2).content; });
    expect_refused(right, kMismatch, [](auto& m) { m.above.pop_back(); });
    expect_refused(right, kMismatch, [](auto& m) { m.above.push_back(filled(1)); });
    // That there is none.
    expect_refused(right, kMismatch, [](auto& m) {
        m.head.clear();
        m.content.clear();
        m.path.clear();
    });
}

TEST_F(ShowWithheldRules, AnAbsentTensorHasNothing) {
    const ShowWithheld right = of_state(3, 0);
    ASSERT_TRUE(right.head.empty());
    expect_form_refused(right, kMalformed, [](auto& m) { m.content = {0}; });
    expect_form_refused(right, kMalformed, [](auto& m) { m.path = {filled(1)}; });
    expect_refused(right, kMismatch, [](auto& m) { m.above = of_state(2, 0).above; });
    expect_refused(right, kMismatch, [](auto& m) { m.request.tensor = 1; });
    expect_form_refused(right, kMalformed, [](auto& m) { m.request.what = Wanted::kDelta; });
    expect_form_refused(right, kMalformed,
                        [](auto& m) { m.request.what = static_cast<Wanted>(7); });
}

TEST_F(ShowWithheldRules, ADatasetHasTwoLeavesAtMost) {
    for (const std::uint32_t leaf : {0U, 1U}) {
        const ShowWithheld right = of_dataset(leaf);
        ASSERT_EQ(right.head.empty(), leaf == 0);
        expect_form_refused(right, kMalformed, [](auto& m) { m.above.push_back(filled(1)); });
        expect_refused(right, kMismatch, [](auto& m) { m.above.clear(); });
        expect_refused(right, kMismatch, [](auto& m) { m.request.tensor ^= 1; });
        ShowWithheld one = right;  // of the first format
        one.above.clear();
        lead_to_root(one);
        expect_taken(one);
    }
    const ShowWithheld head = of_dataset(0);
    expect_form_refused(head, kMalformed, [](auto& m) { m.path = {filled(1)}; });
    expect_refused(head, kMalformed, [](auto& m) { m.content.resize(1025); });
    ShowWithheld padded = head;  // a leaf is padded with zeros
    padded.content.resize(1024);
    expect_taken(padded);
}

/// Whoever commits to such a root has an answer, so that the contract takes it.
TEST_F(ShowWithheldRules, DimsMayBeAny) {
    const std::uint64_t most = ~std::uint64_t{0};
    struct Sample {
        dispute::Shape shape;
        std::size_t depth = 0;  ///< of the tree of its chunks
    };
    for (const Sample& sample :
         {Sample{{commit::DType::kU8, {most}}, 54},
          Sample{{commit::DType::kF32, {std::uint64_t{1} << 63, std::uint64_t{1} << 63}}, 118},
          Sample{{commit::DType::kU8, {most, most, most, most}}, 246},
          Sample{{commit::DType::kF32,
                  {std::uint64_t{1} << 63, std::uint64_t{1} << 63, std::uint64_t{1} << 63,
                   std::uint64_t{1} << 62}},
                 243}}) {
        ShowWithheld m;
        m.request = ask(Wanted::kBase, {}, 5, most / 2000);
        m.head = tensor_head(sample.shape);
        m.content = Bytes(commit::kChunkBytes, 7);
        m.path.assign(sample.depth, filled(3));
        m.above.assign(40, filled(4));  // more than the number of a tensor has bits
        lead_to_root(m);
        expect_form_refused(m, kMalformed, [](auto& other) { other.path.push_back(filled(3)); });
        expect_form_refused(m, kMalformed, [](auto& other) { other.path.pop_back(); });
        expect_form_refused(m, kMalformed, [](auto& other) { other.content.pop_back(); });
    }
}

TEST_F(ShowWithheldRules, DimsThatNoNumberHoldsAreRefused) {
    ShowWithheld m;
    m.request = ask(Wanted::kBase, {}, 0, 0);
    m.content = Bytes(commit::kChunkBytes, 7);
    m.path.assign(246, filled(3));
    const std::uint64_t half = std::uint64_t{1} << 63;
    for (const std::vector<std::uint64_t>& dims : std::vector<std::vector<std::uint64_t>>{
             {half, half, half, half, 16}, {half, half, half, half, 16, 0}}) {
        m.head = tensor_head({commit::DType::kU8, dims});
        lead_to_root(m);
        EXPECT_EQ(ruling(m).error().code, ErrorCode::kOutOfRange);
    }
    // A zero before: no elements.
    m.head = tensor_head({commit::DType::kU8, {half, 0, half, half, half, 16}});
    m.content.clear();
    m.path.resize(1);
    lead_to_root(m);
    expect_taken(m);
}

TEST_F(ShowWithheldRules, ATranscriptHasTheRequest) {
    const crypto::Eip712Domain domain = gym::testing::domain();
    const ShowWithheld shown = of_second();
    GameTranscript transcript(shown.request, asked(shown.request));
    EXPECT_TRUE(transcript.is_request());
    EXPECT_FALSE(transcript.is_outer());
    EXPECT_EQ(transcript.request(), shown.request);
    EXPECT_EQ(transcript.play(shown).error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(transcript.moves().empty());
    ASSERT_TRUE(transcript.play(shown, &domain).ok());
    EXPECT_TRUE(transcript.at().answered);
    EXPECT_EQ(transcript.moves().size(), 1U);
    EXPECT_FALSE(GameTranscript(sample_facts(), {}).is_request());
}

}  // namespace
}  // namespace gym::game
