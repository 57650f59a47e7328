#include "gym/protocol/commitment.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "gym/protocol/reason.hpp"
#include "samples.hpp"

namespace gym::protocol {
namespace {

using testing::digest;
using testing::domain;
using testing::key;

using Change = std::pair<const char*, std::function<void(UnitCommitment&)>>;

const std::vector<Change> kChanges = {
    {"kind", [](UnitCommitment& c) { c.kind = UnitKind::kEvaluate; }},
    {"round record", [](UnitCommitment& c) { c.round_record = digest(99); }},
    {"slot", [](UnitCommitment& c) { c.slot ^= 1; }},
    {"attempt", [](UnitCommitment& c) { c.attempt ^= 1; }},
    {"records root", [](UnitCommitment& c) { c.records_root = digest(98); }},
    {"final state root", [](UnitCommitment& c) { c.final_state_root = digest(97); }},
    {"delta codec", [](UnitCommitment& c) { c.delta_codec ^= 1; }},
    {"delta root", [](UnitCommitment& c) { c.delta_root = digest(96); }},
    {"steps", [](UnitCommitment& c) { c.steps ^= 1; }},
    {"tokens", [](UnitCommitment& c) { c.tokens ^= 1; }},
    {"flops", [](UnitCommitment& c) { c.flops ^= 1; }},
};

TEST(Commitment, ASignatureHoldsForItsWorkerContentAndNetworkOnly) {
    const UnitCommitment commitment = testing::commitment(testing::round_record());
    const SignedCommitment signed_commitment = sign(domain(), commitment, key(1));
    EXPECT_TRUE(verify_signature(domain(), signed_commitment, key(1).address()).ok());
    EXPECT_EQ(verify_signature(domain(), signed_commitment, key(2).address()).error().code,
              ErrorCode::kUnauthenticated);
    EXPECT_FALSE(verify_signature(signing_domain(1, testing::address(9)), signed_commitment,
                                  key(1).address())
                     .ok())
        << "another chain";
    EXPECT_FALSE(verify_signature(signing_domain(31'337, testing::address(8)), signed_commitment,
                                  key(1).address())
                     .ok())
        << "another contract";
    for (const auto& [name, change] : kChanges) {
        SignedCommitment changed = signed_commitment;
        change(changed.commitment);
        EXPECT_FALSE(verify_signature(domain(), changed, key(1).address()).ok()) << name;
    }
}

TEST(Commitment, TheEncodingIsStrictAndTheLeafCoversEveryField) {
    const auto original = sign(domain(), testing::commitment(testing::round_record()), key(1));
    const Bytes bytes = encode(original);
    const auto decoded = decode_signed_commitment(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, original);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_signed_commitment(ByteView(bytes).first(size)).ok());
    for (const auto& [name, change] : kChanges) {
        SignedCommitment changed = original;
        change(changed.commitment);
        EXPECT_NE(commitment_leaf(changed), commitment_leaf(original)) << name;
    }
    Bytes unknown_kind = bytes;
    unknown_kind[2] = 9;
    EXPECT_EQ(decode_signed_commitment(unknown_kind).error().code, ErrorCode::kMalformed);
}

TEST(Commitment, TheRoundDecidesWhatFits) {
    const RoundRecord record = testing::round_record();
    const Digest record_hash = hash(record);
    const Address worker = record.slots[1].worker;
    const auto check = [&](const UnitCommitment& commitment, const Address& who) {
        const Status status = check_against_round(commitment, record, record_hash, who, 0);
        return status.ok() ? ErrorCode::kInternal : status.error().code;
    };
    const UnitCommitment good = testing::commitment(record);
    EXPECT_EQ(check(good, worker), ErrorCode::kInternal) << "fits";
    EXPECT_EQ(check(good, record.slots[0].worker), ErrorCode::kPermissionDenied);
    const std::map<std::string, ErrorCode> expected = {
        {"kind", ErrorCode::kPermissionDenied}, {"round record", ErrorCode::kConflict},
        {"slot", ErrorCode::kPermissionDenied}, {"attempt", ErrorCode::kMismatch},
        {"delta codec", ErrorCode::kMismatch},  {"steps", ErrorCode::kMismatch},
        {"tokens", ErrorCode::kMismatch},       {"flops", ErrorCode::kMismatch}};
    for (const auto& [name, change] : kChanges) {
        if (!expected.contains(name)) continue;
        UnitCommitment changed = good;
        change(changed);
        EXPECT_EQ(check(changed, worker), expected.at(name)) << name;
    }
    UnitCommitment no_slot = good;
    no_slot.slot = 5;
    EXPECT_EQ(check(no_slot, worker), ErrorCode::kNotFound);
    UnitCommitment zero = good;
    zero.delta_root = Digest{};
    EXPECT_EQ(check(zero, worker), ErrorCode::kMismatch);
}

TEST(Commitment, EquivocationIsOtherContentForTheSameUnit) {
    const UnitCommitment first = testing::commitment(testing::round_record());
    EXPECT_FALSE(is_equivocation(first, first));
    for (const auto& [name, change] : kChanges) {
        UnitCommitment second = first;
        change(second);
        const std::string_view field = name;
        const bool other_unit = field == "round record" || field == "slot" || field == "attempt";
        EXPECT_EQ(is_equivocation(first, second), !other_unit) << name;
    }
}

TEST(Reason, SentencesNameUnitRoundAndStep) {
    const UnitKey unit{digest(1), 3, 17, 0};
    EXPECT_EQ(step_differs(unit, 12, digest(1), digest(2)).sentence,
              "unit 17 of round 3: step 12 differs from re-execution (records root " +
                  digest(1).hex() + " committed, " + digest(2).hex() + " recomputed)");
    EXPECT_EQ(name_unit({digest(1), 4, kAggregateSlot, 0}), "the aggregate unit of round 4");
    const Reason dispute = step_differs(unit, 12, digest(1), digest(2));
    EXPECT_EQ(no_defence(dispute).code, ReasonCode::kStepDiffers) << "the cause stays readable";
}

TEST(Reason, CodesHaveOneNameEach) {
    for (const ReasonCode code :
         {ReasonCode::kStepDiffers, ReasonCode::kResultDiffers, ReasonCode::kEquivocation,
          ReasonCode::kLateCommitment, ReasonCode::kNoReport, ReasonCode::kInputsLost,
          ReasonCode::kWorkerExcluded, ReasonCode::kFalseReport})
        EXPECT_EQ(*parse_reason_code(to_string(code)), code);
    EXPECT_EQ(parse_reason_code("bad luck").error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::protocol
