#include "coordinator_rounds.hpp"

#include <chrono>
#include <map>

#include "bench_must.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/clock.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"
#include "owner_orders.hpp"

namespace gym::bench {
namespace {

constexpr std::int64_t kLiveMs = 30'000;
using protocol::UnitState;

class LargeRound {
  public:
    LargeRound(db::Database& database, std::uint32_t units_max)
        : database_(database), units_max_(units_max) {}

    /// Under the job's lock, so that no coordinator steps it meanwhile.
    RoundTimes run() {
        job_ = registry::make_job_id(owner(), "large");
        RoundTimes out;
        must(database_.transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(
                tx.exec("SELECT pg_advisory_xact_lock(hashtext('gym.coordinator.job'), "
                        "('x' || left(encode($1::bytea, 'hex'), 8))::bit(32)::integer)",
                        {job_}));
            out = measure();
            return {};
        }));
        return out;
    }

  private:
    static Address owner() {
        Address out;
        out.data.fill(1);
        return out;
    }
    RoundTimes measure() {
        RoundTimes out;
        submit();
        out.chosen = timed([&](db::Transaction& tx) { return choose(tx); });
        out.units = static_cast<std::uint32_t>(workers_.size());
        out.assigned = timed([&](db::Transaction& tx) { return assign(tx); });
        (void)timed([&](db::Transaction& tx) { return commit(tx); });
        out.sealed = timed([&](db::Transaction& tx) { return seal(tx); });
        out.drawn = timed([&](db::Transaction& tx) {
            return advance(tx, UnitState::kCommitted, protocol::event::Drawn{false}, now());
        });
        out.ended = timed([&](db::Transaction& tx) {
            return advance(tx, UnitState::kUnsampled, protocol::event::TimePassed{},
                           now() + params_.challenge_ms + 1);
        });
        return out;
    }

    template <class F>
    double timed(F&& body) {
        const auto start = std::chrono::steady_clock::now();
        must(database_.transact(body));
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    [[nodiscard]] UnixMs now() const { return clock_.now_ms(); }

    /// A running job with a recorded round.
    void submit() {
        must(database_.transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const db::Row dataset,
                    tx.exec_one("SELECT root FROM registry.dataset LIMIT 1"));
            registry::NewJob job;
            job.owner = owner();
            job.id = job_;
            job.name = "large";
            job.dataset_root = dataset.get<Digest>(0);
            job.spec_yaml = "load";
            job.budget_wei = Amount(1'000'000);
            GYM_CHECK(testing::submit_job(tx, job, now()));
            registry::JobArtifacts artifacts;
            artifacts.seed = artifacts.program_root = job.id;
            GYM_CHECK(registry::start_job(tx, job.id, artifacts, now()));
            protocol::RoundRecord record;
            record.job_id = job.id;
            record.round = 1;
            record.checkpoint_every = 1;
            record.slots.push_back({0, job.owner, kPpm, 1});
            const registry::StateRef state{job.id, job.id};
            GYM_TRY(const registry::Round round,
                    registry::record_round(tx, record, state, state, now()));
            epoch_ = round.epoch;
            return {};
        }));
    }
    Status choose(db::Transaction& tx) {
        registry::NodeFilter live;
        live.role = records::NodeRole::kWorker;
        live.eligible_only = true;
        live.seen_since_ms = now() - kLiveMs;
        live.limit = registry::kNodesListMax;
        GYM_TRY(auto nodes, registry::list_nodes(tx, live));
        GYM_TRY(const auto busy, registry::busy_units(tx));
        std::map<Address, std::vector<registry::Unit>> of_worker;
        for (const registry::Unit& unit : busy)
            of_worker[unit.worker].push_back(unit);
        std::erase_if(nodes, [&](const registry::Node& node) {
            const auto open = of_worker.find(node.address);
            return open != of_worker.end() && !coordinator::is_free(open->second);
        });
        workers_ = coordinator::choose_workers({job_, 1, {}}, std::move(nodes), units_max_);
        return {};
    }
    Status assign(db::Transaction& tx) {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(registry::open_round(tx, job_, 1, now() + params_.unit_ms, now()));
        std::vector<registry::NewUnit> units;
        for (const registry::Node& worker : workers_) {
            registry::NewUnit& unit = units.emplace_back();
            unit.key = {job_, 1, static_cast<std::uint32_t>(units.size() - 1), 0};
            unit.worker = worker.address;
            unit.owner = worker.owner;
            ids_.push_back(protocol::unit_id(unit.key));
        }
        return registry::assign_units(tx, units, params_, now());
    }
    Status commit(db::Transaction& tx) {
        for (const Digest& id : ids_) {
            protocol::SignedCommitment commitment;
            commitment.commitment.records_root = id;
            GYM_CHECK(registry::store_commitment(tx, id, commitment, as_bytes("records"), now()));
            GYM_CHECK(registry::advance(tx, id, protocol::event::Committed{}, params_, now()));
        }
        return {};
    }
    Result<std::vector<registry::Unit>> units_in(db::Transaction& tx, UnitState state) {
        registry::UnitFilter filter;
        filter.job_id = job_;
        filter.round = 1;
        filter.states = {state};
        filter.limit = registry::kUnitsListMax;
        return registry::list_units(tx, filter);
    }
    Status seal(db::Transaction& tx) {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto committed, units_in(tx, UnitState::kCommitted));
        std::vector<Digest> ids;
        for (const registry::Unit& unit : committed)
            ids.push_back(unit.id);
        GYM_CHECK(registry::set_epoch(tx, epoch_, ids));
        GYM_TRY(const auto leaves, registry::epoch_leaves(tx, epoch_));
        std::vector<Digest> digests;
        for (const registry::EpochLeaf& leaf : leaves)
            digests.push_back(leaf.leaf);
        return registry::seal_round(tx, job_, 1, commit::merkle_root(digests),
                                    static_cast<std::uint32_t>(digests.size()), now());
    }
    Status advance(db::Transaction& tx, UnitState from, const protocol::UnitEvent& event,
                   UnixMs at) {
        GYM_TRY(const auto units, units_in(tx, from));
        std::vector<registry::UnitStep> steps;
        for (const registry::Unit& unit : units)
            steps.push_back({unit.id, event});
        GYM_CHECK(registry::advance_all(tx, steps, params_, at));
        return {};
    }

    db::Database& database_;
    const std::uint32_t units_max_;
    SystemClock clock_;
    protocol::LifecycleParams params_;
    Digest job_;
    std::uint64_t epoch_ = 0;
    std::vector<registry::Node> workers_;
    std::vector<Digest> ids_;
};

}  // namespace

RoundTimes time_round(db::Database& database, std::uint32_t units_max) {
    return LargeRound(database, units_max).run();
}

}  // namespace gym::bench
