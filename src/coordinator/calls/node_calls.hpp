#pragma once

#include "context.hpp"
#include "gym/records/node.hpp"

namespace gym::coordinator {

Result<registry::Node> register_node(const Context& context, const registry::NewNode& node);
Result<std::uint32_t> challenge_nodes(const Context& context);
Status leave(const Context& context, const Address& node);
Result<records::NodeStatus> node_status(const Context& context, const Address& node);

}  // namespace gym::coordinator
