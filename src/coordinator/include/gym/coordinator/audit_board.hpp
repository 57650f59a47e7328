#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/coordinator/compute.hpp"

namespace gym::coordinator {

/// Audits between the tick that begins one and the tick that takes its result: one of each job, at
/// most kAuditsMax. Nothing in it is needed: an audit stays due in the database until its result is
/// written there, and is begun anew by whoever does not know it. Thread-safe.
class AuditBoard {
  public:
    static constexpr std::size_t kAuditsMax = 8;
    /// Milliseconds after which a result that no tick took makes room: another instance moves its
    /// job now.
    static constexpr std::int64_t kUntakenMs = 60'000;

    /// The report that is audited.
    struct Key {
        Digest unit;
        std::uint32_t draw = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Finished {
        Key key;
        Result<Compute::Reexecuted> result;
    };

    /// Whether an audit of the job may begin: it has none here, and there is room.
    [[nodiscard]] bool has_room(const Digest& job, UnixMs now_ms);
    /// @pre has_room(), asked by the same thread, which alone begins audits of the job.
    void begin(const Digest& job, const Key& key);
    /// Without effect unless this audit of the job was begun and has no result.
    void finish(const Digest& job, const Key& key, Result<Compute::Reexecuted> result,
                UnixMs now_ms);
    /// The result of the job's audit, once; absent while it waits or runs.
    [[nodiscard]] std::optional<Finished> take(const Digest& job);
    [[nodiscard]] std::size_t size() const;

  private:
    struct Entry {
        Key key;
        std::optional<Result<Compute::Reexecuted>> result = {};
        UnixMs finished_ms = 0;
    };
    mutable std::mutex mutex_;
    std::map<Digest, Entry> of_job_;
};

}  // namespace gym::coordinator
