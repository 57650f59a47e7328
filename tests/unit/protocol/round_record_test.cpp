#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "gym/commit/merkle.hpp"
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
        {"no steps", [](RoundRecord& r) { r.slots[1].steps = 0; }},
        {"no checkpoints", [](RoundRecord& r) { r.checkpoint_every = 0; }},
        {"order of slots", [](RoundRecord& r) { std::swap(r.slots[0], r.slots[1]); }},
        {"slot twice", [](RoundRecord& r) { r.slots[1].slot = 0; }},
        {"a slot left out", [](RoundRecord& r) { r.slots.erase(r.slots.begin()); }},
        {"worker twice", [](RoundRecord& r) { r.slots[1].worker = r.slots[0].worker; }},
        {"no worker", [](RoundRecord& r) { r.slots[1].worker = Address{}; }},
        {"slot of the coordinator", [](RoundRecord& r) { r.slots[2].slot = kAggregateSlot; }},
        {"rate below the floor",
         [](RoundRecord& r) { r.slots[0].sampling_rate_ppm = kSamplingFloorPpm - 1; }},
        {"rate above one", [](RoundRecord& r) { r.slots[0].sampling_rate_ppm = kPpm + 1; }},
        {"deltas before round 1", [](RoundRecord& r) { r.round = 1; }},
        {"order of deltas", [](RoundRecord& r) { std::swap(r.included[0], r.included[1]); }},
        {"held delta before another", [](RoundRecord& r) { r.included[0].held = true; }},
        {"held delta twice",
         [](RoundRecord& r) {
             r.included[0] = r.included[1] = {3, {}, {}, true};
         }},
        {"held delta in round 2",
         [](RoundRecord& r) { r.included.back().held = true, r.round = 2; }},
    };
    ASSERT_TRUE(validate(round_record()).ok());
    for (const auto& [name, change] : breaks) {
        RoundRecord record = round_record();
        change(record);
        EXPECT_EQ(validate(record).error().code, ErrorCode::kInvalidArgument) << name;
        // Bytes have no numbers of slots: they are those of their places.
        if (std::string_view(name).find("slot") != std::string_view::npos) continue;
        EXPECT_FALSE(decode_round_record(encode(record)).ok()) << name;
    }
}

