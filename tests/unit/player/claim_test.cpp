#include "gym/player/claim.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "gym/commit/codec.hpp"
#include "gym/common/file.hpp"
#include "samples.hpp"
#include "temporary_folder.hpp"

namespace gym::player {
namespace {

using gym::testing::digest;

Claim claim_on(protocol::UnitCommitment commitment, const protocol::RoundRecord& record) {
    Claim claim;
    claim.role = Role::kChallenge;
    claim.key = {record.job_id, record.round, commitment.slot, commitment.attempt};
    claim.evidence.commitment =
        protocol::sign(gym::testing::domain(), commitment, gym::testing::key(1));
    claim.evidence.record = protocol::unit_record(record, commitment.slot);
    claim.from_block = 17;
    claim.epoch_block = 18;
    claim.salt = digest(70);
    return claim;
}

Claim train_unit() {
    const protocol::RoundRecord record = gym::testing::round_record();
    Claim claim = claim_on(gym::testing::commitment(record), record);
    claim.evidence.index = 1;
    claim.evidence.path = {digest(71), digest(72)};
    claim.program_blob = digest(80);
    claim.dataset_blob = digest(81);
    claim.base_state_blob = digest(82);
    return claim;
}

/// Whose evidence is in the next round's epoch.
Claim late_unit() {
    protocol::RoundRecord record = gym::testing::round_record();
    record.accept_late = true;
    protocol::UnitCommitment commitment = gym::testing::commitment(record);
    commitment.attempt = 3;  // another unit than the other samples'
    Claim claim = claim_on(commitment, record);
    claim.evidence.index = 1;
    claim.evidence.path = {digest(71), digest(72)};
    claim.evidence.late = true;
    claim.program_blob = digest(80);
    return claim;
}

protocol::UnitCommitment outer_step(const protocol::RoundRecord& record) {
    protocol::UnitCommitment commitment = gym::testing::commitment(record);
    commitment.kind = protocol::UnitKind::kAggregate;
    commitment.slot = protocol::kAggregateSlot;
    return commitment;
}

Claim aggregate() {
    const protocol::RoundRecord record = gym::testing::round_record();
    Claim claim = claim_on(outer_step(record), record);
    claim.subject = Subject::kAggregate;
    claim.round = record;
    claim.program_blob = digest(80);
    claim.base_state_blob = digest(82);
    claim.momentum_blob = digest(83);
    claim.deltas = {{0, digest(90), digest(91)}, {7, digest(92), digest(93)}};
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
        protocol::UnitCommitment other = gym::testing::commitment(record);
        other.slot = slot;
        claim.epoch.push_back(
            protocol::sign(gym::testing::domain(), other, gym::testing::key(slot)));
    }
    return claim;
}

/// Of which one delta is of the round before.
Claim aggregate_with_held() {
    protocol::RoundRecord before = gym::testing::round_record();
    before.round -= 1;
    protocol::RoundRecord record = gym::testing::round_record();
    record.previous_record = protocol::hash(before);
    Claim claim = claim_on(outer_step(record), record);
    claim.key.attempt = 1;
    claim.evidence.commitment.commitment.attempt = 1;
    claim.subject = Subject::kAggregate;
    claim.round = record;
    claim.base_state_blob = digest(82);
    claim.deltas = {{3, digest(90), digest(91)}, {0, digest(94), digest(95), true}};
    claim.held = HeldRound{before, aggregate().epoch, digest(96)};
    return claim;
}

/// Of a second commitment on the same unit.
Claim equivocation() {
    const protocol::RoundRecord record = gym::testing::round_record();
    protocol::UnitCommitment second = gym::testing::commitment(record);
    Claim claim = claim_on(second, record);
    claim.subject = Subject::kConflict;
    second.delta_root = digest(33);
    claim.other =
        protocol::encode(protocol::sign(gym::testing::domain(), second, gym::testing::key(1)));
    return claim;
}

/// Of the record of the next round with an aggregate.
Claim next_record() {
    const protocol::RoundRecord record = gym::testing::round_record();
    Claim claim = claim_on(outer_step(record), record);
    claim.subject = Subject::kConflict;
    protocol::RoundRecord next = record;
    next.round += 1;
    next.previous_record = protocol::hash(record);
    claim.other = protocol::encode(protocol::head_of(next));
    return claim;
}

/// A verifier's report on the unit of train_unit().
Claim report() {
    Claim claim = train_unit();
    claim.role = Role::kDefend;
    claim.subject = Subject::kReport;
    claim.evidence.index = 0;
    claim.evidence.path.clear();
    return claim;
}

const std::vector<std::function<Claim()>> kSamples{
    train_unit, late_unit, aggregate, aggregate_with_held, equivocation, next_record, report};

TEST(Claim, HasOneEncoding) {
    for (const auto& sample : kSamples) {
        const Claim claim = sample();
        const Bytes bytes = encode(claim);
        const auto decoded = decode_claim(bytes);
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        EXPECT_EQ(*decoded, claim);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_FALSE(decode_claim(ByteView(bytes).first(size)).ok()) << size;
        Bytes longer = bytes;
        longer.push_back(0);
        EXPECT_FALSE(decode_claim(longer).ok());
    }
}

TEST(Claim, WhatAnotherVersionWroteIsRefused) {
    for (const std::uint8_t format : {0, 1, 3, 4, 6, 9, 10}) {
        Bytes bytes = encode(train_unit());
        bytes[1] = format;
        EXPECT_FALSE(decode_claim(bytes).ok()) << int{format};
    }
    for (const std::size_t place : {2U, 3U}) {  // role, subject
        Bytes bytes = encode(train_unit());
        bytes[place] = 9;
        EXPECT_FALSE(decode_claim(bytes).ok()) << place;
    }
}

/// As formats before 7 have it: with the whole record in the place of the unit's.
Bytes with_whole_record(const Claim& claim, const protocol::RoundRecord& record,
                        std::uint8_t format) {
    Bytes out = encode(claim);
    out[1] = format;
    const std::size_t at = 2 + 2 + 48 + 4 + protocol::encode(claim.evidence.commitment).size();
    const std::size_t length = protocol::encode(claim.evidence.record).size();
    commit::Encoder whole;
    whole.bytes(protocol::encode(record));
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(at),
              out.begin() + static_cast<std::ptrdiff_t>(at + 4 + length));
    const Bytes bytes = whole.take();
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
    return out;
}

