#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/coordinator/compute.hpp"

namespace gym::coordinator {

/// Re-executions between the tick that begins one and the tick that takes its result: one of each
/// job, at most kRunsMax. Nothing in it is needed: what a re-execution decides stays due in the
/// database until its result is written there, and it is begun anew by whoever does not know it.
/// Thread-safe.
class ReexecutionBoard {
  public:
    static constexpr std::size_t kRunsMax = 8;
    /// Milliseconds after which a result that no tick took makes room: another instance moves its
    /// job now.
    static constexpr std::int64_t kUntakenMs = 60'000;

    struct Key {
        Digest unit;
        std::uint32_t draw = 0;  ///< whose report is audited; of rulings 0
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Finished {
        Key key;
        Result<Compute::Reexecuted> result;
    };

    /// Whether a run of the job may begin: it has none here, and there is room.
    [[nodiscard]] bool has_room(const Digest& job, UnixMs now_ms);
    /// @pre has_room(), asked by the same thread, which alone begins runs of the job.
    void begin(const Digest& job, const Key& key);
    /// Without effect unless this run of the job was begun and has no result.
    void finish(const Digest& job, const Key& key, Result<Compute::Reexecuted> result,
                UnixMs now_ms);
    /// The result of the job's run, once; absent while it waits or runs.
    [[nodiscard]] std::optional<Finished> take(const Digest& job);
    [[nodiscard]] std::size_t size() const;

    /// Notes that the run for `key` has been made and changes nothing now, so that it is not begun
    /// again and again while what it decides is not due. Some are forgotten if there are many.
    void note_known(const Key& key);
    [[nodiscard]] bool is_known(const Key& key) const;

  private:
    struct Entry {
        Key key;
        std::optional<Result<Compute::Reexecuted>> result = {};
        UnixMs finished_ms = 0;
    };
    mutable std::mutex mutex_;
    std::map<Digest, Entry> of_job_;
    std::set<Key> known_;
};

}  // namespace gym::coordinator
