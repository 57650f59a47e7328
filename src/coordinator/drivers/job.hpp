#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Moves one job as far as it goes without waiting: preparation, its owner's requests, its rounds,
/// the next round, its end. Called by one thread of one instance at a time.
Status step_job(const Context& context, const Digest& job_id, TickSummary& summary);

}  // namespace gym::coordinator