/// A node that is updated still stands by what it committed to before.
TEST(Claim, OfTheFirstFormatIsOnATrainUnit) {
    const Claim claim = train_unit();
    Bytes old = with_whole_record(claim, gym::testing::round_record(), 2);
    old.erase(old.begin() + 3);                     // its subject
    old.resize(old.size() - (4 + 32 + 4 + 4 + 1));  // other, momentum, deltas, epoch, held
    const auto decoded = decode_claim(old);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, claim);
}

TEST(Claim, WithTheWholeRecordIsReadAsOneWithTheUnits) {
    Bytes old = with_whole_record(train_unit(), gym::testing::round_record(), 4);
    EXPECT_EQ(decode_claim(old).value(), train_unit());
    protocol::RoundRecord late = gym::testing::round_record();
    late.accept_late = true;
    EXPECT_EQ(decode_claim(with_whole_record(late_unit(), late, 5)).value(), late_unit());
    old = with_whole_record(aggregate(), gym::testing::round_record(), 4);
    old.resize(old.size() - (4 + protocol::encode(gym::testing::round_record()).size()));
    EXPECT_EQ(decode_claim(old).value(), aggregate());
}

/// Two reports on one unit, as of two draws, have names of their own.
TEST(Claim, OfEachReportHasAName) {
    Claim other = report();
    other.evidence.commitment.signature.data[0] ^= 1;
    EXPECT_NE(report().name(), other.name());
    EXPECT_NE(report().name(), train_unit().name());
    Claim challenged = report();
    challenged.role = Role::kChallenge;
    challenged.salt = digest(7);
    EXPECT_EQ(report().name(), challenged.name());
}

/// No node would write such a record, but it is the one whose hash is on chain.
TEST(Claim, OnARecordIsOnTheBytesThatWerePosted) {
    Claim claim = next_record();
    claim.other.at(362) ^= 1;  // a checkpoint interval that no node takes
    ASSERT_TRUE(check(claim).ok());
    EXPECT_EQ(decode_claim(encode(claim)).value(), claim);
    EXPECT_EQ(conflict_of(claim)->other, claim.other);
}

