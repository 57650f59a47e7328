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
    std::vector<std::string> mirrors;  ///< those that its worker named, then those that copied it
    std::uint32_t attempts = 0;        ///< that failed
};

inline constexpr std::uint32_t kPlacesKept = 16;  ///< of each worker

/// Notes where a worker has put a delta; named again, the attempts begin anew unless it is held. At
/// one mirror alone it is due for a copy.
/// The newest kPlacesKept count. @param mirrors one at least, without line breaks.
Status name_delta(db::Transaction& tx, const Address& worker, const Digest& root,
                  const std::vector<std::string>& mirrors, UnixMs now_ms);
/// Asks a worker for a delta of which no place is known.
Status want_delta(db::Transaction& tx, const Address& worker, const Digest& root, UnixMs now_ms);
Result<bool> is_delta_named(db::Transaction& tx, const Address& worker, const Digest& root);

/// Deltas that an open round needs and that are due, for `lease_ms` no other caller's.
Result<std::vector<DeltaPlace>> lease_deltas(db::Transaction& tx, UnixMs now_ms,
                                             std::int64_t lease_ms, std::uint32_t limit);
/// The bytes of the root are here, whoever named it.
Status set_delta_held(db::Transaction& tx, const Digest& root);
/// An attempt failed. @param wanted its worker is to send it.
Status set_delta_missed(db::Transaction& tx, const Address& worker, const Digest& root,
                        UnixMs next_at_ms, bool wanted);

/// A second copy of a delta that is named at one mirror.
struct DeltaCopy {
    Address worker;
    Digest root;
    std::string source;        ///< the mirror that has it
    std::string target;        ///< the mirror that was told to fetch it; empty: none
    UnixMs until_ms = 0;       ///< when `target` is given up
    std::uint32_t failed = 0;  ///< targets
};

/// Copies that an open round needs and that are due, for `lease_ms` no other caller's.
Result<std::vector<DeltaCopy>> lease_copies(db::Transaction& tx, UnixMs now_ms,
                                            std::int64_t lease_ms, std::uint32_t limit);
/// `copy.target` was told, until `copy.until_ms`, or none can be told; asked again at `next_at_ms`.
Status set_copy_ordered(db::Transaction& tx, const DeltaCopy& copy, UnixMs next_at_ms);
/// `copy.target` has it: the delta is at two mirrors, unless it was named anew meanwhile.
Status set_copied(db::Transaction& tx, const DeltaCopy& copy);
/// Another mirror is told at `next_at_ms`.
Status set_copy_failed(db::Transaction& tx, const DeltaCopy& copy, UnixMs next_at_ms);

/// The deltas that a worker is to send: an open round needs them, and no mirror gave them.
Result<std::vector<Digest>> wanted_deltas(db::Transaction& tx, const Address& worker);
/// The jobs of the worker's units that were committed with this delta.
Result<std::vector<Digest>> jobs_of_delta(db::Transaction& tx, const Address& worker,
                                          const Digest& root);
/// Whether the aggregate of a round may still get a delta that was named at `named_since_ms` or
/// later.
Result<bool> awaits_deltas(db::Transaction& tx, const Digest& job, std::uint64_t round,
                           UnixMs named_since_ms);

}  // namespace gym::registry
