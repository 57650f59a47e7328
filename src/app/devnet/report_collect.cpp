#include "gym/devnet/report.hpp"

#include <algorithm>
#include <set>

#include "gym/blob/blob_store.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/engine/generate.hpp"
#include "gym/engine/state.hpp"
#include "gym/player/game_log.hpp"
#include "gym/program/codec.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/feed.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"
#include "gym/vault/sealed_store.hpp"

namespace gym::devnet {

// Money, as the ledger, its audits and the registry report it

namespace {

constexpr std::uint32_t kEpochsMax = 1'000;

/// The transfers that decided credits, by what was credited: from the ledger, not from the credits'
/// own amounts.
Status read_credits(db::Transaction& tx, LedgerReport& out) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT c.kind, sum(t.amount)::text AS amount FROM rewards.credit c "
                    "JOIN ledger.transfer t ON t.id = c.posting WHERE c.state = 'posted' "
                    "GROUP BY c.kind"));
    for (const db::Row row : rows) {
        GYM_TRY(out.credits[row.get<std::string>("kind")],
                Amount::parse(row.get<std::string>("amount")));
    }
    GYM_TRY(const db::Row count, tx.exec_one("SELECT count(*) AS n FROM ledger.transfer"));
    out.transfers = count.get<std::uint64_t>("n");
    return {};
}

/// Rows of all audit views: each is an invariant that does not hold.
Status read_violations(db::Transaction& tx, LedgerReport& out) {
    GYM_TRY(const db::Rows views,
            tx.exec("SELECT quote_ident(viewname) AS name FROM pg_views WHERE schemaname = 'audit' "
                    "ORDER BY viewname"));
    if (views.empty()) return fail(ErrorCode::kNotFound, "the database has no audit views");
    for (const db::Row view : views) {
        const auto name = view.get<std::string>("name");
        GYM_TRY(const db::Row row, tx.exec_one("SELECT count(*) AS n FROM audit." + name));
        const auto count = row.get<std::uint64_t>("n");
        out.audit_violations += count;
        if (count > 0) out.violated.push_back(name);
    }
    return {};
}

}  // namespace

Amount LedgerReport::credit(const std::string& kind) const {
    const auto found = credits.find(kind);
    return found == credits.end() ? Amount() : found->second;
}

Result<LedgerReport> read_ledger_report(db::Transaction& tx) {
    LedgerReport out;
    GYM_CHECK(read_credits(tx, out));
    GYM_CHECK(read_violations(tx, out));
    GYM_TRY(out.epochs, rewards::list_epochs(tx, kEpochsMax));
    std::ranges::reverse(out.epochs);
    return out;
}

Result<ProviderSummary> read_provider(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const registry::Job job, registry::get_job(tx, job_id));
    GYM_TRY(const registry::Dataset dataset, registry::get_dataset(tx, job.dataset_root));
    std::optional<Digest> evaluation;
    if (dataset.measurement) evaluation = dataset.measurement->evaluation;
    return ProviderSummary{.address = dataset.owner,
                           .dataset_root = dataset.root,
                           .licence = dataset.licence,
                           .tokens = dataset.tokens,
                           .price_wei_per_mtoken = job.data_price_wei_per_mtoken,
                           .novelty_ppm = dataset.novelty_ppm,
                           .usefulness_ppm = dataset.usefulness_ppm,
                           .evaluation = evaluation,
                           .quality_ppm = job.data_quality_ppm};
}

// The dispute on chain

