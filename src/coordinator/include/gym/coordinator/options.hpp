#pragma once

#include <cstdint>
#include <set>

#include "gym/blob/blob_store.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/coordinator/background.hpp"
#include "gym/coordinator/chain_port.hpp"
#include "gym/coordinator/compute.hpp"
#include "gym/coordinator/stake_port.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/player/claim.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/protocol/stake_rule.hpp"
#include "gym/protocol/uptime.hpp"

namespace gym::coordinator {

struct Options {
    crypto::Eip712Domain domain;  ///< protocol::signing_domain()
    /// Addresses that may take part, by role; empty: anybody. An address costs nothing, so an open
    /// list of verifiers lets one person hold most draws.
    std::set<Address> workers_allowed, verifiers_allowed;
    /// Contract with the games about verifiers' reports; zero: the network has none.
    Address report_game;
    Amount verifier_stake_min;  ///< that a verifier needs to have active to be drawn; zero: none
    /// Whether reports on train units are signed for the games about them.
    [[nodiscard]] bool wants_report_claims() const { return !verifier_stake_min.is_zero(); }
    protocol::StakeRule stake;              ///< that a worker needs to have active for another unit
    Amount price_per_pflop_min;             ///< of work; a job that pays less is not started
    std::int64_t node_live_ms = 30'000;     ///< seen so recently: gets work
    std::uint32_t beacon_delay_blocks = 2;  ///< from the block of the epoch's root to the beacon
    /// Of the chain, usually. A job whose checks take longer than the window for disputes, which is
    /// in blocks, is not started.
    std::int64_t block_time_ms = 12'000;
    /// The most that a job pays in all for compute worth 1: verification and uptime bonus on top.
    /// The part above 1 also bounds the reports on units that earn nothing. A round starts only
    /// when the budget covers both.
    std::uint64_t cost_bound_ppm = 2'500'000;
    /// The network's fee (rewards::FeeTerms), for data: what compute costs with it is in the bound.
    std::uint32_t fee_ppm = 0;
    [[nodiscard]] protocol::CostRates cost_rates() const { return {cost_bound_ppm, fee_ppm}; }
    /// Of the deltas of a round together, which lie in the store until the round is final: a round
    /// has no more slots than fit, but at least one.
    std::uint64_t deltas_bytes_max = std::uint64_t{256} << 30;
    /// How long a round waits for a delta that its worker named at mirrors, and that these do not
    /// give; then its unit is void.
    std::int64_t delta_wait_ms = 600'000;
    /// Of a blob that nodes may send or fetch: rpc::ServerConfig::blob_bytes_max. A job with larger
    /// deltas is paused.
    std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
    /// How many of the reports that agree with the worker are audited by re-execution.
    std::uint32_t audit_ppm = 20'000;
    /// Of one unit's step records: a job's largest number of steps, all checkpoints, fits, and so
    /// does the message that carries it (rpc::ServerConfig::message_bytes_max).
    std::uint32_t records_bytes_max = 4U << 20U;
    /// Mean time between two uptime challenges to one node; the next one comes after an
    /// exponentially distributed time, so that it cannot be predicted.
    std::int64_t challenge_every_ms = 30'000;
    std::int64_t challenge_answer_ms = 20'000;  ///< from a challenge to its deadline
    std::int64_t challenges_kept_ms = protocol::kChallengesKeptMs;
    std::int64_t challenges_pruned_every_ms = 3'600'000;
};

struct Dependencies {
    db::Database& database;  ///< role gym_coordinator
    blob::BlobStore& blobs;
    ChainPort& chain;
    Compute& compute;
    const Clock& clock;
    const crypto::PrivateKey& key;  ///< signs the coordinator's own units
    StakePort* stake = nullptr;     ///< asked where there is a minimum of stake
    /// Work for the player of games on chain: the aggregates that the coordinator defends,
    /// and workers that signed two commitments for one unit. Absent: it plays none.
    player::ClaimStore* claims = nullptr;
    /// Runs audits; absent: a thread of the coordinator's own. May run work in run() itself.
    Background* background = nullptr;
    StakePort* verifier_stake = nullptr;  ///< asked where verifiers need stake
};

}  // namespace gym::coordinator
