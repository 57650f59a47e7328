#include <algorithm>
#include <set>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/report.hpp"
#include "gym/engine/generate.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/codec.hpp"
#include "gym/registry/feed.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

namespace gym::devnet {
namespace {

constexpr std::uint32_t kListMax = 10'000;
constexpr std::uint32_t kSampleTokens = 240;
constexpr const char* kPrompt = "And the LORD said unto ";

/// The job, its rounds and what happened to its units, in one consistent read.
struct JobHistory {
    registry::Job job;
    std::vector<registry::Round> rounds;
    std::vector<registry::Unit> units;
    std::uint64_t sampled = 0;
    std::uint64_t mismatches = 0;
    std::map<Address, std::uint64_t> reports;  ///< of each verifier
    std::map<Address, registry::Node> nodes;
    std::string ledger_sum_wei;
    Amount ledger_paid;
    LedgerReport ledger;
    ProviderSummary provider;
};

Status read_reports(db::Transaction& tx, JobHistory& history) {
    for (const registry::Unit& unit : history.units) {
        GYM_TRY(const auto events, registry::unit_history(tx, unit.id));
        history.sampled += std::ranges::any_of(
            events, [](const auto& e) { return e.to == protocol::UnitState::kSampled; });
        GYM_TRY(const auto reports, registry::list_reports(tx, unit.id));
        history.mismatches += static_cast<std::uint64_t>(std::ranges::count_if(
            reports, [](const auto& r) { return r.revealed.has_value() && !r.equal; }));
        for (const registry::StoredReport& one : reports)
            if (one.revealed) ++history.reports[one.verifier];
    }
    return {};
}

Status read_ledger(db::Transaction& tx, JobHistory& history) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT coalesce(sum(credits - debits), 0)::text AS sum, "
                        "coalesce(sum(credits) FILTER (WHERE kind = 'payable'), 0)::text AS paid "
                        "FROM ledger.account"));
    history.ledger_sum_wei = row.get<std::string>("sum");
    GYM_TRY(history.ledger_paid, Amount::parse(row.get<std::string>("paid")));
    return {};
}

Result<JobHistory> read_history(db::Transaction& tx, const ReportSources& sources) {
    JobHistory out;
    GYM_TRY(out.job, registry::get_job(tx, sources.job_id));
    GYM_TRY(out.rounds, registry::list_rounds(tx, sources.job_id));
    GYM_TRY(out.units, registry::list_units(tx, {.job_id = sources.job_id,
                                                 .kind = protocol::UnitKind::kTrain,
                                                 .limit = kListMax}));
    for (const auto& [address, name] : sources.workers) {
        GYM_TRY(const auto node, registry::find_node(tx, address));
        if (node) out.nodes.emplace(address, *node);
    }
    GYM_CHECK(read_reports(tx, out));
    GYM_CHECK(read_ledger(tx, out));
    GYM_TRY(out.ledger, read_ledger_report(tx));
    GYM_TRY(out.provider, read_provider(tx, sources.job_id));
    return out;
}

WorkerSummary worker_line(const JobHistory& history, const Address& address,
                          const std::string& name, const Address& cheater) {
    WorkerSummary line{.name = name, .address = address, .cheats = address == cheater};
    for (const registry::Unit& unit : history.units) {
        if (unit.worker != address) continue;
        const auto state = unit.status.state;
        line.units_final += state == protocol::UnitState::kFinal;
        line.units_rejected +=
            state == protocol::UnitState::kRejected || state == protocol::UnitState::kSlashed;
        line.units_pending += !protocol::is_terminal(state);
        line.units_unpaid += state == protocol::UnitState::kExpired ||
                             state == protocol::UnitState::kUnpaid ||
                             state == protocol::UnitState::kVoid;
    }
    if (const auto node = history.nodes.find(address); node != history.nodes.end())
        line.excluded = node->second.excluded_reason;
    return line;
}

