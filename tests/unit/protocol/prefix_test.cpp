#include "gym/protocol/prefix.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "gym/protocol/commitment.hpp"
#include "samples.hpp"

namespace gym::protocol {
namespace {

using gym::testing::digest;
using gym::testing::domain;
using gym::testing::key;

UnitPrefix prefix(const RoundRecord& record) {
    return {hash(record), 1, 0, 7, digest(40)};
}

using Change = std::pair<const char*, std::function<void(UnitPrefix&)>>;

const std::vector<Change> kChanges = {
    {"round record", [](UnitPrefix& p) { p.round_record = digest(99); }},
    {"slot", [](UnitPrefix& p) { p.slot ^= 1; }},
    {"attempt", [](UnitPrefix& p) { p.attempt ^= 1; }},
    {"steps", [](UnitPrefix& p) { p.steps ^= 1; }},
    {"link", [](UnitPrefix& p) { p.link = digest(98); }},
};

TEST(Prefix, ASignatureHoldsForItsSignerContentAndNetworkOnly) {
    const SignedPrefix original = sign(domain(), prefix(gym::testing::round_record()), key(1));
    EXPECT_TRUE(verify_signature(domain(), original, key(1).address()).ok());
    EXPECT_EQ(verify_signature(domain(), original, key(2).address()).error().code,
              ErrorCode::kUnauthenticated);
    EXPECT_FALSE(
        verify_signature(signing_domain(1, gym::testing::address(9)), original, key(1).address())
            .ok())
        << "another network";
    for (const auto& [name, change] : kChanges) {
        SignedPrefix changed = original;
        change(changed.prefix);
        EXPECT_FALSE(verify_signature(domain(), changed, key(1).address()).ok()) << name;
    }
}

TEST(Prefix, TheEncodingIsStrict) {
    const SignedPrefix original = sign(domain(), prefix(gym::testing::round_record()), key(1));
    const Bytes bytes = encode(original);
    EXPECT_EQ(bytes.size(), 143U);
    ASSERT_TRUE(decode_signed_prefix(bytes).ok());
    EXPECT_EQ(*decode_signed_prefix(bytes), original);
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(decode_signed_prefix(longer).error().code, ErrorCode::kMalformed);
    EXPECT_FALSE(decode_signed_prefix(ByteView(bytes).first(bytes.size() - 1)).ok());
    Bytes other_format = bytes;
    other_format[1] = 2;
    EXPECT_EQ(decode_signed_prefix(other_format).error().code, ErrorCode::kMalformed);
    for (const auto& [name, change] : kChanges) {
        SignedPrefix changed = original;
        change(changed.prefix);
        EXPECT_NE(encode(changed), bytes) << name;
    }
}

TEST(Prefix, MustFitItsRound) {
    const RoundRecord record = gym::testing::round_record();
    const auto check = [&](const std::function<void(UnitPrefix&)>& change) {
        UnitPrefix changed = prefix(record);
        change(changed);
        return check_against_round(changed, record, hash(record), 0);
    };
    const auto code = [&](const std::function<void(UnitPrefix&)>& change) {
        const Status checked = check(change);
        return checked.ok() ? ErrorCode::kInternal : checked.error().code;
    };
    EXPECT_TRUE(check([](UnitPrefix&) {}).ok());
    EXPECT_TRUE(check([](UnitPrefix& p) { p.steps = 1; }).ok());
    EXPECT_TRUE(check([](UnitPrefix& p) { p.steps = 20; }).ok()) << "all of the slot's steps";
    EXPECT_EQ(code([](UnitPrefix& p) { p.steps = 0; }), ErrorCode::kOutOfRange);
    EXPECT_EQ(code([](UnitPrefix& p) { p.steps = 21; }), ErrorCode::kOutOfRange);
    EXPECT_EQ(code([](UnitPrefix& p) { p.slot = 2, p.steps = 6; }), ErrorCode::kOutOfRange)
        << "each slot has its own";
    EXPECT_EQ(code([](UnitPrefix& p) { p.slot = 3; }), ErrorCode::kNotFound);
    EXPECT_EQ(code([](UnitPrefix& p) { p.attempt = 1; }), ErrorCode::kMismatch);
    EXPECT_EQ(code([](UnitPrefix& p) { p.link = {}; }), ErrorCode::kMismatch);
    EXPECT_EQ(code([](UnitPrefix& p) { p.round_record = digest(7); }), ErrorCode::kConflict);
}

TEST(Prefix, ItsStatesHaveNames) {
    for (std::size_t i = 0; i < kPrefixStateCount; ++i) {
        const auto state = static_cast<PrefixState>(i);
        EXPECT_EQ(parse_prefix_state(to_string(state)).value(), state);
        EXPECT_EQ(is_terminal(state), i >= 3);
    }
    EXPECT_EQ(parse_prefix_state("final").error().code, ErrorCode::kMalformed);
}

}  // namespace
}  // namespace gym::protocol
