#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::verifier {

/// The units of a round as the coordinator shows them; what it says was committed to is proven
/// under the root that is on chain.
struct RoundCommitments {
    struct Unit {
        Digest id;
        protocol::UnitState state = protocol::UnitState::kAssigned;
        std::string reason;  ///< why it is not simply accepted; empty if there is none
        std::optional<protocol::SignedCommitment> commitment;  ///< under the epoch's root
    };
    std::map<std::uint32_t, Unit> units;  ///< by slot
    /// All that is under the epoch's root, in the tree's order; empty unless all of it was shown.
    std::vector<protocol::SignedCommitment> epoch;
};

/// Asks for every slot of the record. A receipt that proves nothing is as good as none.
/// @param epoch of the record's round, from the chain. @errors as rpc::Coordinator.
[[nodiscard]] Result<RoundCommitments> round_commitments(rpc::Coordinator& coordinator,
                                                         const protocol::RoundRecord& record,
                                                         const node::ChainView::Epoch& epoch);

}  // namespace gym::verifier
