// A network's profile: its form, its bounds, and the operator's signature over all of it.

#include "gym/profile/profile.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <functional>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "sample_profile.hpp"
#include "temporary_folder.hpp"

namespace gym::profile {
namespace {

namespace json = boost::json;
using testing::kNowMs;
using testing::operator_key;
using testing::sample_address;
using testing::sample_profile;

SignedProfile signed_sample() {
    return sign(sample_profile(), operator_key());
}

json::object sample_json() {
    return json::parse(to_json(signed_sample())).as_object();
}

TEST(Profile, ADocumentReadsBackAsTheProfileThatWasSigned) {
    const SignedProfile sample = signed_sample();
    const auto read = parse_profile(to_json(sample));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->profile, sample.profile);
    EXPECT_EQ(read->signer, operator_key().address());
    EXPECT_EQ(to_json(*read), to_json(sample));
    EXPECT_TRUE(check(read->profile, kNowMs).ok());
}

TEST(Profile, EveryMemberIsSigned) {
    const std::vector<std::function<void(NetworkProfile&)>> changes{
        [](auto& p) { p.name += "x"; },
        [](auto& p) { p.coordinator = "other.example.org:7600"; },
        [](auto& p) { p.coordinator_ca = kNoTls; },
        [](auto& p) { p.chain_rpc.pop_back(); },
        [](auto& p) { std::swap(p.chain_rpc[0], p.chain_rpc[1]); },
        [](auto& p) { p.contracts.chain_id = 6; },
        [](auto& p) { p.contracts.start_block = 18; },
        [](auto& p) { p.contracts.token = sample_address(9); },
        [](auto& p) { p.contracts.distributor = sample_address(9); },
        [](auto& p) { p.contracts.escrow = sample_address(9); },
        [](auto& p) { p.contracts.commitment_log = sample_address(9); },
        [](auto& p) { p.contracts.stake = sample_address(9); },
        [](auto& p) { p.contracts.dispute_game = sample_address(9); },
        [](auto& p) { p.api += "/x"; },
        [](auto& p) { p.minimum_stake = Amount(1); },
        [](auto& p) { p.fee_address = sample_address(9); },
        [](auto& p) { p.issued_at_ms += 1; }};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        SignedProfile forged = signed_sample();
        changes[i](forged.profile);
        const auto read = parse_profile(to_json(forged));
        ASSERT_FALSE(read.ok()) << i;
        EXPECT_EQ(read.error().code, ErrorCode::kUnauthenticated) << i;
        EXPECT_NE(read.error().message.find("not signed by the operator that it names"),
                  std::string::npos);
    }
}

/// What names the contracts of verifiers' stakes has a version of its own: gyms of before do not
/// take it for theirs.
TEST(Profile, TheContractsOfVerifiersAreSignedToo) {
    NetworkProfile profile = signed_sample().profile;
    profile.contracts.verifier_stake = sample_address(7);
    profile.contracts.report_game = sample_address(8);
    const SignedProfile with = sign(profile, operator_key(1));
    const std::string text = to_json(with);
    EXPECT_NE(text.find("\"version\":2"), std::string::npos);
    EXPECT_EQ(parse_profile(text)->profile, profile);
    EXPECT_NE(to_json(signed_sample()).find("\"version\":1"), std::string::npos);
    for (const auto member :
         {&contracts::Deployment::verifier_stake, &contracts::Deployment::report_game}) {
        for (const Address& other : {sample_address(9), Address()}) {
            SignedProfile forged = with;
            forged.profile.contracts.*member = other;
            EXPECT_EQ(parse_profile(to_json(forged)).error().code, ErrorCode::kUnauthenticated);
        }
    }
    SignedProfile stripped = with;
    stripped.profile.contracts.verifier_stake = stripped.profile.contracts.report_game = Address();
    EXPECT_EQ(parse_profile(to_json(stripped)).error().code, ErrorCode::kUnauthenticated);
    profile.contracts.report_game = Address();
    EXPECT_FALSE(check(profile, profile.issued_at_ms).ok()) << "both or none";
}

TEST(Profile, ASignatureOfAnotherKeyIsRefused) {
    SignedProfile forged = signed_sample();
    forged.signer = operator_key(8).address();
    EXPECT_EQ(parse_profile(to_json(forged)).error().code, ErrorCode::kUnauthenticated);
    forged = signed_sample();
    forged.signature.data[40] ^= 1;
    EXPECT_EQ(parse_profile(to_json(forged)).error().code, ErrorCode::kUnauthenticated);
}

TEST(Profile, AWebPageOrOtherContentIsNamedAsSuch) {
    const auto page = parse_profile("\n <!doctype html><html></html>");
    EXPECT_EQ(page.error().code, ErrorCode::kMalformed);
    EXPECT_NE(page.error().message.find("a web page (HTML)"), std::string::npos);
    for (const char* text : {"", "[]", "7", "{\"version\":", "gym"})
        EXPECT_EQ(parse_profile(text).error().code, ErrorCode::kMalformed) << text;
    EXPECT_EQ(parse_profile(std::string(kProfileBytesMax + 1, ' ')).error().code,
              ErrorCode::kOutOfRange);
}

