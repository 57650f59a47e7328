// Outcomes of games on chain: applied once a tick to all units of all jobs, whoever plays them.
#include "drivers/games.hpp"

#include <set>

#include "drivers/membership.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/game/evidence.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;
using registry::DisputedUnit;
using registry::GameWatch;

/// Reads on from where the last look ended.
Status read_news(const Context& context, const Address& contract) {
    struct Known {
        std::optional<std::uint64_t> seen_block;
        std::vector<Digest> open;
    };
    GYM_TRY(const Known known, context.transact([&](db::Transaction& tx) -> Result<Known> {
        Known out;
        GYM_TRY(const auto watch, registry::find_game_watch(tx, contract));
        if (watch) {
            out.seen_block = watch->seen_block;
        } else {
            // The first look: units that are not decided may have games already.
            GYM_TRY(out.seen_block, registry::first_open_epoch_block(tx));
        }
        GYM_TRY(const auto open, registry::units_in_games(tx, contract));
        for (const DisputedUnit& unit : open)
            out.open.push_back(unit.name);
        return out;
    }));
    GYM_TRY(const auto news, context.deps.chain.games_since(known.seen_block, known.open));
    if (!news) return {};
    const GameWatch watch{contract, news->seen_block, news->window_blocks};
    GYM_CHECK(context.transact(
        [&](db::Transaction& tx) { return registry::store_games(tx, watch, news->units); }));
    return {};
}

/// The chain's name for a unit.
Digest name_of(const Context& context, const registry::SignedUnit& unit) {
    return game::unit_name(
        protocol::signing_digest(context.options.domain, unit.commitment.commitment), unit.worker);
}

/// The unit that the chain calls `name`, of those that `signer` signed.
Result<std::optional<registry::Unit>> find_named(const Context& context, db::Transaction& tx,
                                                 const Address& signer, const Digest& name) {
    using Found = std::optional<registry::Unit>;
    GYM_TRY(const auto signed_units, registry::signed_commitments(tx, signer));
    for (const registry::SignedUnit& candidate : signed_units) {
        if (name_of(context, candidate) != name) continue;
        GYM_TRY(registry::Unit unit, registry::get_unit(tx, candidate.unit));
        return Found(std::move(unit));
    }
    return Found();
}

/// The unit as it is afterwards; absent if it had ended before.
Result<std::optional<registry::Unit>> slash(const Context& context, db::Transaction& tx,
                                            const registry::Unit& unit, TickSummary& summary) {
    using Ended = std::optional<registry::Unit>;
    if (!protocol::is_legal(unit.status.state, UnitState::kSlashed)) return Ended();
    GYM_TRY(const registry::Job job, registry::get_job(tx, unit.key.job_id));
    GYM_TRY(registry::Unit ended,
            registry::advance(tx, unit.id, protocol::event::GameEnded{false}, job.terms.lifecycle,
                              context.now(), slash_reason(unit)));
    note(summary, protocol::name_unit(unit.key) + ": slashed by its game");
    return Ended(std::move(ended));
}

Status punish_worker(const Context& context, db::Transaction& tx, const DisputedUnit& fault,
                     TickSummary& summary) {
    GYM_TRY(const auto unit, find_named(context, tx, fault.asserter, fault.name));
    if (unit) {
        GYM_TRY(const auto ended, slash(context, tx, *unit, summary));
        if (ended) return exclude_worker(context, tx, *ended, context.now());
    }
    GYM_TRY(const auto node, registry::find_node(tx, fault.asserter));
    if (!node) return {};  // not a node of this network
    note(summary, "worker " + fault.asserter.hex() + ": a game on chain proved a fault of it");
    return exclude_worker(
        tx, fault.asserter,
        unit ? protocol::game_proved(unit->key) : protocol::game_proved_elsewhere(fault.name),
        context.now());
}

/// Its stake is the price: what its jobs train from is as right as it was.
void lament(const DisputedUnit& fault, TickSummary& summary) {
    note(summary, "the coordinator lost game " + fault.name.hex() +
                      " about data that it did not show in time, and stake with it: see that it is "
                      "online and keeps `disputes_folder`, and add stake");
}

