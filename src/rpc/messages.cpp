#include "gym/rpc/messages.hpp"

namespace gym::rpc {

std::string_view to_string(NodeRole role) noexcept {
    return role == NodeRole::kVerifier ? "verifier" : "worker";
}

}  // namespace gym::rpc