TEST(Claim, PartsThatDoNotBelongTogetherAreRefused) {
    const auto refused = [](Claim claim, const std::function<void(Claim&)>& change) {
        EXPECT_TRUE(check(claim).ok());
        change(claim);
        EXPECT_FALSE(check(claim).ok());
        EXPECT_FALSE(decode_claim(encode(claim)).ok());
    };
    for (const auto& sample : kSamples) {
        refused(sample(), [](Claim& claim) { claim.key.round += 1; });
        refused(sample(), [](Claim& claim) { claim.key.slot -= 1; });
        refused(sample(), [](Claim& claim) { claim.evidence.record.job_seed.data[0] ^= 1; });
    }
    refused(train_unit(), [](Claim& claim) { claim.subject = Subject::kAggregate; });
    refused(train_unit(), [](Claim& claim) { claim.evidence.record.assignment->steps += 1; });
    refused(train_unit(), [](Claim& claim) {
        claim.evidence.record = protocol::unit_record(gym::testing::round_record(), 0);
    });
    refused(train_unit(), [](Claim& claim) { claim.round = gym::testing::round_record(); });
    refused(aggregate(), [](Claim& claim) { claim.round.reset(); });
    refused(aggregate(), [](Claim& claim) { claim.round->slots[0].steps += 1; });
    refused(equivocation(), [](Claim& claim) { claim.round = gym::testing::round_record(); });
    refused(train_unit(), [](Claim& claim) { claim.momentum_blob = digest(83); });
    refused(train_unit(), [](Claim& claim) { claim.evidence.late = true; });
    refused(aggregate(), [](Claim& claim) { claim.evidence.late = true; });
    refused(equivocation(), [](Claim& claim) { claim.evidence.late = true; });
    refused(report(), [](Claim& claim) { claim.evidence.path = {digest(1)}; });
    refused(report(), [](Claim& claim) { claim.evidence.index = 1; });
    refused(report(), [](Claim& claim) { claim.other = {1}; });
    refused(train_unit(), [](Claim& claim) { claim.other = {1}; });
    refused(train_unit(), [](Claim& claim) { claim.epoch = aggregate().epoch; });
    refused(aggregate(), [](Claim& claim) { claim.subject = Subject::kTrainUnit; });
    refused(aggregate(), [](Claim& claim) { claim.deltas.clear(); });
    refused(aggregate(), [](Claim& claim) { std::swap(claim.deltas[0], claim.deltas[1]); });
    refused(aggregate(), [](Claim& claim) { claim.deltas[1].slot = claim.deltas[0].slot; });
    refused(aggregate(), [](Claim& claim) { claim.evidence.path = {digest(1)}; });
    refused(aggregate(), [](Claim& claim) { claim.other = {1}; });
    refused(train_unit(), [](Claim& claim) { claim.held = HeldRound(); });
    refused(aggregate(), [](Claim& claim) { claim.held = aggregate_with_held().held; });
    refused(aggregate(), [](Claim& claim) { claim.deltas[1].held = true; });
    refused(aggregate_with_held(), [](Claim& claim) { claim.held.reset(); });
    refused(aggregate_with_held(), [](Claim& claim) { claim.deltas[0].held = true; });
    refused(aggregate_with_held(), [](Claim& claim) { claim.deltas[1].held = false; });
    refused(aggregate_with_held(), [](Claim& claim) { claim.held->record.round -= 1; });
    refused(aggregate_with_held(), [](Claim& claim) { claim.held->record = *claim.round; });
    refused(equivocation(), [](Claim& claim) { claim.held = aggregate_with_held().held; });
    refused(equivocation(), [](Claim& claim) { claim.role = Role::kDefend; });
    refused(equivocation(), [](Claim& claim) { claim.other.pop_back(); });
    refused(equivocation(), [](Claim& claim) { claim.epoch = aggregate().epoch; });
    refused(next_record(), [](Claim& claim) { claim.other.resize(399); });
    refused(next_record(), [](Claim& claim) { claim.program_blob = digest(80); });
}

class ClaimStoreTest : public ::testing::Test {
  protected:
    std::unique_ptr<ClaimStore> open() { return ClaimStore::open(folder_.path()).value(); }
    gym::testing::TemporaryFolder folder_;
};

