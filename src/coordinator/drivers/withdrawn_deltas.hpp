#pragma once

#include <optional>
#include <span>
#include <vector>

#include "context.hpp"
#include "drivers/chosen_deltas.hpp"
#include "gym/game/withdrawn.hpp"

/// Deltas that were proven faulty after they went in, and are subtracted
/// (docs/adr/0023-withdrawn-deltas.md).
namespace gym::coordinator {

/// Appends those that the aggregate of `round` subtracts to what goes in: of what earlier
/// aggregates took, each unit that a game on chain has proven faulty, the oldest first, at most
/// protocol::kWithdrawnMax and as there is room. One whose delta is lost stays in the model, with a
/// note. Nothing where the job does not ask for it, or where nothing goes in.
/// @param room deltas of the aggregate.
Status add_withdrawn(const Context& context, const registry::Job& job, const registry::Round& round,
                     ByteView program, std::size_t room, ChosenDeltas& chosen,
                     TickSummary& summary);

/// What is shown in a game of each of the withdrawn deltas that the aggregate of `round` has.
Result<std::vector<std::optional<game::WithdrawnSource>>> sources_of(
    db::Transaction& tx, const registry::Round& round,
    std::span<const protocol::IncludedDelta> included);

}  // namespace gym::coordinator
