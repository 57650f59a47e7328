#include "accusation.hpp"

#include <algorithm>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/verifier/round_commitments.hpp"

namespace gym::verifier {
namespace {

using node::ChainView;

player::Claim claim_on(const records::VerifyTask& task, const ChainView::Epoch& epoch) {
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.key = task.unit;
    claim.evidence = {task.commitment, task.record, 0, {}, task.late};
    claim.program_blob = task.inputs.program_blob;
    claim.dataset_blob = task.inputs.dataset_blob.value_or(Digest());
    claim.base_state_blob = task.inputs.base_state_blob;
    claim.epoch_block = epoch.block;
    claim.from_block = epoch.block;
    claim.salt = crypto::random_digest();
    return claim;
}

Status add_path(rpc::Coordinator& coordinator, const ChainView::Epoch& epoch,
                player::Claim& claim) {
    GYM_TRY(const records::UnitReceipt view, coordinator.unit(protocol::unit_id(claim.key)));
    if (!view.inclusion) return fail(ErrorCode::kNotFound, "the coordinator has no receipt for it");
    GYM_CHECK(commit::merkle_verify(
        epoch.commitments_root, {view.inclusion->leaf_index, epoch.count},
        protocol::commitment_leaf(claim.evidence.commitment), view.inclusion->siblings));
    claim.evidence.index = static_cast<std::uint32_t>(view.inclusion->leaf_index);
    claim.evidence.path = view.inclusion->siblings;
    return {};
}

}  // namespace

Result<ChainView::Epoch> epoch_on_chain(ChainView& chain, const protocol::RoundTerms& record,
                                        bool next) {
    GYM_TRY(const auto round, chain.round(record.job_id, record.round + (next ? 1 : 0)));
    if (!round || round->epoch == 0)
        return fail(ErrorCode::kNotFound, "its round has no epoch on the chain");
    GYM_TRY(const auto epoch, chain.epoch(round->epoch));
    if (!epoch) return fail(ErrorCode::kNotFound, "its epoch is not on the chain");
    return *epoch;
}

Result<player::Claim> accuse_unit(rpc::Coordinator& coordinator, ChainView& chain,
                                  const records::VerifyTask& task) {
    GYM_TRY(const ChainView::Epoch epoch, epoch_on_chain(chain, task.record, task.late));
    player::Claim claim = claim_on(task, epoch);
    if (task.commitment.commitment.kind == protocol::UnitKind::kTrain) {
        GYM_CHECK(add_path(coordinator, epoch, claim));
        return claim;
    }
    claim.subject = player::Subject::kAggregate;
    claim.round = task.round;
    claim.momentum_blob = task.inputs.momentum_blob.value_or(Digest());
    claim.deltas = task.deltas;
    // Without them it can still be shown that the sums are wrong.
    auto round = round_commitments(coordinator, task.record, epoch);
    if (round.ok()) claim.epoch = std::move(round->epoch);
    if (!task.earlier) return claim;
    player::HeldRound& held = claim.held.emplace();
    held.record = task.earlier->record;
    held.base_state_blob = task.earlier->inputs.base_state_blob;
    GYM_TRY(const ChainView::Epoch before, epoch_on_chain(chain, held.record));
    auto earlier = round_commitments(coordinator, protocol::head_of(held.record), before);
    if (earlier.ok()) held.epoch = std::move(earlier->epoch);
    return claim;
}

Result<player::Claim> ask_for(ChainView& chain, const records::VerifyTask& task,
                              const game::WithheldData& data) {
    GYM_TRY(const ChainView::Epoch epoch, epoch_on_chain(chain, task.record));
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.subject = player::Subject::kWithheld;
    claim.key = task.unit;
    claim.evidence.commitment = task.commitment;
    claim.evidence.record = task.record;
    claim.other = game::encode(data);
    claim.epoch_block = epoch.block;
    claim.from_block = epoch.block;
    claim.salt = crypto::random_digest();
    return claim;
}

player::Claim defend_report(const records::VerifyTask& task, const protocol::SignedCommitment& said,
                            std::uint64_t epoch_block) {
    player::Claim claim = claim_on(task, {});
    claim.role = player::Role::kDefend;
    claim.subject = player::Subject::kReport;
    claim.evidence.commitment = said;
    claim.salt = {};
    claim.epoch_block = epoch_block;
    claim.from_block = epoch_block;
    return claim;
}

player::Claim accuse_conflict(const WatchedRound& round, ByteView next, std::uint64_t head) {
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.subject = player::Subject::kConflict;
    claim.key = round.unit();
    claim.evidence = {
        round.commitment, protocol::unit_record(round.record, protocol::kAggregateSlot), 0, {}};
    const ByteView shown = next.first(std::min(next.size(), protocol::kRoundHeadBytes));
    claim.other.assign(shown.begin(), shown.end());
    claim.from_block = head;
    claim.salt = crypto::random_digest();
    return claim;
}

}  // namespace gym::verifier
