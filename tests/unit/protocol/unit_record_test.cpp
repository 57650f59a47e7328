#include "gym/protocol/unit_record.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "samples.hpp"

namespace gym::protocol {
namespace {

constexpr std::uint32_t kManySlots = 8192;

/// A round of so many slots, the largest that a job has.
RoundRecord large_round() {
    RoundRecord record = gym::testing::round_record();
    record.slots.clear();
    for (std::uint32_t slot = 0; slot < kManySlots; ++slot) {
        Address worker;
        worker.data[0] = static_cast<std::uint8_t>(slot >> 8U);
        worker.data[1] = static_cast<std::uint8_t>(slot);
        worker.data[2] = 1;
        record.slots.push_back({slot, worker, record.sampling.floor_ppm + slot, 1 + slot});
    }
    return record;
}

class UnitRecordTest : public ::testing::Test {
  protected:
    const RoundRecord whole_ = gym::testing::round_record();
    const UnitRecord unit_ = unit_record(whole_, 1);

    static std::string refusal(const UnitRecord& record) {
        const Status valid = validate(record);
        EXPECT_FALSE(valid.ok());
        const auto decoded = decode_unit_record(encode(record));
        EXPECT_FALSE(decoded.ok()) << "what is refused in memory is refused on the wire";
        if (valid.ok()) return "";
        EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
        return valid.error().message;
    }
};

TEST_F(UnitRecordTest, HasTheHashOfTheWholeRecordAndTheTermsOfItsSlot) {
    ASSERT_TRUE(validate(unit_).ok());
    EXPECT_EQ(hash(unit_), hash(whole_));
    ASSERT_NE(unit_.find_slot(1), nullptr);
    EXPECT_EQ(*unit_.find_slot(1), whole_.slots[1]);
    EXPECT_EQ(unit_.find_slot(0), nullptr) << "of others it says nothing";
    EXPECT_EQ(proof_of(unit_), prove_slot(whole_, 1));
    EXPECT_EQ(decode_unit_record(encode(unit_)).value(), unit_);
}

TEST_F(UnitRecordTest, OfAUnitWithoutASlotIsTheHead) {
    const UnitRecord head = unit_record(whole_, kAggregateSlot);
    ASSERT_TRUE(validate(head).ok());
    EXPECT_FALSE(head.assignment.has_value());
    EXPECT_EQ(encode(head), encode(head_of(whole_)));
    EXPECT_EQ(decode_unit_record(encode(head)).value(), head);
    EXPECT_TRUE(proof_of(head).terms.empty());
}

TEST_F(UnitRecordTest, IsLessThanAKilobyteInTheLargestRound) {
    const RoundRecord record = large_round();
    ASSERT_TRUE(validate(record).ok());
    const UnitRecords units(record);
    EXPECT_GT(encode(record).size(), 200'000U);
    for (const std::uint32_t slot : {0U, 1U, 4095U, 4096U, kManySlots - 1}) {
        const UnitRecord unit = units.of(slot);
        EXPECT_EQ(encode(unit).size(), 912U);
        EXPECT_EQ(encode(unit).size(), unit_record_bytes(13));
        EXPECT_EQ(decode_unit_record(encode(unit)).value(), unit);
        EXPECT_EQ(hash(unit), hash(record));
    }
    EXPECT_FALSE(units.of(kManySlots).assignment.has_value());
}

TEST_F(UnitRecordTest, AForgedProofIsRefused) {
    UnitRecord forged = unit_;
    forged.path[0].data[5] ^= 1;
    EXPECT_NE(refusal(forged).find("slot 1 are not under the head's slots root"), std::string::npos)
        << refusal(forged);
    forged = unit_;
    forged.path.pop_back();
    EXPECT_NE(refusal(forged).find("not under the head's slots root"), std::string::npos);
    forged = unit_;
    forged.path.push_back({});
    EXPECT_NE(refusal(forged).find("not under the head's slots root"), std::string::npos);
    forged = unit_;
    forged.assignment.reset();
    EXPECT_FALSE(validate(forged).ok()) << "a path of nothing";
}

TEST_F(UnitRecordTest, EachFieldOfTheTermsIsProven) {
    for (const auto& change : std::vector<std::function<void(SlotAssignment&)>>{
             [](SlotAssignment& slot) { slot.worker.data[3] ^= 1; },
             [](SlotAssignment& slot) { slot.sampling_rate_ppm -= 1; },
             [](SlotAssignment& slot) { slot.steps += 1; }}) {
        UnitRecord changed = unit_;
        change(*changed.assignment);
        EXPECT_NE(refusal(changed).find("not under the head's slots root"), std::string::npos)
            << refusal(changed);
    }
}

TEST_F(UnitRecordTest, AnotherSlotsProofIsRefused) {
    UnitRecord other = unit_record(whole_, 0);
    other.assignment->slot = 1;
    EXPECT_NE(refusal(other).find("terms of slot 1"), std::string::npos) << refusal(other);
    other = unit_;
    other.path = unit_record(whole_, 0).path;
    EXPECT_NE(refusal(other).find("terms of slot 1"), std::string::npos) << refusal(other);
    other = unit_;
    other.assignment->slot = static_cast<std::uint32_t>(whole_.slots.size());
    EXPECT_NE(refusal(other).find("and no slot"), std::string::npos) << refusal(other);
}

TEST_F(UnitRecordTest, AHeadOfAnotherRootIsRefused) {
    RoundRecord other = whole_;
    other.slots[0].steps += 1;
    UnitRecord mixed = unit_record(other, 1);
    mixed.path = unit_.path;
    EXPECT_NE(refusal(mixed).find(head_of(other).slots_root.hex()), std::string::npos)
        << refusal(mixed);
    mixed = unit_;
    mixed.slots_root = {};
    EXPECT_NE(refusal(mixed).find("not under the head's slots root"), std::string::npos);
    mixed = unit_;
    mixed.slots *= 2;
    EXPECT_FALSE(validate(mixed).ok()) << "a tree of another depth";
}

TEST_F(UnitRecordTest, WhatNoRecordMayHaveIsRefused) {
    UnitRecord wrong = unit_;
    wrong.round = 0;
    EXPECT_NE(refusal(wrong).find("count from 1"), std::string::npos);
    wrong = unit_;
    wrong.checkpoint_every = 0;
    EXPECT_NE(refusal(wrong).find("checkpoint"), std::string::npos);
    wrong = unit_;
    wrong.sampling.floor_ppm = kPpm + 1;
    EXPECT_NE(refusal(wrong).find("sampling rate is above 1"), std::string::npos);
    wrong = unit_;
    wrong.round = 1;
    wrong.included = 1;
    EXPECT_NE(refusal(wrong).find("round 1"), std::string::npos);
    // Under its root, as a coordinator may write it, and no worker takes it.
    RoundRecord record = whole_;
    record.slots[1].steps = 0;
    EXPECT_NE(refusal(unit_record(record, 1)).find("slot 1 has no steps"), std::string::npos);
    record = whole_;
    record.slots[1].sampling_rate_ppm = record.sampling.floor_ppm - 1;
    EXPECT_NE(refusal(unit_record(record, 1)).find("outside [floor, 1]"), std::string::npos);
}

TEST_F(UnitRecordTest, BytesOfAnotherLengthAreRefused) {
    const Bytes bytes = encode(unit_);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        if (size == kRoundHeadBytes) continue;  // a record without a slot
        EXPECT_EQ(decode_unit_record(ByteView(bytes).first(size)).error().code,
                  ErrorCode::kMalformed)
            << size;
    }
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(decode_unit_record(longer).error().code, ErrorCode::kMalformed);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        Bytes flipped = bytes;
        flipped[at] ^= 1;
        const auto decoded = decode_unit_record(flipped);
        EXPECT_TRUE(!decoded.ok() || hash(*decoded) != hash(unit_)) << at;
    }
}

TEST_F(UnitRecordTest, ACommitmentIsCheckedAgainstItAsAgainstTheWholeRecord) {
    const UnitCommitment commitment = gym::testing::commitment(whole_);
    const Address worker = whole_.slots[1].worker;
    EXPECT_TRUE(check_against_round(commitment, unit_, worker, 0).ok());
    const auto same = [&](const UnitCommitment& one, const Address& who) {
        const Status whole = check_against_round(one, whole_, hash(whole_), who, 0);
        const Status unit = check_against_round(one, unit_, who, 0);
        ASSERT_FALSE(unit.ok());
        EXPECT_EQ(unit.error().message, whole.error().message);
    };
    same(commitment, whole_.slots[0].worker);
    UnitCommitment changed = commitment;
    ++changed.steps;
    same(changed, worker);
    changed = commitment;
    changed.round_record.data[0] ^= 1;
    same(changed, worker);
    changed = commitment;
    changed.slot = 9;
    same(changed, worker);
}

}  // namespace
}  // namespace gym::protocol
