#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// What a commitment counts, of all steps together.
struct OwnCounts {
    std::uint32_t steps = 0;
    std::uint64_t tokens = 0, flops = 0;
};
/// The coordinator's commitment to its own unit of a round, in the slot of its kind.
/// @pre `kind` is not train.
protocol::SignedCommitment sign_own_unit(const Context& context, const registry::Round& round,
                                         protocol::UnitKind kind, const protocol::UnitRoots& roots,
                                         const OwnCounts& counts);

/// A unit of the coordinator's own, of the kind and slot of its commitment: assigned, committed and
/// drawn at once. Then the round's beacon is older than the commitment, so only a rate of 1 keeps
/// the coordinator from knowing whether it is looked at. Where rounds overlap it may be younger:
/// the unit is drawn with the round's others.
/// @param records encoded step records.
Status add_own_unit(const Context& context, db::Transaction& tx, const registry::Job& job,
                    const registry::Round& round, const protocol::SignedCommitment& commitment,
                    ByteView records, UnixMs now_ms);

}  // namespace gym::coordinator
