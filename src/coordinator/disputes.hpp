#pragma once

#include "context.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::coordinator {

/// Whether a unit is disputed because of a game alone: no report depends on how that ends.
[[nodiscard]] bool is_only_challenged(const records::UnitSummary& unit);

/// Ends a worker's membership because of a proven fault of `cause`: excluded with the reason, and
/// its other units that are not final become void. Those that a report disputes have their own end,
/// because that decides what the report is worth; it is void if they turn out right.
Status exclude_worker(const Context& context, db::Transaction& tx, const registry::Unit& cause,
                      UnixMs now_ms);
/// The same because of a fault in what is no open unit here.
Status exclude_worker(db::Transaction& tx, const Address& worker, const protocol::Reason& reason,
                      UnixMs now_ms);

/// Excludes a verifier whose report was refuted and takes its waiting draws from it.
Status exclude_verifier(const Context& context, db::Transaction& tx, const Address& verifier,
                        const registry::Unit& unit, const protocol::LifecycleParams& params,
                        UnixMs now_ms);

/// Applies what time alone decides to the job's units, with its consequences for workers.
Status settle_deadlines(const Context& context, const registry::Job& job, TickSummary& summary);

/// Ends the job's disputes. Those that games alone are about end with these. Where a report
/// disputes the unit, or the network plays no games: re-executes the units that are defended or
/// past their deadline, once no game can be opened any more, and rules.
Status referee_disputes(const Context& context, const registry::Job& job, TickSummary& summary);

/// Compares a report with what was committed. Absent: equal.
/// @errors kMalformed for records that do not decode.
Result<std::optional<protocol::Reason>> find_difference(const Context& context,
                                                        const registry::Unit& unit,
                                                        const registry::StoredCommitment& stored,
                                                        const protocol::Report& report,
                                                        ByteView records);

}  // namespace gym::coordinator
