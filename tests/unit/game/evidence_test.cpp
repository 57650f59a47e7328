#include "gym/game/evidence.hpp"

#include <gtest/gtest.h>

#include <functional>

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
            record,
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
    EXPECT_EQ(facts.round, 2U);
    EXPECT_EQ(facts.slot, 1U);
    EXPECT_EQ(facts.steps, 20U);
    EXPECT_EQ(facts.checkpoint_every, 10U);
    const Cursor start = start_of(filled(1), facts);
    EXPECT_EQ(start.stage, Stage::unit);
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
        return contradiction(commitment, record, gym::testing::key(1).address()).value();
    };
    const auto none = std::optional<std::uint8_t>();
    EXPECT_EQ(field([](auto&) {}), none);
    EXPECT_EQ(field([](auto& c) { c.attempt = 9; }), none);
    EXPECT_EQ(field([](auto& c) { c.kind = protocol::UnitKind::kEvaluate; }), 0);
    EXPECT_EQ(field([](auto& c) { c.slot = 0; }), 1);
    EXPECT_EQ(field([](auto& c) { c.slot = 5; }), 1);
    EXPECT_EQ(field([](auto& c) { c.delta_codec = 1; }), 2);
    EXPECT_EQ(field([](auto& c) { ++c.steps; }), 3);
    EXPECT_EQ(field([](auto& c) { ++c.tokens; }), 4);
    EXPECT_EQ(field([](auto& c) { ++c.flops; }), 5);
    EXPECT_EQ(field([](auto& c) { c.records_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.final_state_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.delta_root = {}; }), 6);
    EXPECT_EQ(field([](auto& c) { c.kind = protocol::UnitKind::kEvaluate, ++c.flops; }), 0);
    protocol::UnitCommitment of_coordinator = gym::testing::commitment(record);
    of_coordinator.slot = protocol::kAggregateSlot;
    EXPECT_EQ(contradiction(of_coordinator, record, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Opening, IsReadBack) {
    const Evidence evidence = sample_evidence();
    const Bytes call = encode_open(evidence, filled(5));
    const auto read = decode_open(call);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->evidence, evidence);
    EXPECT_EQ(read->salt, filled(5));
    Bytes other = call;
    other[0] ^= 1;
    EXPECT_EQ(decode_open(other).error().code, ErrorCode::kNotFound);
    other = call;
    other.push_back(0);
    EXPECT_EQ(decode_open(other).error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::game
