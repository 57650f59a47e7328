#pragma once

#include <functional>
#include <list>
#include <map>
#include <span>
#include <stop_token>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/unit.hpp"
#include "gym/game/transcript.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/records/task.hpp"
#include "gym/rpc/blob_cache.hpp"

namespace gym::node {

/// A round whose deltas are loaded; borrowed.
struct DeltaRound {
    const protocol::RoundRecord& record;
    const records::UnitInputs& inputs;  ///< of its train units
};

/// A delta that a run of its unit does not give: the worker who committed to it is at fault.
struct WrongDelta {
    Digest record;  ///< hash of the record of its round
    game::OuterDelta claimed;
    Digest computed;     ///< root of what the unit gives
    bool named = false;  ///< take_wrong() named it before
};

struct DeltaRunOptions {
    engine::EngineOptions engine;
    std::function<void(const engine::UnitProgress&)> progress;  ///< of a unit that is run again
    std::stop_token stop;
};

/// Loads the deltas that an aggregate was made from. A coordinator that withholds one hides
/// nothing: a delta is a pure function of round record and slot, so the loader runs its unit again.
/// Remembers its findings about the last kRoundsMax rounds. Not thread-safe.
class DeltaLoader {
  public:
    /// Transient failures in a row for one delta, such as a coordinator that does not answer, after
    /// which its unit is run again.
    static constexpr unsigned kTriesMax = 5;
    /// Rounds that are remembered, for callers that ask about several in turns.
    static constexpr std::size_t kRoundsMax = 8;

    /// Both must outlive the loader.
    DeltaLoader(rpc::BlobCache& cache, InputLoader& inputs) : cache_(cache), inputs_(inputs) {}

    /// Reads a delta from disk or from the coordinator; runs nothing. @errors those of
    /// BlobCache::fetch; from the kTriesMax-th transient failure on, kNotFound.
    Result<blob::VerifiedBlob> fetch(const DeltaRound& round, const game::OuterDelta& delta);
    /// The delta where the cache has it, left on the disk; fetches nothing.
    /// @errors kNotFound; those of engine::Delta::open(); kMismatch also for one that is known to
    /// be wrong.
    Result<engine::Delta> open(const program::Program& train, const DeltaRound& round,
                               const game::OuterDelta& delta);
    /// As fetch(), else run_again(): at once if the delta is not found or does not have its root.
    /// Runs nothing if the round's inputs name no dataset.
    /// @errors those of BlobCache::fetch for the first kTriesMax - 1 transient failures; those of
    /// run_again().
    Result<blob::VerifiedBlob> load(const DeltaRound& round, const game::OuterDelta& delta,
                                    const DeltaRunOptions& options);
    /// Runs the unit in the delta's slot and keeps its delta as if it had been fetched; a disk that
    /// is full does not lose it. @errors kMismatch: the unit gives another delta, or the round has
    /// no such slot; those of InputLoader::load_train and execution::run_train.
    Result<blob::VerifiedBlob> run_again(const DeltaRound& round, const game::OuterDelta& delta,
                                         const DeltaRunOptions& options);
    /// The wrong deltas that were requested since the last call and are not settled.
    /// @param records hashes of the records of their rounds.
    [[nodiscard]] std::vector<WrongDelta> take_wrong(std::span<const Digest> records);
    /// The caller has dealt with this delta: take_wrong() no longer names it.
    void settle(const WrongDelta& wrong);

  private:
    struct Wrong {
        Digest computed;       ///< root of what the unit gives instead
        bool asked = true;     ///< since take_wrong()
        bool named = false;    ///< by take_wrong()
        bool settled = false;  ///< see settle()
    };
    struct Findings {
        Digest round;  ///< hash of the record that the rest is about
        std::map<game::OuterDelta, Wrong> wrong;
        std::map<Digest, unsigned> tries;  ///< that failed
    };
    /// The findings about a round, which is the last round from now on.
    Findings& begin(const DeltaRound& round);
    /// @errors kMismatch: it is known to be wrong.
    Status check_known(const DeltaRound& round, const game::OuterDelta& delta);

    rpc::BlobCache& cache_;
    InputLoader& inputs_;
    std::list<Findings> rounds_;  ///< the last one first
};

}  // namespace gym::node
