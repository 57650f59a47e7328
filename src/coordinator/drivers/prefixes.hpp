#pragma once

#include "context.hpp"
#include "gym/registry/prefixes.hpp"

namespace gym::coordinator {

/// At each tick: draws verifiers for the prefixes of units that expired, by the beacon of the
/// unit's epoch, and again where a draw passed in vain; ends those that nobody reports on; and has
/// the coordinator run those itself whose report differs, or is audited, one of a job at a time
/// beside the ticks.
Status tend_prefixes(const Context& context, const registry::Job& job, TickSummary& summary);

/// Decides a prefix whose report its verifier has just signed, unless the coordinator looks itself:
/// if the links are equal and the report is not audited.
Status decide_by_report(const Context& context, db::Transaction& tx, const registry::Job& job,
                        const registry::Unit& unit, const registry::Prefix& prefix);

}  // namespace gym::coordinator
