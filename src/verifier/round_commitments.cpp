#include "gym/verifier/round_commitments.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gym/commit/merkle.hpp"

namespace gym::verifier {
namespace {

/// Whether what the coordinator shows of a unit is under the root, and where.
/// @param record hash of the record of its round.
std::optional<std::uint64_t> proven_place(const records::UnitReceipt& view, const Digest& record,
                                          const node::ChainView::Epoch& epoch) {
    if (!view.inclusion || !view.commitment) return std::nullopt;
    const protocol::UnitCommitment& commitment = view.commitment->commitment;
    if (commitment.slot != view.key.slot || commitment.attempt != view.key.attempt ||
        commitment.round_record != record)
        return std::nullopt;
    const Status proven = commit::merkle_verify(
        epoch.commitments_root, {view.inclusion->leaf_index, epoch.count},
        protocol::commitment_leaf(*view.commitment), view.inclusion->siblings);
    if (!proven.ok()) return std::nullopt;
    return view.inclusion->leaf_index;
}

using Leaves = std::map<std::uint64_t, protocol::SignedCommitment>;

/// Units of the record's round, with those commitments that are under the root, which are added to
/// `leaves`.
Result<std::map<std::uint32_t, RoundCommitments::Unit>> units_of(
    rpc::Coordinator& coordinator, const protocol::RoundHead& record,
    const node::ChainView::Epoch& epoch, Leaves& leaves) {
    std::map<std::uint32_t, RoundCommitments::Unit> out;
    const Digest hash = protocol::hash(record);
    for (std::uint32_t slot = 0; slot < record.slots; ++slot) {
        const Digest id = protocol::unit_id({record.job_id, record.round, slot, 0});
        const auto view = coordinator.unit(id);
        if (!view.ok() && view.error().code == ErrorCode::kNotFound) continue;
        if (!view.ok()) return view.error();
        RoundCommitments::Unit unit{id, view->status.state, view->reason, std::nullopt};
        if (const auto place = proven_place(*view, hash, epoch)) {
            unit.commitment = view->commitment;
            leaves.emplace(*place, *view->commitment);
        }
        out.emplace(slot, std::move(unit));
    }
    return out;
}

}  // namespace

Result<protocol::RoundRecord> whole_record(rpc::Coordinator& coordinator,
                                           const protocol::RoundHead& head) {
    GYM_TRY(const Bytes bytes, coordinator.round_record(head.job_id, head.round));
    GYM_TRY(protocol::RoundRecord record, protocol::decode_round_record(bytes));
    const Digest served = protocol::hash(record);
    const Digest expected = protocol::hash(head);
    if (served == expected) return record;
    return fail(ErrorCode::kMismatch, "the coordinator serves a record of round " +
                                          std::to_string(head.round) + " with hash " +
                                          served.hex() + ", its tasks have the head of " +
                                          expected.hex());
}

Result<std::optional<protocol::RoundRecord>> record_before(rpc::Coordinator& coordinator,
                                                           const protocol::RoundTerms& record) {
    using Found = std::optional<protocol::RoundRecord>;
    if (record.round < 2) return Found();
    const auto bytes = coordinator.round_record(record.job_id, record.round - 1);
    if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) return Found();
    if (!bytes.ok()) return bytes.error();
    auto before = protocol::decode_round_record(*bytes);
    if (!before.ok() || protocol::hash(*before) != record.previous_record) return Found();
    return Found(std::move(*before));
}

Result<RoundCommitments> round_commitments(rpc::Coordinator& coordinator,
                                           const protocol::RoundHead& record,
                                           const node::ChainView::Epoch& epoch) {
    RoundCommitments out;
    Leaves leaves;
    GYM_TRY(out.units, units_of(coordinator, record, epoch, leaves));
    if (leaves.size() < epoch.count) {
        GYM_TRY(const auto before, record_before(coordinator, record));
        if (before && before->accept_late) {
            GYM_TRY(out.late, units_of(coordinator, protocol::head_of(*before), epoch, leaves));
        }
    }
    if (leaves.size() != epoch.count) return out;
    for (const auto& [place, commitment] : leaves)
        out.epoch.push_back(commitment);
    return out;
}

}  // namespace gym::verifier
