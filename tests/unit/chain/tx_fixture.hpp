#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gym/chain/private_chain.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "manual_clock.hpp"
#include "sim_chain.hpp"

namespace gym::chain {

using testing::SimChain;

inline TxPolicy sim_policy() {
    TxPolicy policy;
    policy.chain_id = SimChain::kChainId;
    policy.bump_after_ms = 1'000;
    policy.rebroadcast_ms = 100;
    policy.supersede_after_ms = 5'000;
    policy.poll_interval_ms = 1;
    return policy;
}

/// A payment that can be told from every other by its data.
inline IntentRequest payment(const std::string& id) {
    IntentRequest out;
    out.id = id;
    out.to = Address{};
    out.to->data.fill(0x11);
    out.value_wei = Amount(5);
    out.data = Bytes(id.begin(), id.end());
    out.label = "pay for " + id;
    return out;
}

inline std::string decode_for_test(ByteView data) {
    return "revert " + to_hex(data);
}

/// How often the content of `request` succeeded in the canonical chain.
inline std::size_t times_executed(const SimChain& chain, const IntentRequest& request) {
    std::size_t out = 0;
    for (const auto& done : chain.executed())
        if (done.success && done.recovered.transaction.data == request.data &&
            done.recovered.transaction.to == request.to)
            ++out;
    return out;
}

struct TxWorld {
    SimChain chain;
    testing::ManualClock clock{1'000'000};
    crypto::PrivateKey key = private_chain_key(1);
    std::unique_ptr<chain_store::SqliteChainStore> file =
        chain_store::SqliteChainStore::open(":memory:").value();
    std::unique_ptr<IntentStore> store = file->intents(SimChain::kChainId, key.address());

    std::unique_ptr<TxManager> manager(TxPolicy policy = sim_policy(),
                                       IntentStore* over = nullptr) {
        return std::make_unique<TxManager>(chain, over ? *over : *store, key.clone(), clock,
                                           std::move(policy), decode_for_test);
    }
};

class TxManagerTest : public ::testing::Test {
  protected:
    Intent find(const std::string& id) { return manager_->find(id).value(); }
    TickReport tick() {
        auto report = manager_->tick();
        EXPECT_TRUE(report.ok()) << report.error().message;
        return report.ok() ? *report : TickReport{};
    }
    void submit(const IntentRequest& request) {
        const auto submitted = manager_->submit(request);
        ASSERT_TRUE(submitted.ok()) << submitted.error().message;
    }
    /// Mines until everything so far is final.
    void finalize() { world_.chain.mine(SimChain::kFinalityDepth); }

    TxWorld world_;
    std::unique_ptr<TxManager> manager_ = world_.manager();
};

}  // namespace gym::chain
