#pragma once

#include "context.hpp"

namespace gym::coordinator {

Result<registry::Node> register_node(const Context& context, const registry::NewNode& node);
Result<std::uint32_t> challenge_nodes(const Context& context);
Result<records::HeartbeatAnswer> heartbeat(const Context& context, const Address& node,
                                           const std::optional<protocol::UptimeAnswer>& answer);
Status leave(const Context& context, const Address& node);
Result<records::NodeStatus> node_status(const Context& context, const Address& node);
/// A node of this role in good standing. @errors kNotFound, kPermissionDenied.
Result<registry::Node> require_node(db::Transaction& tx, const Address& address,
                                    records::NodeRole role);

}  // namespace gym::coordinator