/// Loads the last base state, checks it against its root with the engine, and lets it write.
Status read_model(const ReportSources& sources, const JobHistory& history, Report& report) {
    const auto done = std::find_if(history.rounds.rbegin(), history.rounds.rend(),
                                   [](const auto& round) { return round.next_base.has_value(); });
    if (done == history.rounds.rend() || !history.job.artifacts)
        return fail(ErrorCode::kNotFound, "no round of the job was aggregated");
    GYM_TRY(const blob::DirectoryStore store, blob::DirectoryStore::open(sources.blobs));
    GYM_TRY(const Bytes program_bytes, store.get(history.job.artifacts->program_blob));
    GYM_TRY(const program::Program program, program::decode(program_bytes));
    GYM_TRY(const Bytes state_bytes, store.get(done->next_base->blob));
    GYM_TRY(const engine::State state, engine::decode_state(state_bytes));
    report.final_state_root = engine::state_root(state);
    if (report.final_state_root != done->next_base->root)
        return fail(ErrorCode::kMismatch, "the final state's blob hashes to " +
                                              report.final_state_root.hex() + ", not to " +
                                              done->next_base->root.hex());
    const std::string prompt = kPrompt;
    const std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
    GYM_TRY(const auto written,
            engine::generate(program, state, tokens, {.tokens = kSampleTokens}));
    report.sample = prompt;
    for (const std::int32_t token : written)
        report.sample.push_back(static_cast<char>(token));
    return {};
}

Status read_chain(const ReportSources& sources, Report& report) {
    const contracts::RewardsDistributor distributor(sources.deployment.distributor);
    for (WorkerSummary& line : report.workers) {
        GYM_TRY(line.paid, distributor.claimed(sources.chain, line.address));
    }
    GYM_TRY(report.verifier.paid, distributor.claimed(sources.chain, report.verifier.address));
    GYM_TRY(report.provider.paid, distributor.claimed(sources.chain, report.provider.address));
    GYM_TRY(report.onchain_paid, distributor.total_claimed(sources.chain));
    GYM_TRY(const contracts::RootSubmitted root, distributor.active_root(sources.chain));
    report.payout_root = root.root;

    GYM_TRY(const auto head, sources.chain.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    for (std::uint64_t first = 0; first <= head->number;
         first += chain::ChainClient::kBlocksPerCallMax) {
        const std::uint64_t count = std::min<std::uint64_t>(head->number + 1 - first,
                                                            chain::ChainClient::kBlocksPerCallMax);
        GYM_TRY(const auto blocks, sources.chain.blocks(first, static_cast<std::uint32_t>(count)));
        for (const chain::BlockHeader& block : blocks)
            report.gas_used += block.gas_used;
    }
    return {};
}

}  // namespace

Result<Report> collect_report(const ReportSources& sources) {
    GYM_TRY(const JobHistory history,
            sources.database.transact(
                [&](db::Transaction& tx) { return read_history(tx, sources); },
                {.isolation = db::Isolation::kRepeatableRead, .read_only = true}));
    Report report;
    report.rounds_planned = history.job.terms.rounds;
    report.slots = history.job.terms.slots_max;
    for (const registry::Round& round : history.rounds) {
        if (!round.validation_loss) continue;
        ++report.rounds;
        report.validation_losses.push_back(*round.validation_loss);
    }
    for (const auto& [address, name] : sources.workers)
        report.workers.push_back(worker_line(history, address, name, sources.cheater));
    std::ranges::sort(report.workers, {}, &WorkerSummary::name);
    for (const WorkerSummary& line : report.workers)
        if (!line.cheats) report.honest_units_rejected += line.units_rejected;
    report.verifier = {.name = kVerifier, .address = sources.verifier};
    if (const auto found = history.reports.find(sources.verifier); found != history.reports.end())
        report.verifier.reports = found->second;
    report.provider = history.provider;
    report.ledger = history.ledger;
    report.units_sampled = history.sampled;
    report.mismatches = history.mismatches;
    report.ledger_sum_wei = history.ledger_sum_wei;
    report.ledger_paid = history.ledger_paid;
    if (history.job.artifacts) report.program_root = history.job.artifacts->program_root;
    GYM_CHECK(read_model(sources, history, report));
    GYM_CHECK(read_chain(sources, report));
    if (sources.cheater != Address()) {
        GYM_TRY(report.dispute, read_dispute(sources));
    }
    return report;
}

}  // namespace gym::devnet
