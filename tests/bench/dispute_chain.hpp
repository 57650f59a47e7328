// A private chain with the dispute game, on which two players play whole games.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "anvil.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/unit_work.hpp"

namespace gym::bench {

/// The transactions of one side.
struct Spent {
    std::uint64_t transactions = 0;
    std::uint64_t gas = 0;
    std::uint64_t bytes = 0;  ///< of call data
};

struct PlayedGame {
    Spent challenger, worker;
    std::vector<std::pair<std::string, std::uint64_t>> gas;  ///< by transaction, in their order
    std::uint64_t proof_gas = 0;
    std::string proof;   ///< its name
    double seconds = 0;  ///< from the announcement to the proof, both sides' planning included
};

/// The two sides of a game and what the worker has committed to.
struct Sides {
    game::UnitWork& worker;
    game::UnitWork& challenger;
    game::Facts facts;
    Digest program_root;
    Digest base_state_root;
};

class DisputeChain {
  public:
    DisputeChain();
    /// Posts a round and an epoch with the unit among others, then plays to the end. The program
    /// ends unless the worker is proven wrong.
    PlayedGame play(const Sides& sides);

  private:
    /// Sends from an account of the chain and waits for the block; fails unless it succeeds.
    std::uint64_t send(const Address& from, const Address& to, const Bytes& data,
                       const Amount& value, const std::string& what);
    void send(const Address& from, const contracts::ContractCall& call);
    Bytes post(const Sides& sides, const Digest& salt, Digest& unit);

    testing::TestAnvil anvil_;
    SystemClock clock_;
    crypto::PrivateKey admin_, worker_, challenger_;
    std::unique_ptr<chain_store::SqliteChainStore> file_;
    std::unique_ptr<chain::IntentStore> store_;
    contracts::Deployment deployment_;
    std::uint64_t games_ = 0;
};

}  // namespace gym::bench
