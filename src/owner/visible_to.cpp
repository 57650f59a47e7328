#include "gym/owner/visible_to.hpp"

#include "gym/common/plural.hpp"

namespace gym::owner {
namespace {

using registry::Visibility;

std::string whom(const registry::Access& access) {
    switch (access.visibility) {
        case Visibility::kPublic:
            return "everybody";
        case Visibility::kAllowList:
            return "you and " + counted(access.allowed.size(), "account");
        case Visibility::kPrivate:
            break;
    }
    return "only you";
}

std::string which_nodes(std::optional<std::uint64_t> nodes) {
    return nodes ? "any of the " + counted(*nodes, "registered node")
                 : std::string("any registered node");
}

}  // namespace

std::string who_sees_data(const registry::Access& access, std::optional<std::uint64_t> nodes) {
    if (access.visibility == Visibility::kPublic)
        return "everybody can list it, train on it and, if it costs nothing, download it";
    return whom(access) + " can list it and train on it; " + which_nodes(nodes) +
           " may hold a task of such a job and then sees the text in the clear, as does the "
           "network's operator; a dispute shows single tokens on chain";
}

std::string who_sees_model(const registry::Access& access, std::optional<std::uint64_t> nodes) {
    if (access.visibility == Visibility::kPublic)
        return "everybody can list the job, download its weights and train on from them; " +
               which_nodes(nodes) +
               " may hold a task of it and then sees its text in the clear, as does the network's "
               "operator";
    return whom(access) + " can list the job and download its weights; " + which_nodes(nodes) +
           " may hold a task of it and then sees weights and text in the clear, as does the "
           "network's operator; a dispute shows single numbers on chain; roots, losses and "
           "payments are open to everybody";
}

std::string who_sees_named_model(const registry::Access& access,
                                 std::optional<std::uint64_t> nodes) {
    if (access.visibility == Visibility::kPublic)
        return "everybody can list it, download its weights and begin jobs from them";
    return whom(access) + " can list it, download its weights and begin jobs from them; " +
           which_nodes(nodes) +
           " may hold a task of such a job and then sees them in the clear, as does the network's "
           "operator";
}

std::optional<std::uint64_t> count_nodes(const client::ApiClient& api) {
    std::uint64_t count = 0;
    for (const auto role : {records::NodeRole::kWorker, records::NodeRole::kVerifier}) {
        const auto nodes = api.nodes(role);
        if (!nodes.ok()) return std::nullopt;
        for (const client::Node& node : *nodes)
            count += node.excluded ? 0 : 1;
    }
    return count;
}

}  // namespace gym::owner
