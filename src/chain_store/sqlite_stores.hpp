#pragma once

#include "gym/chain/follower_store.hpp"
#include "gym/chain/intent_store.hpp"
#include "sqlite_db.hpp"

namespace gym::chain_store {

std::unique_ptr<chain::IntentStore> make_sqlite_intents(SqliteDb& db, std::uint64_t chain_id,
                                                        const Address& sender);
Result<std::unique_ptr<chain::FollowerStore>> make_sqlite_follower(SqliteDb& db,
                                                                   const std::string& name,
                                                                   std::uint64_t chain_id);

}  // namespace gym::chain_store
