#include <gtest/gtest.h>

#include <functional>

#include "samples.hpp"

namespace gym::protocol {
namespace {

using testing::round_record;

TEST(RoundRecord, decodes_to_what_was_encoded) {
    const RoundRecord record = round_record();
    const auto decoded = decode_round_record(encode(record));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, record);
    EXPECT_EQ(hash(*decoded), hash(record));
}

TEST(RoundRecord, every_truncation_and_extension_is_refused) {
    const Bytes bytes = encode(round_record());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_round_record(ByteView(bytes).first(size)).ok()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(decode_round_record(longer).error().code, ErrorCode::kMalformed);
}

TEST(RoundRecord, every_flipped_bit_is_refused_or_changes_the_hash) {
    const RoundRecord record = round_record();
    const Bytes bytes = encode(record);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        Bytes changed = bytes;
        changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ 1U << bit % 8);
        const auto decoded = decode_round_record(changed);
        EXPECT_TRUE(!decoded.ok() || hash(*decoded) != hash(record)) << bit;
    }
}

TEST(RoundRecord, a_record_that_breaks_a_rule_is_refused) {
    const std::vector<std::pair<const char*, std::function<void(RoundRecord&)>>> breaks = {
        {"round 0", [](RoundRecord& r) { r.round = 0; }},
        {"no steps", [](RoundRecord& r) { r.steps = 0; }},
        {"no checkpoints", [](RoundRecord& r) { r.checkpoint_every = 0; }},
        {"order of slots", [](RoundRecord& r) { std::swap(r.slots[0], r.slots[1]); }},
        {"slot twice", [](RoundRecord& r) { r.slots[1].slot = 0; }},
        {"worker twice", [](RoundRecord& r) { r.slots[1].worker = r.slots[0].worker; }},
        {"no worker", [](RoundRecord& r) { r.slots[1].worker = Address{}; }},
        {"slot of the coordinator", [](RoundRecord& r) { r.slots[2].slot = kAggregateSlot; }},
        {"rate below the floor",
         [](RoundRecord& r) { r.slots[0].sampling_rate_ppm = kSamplingFloorPpm - 1; }},
        {"rate above one", [](RoundRecord& r) { r.slots[0].sampling_rate_ppm = kPpm + 1; }},
        {"deltas before round 1", [](RoundRecord& r) { r.round = 1; }},
        {"order of deltas", [](RoundRecord& r) { std::swap(r.included[0], r.included[1]); }},
    };
    ASSERT_TRUE(validate(round_record()).ok());
    for (const auto& [name, change] : breaks) {
        RoundRecord record = round_record();
        change(record);
        EXPECT_EQ(validate(record).error().code, ErrorCode::kInvalidArgument) << name;
        EXPECT_FALSE(decode_round_record(encode(record)).ok()) << name;
    }
}

TEST(RoundRecord, finds_slots_by_number) {
    const RoundRecord record = round_record();
    ASSERT_NE(record.find_slot(7), nullptr);
    EXPECT_EQ(record.find_slot(7)->worker, record.slots[2].worker);
    EXPECT_EQ(record.find_slot(2), nullptr);
    EXPECT_EQ(record.find_slot(8), nullptr);
}

TEST(UnitId, differs_in_every_part_of_the_key) {
    const UnitKey key{testing::digest(1), 2, 3, 0};
    for (const UnitKey& other : {UnitKey{testing::digest(2), 2, 3, 0}, UnitKey{key.job_id, 3, 3, 0},
                                 UnitKey{key.job_id, 2, 4, 0}, UnitKey{key.job_id, 2, 3, 1}})
        EXPECT_NE(unit_id(other), unit_id(key));
}

}  // namespace
}  // namespace gym::protocol
