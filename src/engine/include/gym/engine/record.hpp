#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/delta_groups.hpp"

namespace gym::engine {

/// Record of one optimizer step, for others to check (docs/PROTOCOL.md, step record).
/// Floats are their bits: records are compared for equality, never with a tolerance.
struct StepRecord {
    std::uint64_t step = 0;  ///< 0-based within the unit
    Digest batch_root;       ///< tensor root of the token windows; an aggregate's: included_root()
    std::uint32_t loss_bits = 0;
    std::uint32_t grad_norm_bits = 0;
    bool skipped = false;  ///< the program's guard kept the state as it was
    std::optional<Digest>
        gradient_root;                 ///< at checkpoint steps: root over the gradients, slot order
    std::optional<Digest> state_root;  ///< at checkpoint steps: root of the training state after it

    friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

/// A record's bytes: step u64 | batch root | loss bits u32 | grad-norm bits u32 | flags u8 |
/// [gradient root |] 0, or 1 and the state root.
[[nodiscard]] Bytes encode_step_record(const StepRecord& record);
/// Strict. @errors kMalformed.
[[nodiscard]] Result<StepRecord> decode_step_record(ByteView bytes);

/// H(prev | step | batch root | loss bits | grad-norm bits | flags [| gradient root | state root]).
[[nodiscard]] Digest record_hash(const Digest& prev, const StepRecord& record);

/// The chain of record hashes: entry i = record_hash(entry i-1, records[i]), beginning at all zero.
[[nodiscard]] std::vector<Digest> record_chain(std::span<const StepRecord> records);

/// Merkle root over the chain's hashes: one leaf commits to a record and every record before it,
/// and any leaf can be opened alone. This is what a unit commitment calls the records root.
[[nodiscard]] Digest records_root(std::span<const StepRecord> records);

/// Batch root of an aggregate's record: H("gym.included.v2" | count u32 | packed(groups) u32 | tree
/// root).
/// Without the count a list with inner nodes, or with absent leaves, in place of deltas would have
/// it, too.
/// @param deltas_root Merkle root over the roots of the included deltas. @param count of them.
/// @param groups what they count.
[[nodiscard]] Digest included_root(std::size_t count, const program::DeltaGroups& groups,
                                   const Digest& deltas_root);

/// Canonical bytes of a record list. @errors of decode: kMalformed; at most 2^20 records.
[[nodiscard]] Bytes encode_records(std::span<const StepRecord> records);
[[nodiscard]] Result<std::vector<StepRecord>> decode_records(ByteView bytes);

/// The first place where two record lists disagree.
struct RecordDifference {
    std::uint64_t step = 0;
    std::string field;     ///< "batch_root", "loss", "grad_norm", "skipped", "gradient_root",
                           ///< "state_root", "missing"
    std::string expected;  ///< as hexadecimal
    std::string found;
};
[[nodiscard]] std::optional<RecordDifference> find_first_difference(
    std::span<const StepRecord> expected, std::span<const StepRecord> found);

}  // namespace gym::engine
