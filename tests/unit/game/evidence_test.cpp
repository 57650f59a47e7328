#include "gym/game/evidence.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "gym/crypto/keccak.hpp"
#include "move_samples.hpp"
#include "samples.hpp"

namespace gym::game {
namespace {

using testing::filled;

Address address_of(std::uint8_t byte) {
    Address address;
    address.data.fill(byte);
    return address;
}

Evidence sample_evidence() {
    const protocol::RoundRecord record = gym::testing::round_record();
    return {protocol::sign(gym::testing::domain(), gym::testing::commitment(record),
                           gym::testing::key(1)),
            protocol::unit_record(record, 1),
            3,
            {filled(1), filled(2)}};
}

TEST(Announcement, IsTheContracts) {
    // By `cast abi-encode` and `cast keccak`.
    EXPECT_EQ(announcement_of(31'337, address_of(1), address_of(2), filled(3), filled(4)).hex(),
              "0x5cd64b435d8abd923cb4b3f6744f80b2f0a8aa6ab21f6aa8ebc17fd333b7fc64");
}

TEST(Unit, IsNamedByWhatWasSignedAndByWhom) {
    const Evidence evidence = sample_evidence();
    const auto unit = unit_of(gym::testing::domain(), evidence.commitment);
    ASSERT_TRUE(unit.ok());
    Bytes words = Bytes(64, 0);
    const Digest digest =
        protocol::signing_digest(gym::testing::domain(), evidence.commitment.commitment);
    std::copy(digest.data.begin(), digest.data.end(), words.begin());
    const Address signer = gym::testing::key(1).address();
    std::copy(signer.data.begin(), signer.data.end(), words.begin() + 44);
    EXPECT_EQ(*unit, crypto::keccak256(words));

    protocol::SignedCommitment other = evidence.commitment;
    other.signature.data[64] = 26;
    EXPECT_EQ(unit_of(gym::testing::domain(), other).error().code, ErrorCode::kUnauthenticated);
    // Another signer of the same words is another unit.
    other = protocol::sign(gym::testing::domain(), evidence.commitment.commitment,
                           gym::testing::key(2));
    EXPECT_NE(*unit_of(gym::testing::domain(), other), *unit);
}

TEST(Unit, BeginsAtItsFacts) {
    const Evidence evidence = sample_evidence();
    const Facts facts = facts_of(evidence.commitment.commitment, evidence.record);
    EXPECT_EQ(facts.records_root, gym::testing::digest(30));
    EXPECT_EQ(facts.final_state_root, gym::testing::digest(31));
    EXPECT_EQ(facts.delta_root, gym::testing::digest(32));
    EXPECT_EQ(facts.job_seed, gym::testing::digest(9));
    EXPECT_EQ(facts.trace_root, gym::testing::digest(10));
    EXPECT_EQ(facts.initial_state_root, gym::testing::digest(11));
    EXPECT_EQ(facts.dataset_root, gym::testing::digest(8));
    EXPECT_EQ(facts.round, 3U);
    EXPECT_EQ(facts.slot, 1U);
    EXPECT_EQ(facts.steps, 20U);
    EXPECT_EQ(facts.checkpoint_every, 10U);
    const Cursor start = start_of(filled(1), facts);
    EXPECT_EQ(start.stage, Stage::kUnit);
    EXPECT_FALSE(start.answered);
    EXPECT_EQ(start.node, filled(1));
    EXPECT_EQ(start.frame, hash_of(facts));
    EXPECT_EQ(start.leaves + start.index + start.height, 0U);
}

TEST(Contradiction, IsTheFirstFieldThatTheRoundDoesNotFix) {
    const protocol::RoundRecord record = gym::testing::round_record();
    const auto field = [&](const std::function<void(protocol::UnitCommitment&)>& change) {
        protocol::UnitCommitment commitment = gym::testing::commitment(record);
        change(commitment);
        return contradiction(commitment, protocol::unit_record(record, commitment.slot),
                             gym::testing::key(1).address())
            .value();
    };
    const auto none = std::optional<std::uint8_t>();
    EXPECT_EQ(field([](auto&) {}), none);
    EXPECT_EQ(field([](auto& c) { c.attempt = 9; }), none);
    EXPECT_EQ(field([](auto& c) { c.kind = protocol::UnitKind::kEvaluate; }), 0);
    EXPECT_EQ(field([](auto& c) { c.slot = 0; }), 1);
    EXPECT_EQ(field([](auto& c) { c.slot = 3; }), 1);
    EXPECT_EQ(field([](auto& c) { c.delta_codec = 1; }), 2);
    EXPECT_EQ(field([](auto& c) { ++c.steps; }), 3);
    EXPECT_EQ(field([](auto& c) { ++c.tokens; }), 4);
    EXPECT_EQ(field([](auto& c) { ++c.flops; }), 5);
    EXPECT_EQ(field([](auto& c) { c.records_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.final_state_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.delta_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.kind = protocol::UnitKind::kEvaluate, ++c.flops; }), 0);
    for (const std::uint32_t slot : {protocol::kSlotsMax, protocol::kAggregateSlot - 1}) {
        protocol::UnitCommitment of_nobody = gym::testing::commitment(record);
        of_nobody.slot = slot;
        EXPECT_EQ(contradiction(of_nobody, protocol::unit_record(record, slot), {}).error().code,
                  ErrorCode::kInvalidArgument);
    }
}

protocol::UnitCommitment aggregate_of(const protocol::RoundRecord& record) {
    protocol::UnitCommitment out = gym::testing::commitment(record);
    out.kind = protocol::UnitKind::kAggregate;
    out.slot = protocol::kAggregateSlot;
    out.steps = 1;
    out.tokens = 0;
    return out;
}

TEST(Contradiction, OfAnAggregateIsNotAboutTheSigner) {
    const protocol::RoundRecord record = gym::testing::round_record();
    const auto field = [&](const std::function<void(protocol::UnitCommitment&)>& change) {
        protocol::UnitCommitment commitment = aggregate_of(record);
        change(commitment);
        return contradiction(commitment, protocol::unit_record(record, commitment.slot),
                             gym::testing::key(9).address())
            .value();
    };
    const auto none = std::optional<std::uint8_t>();
    EXPECT_EQ(field([](auto&) {}), none);
    EXPECT_EQ(field([](auto& c) { c.attempt = 9, c.flops = 1; }), none);
    EXPECT_EQ(field([](auto& c) { c.kind = protocol::UnitKind::kTrain; }), 0);
    EXPECT_EQ(field([](auto& c) { c.delta_codec = 1; }), 2);
    EXPECT_EQ(field([](auto& c) { c.steps = 0; }), 3);
    EXPECT_EQ(field([](auto& c) { c.tokens = 1; }), 4);
    EXPECT_EQ(field([](auto& c) { c.records_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.final_state_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.delta_root = {}; }), 6);
}

TEST(Unit, OfAnAggregateBeginsAtItsOuterFacts) {
    const protocol::RoundRecord record = gym::testing::round_record();
    const protocol::UnitCommitment says = aggregate_of(record);
    EpochRoots epochs{{filled(77), 5}, {filled(78), 6}};
    const UnitFacts facts = unit_facts_of(says, protocol::unit_record(record, says.slot), epochs);
    const OuterFacts expected{says.records_root,
                              says.final_state_root,
                              says.delta_root,
                              protocol::hash(record),
                              gym::testing::digest(10),
                              gym::testing::digest(3),
                              gym::testing::digest(4),
                              filled(77),
                              5,
                              record.previous_record,
                              filled(78),
                              6};
    EXPECT_EQ(std::get<OuterFacts>(facts), expected);
    EXPECT_EQ(start_of(filled(1), facts).frame, hash_of(expected));
    // Without an epoch of the round before there is nothing of it.
    epochs.previous = {};
    const auto alone =
        std::get<OuterFacts>(unit_facts_of(says, protocol::unit_record(record, says.slot), epochs));
    EXPECT_TRUE(alone.previous_record.is_zero());
    EXPECT_TRUE(alone.previous_epoch_root.is_zero());
    EXPECT_EQ(alone.previous_epoch_leaves, 0U);
    const protocol::UnitCommitment train = gym::testing::commitment(record);
    const protocol::UnitRecord of_train = protocol::unit_record(record, train.slot);
    EXPECT_EQ(std::get<Facts>(unit_facts_of(train, of_train, epochs)), facts_of(train, of_train));
}

class Conflicts : public ::testing::Test {
  protected:
    static crypto::Eip712Domain domain() { return gym::testing::domain(); }
    [[nodiscard]] protocol::SignedCommitment sign(const protocol::UnitCommitment& what,
                                                  std::uint64_t by) const {
        return protocol::sign(domain(), what, gym::testing::key(by));
    }
    [[nodiscard]] protocol::RoundHead next() const {
        protocol::RoundHead out = record_;
        out.round = record_.round + 1;
        out.previous_record = protocol::hash(record_);
        out.base_state_root = aggregate_.final_state_root;
        out.momentum_root = aggregate_.delta_root;
        return out;
    }
    void expect_none(const Conflict& conflict, ErrorCode code) {
        const auto found = decide_conflict(domain(), conflict);
        ASSERT_FALSE(found.ok()) << int{found->field};
        EXPECT_EQ(found.error().code, code) << found.error().message;
    }

    protocol::RoundHead record_ = head_of(gym::testing::round_record());
    protocol::UnitCommitment train_ = gym::testing::commitment(gym::testing::round_record());
    protocol::UnitCommitment aggregate_ = aggregate_of(gym::testing::round_record());
};

TEST_F(Conflicts, WhoSignsTwoThingsForOneUnitIsAtFault) {
    for (const protocol::UnitCommitment& one : {train_, aggregate_}) {
        protocol::UnitCommitment other = one;
        other.delta_root = filled(3);
        const auto a = sign(one, 1), b = sign(other, 1);
        const auto found = decide_conflict(domain(), {a, record_, encode(b)});
        ASSERT_TRUE(found.ok()) << found.error().message;
        EXPECT_EQ(found->field, kEquivocationField);
        EXPECT_EQ(found->asserter, gym::testing::key(1).address());
        EXPECT_EQ(*found, *decide_conflict(domain(), {b, record_, encode(a)})) << "in any order";
        const bool first_lower =
            protocol::signing_digest(domain(), one) < protocol::signing_digest(domain(), other);
        EXPECT_EQ(found->unit, *unit_of(domain(), first_lower ? a : b));
    }
}

TEST_F(Conflicts, NoEquivocationIsWhereSomethingElseDiffers) {
    protocol::UnitCommitment other = train_;
    other.delta_root = filled(3);
    expect_none({sign(train_, 1), record_, encode(sign(train_, 1))}, ErrorCode::kConflict);
    expect_none({sign(train_, 1), record_, encode(sign(other, 2))}, ErrorCode::kMismatch);
    auto nobody = sign(other, 1);
    nobody.signature.data[64] = 0;
    expect_none({sign(train_, 1), record_, encode(nobody)}, ErrorCode::kUnauthenticated);
    other.slot += 1;
    expect_none({sign(train_, 1), record_, encode(sign(other, 1))}, ErrorCode::kMismatch);
    other.slot -= 1;
    other.attempt += 1;
    expect_none({sign(train_, 1), record_, encode(sign(other, 1))}, ErrorCode::kMismatch);
    other.attempt -= 1;
    other.round_record = filled(4);
    expect_none({sign(train_, 1), record_, encode(sign(other, 1))}, ErrorCode::kMismatch);
    protocol::RoundHead another = record_;
    another.checkpoint_every += 1;
    other.round_record = train_.round_record;
    expect_none({sign(train_, 1), another, encode(sign(other, 1))}, ErrorCode::kMismatch);
}

TEST_F(Conflicts, TheNextRoundBeginsWhereTheAggregateEnds) {
    expect_none({sign(aggregate_, 9), record_, encode(next())}, ErrorCode::kConflict);
    for (const auto field :
         {&protocol::RoundHead::base_state_root, &protocol::RoundHead::momentum_root,
          &protocol::RoundHead::previous_record}) {
        protocol::RoundHead other = next();
        (other.*field).data[5] ^= 1;
        const auto found = decide_conflict(domain(), {sign(aggregate_, 9), record_, encode(other)});
        ASSERT_TRUE(found.ok()) << found.error().message;
        EXPECT_EQ(found->field, kNextRecordField);
        EXPECT_EQ(found->unit, *unit_of(domain(), sign(aggregate_, 9)));
        EXPECT_EQ(found->asserter, gym::testing::key(9).address());
    }
}

TEST_F(Conflicts, OnlyTheNextRecordOfTheJobCounts) {
    protocol::RoundHead right = next();
    right.base_state_root = filled(3);
    ASSERT_TRUE(decide_conflict(domain(), {sign(aggregate_, 9), record_, encode(right)}).ok());
    const auto refused = [&](const std::function<void(protocol::RoundHead&)>& change) {
        protocol::RoundHead other = right;
        change(other);
        expect_none({sign(aggregate_, 9), record_, encode(other)}, ErrorCode::kMismatch);
    };
    refused([](auto& r) { r.job_id.data[0] ^= 1; });
    refused([](auto& r) { r.round += 1; });
    expect_none({sign(train_, 1), record_, encode(right)}, ErrorCode::kMismatch);
    protocol::UnitCommitment wrong = aggregate_;
    wrong.kind = protocol::UnitKind::kEvaluate;
    expect_none({sign(wrong, 9), record_, encode(right)}, ErrorCode::kMismatch);
    wrong = aggregate_;
    wrong.slot = 1;
    expect_none({sign(wrong, 9), record_, encode(right)}, ErrorCode::kMismatch);
}

/// Numbers of rounds do not wrap, here as in the contracts.
TEST_F(Conflicts, NothingComesAfterTheLastRound) {
    record_.round = std::numeric_limits<std::uint64_t>::max();
    aggregate_.round_record = protocol::hash(record_);
    protocol::RoundHead other = next();
    ASSERT_EQ(other.round, 0u);
    other.base_state_root = filled(3);
    expect_none({sign(aggregate_, 9), record_, encode(other)}, ErrorCode::kMismatch);
}

/// No node takes a record of such terms for one, but the contracts read its head.
TEST_F(Conflicts, ANextRecordIsOneWhateverItsTerms) {
    protocol::RoundHead wrong = next();
    wrong.base_state_root = filled(3);
    wrong.checkpoint_every = 0;
    Bytes bytes = encode(wrong);
    const auto found = decide_conflict(domain(), {sign(aggregate_, 9), record_, bytes});
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->field, kNextRecordField);
    bytes.push_back(0);
    expect_none({sign(aggregate_, 9), record_, bytes}, ErrorCode::kMalformed);
    bytes.resize(protocol::kRoundHeadBytes - 1);
    expect_none({sign(aggregate_, 9), record_, bytes}, ErrorCode::kMalformed);
    bytes.resize(225);
    expect_none({sign(aggregate_, 9), record_, bytes}, ErrorCode::kMalformed);
}

TEST_F(Conflicts, ACommitmentOfNoKindIsOne) {
    protocol::UnitCommitment other = train_;
    other.kind = static_cast<protocol::UnitKind>(77);
    const Bytes bytes = encode(sign(other, 1));
    ASSERT_FALSE(protocol::decode_signed_commitment(bytes).ok());
    const auto found = decide_conflict(domain(), {sign(train_, 1), record_, bytes});
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->field, kEquivocationField);
    EXPECT_EQ(read_conflict(encode_conflict({sign(train_, 1), record_, bytes}, {}))->conflict.other,
              bytes);
    Bytes format = bytes;
    format[1] ^= 1;
    expect_none({sign(train_, 1), record_, format}, ErrorCode::kMalformed);
}

TEST_F(Conflicts, AreReadBack) {
    protocol::UnitCommitment other = train_;
    other.delta_root = filled(3);
    for (const Conflict& conflict : {Conflict{sign(train_, 1), record_, encode(sign(other, 1))},
                                     Conflict{sign(aggregate_, 9), record_, encode(next())}}) {
        const Bytes call = encode_conflict(conflict, filled(5));
        const auto read = read_conflict(call);
        ASSERT_TRUE(read.ok()) << read.error().message;
        EXPECT_EQ(read->conflict, conflict);
        EXPECT_EQ(read->salt, filled(5));
        Bytes longer = call;
        longer.push_back(0);
        EXPECT_EQ(read_conflict(longer)->conflict, conflict);
        EXPECT_EQ(read_open(call).error().code, ErrorCode::kNotFound);
        EXPECT_EQ(read_conflict(encode_open(sample_evidence(), {})).error().code,
                  ErrorCode::kNotFound);
    }
}

TEST(Opening, IsReadBack) {
    const Evidence evidence = sample_evidence();
    const Bytes call = encode_open(evidence, filled(5));
    const auto read = read_open(call);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->evidence, posted(evidence));
    EXPECT_EQ(read->evidence.record, protocol::RoundHead(evidence.record));
    EXPECT_EQ(unit_facts_of(read->evidence, {}),
              UnitFacts(facts_of(evidence.commitment.commitment, evidence.record)));
    EXPECT_EQ(read->salt, filled(5));
    Bytes other = call;
    other[0] ^= 1;
    EXPECT_EQ(read_open(other).error().code, ErrorCode::kNotFound);
}

/// The same call but for its selector, as the contracts have it.
TEST(Opening, OfALateUnitIsAnotherFunction) {
    Evidence evidence = sample_evidence();
    const Bytes timely = encode_open(evidence, filled(5));
    evidence.late = true;
    const Bytes call = encode_open(evidence, filled(5));
    const auto signature = chain::AbiSignature::parse(
                               "openLate(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)")
                               .value();
    EXPECT_TRUE(std::ranges::equal(signature.selector(), ByteView(call).first(4)));
    EXPECT_TRUE(std::ranges::equal(ByteView(timely).subspan(4), ByteView(call).subspan(4)));
    const auto read = read_open(call);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->evidence, posted(evidence));
    EXPECT_TRUE(read->evidence.late);
    EXPECT_FALSE(read_open(timely)->evidence.late);
    EXPECT_EQ(read_conflict(call).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace gym::game
