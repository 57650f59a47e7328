#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "gym/chain/private_chain.hpp"
#include "gym/chain_store/postgres.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "postgres.hpp"

namespace gym::testing {

inline constexpr std::uint64_t kStoreChain = 77;

/// The same tests over both databases: opens stores, as another process would again and again.
class StoreMaker {
  public:
    virtual ~StoreMaker() = default;
    virtual std::unique_ptr<chain::IntentStore> intents(const Address& sender) = 0;
    virtual std::unique_ptr<chain::FollowerStore> follower(const std::string& name) = 0;
};

class PostgresMaker final : public StoreMaker {
  public:
    std::unique_ptr<chain::IntentStore> intents(const Address& sender) override {
        return chain_store::postgres_intents(*user_, {"gym_rewards"}, kStoreChain, sender);
    }
    std::unique_ptr<chain::FollowerStore> follower(const std::string& name) override {
        return chain_store::postgres_follower(*user_, {"gym_rewards"}, name, kStoreChain).value();
    }

  private:
    TestDatabase database_;
    std::unique_ptr<db::Database> user_ = database_.as("gym_rewards");
};

class SqliteMaker final : public StoreMaker {
  public:
    std::unique_ptr<chain::IntentStore> intents(const Address& sender) override {
        return file_->intents(kStoreChain, sender);
    }
    std::unique_ptr<chain::FollowerStore> follower(const std::string& name) override {
        return file_->follower(name, kStoreChain).value();
    }

  private:
    std::unique_ptr<chain_store::SqliteChainStore> file_ =
        chain_store::SqliteChainStore::open(":memory:").value();
};

}  // namespace gym::testing
