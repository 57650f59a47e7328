#pragma once

#include <span>

#include "context.hpp"

namespace gym::coordinator {

/// Verifiers in good standing that were seen lately.
Result<std::vector<registry::Node>> live_verifiers(const Context& context, db::Transaction& tx,
                                                   UnixMs now_ms);

/// Gives every drawn unit of the round without a verifier one, as far as there are verifiers.
Status assign_verifiers(const Context& context, db::Transaction& tx, const registry::Round& round,
                        UnixMs now_ms);
/// The same for the rounds of those among `moved` that wait for a verifier.
Status assign_verifiers(const Context& context, db::Transaction& tx,
                        std::span<const registry::Unit> moved, UnixMs now_ms);

/// At each tick: gives units of the round that wait for a verifier one, and those of verifiers that
/// signed off or are silent another one.
Status tend_draws(const Context& context, const registry::Job& job, const registry::Round& round);

}  // namespace gym::coordinator
