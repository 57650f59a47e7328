#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/strategy.hpp"
#include "gym/game/withheld.hpp"
#include "gym/player/claim.hpp"

/// The two sides of disputes, as nodes play them: every tick finds on the chain what is due, as
/// planned by gym/game/strategy.hpp, and sends it through the transaction manager under an id
/// that names game and position. A player that is killed anywhere makes no move twice and misses
/// none.
namespace gym::player {

/// Fetches the inputs of a claim's unit and makes the strategy that plays by its run.
class UnitSource {
  public:
    virtual ~UnitSource() = default;
    /// Opens the strategy of a run of the claim's unit; the last one if it is the same unit.
    /// @errors those of fetching and checking inputs.
    virtual Result<game::Strategy*> open(const Claim& claim) = 0;
    /// The claim is gone: blobs that were kept for it alone may go.
    virtual void release(const Claim& /*claim*/) {}
};

/// Finds the data that a game asks this node for.
class DataSource {
  public:
    virtual ~DataSource() = default;
    /// The answer. @param asked what the game was opened with. @param request what the contract
    /// made of it. @errors those of finding it; kNotFound: this node does not have it.
    virtual Result<game::move::ShowWithheld> show(const game::WithheldEvidence& asked,
                                                  const game::DataRequest& request) = 0;
};

/// Shows chunks of the deltas that the claims to defend are about: their units are run again.
/// @param claims, units must outlive the source.
[[nodiscard]] std::unique_ptr<DataSource> make_claim_data(const ClaimStore& claims,
                                                          UnitSource& units);

/// An event for people: "published", "announced", "opened", "answered", "moved", "proved", "ended",
/// "settled", "skipped", "timeout", "missed", "stuck".
struct PlayerEvent {
    std::string name;
    protocol::UnitKey unit;
    Digest game;
    std::string detail;  ///< one sentence
};

struct PlayerSetup {
    chain::ChainClient& client;
    chain::TxManager& transactions;  ///< of the node's key: the asserter's, or its defender's
    contracts::DisputeGame contract;
    crypto::Eip712Domain domain;  ///< of commitments, or of reports
    ClaimStore& claims;
    UnitSource& units;
    std::function<void(const PlayerEvent&)> on_event;
    /// Of a game about reports (Subject::kReport): the log that it believes. Zero: the games are
    /// about all other claims, and the log is the domain's contract.
    Address log_of_reports{};

    [[nodiscard]] bool plays_reports() const { return !log_of_reports.is_zero(); }
    [[nodiscard]] Address commitment_log() const {
        return plays_reports() ? log_of_reports : domain.verifying_contract.value();
    }
};

/// The setup of a player of games about reports beside one of games about units.
/// @param report_game contract of these games.
[[nodiscard]] PlayerSetup setup_of_reports(const PlayerSetup& units, const Address& report_game);

/// Not thread-safe.
class Player {
  public:
    virtual ~Player() = default;
    /// Looks at the chain and does what is due in every game of this node's claims.
    /// @errors kUnavailable, kTimeout (try later), kCancelled (asked to stop); what is wrong with
    /// one claim is an event and does not keep the others waiting.
    virtual Status tick() = 0;
};

/// Windows after which a commitment without an epoch is taken for abandoned.
inline constexpr std::uint64_t kWindowsWithoutEpoch = 8;

/// Answers for units that this node committed to, and for those of nodes that made it their
/// defender and whose claims it has; ends games whose challenger is silent, and
/// withdraws the ether that answers earned. Forgets a claim once no game about it can be opened,
/// and none is open that asks for its delta;
/// one whose round has no epoch on chain, kWindowsWithoutEpoch windows after it was filed.
[[nodiscard]] std::unique_ptr<Player> make_defender(PlayerSetup setup);

/// Answers every game that asks for data which this node stands for, or a node whose units it
/// defends, whatever claims there are; ends it once its challenger is out of time.
/// @param data must outlive the player.
[[nodiscard]] std::unique_ptr<Player> make_data_defender(PlayerSetup setup, DataSource& data);

/// Announces, opens and plays a game about every claim to challenge, ends it if the asserter is
/// silent, and has the stake taken. Announces nothing while the asserter's stake, active and
/// thawing, is less than the bond of a game. A commitment that no epoch has is published first
/// (CommitmentLog.postCommitment), and asked for once the epochs that may have it are there and the
/// window is near its end, if the claim is not withdrawn then. Forgets a claim once its game is
/// over and settled, when it is too late to open one, or when it is withdrawn before its game is
/// announced.
[[nodiscard]] std::unique_ptr<Player> make_challenger(PlayerSetup setup);

}  // namespace gym::player
