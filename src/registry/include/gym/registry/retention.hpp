#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/games.hpp"

/// What the blob store keeps of rounds that are final (docs/adr/0016-retention.md).
namespace gym::registry {

struct Retention {
    /// The base state after every so many rounds stays, and so do the updates between them; 0: that
    /// of no round between the first and the last, and no update.
    std::uint64_t base_every = 8;
    /// The newest rounds of a job that has not ended, which stay as they are.
    std::uint64_t keep_rounds = 2;
};

struct PrunedRound {
    Digest job_id;
    std::uint64_t round = 0;
    bool keeps_state = false;
};

/// Decides what is kept of rounds that are final, `limit` at most: each is closed, and so is the
/// next one, into whose aggregate its held deltas went, or the job has ended and there is none; and
/// no game about either can be opened or is open.
/// @param games of the contract that the network plays on; absent: it plays none.
Result<std::vector<PrunedRound>> prune_rounds(db::Transaction& tx, const Retention& retention,
                                              const std::optional<GameWatch>& games, UnixMs now_ms,
                                              std::uint32_t limit);

/// Those of `roots` that a row promises: of jobs, rounds, units, datasets, models.
Result<std::set<Digest>> named_blobs(db::Transaction& tx, std::span<const Digest> roots);
/// Forgets that workers sent or named these deltas before `before_ms`: they are erased, and to
/// commit to one takes another upload.
Status forget_uploads(db::Transaction& tx, std::span<const Digest> roots, UnixMs before_ms);

/// The rounds of a job whose weights are kept, ascending; 0: those before the first.
Result<std::vector<std::uint64_t>> kept_rounds(db::Transaction& tx, const Digest& job_id);
/// Why a blob is not there, if it was pruned: a sentence that names its round and the rounds whose
/// weights are kept.
Result<std::optional<std::string>> why_pruned(db::Transaction& tx, const Digest& root);
/// "0, 8, 16 to 18": consecutive numbers as spans; the `spans_max` last ones, after "...".
/// @pre ascending.
[[nodiscard]] std::string list_of_rounds(std::span<const std::uint64_t> rounds,
                                         std::size_t spans_max = 16);

}  // namespace gym::registry