TEST(Profile, AMemberThatIsMissingOrWrongIsNamed) {
    for (const auto& member : sample_json()) {
        json::object without = sample_json();
        without.erase(member.key());
        const auto read = parse_profile(json::serialize(without));
        ASSERT_FALSE(read.ok()) << member.key();
        EXPECT_EQ(read.error().code, ErrorCode::kMalformed) << member.key();
        EXPECT_NE(read.error().message.find(std::string(member.key())), std::string::npos)
            << read.error().message;
    }
    json::object newer = sample_json();
    newer["version"] = 3;
    EXPECT_NE(parse_profile(json::serialize(newer)).error().message.find("install a newer one"),
              std::string::npos);
    json::object many = sample_json();
    many["chain_rpc"] = json::array(kChainRpcMax + 1, "http://a");
    EXPECT_EQ(parse_profile(json::serialize(many)).error().code, ErrorCode::kMalformed);
}

TEST(Profile, WhatIsBeyondItsBoundsIsNamed) {
    const std::vector<std::pair<std::function<void(NetworkProfile&)>, const char*>> wrong{
        {[](auto& p) { p.name.clear(); }, "name"},
        {[](auto& p) { p.name = "a\x1b[2J"; }, "name"},
        {[](auto& p) { p.name = std::string(kNameBytesMax + 1, 'n'); }, "name"},
        {[](auto& p) { p.coordinator = "coordinator.example.org"; }, "host:port"},
        {[](auto& p) { p.coordinator = "c:0"; }, "host:port"},
        {[](auto& p) { p.coordinator = "c:65536"; }, "host:port"},
        {[](auto& p) { p.coordinator = "http://c:1"; }, "host:port"},
        {[](auto& p) { p.coordinator_ca = kNoTls; }, "loopback"},
        {[](auto& p) { p.coordinator_ca = "ca.pem"; }, "not a certificate"},
        {[](auto& p) { p.coordinator_ca = "-----BEGIN PRIVATE KEY-----"; }, "private key"},
        {[](auto& p) { p.chain_rpc.clear(); }, "chain_rpc"},
        {[](auto& p) { p.chain_rpc[1] = "rpc.example.org"; }, "chain_rpc"},
        {[](auto& p) { p.api = "ftp://api.example.org"; }, "api"},
        {[](auto& p) { p.contracts.chain_id = 0; }, "chain_id"},
        {[](auto& p) { p.contracts.dispute_game = {}; }, "dispute_game"},
        {[](auto& p) { p.issued_at_ms = 0; }, "issued_at_ms"}};
    for (const auto& [change, says] : wrong) {
        NetworkProfile profile = sample_profile();
        change(profile);
        const Status refused = check(profile, kNowMs);
        ASSERT_FALSE(refused.ok()) << says;
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(refused.error().message.find(says), std::string::npos) << refused.error().message;
    }
    NetworkProfile local = sample_profile();
    local.coordinator = "127.0.0.1:7600";
    local.coordinator_ca = kNoTls;
    EXPECT_TRUE(check(local, kNowMs).ok());
}

TEST(Profile, ACertificateOfTheCoordinatorHasToBeValidNow) {
    const gym::testing::TemporaryFolder place;
    const auto made = run_command(
        {.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=ca",
                  "-keyout", (place / "key").string(), "-out", (place / "ca").string()}},
        30'000);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const Bytes pem = read_file(place / "ca").value();
    NetworkProfile profile = sample_profile();
    profile.coordinator_ca.assign(pem.begin(), pem.end());
    const UnixMs now_ms = SystemClock().now_ms();
    constexpr UnixMs kDaysMs = 86'400'000;
    EXPECT_TRUE(check(profile, now_ms + kDaysMs).ok());
    EXPECT_NE(check(profile, now_ms + 3 * kDaysMs).error().message.find("has expired"),
              std::string::npos);
    EXPECT_NE(check(profile, now_ms - 3 * kDaysMs).error().message.find("not valid yet"),
              std::string::npos);
    const auto read = parse_profile(to_json(sign(profile, operator_key())));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->profile.coordinator_ca, profile.coordinator_ca);
}

TEST(Profile, OnlyTheSameOperatorReplacesAProfileAndOnlyWithANewerOne) {
    const SignedProfile current = signed_sample();
    EXPECT_TRUE(check_successor(current, current).ok());
    NetworkProfile next = sample_profile();
    next.coordinator = "new.example.org:7600";
    EXPECT_EQ(check_successor(current, sign(next, operator_key())).error().code,
              ErrorCode::kConflict)
        << "other content of the same time";
    next.issued_at_ms -= 1;
    EXPECT_EQ(check_successor(current, sign(next, operator_key())).error().code,
              ErrorCode::kConflict);
    next.issued_at_ms += 2;
    EXPECT_TRUE(check_successor(current, sign(next, operator_key())).ok());
    EXPECT_EQ(check_successor(current, sign(next, operator_key(8))).error().code,
              ErrorCode::kMismatch);
    next.contracts.chain_id = 6;
    EXPECT_EQ(check_successor(current, sign(next, operator_key())).error().code,
              ErrorCode::kMismatch);
}

}  // namespace
}  // namespace gym::profile
