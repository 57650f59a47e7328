#pragma once

#include "context.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/reason.hpp"

/// Commitments of workers, however they came here: by a call, or published on chain.
namespace gym::coordinator {

/// The unit that a commitment names.
struct CommitmentTarget {
    registry::Job job;
    Digest unit;
};

/// Checks a commitment against its round, not yet against the state of its unit. @errors kNotFound:
/// no round has its record, or the worker is not registered; those of check_against_round().
Result<CommitmentTarget> find_target(const Context& context, const Address& worker,
                                     const protocol::UnitCommitment& commitment);

/// Takes the second signed commitment for one unit: evidence, and the end of the worker.
/// @pre lock_feed().
Result<protocol::Reason> take_equivocation(const Context& context, db::Transaction& tx,
                                           const CommitmentTarget& target,
                                           const registry::Unit& unit,
                                           const registry::StoredCommitment& first,
                                           const protocol::SignedCommitment& second);

/// Reads the commitments that somebody published on chain since the last look. A unit that waits
/// for one is committed with it, without step records; its worker is asked for the delta. One of a
/// unit that had ended is put into the next epoch nonetheless, since the coordinator stands for
/// that (docs/adr/0049-withheld-data-on-chain.md). Once a tick, before the jobs: a round is not
/// sealed before all of the log was read (Context::log_read).
Status take_chain_commitments(const Context& context, TickSummary& summary);

}  // namespace gym::coordinator
