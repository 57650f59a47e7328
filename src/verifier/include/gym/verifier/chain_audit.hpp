#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/verifier/round_commitments.hpp"

namespace gym::verifier {

/// The chain's data about the epoch of a verification task.
struct EpochOnChain {
    std::uint64_t number = 0;
    node::ChainView::Epoch root;
    Digest beacon;
};

/// Whether the chain confirms what a task says, without trust in the coordinator: the round
/// record's hash, the epoch's root with the commitment under it (train units: the coordinator's own
/// come later), the beacon `beacon_delay_blocks` after it, and that this beacon draws this unit.
/// @errors kMismatch naming what differs; kUnavailable while it is not all on the chain, or the
/// chain or the coordinator does not answer.
[[nodiscard]] Result<EpochOnChain> check_on_chain(node::ChainView& chain,
                                                  rpc::Coordinator& coordinator,
                                                  const records::VerifyTask& task,
                                                  std::uint32_t beacon_delay_blocks);

/// Recomputes the draw of every train unit of the round's epoch and compares it with what the
/// coordinator does: of those of the record that are not late and, if there are more commitments
/// under the root, of the late ones of the round before. @param epoch of the record's round.
/// @param singles_out the job bounds norms by their median, so that units may be verified that the
/// beacon did not draw (audit_inclusion).
/// @return one sentence for each unit that it passed over, or took without a draw.
[[nodiscard]] Result<std::vector<std::string>> audit_sample(rpc::Coordinator& coordinator,
                                                            const protocol::RoundRecord& record,
                                                            const EpochOnChain& epoch,
                                                            bool singles_out = false);

/// The randomness that draws an epoch's units: of the drand round that the contracts name or, where
/// they name none, of the block so much later. @errors kUnavailable while it is not there,
/// kInvalidArgument without a delay.
[[nodiscard]] Result<Digest> beacon_of(node::ChainView& chain, const node::ChainView::Epoch& epoch,
                                       std::uint32_t delay_blocks);

/// The Euclidean norm of a unit's delta.
using DeltaNorm = std::function<Result<double>(const protocol::IncludedDelta& delta)>;

/// What was committed to in the rounds that an aggregate's deltas are from.
struct AuditedRounds {
    RoundCommitments own;
    RoundCommitments earlier;  ///< of held deltas
    Digest earlier_beacon;     ///< that drew its units; of a job whose rounds overlap
};

/// Whether an aggregate was made from what the rule of inclusion says (protocol::include_deltas):
/// each of its deltas is a commitment's under its round's epoch, and each accepted unit's of its
/// own round is in it, or, where rounds overlap, of the round before, and no other. A unit that no
/// beacon drew and that is verified all the same counts as accepted: its norm has to be the reason.
/// What may have been accepted only later is not missed: those units have a reason, or, where the
/// job holds them back, were drawn.
/// @param norm_of asked about deltas that are missing and, where the job bounds norms by their
/// median, about those that are not. A coordinator that accepted a delta must
/// still show it: one without a norm counts as left out.
/// @return one sentence for each delta. @errors those of `norm_of` that may pass
/// (node::is_transient), after all deltas were asked about.
[[nodiscard]] Result<std::vector<std::string>> audit_inclusion(const records::VerifyTask& aggregate,
                                                               const AuditedRounds& rounds,
                                                               const DeltaNorm& norm_of);

}  // namespace gym::verifier
