// Chains whose prevrandao somebody knows before it draws are refused.
#include "gym/chain/prevrandao.hpp"

#include <gtest/gtest.h>

#include "gym/crypto/keccak.hpp"
#include "sim_chain.hpp"

namespace gym::chain {
namespace {

using testing::SimChain;

Digest number(std::uint64_t value) {
    Digest out;
    for (std::size_t i = 0; i < 8; ++i)
        out.data[31 - i] = static_cast<std::uint8_t>(value >> (8 * i));
    return out;
}

Digest random_of(std::uint64_t value) {
    return crypto::keccak256(number(value).view());
}

/// What the check says about a chain of so many blocks with these values; empty: it may draw.
std::string verdict(std::uint32_t blocks, std::function<Digest(std::uint64_t)> values) {
    SimChain chain;
    chain.prevrandao = std::move(values);
    chain.mine(blocks);
    const Status checked = check_prevrandao(chain);
    if (checked.ok()) return "";
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(checked.error().message.find("randomness: drand"), std::string::npos)
        << "it says what to do instead";
    return checked.error().message;
}

TEST(Prevrandao, ChainsWithoutOneAreKnownByName) {
    EXPECT_EQ(weak_prevrandao(42'161), "Arbitrum One, where it is always the same");
    EXPECT_EQ(weak_prevrandao(8'453),
              "Base, where the sequencer knows it before, and blocks repeat the one of layer 1");
    for (const std::uint64_t rollup : {10U, 324U, 1'101U, 59'144U, 534'352U})
        EXPECT_TRUE(weak_prevrandao(rollup)) << rollup;
    for (const std::uint64_t random : {1U, 11'155'111U, 560'048U, 31'337U})
        EXPECT_FALSE(weak_prevrandao(random)) << random;
}

TEST(Prevrandao, AChainIsAskedForItsNewestBlocks) {
    EXPECT_EQ(verdict(100, random_of), "");
    EXPECT_EQ(verdict(100, {}), "");
    const auto constant = [](std::uint64_t) { return random_of(1); };
    EXPECT_NE(verdict(2, constant).find("as one before it has"), std::string::npos);
    // A rollup whose blocks have the value of layer 1, several of them the same.
    EXPECT_NE(verdict(100, [](std::uint64_t block) { return random_of(block / 6); }), "");
    EXPECT_NE(verdict(100, [](std::uint64_t block) { return random_of(block % 31); }), "");
    for (const auto& trivial : {number(0), number(1), number(2'500'000'000'000'000)})
        EXPECT_NE(
            verdict(100,
                    [&](std::uint64_t block) { return block == 90 ? trivial : random_of(block); }),
            "");
    // A number in the high bytes, as some put the time there.
    EXPECT_NE(verdict(100,
                      [](std::uint64_t block) {
                          Digest out;
                          out.data[7] = static_cast<std::uint8_t>(block);
                          return out;
                      }),
              "");
    EXPECT_EQ(verdict(1, constant), "") << "one block shows nothing";
}

TEST(Prevrandao, ANodeThatDoesNotAnswerIsNoVerdict) {
    SimChain chain;
    chain.mine(10);
    chain.fault = [](const char*) { return fail(ErrorCode::kUnavailable, "away"); };
    EXPECT_EQ(check_prevrandao(chain).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace gym::chain
