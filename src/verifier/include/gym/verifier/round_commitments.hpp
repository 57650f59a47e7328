#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
    /// Units of the round before, if late ones may be under this root: those that are have their
    /// commitments.
    std::map<std::uint32_t, Unit> late;
    /// All that is under the epoch's root, in the tree's order; empty unless all of it was shown.
    std::vector<protocol::SignedCommitment> epoch;
};

/// The whole record of a round: for those who need other slots than one.
/// @errors as rpc::Coordinator; kMalformed; kMismatch: the coordinator serves another one.
[[nodiscard]] Result<protocol::RoundRecord> whole_record(rpc::Coordinator& coordinator,
                                                         const protocol::RoundHead& head);

/// The record of the round before, which this one names; absent in round 1, and where the
/// coordinator shows none or another. @errors as rpc::Coordinator.
[[nodiscard]] Result<std::optional<protocol::RoundRecord>> record_before(
    rpc::Coordinator& coordinator, const protocol::RoundTerms& record);

/// Asks for every slot of the record and, if more is under the root, of the round before. A receipt
/// that proves nothing is as good as none.
/// @param epoch of the record's round, from the chain. @errors as rpc::Coordinator.
[[nodiscard]] Result<RoundCommitments> round_commitments(rpc::Coordinator& coordinator,
                                                         const protocol::RoundHead& record,
                                                         const node::ChainView::Epoch& epoch);

}  // namespace gym::verifier
