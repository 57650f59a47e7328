#include "gym/records/node.hpp"

namespace gym::records {

std::string_view to_string(NodeRole role) noexcept {
    return role == NodeRole::kVerifier ? "verifier" : "worker";
}

Result<NodeRole> parse_node_role(std::string_view name) {
    if (name == "worker") return NodeRole::kWorker;
    if (name == "verifier") return NodeRole::kVerifier;
    return fail(ErrorCode::kMalformed,
                "unknown node role '" + std::string(name) + "': expected worker or verifier");
}

}  // namespace gym::records
