#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

/// Deltas on mirrors: named by their workers, fetched by the coordinator after the commitment.
namespace gym::registry {

/// A delta that is committed to and not here.
struct DeltaPlace {
    Address worker;
    Digest root;
    std::vector<std::string> mirrors;
    std::uint32_t attempts = 0;  ///< that failed
};

inline constexpr std::uint32_t kPlacesKept = 16;  ///< of each worker

/// Notes where a worker has put a delta; named again, the attempts begin anew unless it is held.
/// The newest kPlacesKept count. @param mirrors one at least, without line breaks.
Status name_delta(db::Transaction& tx, const Address& worker, const Digest& root,
                  const std::vector<std::string>& mirrors, UnixMs now_ms);
Result<bool> is_delta_named(db::Transaction& tx, const Address& worker, const Digest& root);

/// Deltas that an open round needs and that are due, for `lease_ms` no other caller's.
Result<std::vector<DeltaPlace>> lease_deltas(db::Transaction& tx, UnixMs now_ms,
                                             std::int64_t lease_ms, std::uint32_t limit);
/// The bytes of the root are here, whoever named it.
Status set_delta_held(db::Transaction& tx, const Digest& root);
/// An attempt failed. @param wanted its worker is to send it.
Status set_delta_missed(db::Transaction& tx, const Address& worker, const Digest& root,
                        UnixMs next_at_ms, bool wanted);

/// The deltas that a worker is to send: an open round needs them, and no mirror gave them.
Result<std::vector<Digest>> wanted_deltas(db::Transaction& tx, const Address& worker);
/// Whether the aggregate of a round may still get a delta that was named at `named_since_ms` or
/// later.
Result<bool> awaits_deltas(db::Transaction& tx, const Digest& job, std::uint64_t round,
                           UnixMs named_since_ms);

}  // namespace gym::registry