/// Training from a state that was proven wrong is worthless, and the coordinator's next fault would
/// cost it nothing.
Status distrust(const Context& context, db::Transaction& tx, const DisputedUnit& fault,
                TickSummary& summary) {
    GYM_TRY(const auto unit, find_named(context, tx, fault.asserter, fault.name));
    std::vector<Digest> jobs;
    std::string what = "a game on chain proved a fault of the coordinator";
    if (unit) {
        GYM_CHECK(slash(context, tx, *unit, summary));
        jobs.push_back(unit->key.job_id);
        what = "a game on chain proved " + protocol::name_unit(unit->key) + " wrong";
    } else {
        GYM_TRY(jobs, registry::active_jobs(tx));
    }
    const std::string from =
        unit ? "from round " + std::to_string(unit->key.round + 1) + " on " : "";
    std::string reason = what;
    reason.append(": the model ")
        .append(from)
        .append("is not to be trusted; cancel the job, or resume it to continue from there anyway");
    for (const Digest& id : jobs) {
        GYM_TRY(const bool paused, registry::pause_untrusted(tx, id, reason));
        if (paused) note(summary, "job " + short_id(id) + ": paused, " + reason);
    }
    return {};
}

Status take_fault(const Context& context, const Address& contract, const DisputedUnit& fault,
                  TickSummary& summary) {
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const bool mine,
                registry::mark_fault_handled(tx, contract, fault.name, context.now()));
        if (!mine) return {};
        if (fault.asserter == context.deps.key.address() && fault.asks_data) {
            lament(fault, summary);
            return {};
        }
        if (fault.asserter == context.deps.key.address())
            return distrust(context, tx, fault, summary);
        return punish_worker(context, tx, fault, summary);
    });
}

/// The units of the job that are in open games and not disputed yet.
Result<std::vector<Digest>> undisputed(const Context& context, db::Transaction& tx,
                                       const Digest& job_id, const Address& contract) {
    std::vector<Digest> out;
    GYM_TRY(const auto candidates, registry::units_to_challenge(tx, job_id, contract));
    if (candidates.empty()) return out;
    GYM_TRY(const auto games, registry::units_in_games(tx, contract));
    std::set<Digest> open;
    for (const DisputedUnit& unit : games)
        if (!unit.faulty) open.insert(unit.name);
    for (const registry::SignedUnit& candidate : candidates)
        if (open.contains(name_of(context, candidate))) out.push_back(candidate.unit);
    return out;
}

Status challenge(const Context& context, db::Transaction& tx, const registry::Job& job,
                 const Digest& id, TickSummary& summary) {
    GYM_CHECK(registry::lock_feed(tx));
    GYM_TRY(const registry::Unit unit, registry::get_unit(tx, id));
    GYM_CHECK(registry::advance(tx, id, protocol::event::Challenged{}, job.terms.lifecycle,
                                context.now(), protocol::challenged(unit.key)));
    note(summary, protocol::name_unit(unit.key) + ": a game about it was opened on chain");
    return {};
}

}  // namespace

Status follow_games(const Context& context, TickSummary& summary) {
    const auto contract = context.deps.chain.dispute_game();
    if (!contract) return {};
    GYM_CHECK(read_news(context, *contract));
    GYM_TRY(const auto faults, context.transact([&](db::Transaction& tx) {
        return registry::new_faults(tx, *contract);
    }));
    for (const DisputedUnit& fault : faults)
        GYM_CHECK(take_fault(context, *contract, fault, summary));
    return {};
}

Status note_challenges(const Context& context, const registry::Job& job, TickSummary& summary) {
    const auto contract = context.deps.chain.dispute_game();
    if (!contract) return {};
    GYM_TRY(const auto seen, context.transact([&](db::Transaction& tx) {
        return undisputed(context, tx, job.id, *contract);
    }));
    if (seen.empty()) return {};
    for (const Digest& unit : seen) {
        // One by one: a unit that refuses must keep no other one's game from being noted.
        Status noted = context.transact(
            [&](db::Transaction& tx) { return challenge(context, tx, job, unit, summary); });
        if (noted.ok()) continue;
        const ErrorCode code = noted.error().code;
        if (code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout) return noted;
        summary.errors.push_back("job " + short_id(job.id) + ": the game about unit " +
                                 short_id(unit) + " cannot be noted: " + noted.error().message);
    }
    return {};
}

}  // namespace gym::coordinator
