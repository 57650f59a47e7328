#include <gtest/gtest.h>

#include <functional>

#include "samples.hpp"

namespace gym::protocol {
namespace {

using testing::round_record;

TEST(RoundRecord, DecodesToWhatWasEncoded) {
    const RoundRecord record = round_record();
    const auto decoded = decode_round_record(encode(record));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(*decoded, record);
    EXPECT_EQ(hash(*decoded), hash(record));
}

TEST(RoundRecord, EveryTruncationAndExtensionIsRefused) {
    const Bytes bytes = encode(round_record());
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_round_record(ByteView(bytes).first(size)).ok()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(decode_round_record(longer).error().code, ErrorCode::kMalformed);
}

TEST(RoundRecord, EveryFlippedBitIsRefusedOrChangesTheHash) {
    const RoundRecord record = round_record();
    const Bytes bytes = encode(record);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        Bytes changed = bytes;
        changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ 1U << bit % 8);
        const auto decoded = decode_round_record(changed);
        EXPECT_TRUE(!decoded.ok() || hash(*decoded) != hash(record)) << bit;
    }
}

TEST(RoundRecord, ARecordThatBreaksARuleIsRefused) {
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

/// Records of n workers whose deltas of the round before are all included.
RoundRecord full_record(std::uint32_t n) {
    RoundRecord record = round_record();
    record.slots.clear();
    record.included.clear();
    for (std::uint32_t i = 0; i < n; ++i) {
        Address worker = testing::address(1);
        worker.data[1] = static_cast<std::uint8_t>(i);
        worker.data[2] = static_cast<std::uint8_t>(i >> 8);
        record.slots.push_back({i, worker, kPpm});
        record.included.push_back({i, testing::digest(i), testing::digest(i + 1)});
    }
    return record;
}

TEST(RoundRecord, NoGameCouldBeOpenedAboutALargerOne) {
    const RoundRecord largest = full_record(630);
    EXPECT_EQ(encode(largest).size(), round_record_bytes(630, 630));
    EXPECT_TRUE(validate(largest).ok());
    EXPECT_TRUE(decode_round_record(encode(largest)).ok());
    const RoundRecord larger = full_record(631);
    ASSERT_GT(encode(larger).size(), kRoundRecordBytesMax);
    EXPECT_EQ(validate(larger).error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(validate(larger).error().message.find("631 slots"), std::string::npos);
    EXPECT_EQ(decode_round_record(encode(larger)).error().code, ErrorCode::kMalformed);
}

TEST(RoundRecord, ItsHeadIsReadAsContractsReadIt) {
    const RoundRecord record = round_record();
    const RoundRecordHead head{record.job_id, record.round, record.previous_record,
                               record.base_state_root, record.momentum_root};
    Bytes bytes = encode(record);
    EXPECT_EQ(read_round_record_head(bytes).value(), head);
    EXPECT_EQ(hash_round_record(bytes), hash(record));
    bytes.push_back(0);
    EXPECT_FALSE(decode_round_record(bytes).ok());
    EXPECT_EQ(read_round_record_head(bytes).value(), head) << "whatever is behind it";
    EXPECT_NE(hash_round_record(bytes), hash(record));
    bytes.resize(kRoundRecordBytesMax);
    EXPECT_TRUE(read_round_record_head(bytes).ok());
    bytes.push_back(0);
    EXPECT_EQ(read_round_record_head(bytes).error().code, ErrorCode::kMalformed);
    bytes.resize(400);
    EXPECT_TRUE(read_round_record_head(bytes).ok());
    bytes.pop_back();
    EXPECT_EQ(read_round_record_head(bytes).error().code, ErrorCode::kMalformed);
    bytes = encode(record);
    bytes[1] ^= 1;
    EXPECT_EQ(read_round_record_head(bytes).error().code, ErrorCode::kMalformed);
}

TEST(RoundRecord, FindsSlotsByNumber) {
    const RoundRecord record = round_record();
    ASSERT_NE(record.find_slot(7), nullptr);
    EXPECT_EQ(record.find_slot(7)->worker, record.slots[2].worker);
    EXPECT_EQ(record.find_slot(2), nullptr);
    EXPECT_EQ(record.find_slot(8), nullptr);
}

TEST(UnitId, DiffersInEveryPartOfTheKey) {
    const UnitKey key{testing::digest(1), 2, 3, 0};
    for (const UnitKey& other : {UnitKey{testing::digest(2), 2, 3, 0}, UnitKey{key.job_id, 3, 3, 0},
                                 UnitKey{key.job_id, 2, 4, 0}, UnitKey{key.job_id, 2, 3, 1}})
        EXPECT_NE(unit_id(other), unit_id(key));
}

}  // namespace
}  // namespace gym::protocol
