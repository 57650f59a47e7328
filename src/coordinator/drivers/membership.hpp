#pragma once

#include "context.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::coordinator {

/// A node of this role in good standing. @errors kNotFound, kPermissionDenied.
Result<registry::Node> require_node(db::Transaction& tx, const Address& address,
                                    records::NodeRole role);

/// The error of a call by an excluded node.
[[nodiscard]] Error excluded(const Address& node, const std::string& reason);

/// Ends a worker's membership because of a proven fault of `cause`: excluded with the reason, and
/// its other units that are not final become void. Those that a report disputes have their own end,
/// because that decides what the report is worth; it is void if they turn out right.
Status exclude_worker(const Context& context, db::Transaction& tx, const registry::Unit& cause,
                      UnixMs now_ms);
/// The same because of a fault that is not in an open unit here.
Status exclude_worker(db::Transaction& tx, const Address& worker, const protocol::Reason& reason,
                      UnixMs now_ms);

/// Excludes a verifier whose report was refuted and takes its waiting draws from it.
Status exclude_verifier(const Context& context, db::Transaction& tx, const Address& verifier,
                        const registry::Unit& unit, const protocol::LifecycleParams& params,
                        UnixMs now_ms);

}  // namespace gym::coordinator
