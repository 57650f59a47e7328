#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/withdrawn.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::verifier {

/// What records and chain say about the deltas that an aggregate subtracts.
struct WithdrawnAudit {
    /// Of each, in their order: what a game would show of it; nothing: it has nothing to show.
    std::vector<std::optional<game::WithdrawnSource>> sources;
    /// One sentence for each that may not be subtracted: also for those that were withdrawn before,
    /// which no game decides.
    std::vector<std::string> contradictions;

    /// Whether a game about the aggregate would be won for what is subtracted.
    [[nodiscard]] bool has_groundless() const {
        return std::ranges::any_of(sources, [](const auto& source) { return !source; });
    }
};

/// Whether each withdrawn delta went in before as it is said, by a record that is on the chain; is
/// of a unit that a game has proven faulty; and was not withdrawn before.
/// @errors as rpc::Coordinator and node::ChainView, where they may pass (node::is_transient).
[[nodiscard]] Result<WithdrawnAudit> audit_withdrawn(node::ChainView& chain,
                                                     rpc::Coordinator& coordinator,
                                                     const records::VerifyTask& aggregate,
                                                     const crypto::Eip712Domain& domain);

}  // namespace gym::verifier
