#include "gym/verifier/round_commitments.hpp"

#include <algorithm>
#include <utility>

#include "gym/commit/merkle.hpp"

namespace gym::verifier {
namespace {

/// Whether what the coordinator shows of a unit is under the root, and where.
std::optional<std::uint64_t> proven_place(const records::UnitReceipt& view,
                                          const node::ChainView::Epoch& epoch) {
    if (!view.inclusion || !view.commitment) return std::nullopt;
    const protocol::UnitCommitment& commitment = view.commitment->commitment;
    if (commitment.slot != view.key.slot || commitment.attempt != view.key.attempt)
        return std::nullopt;
    const Status proven = commit::merkle_verify(
        epoch.commitments_root, {view.inclusion->leaf_index, epoch.count},
        protocol::commitment_leaf(*view.commitment), view.inclusion->siblings);
    if (!proven.ok()) return std::nullopt;
    return view.inclusion->leaf_index;
}

}  // namespace

Result<RoundCommitments> round_commitments(rpc::Coordinator& coordinator,
                                           const protocol::RoundRecord& record,
                                           const node::ChainView::Epoch& epoch) {
    RoundCommitments out;
    std::map<std::uint64_t, protocol::SignedCommitment> leaves;
    for (const protocol::SlotAssignment& slot : record.slots) {
        const Digest id = protocol::unit_id({record.job_id, record.round, slot.slot, 0});
        const auto view = coordinator.unit(id);
        if (!view.ok() && view.error().code == ErrorCode::kNotFound) continue;
        if (!view.ok()) return view.error();
        RoundCommitments::Unit unit{id, view->status.state, view->reason, std::nullopt};
        if (const auto place = proven_place(*view, epoch)) {
            unit.commitment = view->commitment;
            leaves.emplace(*place, *view->commitment);
        }
        out.units.emplace(slot.slot, std::move(unit));
    }
    if (leaves.size() != epoch.count) return out;
    for (const auto& [place, commitment] : leaves)
        out.epoch.push_back(commitment);
    return out;
}

}  // namespace gym::verifier
