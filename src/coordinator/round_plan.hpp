#pragma once

#include <optional>
#include <vector>

#include "context.hpp"

namespace gym::coordinator {

/// What a round is recorded with; its roots for disputes are computed apart.
struct Plan {
    protocol::RoundRecord record;
    registry::StateRef base;
    registry::StateRef momentum;
};

/// The round after `last` (the first one if there is none) for these workers, one slot each.
Result<Plan> make_plan(db::Transaction& tx, const registry::Job& job,
                       const std::optional<registry::Round>& last,
                       const std::vector<registry::Node>& workers);

}  // namespace gym::coordinator
