#pragma once

#include <string>
#include <vector>

#include "gym/node/chain_view.hpp"
#include "gym/player/claim.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/verifier/round_watch.hpp"

// Claims that a verifier leaves to the thread that plays games.

namespace gym::verifier {

/// The epoch that the chain has for a round. @param next for the one after it, whose epoch the late
/// commitments are in. @errors kNotFound: it has none; those of asking it.
[[nodiscard]] Result<node::ChainView::Epoch> epoch_on_chain(node::ChainView& chain,
                                                            const protocol::RoundTerms& record,
                                                            bool next = false);

/// A claim to challenge the unit of a task. @errors kNotFound: its round has no epoch, or the
/// coordinator no receipt for it; those of asking both.
[[nodiscard]] Result<player::Claim> accuse_unit(rpc::Coordinator& coordinator,
                                                node::ChainView& chain,
                                                const records::VerifyTask& task);

/// A claim that asks the coordinator for what the task's round begins with or trains on.
/// @errors kNotFound: the round has no epoch; those of asking the chain.
[[nodiscard]] Result<player::Claim> ask_for(node::ChainView& chain, const records::VerifyTask& task,
                                            const game::WithheldData& data);

/// A claim that two signed commitments to an aggregate, or one and the next round's record, cannot
/// both be right. @param head the newest block that is known.
[[nodiscard]] player::Claim accuse_conflict(const WatchedRound& round, ByteView next,
                                            std::uint64_t head);

/// What the verifier says of a train unit, to defend it.
/// @param said the report in the words of a commitment, signed. @param epoch_block with the root
/// that the unit's commitment is under.
[[nodiscard]] player::Claim defend_report(const records::VerifyTask& task,
                                          const protocol::SignedCommitment& said,
                                          std::uint64_t epoch_block);

}  // namespace gym::verifier
