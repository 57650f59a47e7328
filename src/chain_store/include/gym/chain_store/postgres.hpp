#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gym/chain/follower_store.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/db/database.hpp"

namespace gym::chain_store {

/// The group role whose rows a service works with ("gym_rewards", "gym_coordinator"); the database
/// lets its login role see no others (sql/migrations/0040_chain.sql), and no row of another service
/// is in their way, whichever sender it names (0084_intents_of_a_service.sql).
struct Service {
    std::string role;
};

/// The intents of `sender` on `chain_id`. `database` must outlive the store. Thread-safe.
[[nodiscard]] std::unique_ptr<chain::IntentStore> postgres_intents(db::Database& database,
                                                                   Service service,
                                                                   std::uint64_t chain_id,
                                                                   const Address& sender);

/// The memory of the follower `name` on `chain_id`; made on first use. `database` must outlive the
/// store. Thread-safe. @errors as Database.
[[nodiscard]] Result<std::unique_ptr<chain::FollowerStore>> postgres_follower(
    db::Database& database, Service service, const std::string& name, std::uint64_t chain_id);

}  // namespace gym::chain_store
