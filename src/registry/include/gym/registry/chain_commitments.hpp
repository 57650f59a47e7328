#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/commitment.hpp"

/// Commitments that somebody published on chain, each of which has to be in an epoch
/// (docs/adr/0049-withheld-data-on-chain.md). Every function: @errors those of the database.
namespace gym::registry {

struct ChainCommitment {
    Digest unit;
    protocol::SignedCommitment commitment;
    std::uint64_t block = 0;  ///< in which it was published
    /// Where it is, unless its unit is there itself.
    std::optional<std::uint64_t> epoch{};
    std::uint32_t leaf_index = 0;
    friend bool operator==(const ChainCommitment&, const ChainCommitment&) = default;
};

/// Everything up to this block of the log was read; absent: nothing was.
Result<std::optional<std::uint64_t>> find_commitments_seen(db::Transaction& tx, const Address& log);
Status set_commitments_seen(db::Transaction& tx, const Address& log, std::uint64_t block);

/// Notes the commitment of a unit that has to be in an epoch: the first of a unit counts.
/// @return false if one was known.
Result<bool> note_chain_commitment(db::Transaction& tx, const ChainCommitment& published);
/// Of a unit; absent: none of it was published.
Result<std::optional<ChainCommitment>> find_chain_commitment(db::Transaction& tx,
                                                             const Digest& unit);
/// Leaves of those of a round's units that have ended and are in no epoch, in the order of slots:
/// units that can still be committed to come into one by that.
/// @param late_before and of those of the round before, which took late ones.
Result<std::vector<Digest>> chain_commitments_without_epoch(db::Transaction& tx,
                                                            const Digest& job_id,
                                                            std::uint64_t round, bool late_before);
/// Puts them behind the units of an epoch. @param leaves of chain_commitments_without_epoch().
/// @param first number of the first one in the epoch's tree.
Status set_chain_epoch(db::Transaction& tx, std::uint64_t epoch, std::uint32_t first,
                       const std::vector<Digest>& leaves);

}  // namespace gym::registry
