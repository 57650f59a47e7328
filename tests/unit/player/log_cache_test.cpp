#include "log_cache.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gym/chain/private_chain.hpp"
#include "random_seed.hpp"
#include "sim_chain.hpp"

namespace gym::player {
namespace {

using testing::SimChain;

class LogCacheTest : public ::testing::Test {
  protected:
    /// A transaction that leaves a log, once it is in a block.
    void send() {
        chain::Transaction tx;
        tx.chain_id = SimChain::kChainId;
        tx.nonce = nonce_++;
        tx.fee_max_wei = Amount(9'000'000'000);
        tx.priority_fee_wei = Amount(1'000'000'000);
        tx.gas_limit = 100'000;
        tx.to = chain_.emitter;
        tx.data =
            Bytes{1, static_cast<std::uint8_t>(nonce_ >> 8), static_cast<std::uint8_t>(nonce_)};
        ASSERT_TRUE(chain_.send(chain::sign_transaction(tx, key_).raw).ok());
    }
    void send_and_mine(std::uint32_t blocks) {
        send();
        chain_.mine(blocks);
    }
    /// The logs that a tick reads.
    std::vector<chain::Log> read(std::uint64_t first) {
        const chain::BlockHeader head = *chain_.block(chain::BlockTag::kLatest).value();
        EXPECT_TRUE(cache_.follow(head).ok());
        return cache_.read(chain_.emitter, topics_, first).value();
    }
    std::vector<chain::Log> direct(std::uint64_t first) {
        const chain::LogQuery query{chain_.emitter, topics_, first, chain_.head()};
        return chain::find_all_logs(chain_, query).value();
    }
    /// Reads, and says which blocks the chain was asked for.
    std::pair<std::uint64_t, std::uint64_t> blocks_read(std::uint64_t first) {
        chain_.queries.clear();
        (void)read(first);
        if (chain_.queries.empty()) return {};
        return {chain_.queries.front().first_block, chain_.queries.back().last_block};
    }

    SimChain chain_;
    LogCache::Topics topics_{chain_.topic};
    LogCache cache_{chain_};
    crypto::PrivateKey key_ = chain::private_chain_key(2);
    std::uint64_t nonce_ = 0;
};

using Range = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(LogCacheTest, WhatNoReorgReplacesIsReadOnce) {
    send_and_mine(200);
    send_and_mine(10);
    const std::uint64_t head = chain_.head();
    ASSERT_EQ(read(1).size(), 2U);
    EXPECT_EQ(blocks_read(1), (Range{head - chain::kReorgBlocks + 1, head}));
    EXPECT_EQ(read(1), direct(1));
    send_and_mine(100);
    EXPECT_EQ(blocks_read(1), (Range{head - chain::kReorgBlocks + 1, head + 100}));
    EXPECT_EQ(blocks_read(1), (Range{head + 100 - chain::kReorgBlocks + 1, head + 100}));
    EXPECT_EQ(read(1), direct(1));
    EXPECT_EQ(read(1).size(), 3U);
}

TEST_F(LogCacheTest, AReorgOfNewBlocksIsSeen) {
    send_and_mine(100);
    send_and_mine(20);
    ASSERT_EQ(read(1).size(), 2U);
    chain_.reorg(30, true);
    EXPECT_EQ(blocks_read(1).first, chain_.head() - 1 - chain::kReorgBlocks + 1)
        << "the old ones stay";
    EXPECT_EQ(read(1).size(), 1U);
    EXPECT_EQ(read(1), direct(1));
}

/// It breaks the rule, and a node that kept what is not so any more would play by it for ever.
TEST_F(LogCacheTest, AfterADeeperReorgEverythingIsReadAgain) {
    send_and_mine(100);
    ASSERT_EQ(read(1).size(), 1U);
    const std::uint64_t was_in = direct(1).front().block_number;
    chain_.reorg(static_cast<std::uint32_t>(chain_.head() - was_in + 1), false);
    chain_.mine(1);
    EXPECT_EQ(blocks_read(1), (Range{1, chain_.head()}));
    EXPECT_EQ(read(1), direct(1));
    EXPECT_GT(read(1).at(0).block_number, was_in);
}

TEST_F(LogCacheTest, ReadsFromEarlierBlocksWhenAsked) {
    send_and_mine(50);
    const std::uint64_t later = chain_.head();
    send_and_mine(150);
    EXPECT_EQ(read(later).size(), 1U);
    EXPECT_EQ(blocks_read(1), (Range{1, chain_.head()}));
    EXPECT_EQ(read(1).size(), 2U);
    EXPECT_EQ(read(later).size(), 1U);
    EXPECT_EQ(read(chain_.head() + 5), direct(chain_.head() + 5));
}

TEST_F(LogCacheTest, WhatNobodyAsksForIsForgotten) {
    send_and_mine(200);
    (void)read(1);
    for (int blocks = 0; blocks < 2; ++blocks) {
        chain_.mine(1);
        ASSERT_TRUE(cache_.follow(*chain_.block(chain::BlockTag::kLatest).value()).ok());
    }
    EXPECT_EQ(blocks_read(1), (Range{1, chain_.head()}));
}

/// A node that fails in between must not have it believe what it has not read.
TEST_F(LogCacheTest, AfterAFailureTheSameIsRead) {
    send_and_mine(100);
    (void)read(1);
    chain_.reorg(90, true);
    const chain::BlockHeader head = *chain_.block(chain::BlockTag::kLatest).value();
    for (int working = 0; working < 2; ++working) {
        chain_.fault = [left = working](const char*) mutable -> std::optional<Error> {
            if (left-- > 0) return std::nullopt;
            return Error{ErrorCode::kUnavailable, "the node is away"};
        };
        EXPECT_FALSE(cache_.follow(head).ok()) << working;
    }
    chain_.fault = {};
    EXPECT_EQ(read(1), direct(1));
}

/// A node that lags, or wants a game to be lost, leaves out or changes what it served.
TEST_F(LogCacheTest, LogsThatContradictTheirBlocksAreNotKept) {
    send_and_mine(20);
    send_and_mine(100);
    const auto refused = [&](const std::function<void(std::vector<chain::Log>&)>& lie,
                             const char* part) {
        LogCache cache(chain_);
        EXPECT_TRUE(cache.follow(*chain_.block(chain::BlockTag::kLatest).value()).ok());
        chain_.lie = lie;
        const auto logs = cache.read(chain_.emitter, topics_, 1);
        chain_.lie = {};
        ASSERT_FALSE(logs.ok()) << part;
        EXPECT_EQ(logs.error().code, ErrorCode::kMismatch);
        EXPECT_NE(logs.error().message.find(part), std::string::npos) << logs.error().message;
        EXPECT_EQ(cache.read(chain_.emitter, topics_, 1).value(), direct(1)) << "nothing is kept";
    };
    refused([](auto& logs) { logs.clear(); }, "block 1 (");
    refused([](auto& logs) { logs.pop_back(); }, "a log is missing or altered");
    refused([](auto& logs) { logs.front().data.push_back(0); }, "a log is missing or altered");
    refused([](auto& logs) { logs.insert(logs.begin() + 1, logs.front()); },
            "a log is not in its receipts");
    refused([](auto& logs) { std::swap(logs.front(), logs.back()); }, "missing or altered");
}

TEST_F(LogCacheTest, ReceiptsThatAreNotTheBlocksAreRefused) {
    send_and_mine(100);
    chain_.hides_a_log = true;
    chain_.lie = [](auto& logs) { logs.clear(); };
    ASSERT_TRUE(cache_.follow(*chain_.block(chain::BlockTag::kLatest).value()).ok());
    const auto logs = cache_.read(chain_.emitter, topics_, 1);
    ASSERT_FALSE(logs.ok());
    EXPECT_NE(logs.error().message.find("receipts root"), std::string::npos)
        << logs.error().message;
}

/// Random histories with reorgs of any depth: a cache that lives through them reads what a new one
/// reads.
TEST_F(LogCacheTest, ReadsWhatTheChainHas) {
    const std::uint64_t seed = testing::random_seed();
    std::mt19937_64 random(seed);
    std::size_t most = 0;
    for (int step = 0; step < 400; ++step) {
        const std::uint64_t dice = random() % 10;
        if (dice < 5) send_and_mine(1 + static_cast<std::uint32_t>(random() % 20));
        if (dice == 5) chain_.mine(1 + static_cast<std::uint32_t>(random() % 80));
        if (dice == 6 && chain_.head() > 130)
            chain_.reorg(1 + static_cast<std::uint32_t>(random() % 120), random() % 2 == 0);
        if (dice == 7) nonce_ = chain_.nonce(key_.address(), chain::BlockTag::kLatest).value();
        const std::uint64_t first = random() % 4 == 0 ? random() % (chain_.head() + 1) : 1;
        ASSERT_EQ(read(first), direct(first)) << "seed " << seed << ", step " << step;
        most = std::max(most, read(1).size());
    }
    EXPECT_GT(most, 20U);
}

}  // namespace
}  // namespace gym::player
