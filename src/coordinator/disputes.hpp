#pragma once

#include "context.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::coordinator {

/// Ends a worker's membership because of a proven fault of `cause`: excluded with the reason, and
/// its other open units (but not its disputes, which have their own end) become void.
Status exclude_worker(const Context& context, db::Transaction& tx, const registry::Unit& cause,
                      const protocol::LifecycleParams& params, UnixMs now_ms);

/// Excludes a verifier whose report was refuted and takes its waiting draws from it.
Status exclude_verifier(const Context& context, db::Transaction& tx, const Address& verifier,
                        const registry::Unit& unit, const protocol::LifecycleParams& params,
                        UnixMs now_ms);

/// Applies what time alone decides to the job's units, with its consequences for workers.
Status settle_deadlines(const Context& context, const registry::Job& job, TickSummary& summary);

/// Ends the job's disputes as their games on chain ended. Where nobody opened one, or the network
/// plays none: re-executes those that are defended or past their deadline, and rules.
Status referee_disputes(const Context& context, const registry::Job& job, TickSummary& summary);

/// Compares a report with what was committed. Absent: equal.
/// @errors kMalformed for records that do not decode.
Result<std::optional<protocol::Reason>> find_difference(const Context& context,
                                                        const registry::Unit& unit,
                                                        const registry::StoredCommitment& stored,
                                                        const protocol::Report& report,
                                                        ByteView records);

}  // namespace gym::coordinator
