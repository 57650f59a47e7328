#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/db/database.hpp"
#include "gym/rewards/queries.hpp"

namespace gym::devnet {

struct WorkerSummary {
    std::string name;
    Address address;
    bool cheats = false;
    std::uint64_t units_final = 0;
    std::uint64_t units_rejected = 0;
    std::uint64_t units_pending = 0;
    std::uint64_t units_unpaid = 0;  ///< ended without pay or fault: expired, unpaid, void
    Amount paid;                     ///< what the distributor contract paid out to it
    std::string excluded;            ///< the registry's sentence, empty in good standing
};

struct VerifierSummary {
    std::string name;
    Address address;
    std::uint64_t reports = 0;  ///< units that it ran again and whose result it reported
    Amount paid;                ///< what the distributor contract paid out to it
};

/// The provider of the training text, and its terms.
struct ProviderSummary {
    Address address;
    Digest dataset_root;
    std::string licence;
    std::uint64_t tokens = 0;
    Amount price_wei_per_mtoken;  ///< of the job, as the next five
    std::uint32_t novelty_ppm = 0;
    std::uint32_t usefulness_ppm = 0;
    std::optional<Digest> evaluation;  ///< that measured it; absent: the network's default
    std::uint32_t quality_ppm = 0;
    Amount paid;  ///< what the distributor contract paid out to it
};

/// The ledger's totals and the findings of its audits.
struct LedgerReport {
    std::uint64_t transfers = 0;
    std::map<std::string, Amount>
        credits;                         ///< compute, verification, uptime, data: what was posted
    std::uint64_t audit_violations = 0;  ///< rows of all audit views
    std::vector<std::string> violated;   ///< the views that have any
    std::vector<rewards::PayoutEpoch> epochs;  ///< ascending
    [[nodiscard]] Amount credit(const std::string& kind) const;
};

/// The game on chain in which the cheat lost its stake.
struct DisputeReport {
    Digest game;
    std::uint64_t transactions = 0;  ///< of both sides, from announce() to the proof
    std::uint64_t challenger_gas = 0;
    std::uint64_t worker_gas = 0;
    Amount element;   ///< of the tensor, or which leaf, slot or field
    Digest claimed;   ///< by the worker; a number is the last bytes
    Digest computed;  ///< by the contract
    Amount slashed;   ///< all of the stake; zero until it is taken
    Amount burned;
    Amount reward;        ///< of the finder
    Amount compensation;  ///< of games that proved other faults
    Address finder;       ///< zero until then
    /// Part of a slash that is burned, in millionths: so much a cheat loses that is its own finder.
    [[nodiscard]] std::uint64_t burned_ppm() const;
};

/// Logits of the exported model, computed by other software from its folder alone.
struct LogitsComparison {
    std::string software;  ///< that computed them
    std::uint64_t count = 0;
    double relative_error = 0;  ///< of the norms: difference to logits
    double bound = 0;
    std::optional<double> rounded_error;  ///< the same with gym's roundings made there, too
    double rounded_bound = 0;
    [[nodiscard]] bool holds() const;
};

/// What the job's owner took away.
struct ExportedModel {
    std::filesystem::path folder;
    std::string names;  ///< of the weights
    Digest state_root;
    std::string checked;  ///< one sentence
    std::optional<LogitsComparison> logits;
    std::string not_compared;  ///< why there is no comparison
    std::string sample;        ///< text that the folder's model wrote
};

/// The results of a finished job. Every figure is read back: from PostgreSQL (registry, ledger),
/// the chain, or the engine.
struct Report {
    std::uint64_t rounds = 0;
    std::uint64_t rounds_planned = 0;  ///< by the job
    std::uint32_t slots = 0;           ///< units of a round at most, by the job
    std::vector<WorkerSummary> workers;
    VerifierSummary verifier;
    ProviderSummary provider;
    LedgerReport ledger;
    std::vector<double> validation_losses;  ///< nats per token after each round
    /// Evaluations that the coordinator signed, and those that a verifier found right.
    std::uint64_t losses_signed = 0, losses_verified = 0;
    std::uint64_t units_sampled = 0;  ///< train units that were drawn for re-execution
    std::uint64_t mismatches = 0;     ///< revealed reports that differ from the commitment
    std::uint64_t honest_units_rejected = 0;
    std::string ledger_sum_wei;  ///< sum of all balances: "0", since every transfer has two sides
    Amount onchain_paid;         ///< RewardsDistributor.totalClaimed()
    Amount ledger_paid;          ///< credits of all payable accounts
    Digest payout_root;          ///< the active root on chain
    Digest program_root;
    Digest final_state_root;     ///< recomputed by the engine from the last base state's blob
    std::uint64_t gas_used = 0;  ///< by all transactions of the network's key holders
    std::uint64_t wall_s = 0;
    std::string sample;                    ///< text that the trained model wrote
    std::optional<DisputeReport> dispute;  ///< absent if nobody cheated
    std::optional<ExportedModel> model;    ///< absent if nothing was exported
};

struct ReportSources {
    db::Database& database;
    chain::ChainClient& chain;
    contracts::Deployment deployment;
    std::filesystem::path blobs;
    Digest job_id;
    std::map<Address, std::string> workers;  ///< address -> name
    Address verifier;
    Address cheater;  ///< zero: nobody cheats
};

/// Reads everything but `wall_s` and `model`. @errors of the sources; kMismatch if the final
/// state's blob does not hash to the root that the registry names.
[[nodiscard]] Result<Report> collect_report(const ReportSources& sources);

[[nodiscard]] Result<LedgerReport> read_ledger_report(db::Transaction& tx);
/// All but what was paid. @errors kNotFound.
[[nodiscard]] Result<ProviderSummary> read_provider(db::Transaction& tx, const Digest& job_id);

/// Only the dispute; absent if no fault of `sources.cheater` was proven on chain.
[[nodiscard]] Result<std::optional<DisputeReport>> read_dispute(const ReportSources& sources);

/// The table of workers, the losses and the sample, for people.
[[nodiscard]] std::string to_text(const Report& report);

/// Requirements on a successful run, beyond those on every job.
struct Expectations {
    std::optional<double> final_loss_max;  ///< nats per token; absent: only less than at first
    bool with_cheater = true;
};
/// One sentence for each check that did not hold.
[[nodiscard]] std::vector<std::string> failed_checks(const Report& report,
                                                     const Expectations& expected);
/// The report and its verdict as one JSON object; amounts are decimal strings.
/// @param failed what failed_checks() said.
[[nodiscard]] std::string to_json(const Report& report, const std::vector<std::string>& failed);

}  // namespace gym::devnet
