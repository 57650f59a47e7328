#include "drivers/withdrawn_deltas.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "drivers/game_state.hpp"
#include "gym/game/evidence.hpp"

namespace gym::coordinator {
namespace {

/// Units that one aggregate looks at: a proof excludes its worker, so few are not withdrawn at
/// once.
constexpr std::uint32_t kSuspectsMax = 256;

/// Units whose own commitments were proven faulty by games.
Result<std::vector<registry::Unit>> proven_units(const Context& context, const registry::Job& job,
                                                 const registry::Round& round) {
    GYM_TRY(const auto games, game_watch(context));
    if (!games) return std::vector<registry::Unit>();
    return context.transact([&](db::Transaction& tx) -> Result<std::vector<registry::Unit>> {
        GYM_TRY(const auto suspects,
                registry::suspect_included(tx, job.id, round.round, games->contract, kSuspectsMax));
        std::vector<registry::Unit> out;
        for (const registry::Unit& unit : suspects) {
            GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
            if (!stored) continue;
            GYM_TRY(const Digest name, game::unit_of(context.options.domain, stored->commitment));
            GYM_TRY(const auto known, registry::find_disputed_unit(tx, games->contract, name));
            if (known && known->faulty) out.push_back(unit);
        }
        return out;
    });
}

/// The delta as it went in; nullptr: it is not there any more.
Result<Compute::DeltaPtr> load_withdrawn(const Context& context, const registry::Unit& unit,
                                         ByteView program) {
    auto delta = context.deps.compute.check_delta(program, context.deps.blobs, *unit.delta_root);
    if (delta.ok()) return delta;
    const ErrorCode code = delta.error().code;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kMismatch) return Compute::DeltaPtr();
    return delta.error().in("delta that is withdrawn");
}

/// The round of the aggregate that it went into.
std::uint64_t went_into(const registry::Unit& unit) {
    return unit.key.round + (unit.included_late ? 1 : 0);
}

}  // namespace

Status add_withdrawn(const Context& context, const registry::Job& job, const registry::Round& round,
                     ByteView program, std::size_t room, ChosenDeltas& chosen,
                     TickSummary& summary) {
    std::vector<protocol::IncludedDelta>& included = chosen.inclusion.included;
    if (!job.terms.elastic.subtract || included.empty()) return {};
    const std::size_t all_max =
        included.size() + std::min(protocol::kWithdrawnMax, room - std::min(room, included.size()));
    GYM_TRY(const auto units, proven_units(context, job, round));
    std::vector<std::pair<protocol::IncludedDelta, Compute::DeltaPtr>> withdrawn;
    for (const registry::Unit& unit : units) {
        if (included.size() + withdrawn.size() >= all_max) break;
        GYM_TRY(Compute::DeltaPtr delta, load_withdrawn(context, unit, program));
        if (delta == nullptr) {
            summary.notes.push_back(protocol::name_unit(unit.key) +
                                    ": was proven faulty, and stays in the model: its delta is "
                                    "not there any more");
            continue;
        }
        const auto age = static_cast<std::uint16_t>(round.round - went_into(unit));
        withdrawn.emplace_back(protocol::IncludedDelta{unit.key.slot, unit.id, *unit.delta_root,
                                                       unit.included_late, age},
                               std::move(delta));
    }
    std::ranges::sort(withdrawn, {}, [](const auto& one) {
        return std::tuple(one.first.held, one.first.age, one.first.slot);
    });
    for (auto& [delta, loaded] : withdrawn) {
        included.push_back(delta);
        chosen.included.push_back(std::move(loaded));
    }
    return {};
}

Result<std::vector<std::optional<game::WithdrawnSource>>> sources_of(
    db::Transaction& tx, const registry::Round& round,
    std::span<const protocol::IncludedDelta> included) {
    std::vector<std::optional<game::WithdrawnSource>> out;
    for (const protocol::IncludedDelta& delta : included) {
        if (!delta.is_withdrawn()) continue;
        GYM_TRY(const auto stored, registry::find_commitment(tx, delta.unit));
        if (!stored) return fail(ErrorCode::kInternal, "an included delta has no commitment");
        GYM_TRY(const registry::Round listing,
                registry::get_round(tx, round.job_id, round.round + 1 - delta.age));
        out.push_back(game::WithdrawnSource{stored->commitment, delta.unit, listing.record});
    }
    return out;
}

}  // namespace gym::coordinator
