#include "gym/game/withheld.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "gym/chain/abi.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/crypto/keccak.hpp"
#include "withheld_samples.hpp"

namespace gym::game {
namespace {

using namespace testing;  // NOLINT: samples

TEST(WithheldData, HasThirteenBytes) {
    const WithheldData data{Wanted::kOuter, 0x01020304, 0x0506070809101112};
    Bytes bytes{5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x10, 0x11, 0x12};
    EXPECT_EQ(encode(data), bytes);
    EXPECT_EQ(*decode_withheld_data(bytes), data);
    bytes.push_back(0);
    EXPECT_EQ(decode_withheld_data(bytes).error().code, ErrorCode::kMalformed);
    bytes.resize(12);
    EXPECT_EQ(decode_withheld_data(bytes).error().code, ErrorCode::kMalformed);
}

/// A round that takes late commitments, with an epoch of its own and one of the next round.
class Withheld : public ::testing::Test {
  protected:
    static constexpr ErrorCode kMalformed = ErrorCode::kMalformed;
    static constexpr ErrorCode kMismatch = ErrorCode::kMismatch;

    Withheld() {
        record_.accept_late = true;
        put();
        epochs_.own.poster = address(1);
        epochs_.next.poster = address(2);
    }
    /// Signs the commitment of slot 1 again, and puts it into both epochs.
    void put() {
        protocol::UnitCommitment says = gym::testing::commitment(record_);
        change_(says);
        evidence_.commitment = protocol::sign(gym::testing::domain(), says, gym::testing::key(1));
        evidence_.record = protocol::unit_record(record_, 1);
        evidence_.index = 2;
        const std::vector<Digest> leaves{filled(1), filled(2),
                                         protocol::commitment_leaf(evidence_.commitment)};
        evidence_.path = commit::merkle_prove(leaves, evidence_.index).value();
        epochs_.own.tree = epochs_.next.tree = {commit::merkle_root(leaves), 3};
        epochs_.next.tree.leaves = 4;
    }
    static Address address(std::uint8_t byte) {
        Address out;
        out.data.fill(byte);
        return out;
    }
    static Address worker() { return gym::testing::key(1).address(); }

    [[nodiscard]] WithheldEvidence commitment() const {
        return ask_for_commitment(evidence_.commitment, evidence_.record);
    }
    [[nodiscard]] WithheldEvidence delta(bool late) const {
        Evidence shown = evidence_;
        shown.late = late;
        return ask_for_delta(shown, 7);
    }
    [[nodiscard]] WithheldEvidence chunk(Wanted what) const {
        return ask_for_chunk({what, 8, 9}, protocol::head_of(record_));
    }
    [[nodiscard]] Result<WithheldFacts> facts(const WithheldEvidence& evidence) const {
        return withheld_facts_of(gym::testing::domain(), evidence, epochs_);
    }
    void expect_refused(const WithheldEvidence& right, ErrorCode code,
                        const std::function<void(WithheldEvidence&)>& change) const {
        ASSERT_TRUE(facts(right).ok()) << facts(right).error().message;
        WithheldEvidence other = right;
        change(other);
        const auto made = facts(other);
        ASSERT_FALSE(made.ok());
        EXPECT_EQ(made.error().code, code) << made.error().message;
    }
    /// Whatever the kind.
    [[nodiscard]] std::vector<WithheldEvidence> all() const {
        return {commitment(),         delta(false),          delta(true),
                chunk(Wanted::kBase), chunk(Wanted::kOuter), chunk(Wanted::kDataset)};
    }

