#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/worker/patience.hpp"
#include "worker_impl.hpp"

namespace gym::worker {

Status WorkerImpl::resume(const std::stop_token& stop) {
    const std::vector<JournalEntry> entries = journal_.entries();
    for (const JournalEntry& entry : entries) {
        if (!entry.receipt) GYM_CHECK(stand_by(entry, 0));
        if (entry.leaf) continue;
        Status sent = deliver(entry, stop);
        if (!sent.ok() && is_transient(sent.error().code)) return sent;
    }
    return {};
}

/// The delta that was committed to: from disk, or computed again when the disk lost it.
Result<Bytes> WorkerImpl::delta_of(const JournalEntry& entry, const std::stop_token& stop) {
    const Digest& root = entry.commitment.commitment.delta_root;
    auto stored = cache_.store().get(root);
    if (stored.ok() || stored.error().code == ErrorCode::kIo) return stored;
    GYM_TRY(engine::UnitResult again,
            execute(entry.record, entry.inputs, entry.unit, From::kBase, stop));
    if (again.delta_root != root)
        return fail(ErrorCode::kMismatch,
                    "re-execution on this machine differs from what it committed to");
    GYM_CHECK(cache_.store().put(root, again.delta));
    return std::move(again.delta);
}

Status WorkerImpl::deliver(JournalEntry entry, const std::stop_token& stop) {
    const std::uint32_t steps = entry.record.steps;
    GYM_TRY(const Bytes delta, delta_of(entry, stop));
    set_activity({entry.unit, steps, steps, "upload"});
    Status sent = coordinator_.put_blob(entry.commitment.commitment.delta_root, delta);
    if (sent.ok()) {
        const auto accepted = coordinator_.submit_commitment({entry.commitment, entry.records});
        if (accepted.ok()) {
            entry.leaf = accepted->leaf;
            entry.state = protocol::UnitState::kCommitted;
        } else {
            sent = accepted.error();
        }
    }
    set_activity({});
    if (sent.ok()) {
        if (*entry.leaf != protocol::commitment_leaf(entry.commitment))
            return fail(ErrorCode::kMismatch, "the coordinator's receipt is of another commitment");
        GYM_CHECK(journal_.save(entry));
        tell("accepted", entry.unit, "");
        return {};
    }
    if (is_transient(sent.error().code)) return sent;
    tell("dropped", entry.unit, sent.error().message);
    GYM_CHECK(forget(entry));
    return sent;
}

Status WorkerImpl::track(const std::stop_token& stop) {
    const std::vector<JournalEntry> entries = journal_.entries();
    for (const JournalEntry& entry : entries) {
        if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
        if (entry.leaf) GYM_CHECK(track_one(entry, stop));
    }
    return {};
}

Status WorkerImpl::track_one(JournalEntry entry, const std::stop_token& stop) {
    const auto view = coordinator_.unit(entry.unit_id());
    if (!view.ok() && view.error().code == ErrorCode::kNotFound) {
        tell("dropped", entry.unit, "the coordinator does not know it any more");
        return forget(entry);
    }
    if (!view.ok()) return view.error();
    const JournalEntry before = entry;
    entry.state = view->state;
    entry.reason = view->reason;
    if (view->receipt && !entry.receipt) GYM_CHECK(keep_receipt(entry, *view->receipt));
    if (entry.state == protocol::UnitState::kDisputed && !entry.defended) {
        if (before.state != entry.state) tell("disputed", entry.unit, entry.reason);
        // Where games are played, the one on chain is the answer, and the referee looks by itself.
        const bool plays = options_.claims != nullptr;
        if (options_.defend_disputes && !plays) GYM_CHECK(defend(entry, stop));
    }
    if (protocol::is_terminal(entry.state)) {
        tell("ended", entry.unit,
             std::string(protocol::to_string(entry.state)) +
                 (entry.reason.empty() ? "" : ": " + entry.reason));
        return forget(entry);
    }
    return entry == before ? Status() : journal_.save(entry);
}

Status WorkerImpl::keep_receipt(JournalEntry& entry, const rpc::InclusionReceipt& receipt) {
    const Status proven =
        commit::merkle_verify(receipt.commitments_root, {receipt.leaf_index, receipt.leaf_count},
                              *entry.leaf, receipt.siblings);
    if (!proven.ok()) {
        spdlog::error("{}: the coordinator's receipt proves nothing: {}",
                      protocol::name_unit(entry.unit), proven.error().message);
        return {};  // asked again at the next look; the work itself is not lost by it
    }
    // Without a chain to ask, the coordinator's word counts.
    std::optional<ChainView::Epoch> epoch;
    if (options_.chain != nullptr) {
        GYM_TRY(epoch, find_on_chain(entry, receipt));
        if (!epoch) return {};
    }
    entry.receipt = receipt;
    if (epoch) GYM_CHECK(stand_by(entry, epoch->block));
    tell("receipt", entry.unit, "epoch " + std::to_string(receipt.epoch));
    return {};
}

Result<std::optional<ChainView::Epoch>> WorkerImpl::find_on_chain(
    const JournalEntry& entry, const rpc::InclusionReceipt& receipt) const {
    GYM_TRY(auto epoch, options_.chain->epoch(receipt.epoch));
    if (!epoch) return epoch;  // on its way
    if (epoch->commitments_root == receipt.commitments_root && epoch->count == receipt.leaf_count)
        return epoch;
    spdlog::error("{}: the coordinator's receipt is under root {}, the chain holds {} for epoch {}",
                  protocol::name_unit(entry.unit), receipt.commitments_root.hex(),
                  epoch->commitments_root.hex(), receipt.epoch);
    return std::optional<ChainView::Epoch>();
}

/// From its signature on anybody may open a game about the unit, whatever the coordinator says of
/// it, and whether or not it hands out receipts. @param epoch_block 0: not known yet.
Status WorkerImpl::stand_by(const JournalEntry& entry, std::uint64_t epoch_block) {
    if (options_.claims == nullptr || !options_.defend_disputes) return {};
    player::Claim claim;
    claim.role = player::Role::kDefend;
    claim.key = entry.unit;
    claim.evidence.commitment = entry.commitment;
    claim.evidence.record = entry.record;
    if (entry.receipt) {
        claim.evidence.index = static_cast<std::uint32_t>(entry.receipt->leaf_index);
        claim.evidence.path = entry.receipt->siblings;
    }
    claim.program_blob = entry.inputs.program_blob;
    claim.dataset_blob = entry.inputs.dataset_blob.value_or(Digest());
    claim.base_state_blob = entry.inputs.base_state_blob;
    claim.epoch_block = epoch_block;
    claim.from_block = epoch_block != 0 ? epoch_block : options_.claims->head();
    return options_.claims->save(claim);
}

/// Stands by the commitment only if this machine still computes it: a worker whose memory flipped a
/// bit should not pay for a game it will lose.
Status WorkerImpl::defend(JournalEntry& entry, const std::stop_token& stop) {
    const auto again = execute(entry.record, entry.inputs, entry.unit, From::kBase, stop);
    set_activity({});
    if (!again.ok()) return again.error().in("re-executing a disputed unit");
    const protocol::UnitCommitment& claimed = entry.commitment.commitment;
    entry.defended = true;
    if (again->records_root != claimed.records_root ||
        again->final_state_root != claimed.final_state_root ||
        again->delta_root != claimed.delta_root) {
        tell("disputed", entry.unit,
             "re-execution on this machine differs from what it committed to: check its memory");
        return journal_.save(entry);
    }
    GYM_CHECK(coordinator_.defend_unit(entry.unit_id()));
    tell("defended", entry.unit, "re-execution gave the committed bits again");
    return journal_.save(entry);
}

/// Drops the entry, and the blobs that no other open unit needs. Program and dataset stay for the
/// next one.
Status WorkerImpl::forget(const JournalEntry& entry) {
    GYM_CHECK(journal_.remove(entry.unit_id()));
    const auto needed = [this](const Digest& blob) {
        if (options_.claims != nullptr && options_.claims->needs(blob)) return true;
        return std::ranges::any_of(journal_.entries(), [&](const JournalEntry& other) {
            return other.inputs.base_state_blob == blob ||
                   other.commitment.commitment.delta_root == blob;
        });
    };
    for (const Digest& blob :
         {entry.inputs.base_state_blob, entry.commitment.commitment.delta_root})
        if (!needed(blob)) GYM_CHECK(cache_.store().remove(blob));
    return {};
}

}  // namespace gym::worker
