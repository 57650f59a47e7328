#pragma once

#include <vector>

#include "context.hpp"
#include "gym/coordinator/compute.hpp"
#include "gym/protocol/inclusion.hpp"

namespace gym::coordinator {

struct ChosenDeltas {
    protocol::Inclusion inclusion;
    std::vector<Compute::DeltaPtr> included;  ///< inclusion.included, in its order
};

/// Whether mirrors may still bring deltas that the round's aggregate would take.
Result<bool> awaits_deltas(const Context& context, const registry::Job& job,
                           const registry::Round& round);

/// The deltas of a round's aggregate: of its accepted units and, where the job holds drawn ones
/// back, of those of the round before that were accepted since; behind them those that it subtracts
/// (add_withdrawn()). A unit whose delta is lost, or is
/// none of the program, becomes void. Where rounds overlap, the next round's record names the
/// aggregate, so that all of them are held.
/// @param program the job's train program.
Result<ChosenDeltas> choose_deltas(const Context& context, const registry::Job& job,
                                   const registry::Round& round, ByteView program,
                                   TickSummary& summary);

}  // namespace gym::coordinator
