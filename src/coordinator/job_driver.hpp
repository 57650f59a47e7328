#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Moves one job as far as it goes without waiting: preparation, its owner's requests, its rounds,
/// the next round, its end. Called by one thread of one instance at a time.
Status step_job(const Context& context, const Digest& job_id, TickSummary& summary);

/// Prepares a submitted job's programs and initial state. A job that cannot run fails with the
/// reason; the error is only what may work later.
Status prepare_job(const Context& context, const registry::Job& job, TickSummary& summary);

/// Makes the record of the job's next round when there is work to give, enough workers and enough
/// budget.
Status plan_round(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
