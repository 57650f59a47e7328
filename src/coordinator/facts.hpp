#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "bounded_cache.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/unit_record.hpp"
#include "gym/records/task.hpp"
#include "gym/registry/rounds.hpp"

namespace gym::coordinator {

/// What every unit of a round begins from.
struct RoundInputs {
    explicit RoundInputs(protocol::RoundRecord of)
        : record(std::move(of)), units(record), record_hash(protocol::hash(units.head())) {}

    protocol::RoundRecord record;
    protocol::UnitRecords units;  ///< of the record's slots
    Digest record_hash;
    records::UnitInputs train;                ///< without a momentum
    Digest momentum_blob;                     ///< zero in round 1
    bool overlap = false;                     ///< of the job's rounds
    std::optional<double> delta_norm_factor;  ///< of the job
    std::int64_t late_ms = 0;                 ///< for late commitments to its units (lifecycle_of)
};

/// The commitments of a sealed round.
struct SealedEpoch {
    Digest commitments_root;
    commit::MerkleTree tree;
};

/// Facts that many nodes ask for and that never change once they are in the database, so that each
/// is read once. Losing them costs a read. Thread-safe.
class Facts {
  public:
    /// @pre the round is recorded. @errors kNotFound.
    Result<std::shared_ptr<const RoundInputs>> round_inputs(db::Transaction& tx,
                                                            const Digest& job_id,
                                                            std::uint64_t round);
    /// The same by the hash of the record; nullptr: no round has it. @pre as above.
    Result<std::shared_ptr<const RoundInputs>> round_by_record(db::Transaction& tx,
                                                               const Digest& record_hash);
    /// @pre the epoch's round is sealed. @errors kNotFound.
    Result<std::shared_ptr<const SealedEpoch>> sealed_epoch(db::Transaction& tx,
                                                            std::uint64_t epoch);

  private:
    // A round of the largest record is some 2 MB, its trees and lists included, a tree of as many
    // leaves half a MB.
    BoundedCache<std::pair<Digest, std::uint64_t>, RoundInputs> rounds_{64};
    BoundedCache<Digest, RoundInputs> by_record_{64};  ///< shares what rounds_ has
    BoundedCache<std::uint64_t, SealedEpoch> epochs_{64};
};

}  // namespace gym::coordinator
