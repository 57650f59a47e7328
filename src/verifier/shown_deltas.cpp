#include "gym/verifier/shown_deltas.hpp"

#include <map>
#include <set>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/execution/run.hpp"

namespace gym::verifier {

Status check_shown_deltas(const records::VerifyTask& aggregate,
                          std::span<const engine::StepRecord> records) {
    if (records.size() != 1 ||
        engine::records_root(records) != aggregate.commitment.commitment.records_root)
        return fail(ErrorCode::kMismatch,
                    "the coordinator does not show the step record that it committed to");
    std::vector<Digest> roots;
    for (const protocol::IncludedDelta& delta : aggregate.deltas)
        roots.push_back(delta.delta_root);
    const Digest shown = engine::included_root(roots.size(), execution::groups_of(aggregate.deltas),
                                               commit::merkle_root(roots));
    if (shown == records[0].batch_root) return {};
    return fail(
        ErrorCode::kMismatch,
        "the coordinator shows other deltas than it committed to: " + std::to_string(roots.size()) +
            ", which does not have the root " + records[0].batch_root.hex());
}

bool can_be_committed(std::span<const protocol::IncludedDelta> deltas,
                      std::span<const protocol::SignedCommitment> epoch) {
    std::map<Digest, std::set<std::uint32_t>> slots;
    for (const protocol::SignedCommitment& one : epoch)
        slots[one.commitment.delta_root].insert(one.commitment.slot);
    // The lowest slot that is left for each: if that does not work out, nothing does.
    std::uint64_t lowest = 0;
    for (const protocol::IncludedDelta& delta : deltas) {
        const auto known = slots.find(delta.delta_root);
        if (known == slots.end()) return false;
        const auto slot = known->second.lower_bound(static_cast<std::uint32_t>(lowest));
        if (slot == known->second.end()) return false;
        lowest = std::uint64_t{*slot} + 1;
    }
    return true;
}

}  // namespace gym::verifier
