#pragma once

#include <vector>

#include "context.hpp"

namespace gym::coordinator {

/// The round's own train units that are not late.
Result<std::vector<registry::Unit>> timely_units(db::Transaction& tx, const registry::Round& round);

/// Once enough of an open round is committed, its other units have the grace time, and those of
/// workers that signed off have none.
Status hurry(const Context& context, const registry::Job& job, const registry::Round& round,
             TickSummary& summary);

}  // namespace gym::coordinator
