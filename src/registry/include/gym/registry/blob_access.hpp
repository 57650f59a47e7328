#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

namespace gym::registry {

/// Whether a node may have a blob: one of a public model, a public dataset without a price, or what
/// a job needs of which the node holds a task, or held one of a unit that ended at `tasks_since_ms`
/// or later. A worker in an open game keeps what its units need. Blobs that neither a job nor a
/// dataset names are nobody's.
Result<bool> may_fetch_blob(db::Transaction& tx, const Address& node, const Digest& blob,
                            UnixMs tasks_since_ms);
/// Whether everybody may have a blob: one of a public model, or a public dataset without a price.
Result<bool> is_public_blob(db::Transaction& tx, const Digest& blob);
/// Counts a refusal of the node, for the metrics; nothing for an unknown one.
Status count_refused_blob(db::Transaction& tx, const Address& node);

inline constexpr std::uint32_t kUploadsKept = 16;  ///< of each worker

/// Notes that a worker has sent the bytes of a delta; nothing for an unknown node. The newest
/// kUploadsKept count.
Status note_upload(db::Transaction& tx, const Address& worker, const Digest& root, UnixMs now_ms);
Result<bool> has_uploaded(db::Transaction& tx, const Address& worker, const Digest& root);

}  // namespace gym::registry
