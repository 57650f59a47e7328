#pragma once

#include <functional>
#include <list>
#include <map>
#include <stop_token>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/unit.hpp"
#include "gym/game/transcript.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/records/task.hpp"
#include "gym/rpc/blob_cache.hpp"

namespace gym::node {

/// A round whose deltas are looked at; borrowed.
struct DeltaRound {
    const protocol::RoundRecord& record;
    const records::UnitInputs& inputs;  ///< of its train units
};

/// A delta that running its unit does not give: whoever committed to it is at fault.
struct WrongDelta {
    game::OuterDelta claimed;
    Digest computed;     ///< root of what the unit gives
    bool named = false;  ///< take_wrong() named it before
};

struct DeltaRunOptions {
    engine::EngineOptions engine;
    std::function<void(const engine::UnitProgress&)> progress;  ///< of a unit that is run again
    std::stop_token stop;
};

/// The deltas that an aggregate was made from. A coordinator that gives one to nobody hides nothing
/// by it: a delta is a pure function of round record and slot, so its unit is run again. Remembers
/// what it found of the last kRoundsMax rounds. Not thread-safe.
class DeltaLoader {
  public:
    /// Failures that may pass, such as a coordinator that does not answer, in a row of one delta;
    /// then its unit is run again.
    static constexpr unsigned kTriesMax = 5;
    /// Rounds may alternate: no round is forgotten while several are asked about.
    static constexpr std::size_t kRoundsMax = 8;

    /// Both must outlive the loader.
    DeltaLoader(rpc::BlobCache& cache, InputLoader& inputs) : cache_(cache), inputs_(inputs) {}

    /// From disk or from the coordinator; nothing is run. @errors those of BlobCache::fetch; from
    /// the kTriesMax-th on a failure that may pass is kNotFound.
    Result<Bytes> fetch(const DeltaRound& round, const game::OuterDelta& delta);
    /// From disk, from the coordinator, or by run_again(): at once if it is not found or not of its
    /// root. Without a dataset among the round's inputs nothing is run again.
    /// @errors those of BlobCache::fetch for the first kTriesMax - 1 failures that may pass; those
    /// of run_again().
    Result<Bytes> load(const DeltaRound& round, const game::OuterDelta& delta,
                       const DeltaRunOptions& options);
    /// The delta computed from the unit in its slot, if it has the right root; it is kept as if it
    /// had been fetched, unless the disk does not take it. @errors kMismatch: it is another one, or
    /// the round has no such slot; those of InputLoader::load_train and run_unit.
    Result<Bytes> run_again(const DeltaRound& round, const game::OuterDelta& delta,
                            const DeltaRunOptions& options);
    /// Those of the last round that were asked for since the last call, until they are settled.
    [[nodiscard]] std::vector<WrongDelta> take_wrong();
    /// This one of the last round is in good hands: take_wrong() names it no more.
    void settle(const game::OuterDelta& wrong);

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
    /// Data of the round, which becomes the most recent one.
    Findings& begin(const DeltaRound& round);
    /// @errors kMismatch: it is known to be wrong.
    Status check_known(const DeltaRound& round, const game::OuterDelta& delta);

    rpc::BlobCache& cache_;
    InputLoader& inputs_;
    std::list<Findings> rounds_;  ///< the last one first
};

}  // namespace gym::node
