#pragma once

#include <memory>

#include "anvil.hpp"
#include "chain.hpp"
#include "dispute_simulator.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/game/evidence.hpp"
#include "sample_outer.hpp"

namespace gym::game::testing {

using sim::ConflictOpening;
using sim::DisputeSimulator;
using sim::Opening;
using sim::TxContext;

/// A unit under an epoch's root on chain.
struct ChainUnit {
    Evidence evidence;
    Opening opening;
    std::size_t kind = 0;  ///< of the library; of no meaning for aggregates
    /// An assertion that is wrong whatever was computed, and its opening.
    std::optional<Conflict> conflict;
    std::optional<ConflictOpening> conflict_opening;
};

/// DisputeGame with everything around it on a private chain, where every call is a block of its
/// own at a time that is told.
class ContractChain {
  public:
    explicit ContractChain(const DisputeParams& terms);

    struct Mined {
        bool accepted = false;
        std::uint64_t block = 0;
        std::uint64_t gas = 0;  ///< that the contract found for an answer
    };
    /// Calls as `tx.sender` at tx.time with tx.base_fee, tx.gas_price and tx.value.
    /// @param units to find the evidence of openings in.
    Mined execute(const TxContext& tx, const sim::Call& call, const std::vector<ChainUnit>& units);
    /// Commits to a unit, under an epoch of its own. @param facts that its asserter commits to.
    ChainUnit post(std::uint32_t asserter, const Facts& facts, bool contradicts,
                   std::uint64_t time);
    /// Commits to an aggregate, under a round of its own whose epoch is the sample's; and to
    /// another one, or to a next round that does not follow. @param run of the asserter.
    ChainUnit post_aggregate(std::uint32_t asserter, const SampleOuter& sample, OuterWork& run,
                             bool contradicts, std::uint64_t time);
    void skip(std::uint64_t blocks) { anvil_.mine(static_cast<std::uint32_t>(blocks)); }

    /// The differences on chain; empty if there are none. Games that were over before are not
    /// looked at again.
    std::string difference(const DisputeSimulator& simulator,
                           const std::vector<Digest>& announcements);

    [[nodiscard]] const Address& account(std::size_t i) const { return accounts_[i]; }
    [[nodiscard]] const Address& contract() const { return deployment_.dispute_game; }
    /// Of commitments.
    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
    }
    [[nodiscard]] std::uint64_t chain_id() const { return deployment_.chain_id; }
    [[nodiscard]] std::uint64_t now();

    static constexpr std::size_t kAccounts = 5;
    static constexpr std::uint64_t kTokens = 1'000'000;  ///< of every account
    static constexpr std::uint64_t kStake = 1'000;       ///< of these, staked

  private:
    void post_round(const protocol::RoundRecord& record, const EpochRoot& epoch,
                    std::uint64_t time);
    std::uint64_t block();
    chain::Receipt send(const TxContext& tx, const Address& to, const Bytes& data);
    void must_send(const Address& from, const contracts::ContractCall& call, std::uint64_t time);
    std::string game_difference(const Digest& id, const GameState& expected);
    std::string unit_difference(const Digest& id, const UnitState& expected);
    std::string account_difference(const DisputeSimulator& simulator, const Address& who);
    contracts::ContractCall call_of(const sim::Call& call, const std::vector<ChainUnit>& units);

    gym::testing::TestAnvil anvil_;
    SystemClock clock_;
    crypto::PrivateKey admin_;
    std::vector<crypto::PrivateKey> keys_;
    std::vector<Address> accounts_;
    std::unique_ptr<chain_store::SqliteChainStore> file_;
    std::unique_ptr<chain::IntentStore> store_;
    contracts::Deployment deployment_;
    std::map<Digest, std::uint64_t> gas_;  ///< of the asserter, by game
    std::set<Digest> over_;
    std::uint64_t epochs_ = 0;
};

}  // namespace gym::game::testing