namespace {

/// The stake that was taken from `owner`, as the Stake contract says; absent: none.
Result<std::optional<contracts::Slashed>> find_slash(const ReportSources& sources,
                                                     const Address& owner, player::Blocks blocks) {
    const contracts::Stake stake(sources.deployment.stake);
    GYM_TRY(const auto logs,
            chain::find_all_logs(sources.chain, {stake.address(), {}, blocks.first, blocks.last}));
    for (const chain::Log& log : logs) {
        GYM_TRY(const auto event, stake.parse_event(log));
        const auto* slashed = event ? std::get_if<contracts::Slashed>(&*event) : nullptr;
        if (slashed != nullptr && slashed->owner == owner) return std::optional(*slashed);
    }
    return std::optional<contracts::Slashed>();
}

/// The game that proved a fault of `asserter` first.
Result<std::optional<contracts::FaultFound>> find_fault(const ReportSources& sources,
                                                        const contracts::DisputeGame& contract,
                                                        const Address& asserter,
                                                        player::Blocks blocks) {
    GYM_TRY(
        const auto logs,
        chain::find_all_logs(sources.chain, {contract.address(), {}, blocks.first, blocks.last}));
    std::map<Digest, Address> asserters;
    for (const chain::Log& log : logs) {
        GYM_TRY(const auto event, contract.parse_event(log));
        if (!event) continue;
        if (const auto* opened = std::get_if<contracts::Opened>(&*event))
            asserters[opened->game] = opened->asserter;
        const auto* fault = std::get_if<contracts::FaultFound>(&*event);
        if (fault != nullptr && asserters[fault->game] == asserter) return std::optional(*fault);
    }
    return std::optional<contracts::FaultFound>();
}

}  // namespace

std::uint64_t DisputeReport::burned_ppm() const {
    const auto ppm = burned.mul_div(Amount(kPpm), slashed);
    return ppm.ok() ? ppm->to_u64().value_or(0) : 0;  // nothing is taken yet
}

Result<std::optional<DisputeReport>> read_dispute(const ReportSources& sources) {
    using Found = std::optional<DisputeReport>;
    GYM_TRY(const auto head, sources.chain.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    const player::Blocks blocks{sources.deployment.start_block, head->number};
    const contracts::DisputeGame contract(sources.deployment.dispute_game);
    GYM_TRY(const auto fault, find_fault(sources, contract, sources.cheater, blocks));
    if (!fault) return Found();
    DisputeReport out;
    out.game = fault->game;
    out.element = fault->element;
    out.claimed = fault->claimed;
    out.computed = fault->computed;
    GYM_TRY(const auto events, player::game_events(sources.chain, contract, fault->game, blocks));
    GYM_TRY(const auto cost, player::game_cost(sources.chain, events));
    out.transactions = cost.transactions;
    out.challenger_gas = cost.challenger_gas;
    out.worker_gas = cost.asserter_gas;
    GYM_TRY(const auto slash, find_slash(sources, sources.cheater, blocks));
    if (slash) {
        GYM_TRY(const Amount paid, slash->reward.plus(slash->compensation));
        GYM_TRY(out.slashed, slash->burned.plus(paid));
        out.burned = slash->burned;
        out.reward = slash->reward;
        out.compensation = slash->compensation;
        out.finder = slash->finder;
    }
    return Found(out);
}

// The whole report

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
    std::uint64_t losses_signed = 0, losses_verified = 0;
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

/// The coordinator's evaluations, and those of which a verifier has found the same losses.
Status read_losses(db::Transaction& tx, JobHistory& history) {
    GYM_TRY(const auto units, registry::list_units(tx, {.job_id = history.job.id,
                                                        .kind = protocol::UnitKind::kEvaluate,
                                                        .limit = kListMax}));
    history.losses_signed = units.size();
    for (const registry::Unit& unit : units) {
        GYM_TRY(const auto reports, registry::list_reports(tx, unit.id));
        history.losses_verified += std::ranges::any_of(
            reports, [](const auto& r) { return r.revealed.has_value() && r.equal; });
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
    GYM_CHECK(read_losses(tx, out));
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
    GYM_TRY(const auto store, vault::SealedStore::open(sources.blobs, std::filesystem::path()));
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
        // Where rounds overlap, one without workers follows the last.
        report.rounds += round.round <= report.rounds_planned ? 1 : 0;
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
    report.losses_signed = history.losses_signed;
    report.losses_verified = history.losses_verified;
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