/// Of one unit: a game about it, two commitments, and what the next round says.
TEST_F(ClaimStoreTest, KeepsAGameAndConflictsAboutOneUnitApart) {
    {
        const auto store = open();
        for (const auto& sample : kSamples)
            ASSERT_TRUE(store->save(sample()).ok());
        ASSERT_TRUE(store->save(aggregate()).ok()) << "again";
    }
    const auto store = open();
    EXPECT_EQ(store->list().size(), kSamples.size());
    for (const auto& sample : kSamples)
        EXPECT_TRUE(store->contains(sample()));
    EXPECT_EQ(*store->find(aggregate()), aggregate());
    ASSERT_TRUE(store->remove(*store->list().front()).ok());
    EXPECT_EQ(store->list().size(), kSamples.size() - 1);
    EXPECT_EQ(open()->list().size(), kSamples.size() - 1);
}

/// Also for the next process.
TEST_F(ClaimStoreTest, KeepsThatAClaimIsWithdrawnAsLongAsTheClaim) {
    const Claim claim = train_unit(), other = late_unit();
    auto store = ClaimStore::open(folder_.path()).value();
    ASSERT_TRUE(store->withdraw(claim).ok());
    EXPECT_FALSE(store->is_withdrawn(claim)) << "there is none";
    for (const Claim& one : {claim, other})
        ASSERT_TRUE(store->save(one).ok());
    ASSERT_TRUE(store->withdraw(claim).ok());
    store = ClaimStore::open(folder_.path()).value();
    EXPECT_TRUE(store->is_withdrawn(claim));
    EXPECT_FALSE(store->is_withdrawn(other));
    ASSERT_TRUE(store->save(claim).ok());
    EXPECT_TRUE(store->is_withdrawn(claim)) << "its player has noted a block";
    ASSERT_TRUE(store->remove(claim).ok());
    EXPECT_FALSE(store->is_withdrawn(claim));
    ASSERT_TRUE(store->save(claim).ok());
    EXPECT_FALSE(store->is_withdrawn(claim));
    EXPECT_FALSE(ClaimStore::open(folder_.path()).value()->is_withdrawn(claim));
}

TEST_F(ClaimStoreTest, NeedsEveryBlobOfItsClaims) {
    const auto store = open();
    ASSERT_TRUE(store->save(aggregate()).ok());
    for (const std::uint64_t blob : {80U, 82U, 83U, 91U, 93U})
        EXPECT_TRUE(store->needs(digest(blob))) << blob;
    for (const std::uint64_t other : {81U, 90U, 92U})
        EXPECT_FALSE(store->needs(digest(other))) << other;
    EXPECT_FALSE(store->needs(Digest()));
    ASSERT_TRUE(store->remove(aggregate()).ok());
    EXPECT_FALSE(store->needs(digest(91)));
}

/// Not the base state of the round before, which may be unknown or gone.
TEST_F(ClaimStoreTest, NeedsHeldDeltasAndNoMoreOfTheirRound) {
    const auto store = open();
    ASSERT_TRUE(store->save(aggregate_with_held()).ok());
    EXPECT_TRUE(store->needs(digest(95)));
    EXPECT_FALSE(store->needs(digest(96)));
    const auto deltas = outer_deltas_of(aggregate_with_held());
    ASSERT_EQ(deltas.size(), 2U);
    EXPECT_EQ(deltas[0], (game::OuterDelta{3, digest(91), false}));
    EXPECT_EQ(deltas[1], (game::OuterDelta{0, digest(95), true}));
}

TEST_F(ClaimStoreTest, TakesNoClaimThatItCouldNotRead) {
    const auto store = open();
    Claim claim = aggregate();
    claim.deltas.clear();
    EXPECT_FALSE(store->save(claim).ok());
    EXPECT_TRUE(open()->list().empty());
}

TEST_F(ClaimStoreTest, NamesTheFileThatIsDamaged) {
    ASSERT_TRUE(open()->save(train_unit()).ok());
    const auto file = std::filesystem::directory_iterator(folder_.path())->path();
    Bytes bytes = read_file(file).value();
    bytes.back() ^= 1;
    ASSERT_TRUE(write_file_atomic(file, bytes).ok());
    const auto opened = ClaimStore::open(folder_.path());
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find(file.filename().string()), std::string::npos);
}

}  // namespace
}  // namespace gym::player
