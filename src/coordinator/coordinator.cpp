#include "gym/coordinator/coordinator.hpp"

#include <atomic>
#include <mutex>

#include "calls/heartbeats.hpp"
#include "calls/next_tasks.hpp"
#include "calls/node_calls.hpp"
#include "calls/prefix_calls.hpp"
#include "calls/verifier_calls.hpp"
#include "calls/worker_calls.hpp"
#include "context.hpp"
#include "drivers/claims.hpp"
#include "drivers/commitments.hpp"
#include "drivers/game_state.hpp"
#include "drivers/games.hpp"
#include "drivers/job.hpp"
#include "drivers/stake_gate.hpp"
#include "gym/registry/challenges.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/size_limits.hpp"

namespace gym::coordinator {
namespace {

/// The advisory lock of a job: its id's first bytes, in a class of keys of its own.
constexpr std::string_view kTryLock =
    "SELECT pg_try_advisory_xact_lock(hashtext('gym.coordinator.job'), $1::integer)";

std::int32_t lock_key(const Digest& job_id) {
    std::uint32_t key = 0;
    for (std::size_t i = 0; i < 4; ++i)
        key = key << 8 | job_id.data[i];
    return static_cast<std::int32_t>(key);
}

/// Steps a job unless another instance does. The transaction that holds the lock does nothing else.
Status step_alone(const Context& context, const Digest& job_id, TickSummary& summary) {
    db::TransactOptions once;
    once.attempts_max = 1;  // the steps are repeated by the next tick, never inside one
    return context.deps.database.transact(
        [&](db::Transaction& tx) -> Status {
            GYM_TRY(const db::Row row, tx.exec_one(kTryLock, {lock_key(job_id)}));
            if (!row.get<bool>(0)) return {};
            ++summary.jobs;
            const Status stepped = step_job(context, job_id, summary);
            if (!stepped.ok())
                summary.errors.push_back("job " + short_id(job_id) + ": " +
                                         stepped.error().message);
            return {};
        },
        once);
}

}  // namespace

struct Coordinator::Impl {
    explicit Impl(Context c) : context(std::move(c)) {
        context.began_at_ms = context.now();
        if (context.deps.background != nullptr) return;
        own_background = make_background();
        context.deps.background = own_background.get();
    }

    Context context;
    /// Only saves work: an instance that starts anew prunes once more.
    std::atomic<UnixMs> pruned_at_ms = 0;

    std::atomic<bool> rates_published = false;
    std::atomic<bool> window_published = false;

    /// Nodes whose rows were locked when they were seen; a crash forgets them.
    std::mutex unmarked_mutex;
    std::vector<registry::Sighting> unmarked;

    Status publish_rates();
    Status publish_window();
    Status prune_challenges();
    Status leave_claims(TickSummary& summary);

    std::unique_ptr<Background> own_background;  // last: what it runs uses the dependencies
};

/// Leaves to the player the claims that games on chain may be about.
Status Coordinator::Impl::leave_claims(TickSummary& summary) {
    GYM_CHECK(restore_claims(context, summary));
    GYM_CHECK(file_conflicts(context, summary));
    return file_false_reports(context, summary);
}

/// Once, for quotes and submissions.
Status Coordinator::Impl::publish_rates() {
    if (rates_published) return {};
    const Status published = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::publish_size_limits(
            tx, {context.options.blob_bytes_max, context.options.deltas_bytes_max}, context.now()));
        return registry::publish_cost_rates(tx, context.options.cost_rates(), context.now());
    });
    GYM_CHECK(published);
    rates_published = true;
    return {};
}

/// Once, when the chain has been asked.
Status Coordinator::Impl::publish_window() {
    if (window_published) return {};
    GYM_TRY(const auto window_ms, dispute_window_ms(context));
    if (window_ms)
        GYM_CHECK(context.transact([&](db::Transaction& tx) {
            return registry::publish_dispute_window(tx, *window_ms, context.now());
        }));
    window_published = true;
    return {};
}

Status Coordinator::Impl::prune_challenges() {
    const UnixMs now = context.now();
    if (now - pruned_at_ms < context.options.challenges_pruned_every_ms) return {};
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::prune_challenges(tx, now - context.options.challenges_kept_ms);
    }));
    pruned_at_ms = now;
    return {};
}

Coordinator::Coordinator(Dependencies dependencies, Options options)
    : impl_(std::make_unique<Impl>(Context{dependencies, std::move(options)})) {}
Coordinator::~Coordinator() = default;

Result<TickSummary> Coordinator::tick() {
    const Context& context = impl_->context;
    TickSummary summary;
    if (const Status chain = context.deps.chain.tick(); !chain.ok())
        summary.errors.push_back("chain: " + chain.error().message);
    // Before the jobs: what they decide by it is as new as it can be. Without it nothing that
    // waits for the chain becomes final.
    if (const Status games = follow_games(context, summary); !games.ok())
        summary.errors.push_back("games: " + games.error().message);
    if (const Status taken = take_chain_commitments(context, summary); !taken.ok())
        summary.errors.push_back("published commitments: " + taken.error().message);
    if (const Status left = impl_->leave_claims(summary); !left.ok())
        summary.errors.push_back("claims: " + left.error().message);
    if (const Status looked = look_at_verifiers(context); !looked.ok())
        summary.errors.push_back("verifiers: " + looked.error().message);
    GYM_CHECK(impl_->publish_rates());
    if (const Status window = impl_->publish_window(); !window.ok())
        summary.errors.push_back("dispute window: " + window.error().message);
    GYM_CHECK(impl_->prune_challenges());
    GYM_TRY(const auto jobs,
            context.transact([](db::Transaction& tx) { return registry::active_jobs(tx); }));
    for (const Digest& job : jobs)
        GYM_CHECK(step_alone(context, job, summary));
    return summary;
}