    protocol::RoundRecord record_ = gym::testing::round_record();
    Evidence evidence_;
    PostedEpochs epochs_;
    std::function<void(protocol::UnitCommitment&)> change_ = [](auto&) {};
};

TEST_F(Withheld, ACommitmentIsTheCoordinators) {
    const auto made = facts(commitment());
    ASSERT_TRUE(made.ok()) << made.error().message;
    DataRequest request;
    request.what = Wanted::kCommitment;
    request.root = epochs_.own.tree.root;
    request.leaves = 3;
    request.next_root = epochs_.next.tree.root;
    request.next_leaves = 4;
    request.leaf = protocol::commitment_leaf(evidence_.commitment);
    request.round_record = protocol::hash(record_);
    request.slot = 1;
    request.worker = worker();
    EXPECT_EQ(made->request, request);
    EXPECT_EQ(made->asserter, address(2)) << "of the epoch that is the last to have it";
}

TEST_F(Withheld, ACommitmentMayHaveOneEpochAlone) {
    record_.accept_late = false;
    put();
    epochs_.next = {};
    const auto made = facts(commitment());
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->request.root, epochs_.own.tree.root);
    EXPECT_TRUE(made->request.next_root.is_zero());
    EXPECT_EQ(made->request.next_leaves, 0U);
    EXPECT_EQ(made->asserter, address(1));
}

TEST_F(Withheld, ADeltaIsItsWorkers) {
    for (const bool late : {false, true}) {
        const auto made = facts(delta(late));
        ASSERT_TRUE(made.ok()) << made.error().message;
        const Wanted what = late ? Wanted::kLateDelta : Wanted::kDelta;
        EXPECT_EQ(made->request, ask(what, evidence_.commitment.commitment.delta_root, 0, 7));
        EXPECT_EQ(made->asserter, worker());
    }
}

TEST_F(Withheld, WhatARoundBeginsWithIsTheCoordinators) {
    const std::vector<std::pair<Wanted, Digest>> kinds{{Wanted::kBase, record_.base_state_root},
                                                       {Wanted::kOuter, record_.momentum_root},
                                                       {Wanted::kDataset, record_.dataset_root}};
    for (const auto& [what, root] : kinds) {
        const auto made = facts(chunk(what));
        ASSERT_TRUE(made.ok()) << made.error().message;
        EXPECT_EQ(made->request, ask(what, root, 8, 9));
        EXPECT_EQ(made->asserter, address(1));
    }
}

TEST_F(Withheld, IsNamedByTheRequestAndWhoAnswersIt) {
    for (const WithheldEvidence& evidence : all()) {
        const WithheldFacts made = facts(evidence).value();
        Bytes words(64);
        const Digest hash = hash_of(made.request);
        std::ranges::copy(hash.data, words.begin());
        std::ranges::copy(made.asserter.data, words.begin() + 44);
        EXPECT_EQ(made.unit, crypto::keccak256(words));
    }
}

TEST_F(Withheld, IsAskedForOncePosted) {
    epochs_.own = {};
    for (const WithheldEvidence& evidence : all())
        EXPECT_EQ(facts(evidence).error().code, ErrorCode::kNotFound);
}

TEST_F(Withheld, LateOnesNeedTheNextEpoch) {
    epochs_.next = {};
    EXPECT_EQ(facts(commitment()).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(facts(delta(true)).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(facts(delta(false)).ok());
    epochs_.next = epochs_.own;
    EXPECT_TRUE(facts(delta(true)).ok());
    record_.accept_late = false;
    put();
    EXPECT_EQ(facts(delta(true)).error().code, kMismatch);
    EXPECT_TRUE(facts(delta(false)).ok());
}

TEST_F(Withheld, ACommitmentComesWithItsSlotAlone) {
    const WithheldEvidence right = commitment();
    expect_refused(right, kMalformed, [](auto& e) { e.data.tensor = 1; });
    expect_refused(right, kMalformed, [](auto& e) { e.data.chunk = 1; });
    expect_refused(right, kMalformed, [](auto& e) { e.index = 1; });
    expect_refused(right, kMalformed, [](auto& e) { e.path = {filled(1)}; });
    expect_refused(right, kMalformed, [](auto& e) { e.commitment.reset(); });
    expect_refused(right, kMismatch, [](auto& e) { e.slot = {}; });
    expect_refused(right, kMismatch, [](auto& e) { e.slot.terms[0] ^= 1; });
    expect_refused(right, kMismatch, [](auto& e) { e.record.round += 1; });
}

TEST_F(Withheld, ADeltaComesWithItsPathAlone) {
    const WithheldEvidence right = delta(false);
    expect_refused(right, kMalformed, [](auto& e) { e.data.tensor = 1; });
    expect_refused(right, kMalformed, [](auto& e) { e.commitment.reset(); });
    expect_refused(right, kMalformed, [&](auto& e) { e.slot = commitment().slot; });
    expect_refused(right, kMalformed, [](auto& e) { e.index = 3; });
    expect_refused(right, kMismatch, [](auto& e) { e.index = 1; });
    expect_refused(right, kMalformed, [](auto& e) { e.path.pop_back(); });
    expect_refused(right, kMismatch, [](auto& e) { e.path[0].data[0] ^= 1; });
    expect_refused(right, kMismatch, [](auto& e) { e.record.round += 1; });
    // Under its own epoch, not under that of the next round.
    epochs_.next.tree.root.data[0] ^= 1;
    EXPECT_TRUE(facts(delta(false)).ok());
    EXPECT_EQ(facts(delta(true)).error().code, kMismatch);
}

TEST_F(Withheld, WhatARoundBeginsWithComesWithItsRecordAlone) {
    for (const Wanted what : {Wanted::kBase, Wanted::kOuter, Wanted::kDataset}) {
        const WithheldEvidence right = chunk(what);
        expect_refused(right, kMalformed, [&](auto& e) { e.commitment = evidence_.commitment; });
        expect_refused(right, kMalformed, [&](auto& e) { e.slot = commitment().slot; });
        expect_refused(right, kMalformed, [](auto& e) { e.index = 1; });
        expect_refused(right, kMalformed, [](auto& e) { e.path = {filled(1)}; });
        expect_refused(right, kMalformed, [](auto& e) { e.data.what = static_cast<Wanted>(0); });
        expect_refused(right, kMalformed, [](auto& e) { e.data.what = static_cast<Wanted>(7); });
        expect_refused(right, kMalformed, [](auto& e) {
            e.record.base_state_root = e.record.momentum_root = e.record.dataset_root = {};
        });
    }
}

TEST_F(Withheld, ACommitmentIsToAWorkersUnit) {
    change_ = [](auto& says) { says.slot = protocol::kAggregateSlot; };
    put();
    EXPECT_EQ(facts(commitment()).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(facts(delta(false)).error().code, ErrorCode::kInvalidArgument);
    change_ = [](auto& says) { says.slot = protocol::kSlotsMax; };
    put();
    EXPECT_EQ(facts(commitment()).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Withheld, ACommitmentIsSigned) {
    for (WithheldEvidence evidence : {commitment(), delta(false)}) {
        evidence.commitment->signature.data[64] = 0;
        epochs_.own.tree = {protocol::commitment_leaf(*evidence.commitment), 1};
        evidence.index = 0;
        evidence.path.clear();
        EXPECT_EQ(facts(evidence).error().code, ErrorCode::kUnauthenticated);
    }
}

/// The coordinator does not have to take one that its round does not fix. Of a delta that is in an
/// epoch its worker has to give it all the same.
TEST_F(Withheld, ACommitmentThatIsAskedForIsWhatItsRoundFixes) {
    const std::vector<std::function<void(protocol::UnitCommitment&)>> changes{
        [](auto& says) { says.kind = protocol::UnitKind::kEvaluate; },
        [](auto& says) { says.slot = 2; },
        [](auto& says) { says.delta_codec += 1; },
        [](auto& says) { says.steps += 1; },
        [](auto& says) { says.attempt = 1; },
        [](auto& says) { says.tokens += 1; },
        [](auto& says) { says.flops += 1; },
        [](auto& says) { says.final_state_root = {}; }};
    for (const auto& change : changes) {
        change_ = change;
        put();
        WithheldEvidence evidence = commitment();
        evidence.slot = protocol::prove_slot(record_, evidence.commitment->commitment.slot);
        EXPECT_EQ(facts(evidence).error().code, kMismatch);
        EXPECT_TRUE(facts(delta(false)).ok());
    }
    change_ = [](auto& says) { says.delta_root = {}; };
    put();
    EXPECT_EQ(facts(delta(false)).error().code, kMalformed);
}

TEST_F(Withheld, IsReadBack) {
    const auto signature =
        chain::AbiSignature::parse(
            "openWithheld(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)")
            .value();
    for (const WithheldEvidence& evidence : all()) {
        const Bytes call = encode_withheld(evidence, filled(5));
        EXPECT_TRUE(std::ranges::equal(signature.selector(), ByteView(call).first(4)));
        const auto read = read_withheld(call);
        ASSERT_TRUE(read.ok()) << read.error().message;
        EXPECT_EQ(read->evidence, evidence);
        EXPECT_EQ(read->salt, filled(5));
        Bytes longer = call;
        longer.push_back(0);
        EXPECT_EQ(read_withheld(longer)->evidence, evidence);
        EXPECT_EQ(read_open(call).error().code, ErrorCode::kNotFound);
        EXPECT_EQ(read_conflict(call).error().code, ErrorCode::kNotFound);
    }
    EXPECT_EQ(read_withheld(encode_open(evidence_, {})).error().code, ErrorCode::kNotFound);
}

TEST_F(Withheld, IsReadWithACommitmentOfAnyKind) {
    change_ = [](auto& says) { says.kind = static_cast<protocol::UnitKind>(77); };
    put();
    const WithheldEvidence evidence = delta(false);
    EXPECT_EQ(read_withheld(encode_withheld(evidence, {}))->evidence, evidence);
    EXPECT_TRUE(facts(evidence).ok());
}

TEST_F(Withheld, OfNoRequestIsRefused) {
    const auto signature =
        chain::AbiSignature::parse(
            "openWithheld(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)")
            .value();
    const auto code_of = [&](const Bytes& request, const Bytes& record) {
        const chain::AbiValue slot(chain::AbiValue::List{Bytes{}, chain::AbiValue::List{}});
        const auto read = read_withheld(signature
                                            .encode_call({request, record, slot, std::uint64_t{0},
                                                          chain::AbiValue::List{}, Digest()})
                                            .value());
        return read.ok() ? std::optional<ErrorCode>() : read.error().code;
    };
    const Bytes record = protocol::encode(protocol::head_of(record_));
    const Bytes request = encode(WithheldData{Wanted::kBase, 1, 2});
    EXPECT_EQ(code_of(request, record), std::nullopt);
    EXPECT_EQ(code_of(Bytes(12), record), kMalformed);
    EXPECT_EQ(code_of({}, record), kMalformed);
    EXPECT_EQ(code_of(request, {}), kMalformed);
    Bytes with = request;
    with.resize(request.size() + 225);
    EXPECT_EQ(code_of(with, record), kMalformed);
}

}  // namespace
}  // namespace gym::game
