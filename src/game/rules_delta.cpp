#include "rules_common.hpp"

// Deltas: the contracts have no such moves.
namespace gym::game::rules {

Result<Step> decide(const Cursor& c, const move::PickDelta&) {
    return wrong_stage(c);
}

Result<Finding> decide(const Cursor& c, const move::ProveDelta&) {
    return wrong_stage(c);
}

}  // namespace gym::game::rules