Result<registry::Node> Coordinator::register_node(const registry::NewNode& node) {
    return coordinator::register_node(impl_->context, node);
}

Result<std::uint32_t> Coordinator::challenge_nodes() {
    return coordinator::challenge_nodes(impl_->context);
}

std::vector<Result<records::HeartbeatAnswer>> Coordinator::heartbeats(std::span<const Beat> beats) {
    std::vector<registry::Sighting> unmarked;
    {
        const std::scoped_lock lock(impl_->unmarked_mutex);
        unmarked.swap(impl_->unmarked);
    }
    BeatAnswers out = coordinator::heartbeats(impl_->context, beats, std::move(unmarked));
    const std::scoped_lock lock(impl_->unmarked_mutex);
    impl_->unmarked.insert(impl_->unmarked.end(), out.unmarked.begin(), out.unmarked.end());
    return std::move(out.answers);
}

Result<records::HeartbeatAnswer> Coordinator::heartbeat(
    const Address& node, const std::optional<protocol::UptimeAnswer>& answer) {
    return coordinator::heartbeat(impl_->context, {node, impl_->context.now(), answer});
}

Status Coordinator::leave(const Address& node) {
    return coordinator::leave(impl_->context, node);
}

Result<records::NodeStatus> Coordinator::node_status(const Address& node) {
    return coordinator::node_status(impl_->context, node);
}

std::vector<Result<std::optional<records::Task>>> Coordinator::next_tasks(
    std::span<const Address> nodes, std::span<const Digest> computed) {
    return coordinator::next_tasks(impl_->context, nodes, computed);
}

Result<std::vector<Address>> Coordinator::nodes_with_tasks() {
    return impl_->context.transact(
        [&](db::Transaction& tx) { return registry::nodes_with_units(tx, impl_->context.now()); });
}

Result<std::optional<records::TrainTask>> Coordinator::next_unit(const Address& worker) {
    GYM_TRY(const auto task,
            coordinator::next_task(impl_->context, worker, records::NodeRole::kWorker));
    if (!task) return std::optional<records::TrainTask>();
    return std::optional(std::get<records::TrainTask>(*task));
}

Result<std::optional<UploadLimit>> Coordinator::upload_limit(const Address& worker) {
    return coordinator::upload_limit(impl_->context, worker);
}

Result<std::optional<std::uint64_t>> Coordinator::committed_delta_bytes(const Address& worker,
                                                                        const Digest& root) {
    return coordinator::committed_delta_bytes(impl_->context, worker, root);
}

Status Coordinator::note_upload(const Address& worker, const Digest& root) {
    return coordinator::note_upload(impl_->context, worker, root);
}

Status Coordinator::name_delta(const Address& worker, const Digest& root,
                               const std::vector<std::string>& mirrors) {
    return coordinator::name_delta(impl_->context, worker, root, mirrors);
}

Result<std::vector<Digest>> Coordinator::wanted_deltas(const Address& worker) {
    return coordinator::wanted_deltas(impl_->context, worker);
}

Result<records::CommitmentAck> Coordinator::commit_unit(
    const Address& worker, const protocol::SignedCommitment& commitment, ByteView records) {
    return coordinator::commit_unit(impl_->context, worker, commitment, records);
}

Status Coordinator::keep_prefix(const Address& worker, const protocol::SignedPrefix& prefix) {
    return coordinator::keep_prefix(impl_->context, worker, prefix);
}

Status Coordinator::report_prefix(const Address& verifier, const protocol::SignedPrefix& found) {
    return coordinator::report_prefix(impl_->context, verifier, found);
}

Result<records::UnitReceipt> Coordinator::unit_receipt(const Digest& unit) {
    return coordinator::unit_receipt(impl_->context, unit);
}

Status Coordinator::defend(const Address& worker, const Digest& unit) {
    return coordinator::defend(impl_->context, worker, unit);
}

Result<std::optional<records::VerifyTask>> Coordinator::next_task(const Address& verifier) {
    GYM_TRY(const auto task,
            coordinator::next_task(impl_->context, verifier, records::NodeRole::kVerifier));
    const auto* const verify = task ? std::get_if<records::VerifyTask>(&*task) : nullptr;
    return verify == nullptr ? std::optional<records::VerifyTask>() : std::optional(*verify);
}

Result<Bytes> Coordinator::commit_report(const Address& verifier, const Digest& unit,
                                         std::uint32_t draw, const Digest& digest) {
    return coordinator::commit_report(impl_->context, verifier, unit, draw, digest);
}

Result<RevealOutcome> Coordinator::reveal_report(const protocol::Report& report, ByteView records,
                                                 const std::optional<crypto::Signature>& claim) {
    return coordinator::reveal_report(impl_->context, report, records, claim);
}

}  // namespace gym::coordinator