TEST(RoundRecord, AHeadIsReadAloneAndWhateverComesBehindIt) {
    const RoundRecord record = round_record();
    const RoundHead head = head_of(record);
    EXPECT_EQ(head.slots, 3U);
    EXPECT_EQ(head.included, 2U);
    EXPECT_EQ(hash(head), hash(record));
    Bytes bytes = encode(head);
    ASSERT_EQ(bytes.size(), kRoundHeadBytes);
    EXPECT_EQ(decode_round_head(bytes).value(), head);
    EXPECT_EQ(encode(decode_round_head(bytes).value()), bytes);
    Bytes whole = encode(record);
    EXPECT_TRUE(std::ranges::equal(bytes, ByteView(whole).first(kRoundHeadBytes)));
    whole.back() ^= 1;
    EXPECT_FALSE(decode_round_record(whole).ok());
    EXPECT_EQ(read_round_head(whole).value(), head);
    bytes.push_back(0);
    EXPECT_EQ(decode_round_head(bytes).error().code, ErrorCode::kMalformed);
    bytes.resize(kRoundHeadBytes - 1);
    EXPECT_EQ(decode_round_head(bytes).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(read_round_head(bytes).error().code, ErrorCode::kMalformed);
    bytes = encode(head);
    bytes[1] ^= 1;
    EXPECT_EQ(decode_round_head(bytes).error().code, ErrorCode::kMalformed);
}

TEST(RoundRecord, TheHeadOfEveryOtherRecordIsAnother) {
    const RoundRecord record = round_record();
    const auto differs = [&](const std::function<void(RoundRecord&)>& change) {
        RoundRecord other = record;
        change(other);
        return hash(other) != hash(record);
    };
    EXPECT_TRUE(differs([](RoundRecord& r) { ++r.slots[2].steps; }));
    EXPECT_TRUE(differs([](RoundRecord& r) { ++r.slots[2].sampling_rate_ppm; }));
    EXPECT_TRUE(differs([](RoundRecord& r) { r.slots.pop_back(); }));
    EXPECT_TRUE(differs([](RoundRecord& r) {
        r.slots.push_back({3, testing::address(9), kPpm, 1});
    }));
    EXPECT_TRUE(differs([](RoundRecord& r) { r.included.pop_back(); }));
    EXPECT_TRUE(differs([](RoundRecord& r) { r.included[1].unit = r.included[0].unit; }));
    EXPECT_TRUE(differs([](RoundRecord& r) { r.included[1].slot = 2; }));
    EXPECT_TRUE(differs([](RoundRecord& r) { r.included[1].held = true; }));
}

TEST(RoundRecord, OneThatTakesLateCommitmentsIsOfFormat4) {
    RoundRecord record = round_record();
    const Bytes before = encode(record);
    EXPECT_EQ(before[1], 3);
    record.accept_late = true;
    const Bytes bytes = encode(record);
    EXPECT_EQ(bytes[1], 4);
    EXPECT_TRUE(std::equal(bytes.begin() + 2, bytes.end(), before.begin() + 2, before.end()))
        << "and in nothing else";
    EXPECT_EQ(decode_round_record(bytes).value(), record);
    EXPECT_EQ(decode_round_head(encode(head_of(record))).value(), head_of(record));
    EXPECT_NE(hash(record), hash(round_record()));
    for (std::uint32_t format = 0; format <= 0xffff; ++format) {
        Bytes other = bytes;
        other[0] = static_cast<std::uint8_t>(format >> 8U);
        other[1] = static_cast<std::uint8_t>(format);
        EXPECT_EQ(read_round_head(other).ok(), format >= 3 && format <= 6) << format;
    }
}

/// Round 9, from whose base state two deltas were taken away again: one that went in two rounds
/// before, and a held one of the round before.
RoundRecord subtracting_record() {
    RoundRecord record = round_record();
    record.round = 9;
    record.subtract = true;
    record.included.push_back({1, testing::digest(61), testing::digest(62), false, 2});
    record.included.push_back({0, testing::digest(63), testing::digest(64), true, 1});
    return record;
}

TEST(RoundRecord, OneThatSubtractsIsOfFormat5) {
    const RoundRecord record = subtracting_record();
    ASSERT_TRUE(validate(record).ok()) << validate(record).error().message;
    const Bytes bytes = encode(record);
    EXPECT_EQ(bytes[1], 5);
    EXPECT_EQ(bytes.size(), round_record_bytes(3, 4, 2));
    EXPECT_EQ(decode_round_record(bytes).value(), record);
    EXPECT_EQ(withdrawn_of(record.included), 2U);
    EXPECT_EQ(held_of(record.included), held_of(round_record().included));
    RoundRecord late = record;
    late.accept_late = true;
    EXPECT_EQ(encode(late)[1], 6);
    EXPECT_EQ(decode_round_record(encode(late)).value(), late);
    // Without withdrawn deltas its list is that of any other record.
    late.included.resize(2);
    RoundRecord plain = late;
    plain.accept_late = plain.subtract = false;
    EXPECT_EQ(head_of(late).included_root, head_of(plain).included_root);
}

TEST(RoundRecord, WithdrawnDeltasAreLastAndWentInBefore) {
    const std::vector<std::pair<const char*, std::function<void(RoundRecord&)>>> breaks = {
        {"none are withdrawn", [](RoundRecord& r) { r.subtract = false; }},
        {"before others", [](RoundRecord& r) { std::swap(r.included[1], r.included[2]); }},
        {"held ones first", [](RoundRecord& r) { std::swap(r.included[2], r.included[3]); }},
        {"twice", [](RoundRecord& r) { r.included.back() = r.included[2]; }},
        {"alone",
         [](RoundRecord& r) { r.included.erase(r.included.begin(), r.included.begin() + 2); }},
        {"too old", [](RoundRecord& r) { r.included[2].age = 8; }},
        {"too old, held", [](RoundRecord& r) { r.included[3].age = 7; }},
        {"too many",
         [](RoundRecord& r) {
             r.included.resize(2);
             r.round = 100;
             for (std::uint16_t age = 1; age <= kWithdrawnMax + 1; ++age)
                 r.included.push_back({0, {}, {}, false, age});
         }},
    };
    for (const auto& [name, change] : breaks) {
        RoundRecord record = subtracting_record();
        change(record);
        EXPECT_EQ(validate(record).error().code, ErrorCode::kInvalidArgument) << name;
        EXPECT_FALSE(decode_round_record(encode(record)).ok()) << name;
    }
    RoundRecord oldest = subtracting_record();
    oldest.included[2].age = 7;
    oldest.included[3].age = 6;
    EXPECT_TRUE(validate(oldest).ok());
}

/// The kinds of included deltas are 0 to 3, and a withdrawn one has an age.
TEST(RoundRecord, KindsOfIncludedDeltasAreRead) {
    const RoundRecord record = subtracting_record();
    const std::size_t kind = encode(record).size() - 3;
    for (std::uint32_t other = 0; other < 256; ++other) {
        Bytes bytes = encode(record);
        ASSERT_EQ(bytes[kind], 3);
        bytes[kind] = static_cast<std::uint8_t>(other);
        EXPECT_EQ(decode_round_record(bytes).ok(), other == 3) << other;
    }
    Bytes bytes = encode(record);
    bytes.back() = 0;
    EXPECT_FALSE(decode_round_record(bytes).ok()) << "an age of 0";
}

TEST(RoundRecord, ADeltaIsProvenToHaveGoneIn) {
    const RoundRecord record = round_record();
    for (const IncludedDelta& delta : record.included) {
        IncludedDelta later = delta;
        later.age = 7;  // as it is withdrawn
        const auto listed = prove_included(record, later);
        ASSERT_TRUE(listed.ok()) << listed.error().message;
        const RoundHead head = head_of(record);
        EXPECT_TRUE(commit::merkle_verify(head.included_root, {listed->index, head.included},
                                          included_leaf(delta), listed->path)
                        .ok());
        later.held = !later.held;
        EXPECT_EQ(prove_included(record, later).error().code, ErrorCode::kNotFound);
    }
    EXPECT_EQ(prove_included(subtracting_record(), subtracting_record().included[2]).error().code,
              ErrorCode::kNotFound)
        << "it was taken away";
}

/// Lists that cannot be as long as the head says are refused before anything is read.
TEST(RoundRecord, AbsurdCountsAreRefused) {
    Bytes bytes = encode(round_record());
    for (const std::size_t at : {392U, 428U}) {
        Bytes changed = bytes;
        changed[at] = 0xff;
        EXPECT_EQ(decode_round_record(changed).error().code, ErrorCode::kMalformed) << at;
    }
}

TEST(RoundRecord, ASlotIsProvenByItsHead) {
    const RoundRecord record = round_record();
    const RoundHead head = head_of(record);
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        const SlotProof proof = prove_slot(record, slot);
        EXPECT_EQ(proof.path.size(), 2U);
        const auto opened = open_slot(head, slot, proof);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        EXPECT_EQ(**opened, record.slots[slot]);
        EXPECT_FALSE(open_slot(head, (slot + 1) % 3, proof).ok()) << "another's";
        EXPECT_FALSE(open_slot(head, 3, proof).ok()) << "of no slot";
        for (std::size_t at = 0; at < proof.terms.size(); ++at) {
            SlotProof changed = proof;
            changed.terms[at] ^= 1;
            EXPECT_EQ(open_slot(head, slot, changed).error().code, ErrorCode::kMismatch) << at;
        }
        SlotProof shorter = proof;
        shorter.path.pop_back();
        EXPECT_FALSE(open_slot(head, slot, shorter).ok());
        shorter = proof;
        shorter.terms.pop_back();
        EXPECT_EQ(open_slot(head, slot, shorter).error().code, ErrorCode::kMalformed);
        EXPECT_EQ(open_slot(head, slot, {}).error().code, ErrorCode::kMismatch) << "there is one";
    }
    EXPECT_EQ(prove_slot(record, 3), SlotProof());
    EXPECT_EQ(open_slot(head, 3, {}).value(), std::nullopt);
    EXPECT_FALSE(open_slot(head, 3, {{}, {head.slots_root}}).ok());
}

TEST(RoundRecord, FindsSlotsByNumber) {
    const RoundRecord record = round_record();
    ASSERT_NE(record.find_slot(2), nullptr);
    EXPECT_EQ(record.find_slot(2)->worker, record.slots[2].worker);
    EXPECT_EQ(record.find_slot(3), nullptr);
    EXPECT_EQ(record.find_slot(kAggregateSlot), nullptr);
}

TEST(UnitId, DiffersInEveryPartOfTheKey) {
    const UnitKey key{testing::digest(1), 2, 3, 0};
    for (const UnitKey& other : {UnitKey{testing::digest(2), 2, 3, 0}, UnitKey{key.job_id, 3, 3, 0},
                                 UnitKey{key.job_id, 2, 4, 0}, UnitKey{key.job_id, 2, 3, 1}})
        EXPECT_NE(unit_id(other), unit_id(key));
}

}  // namespace
}  // namespace gym::protocol
