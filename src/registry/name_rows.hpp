#pragma once

#include <optional>

#include "gym/db/database.hpp"
#include "gym/registry/name_reference.hpp"

/// What names of datasets and of models have in common in the database.
namespace gym::registry {

/// A kind of names, each with a table (name, owner, registered_at_ms).
enum class NameKind : std::uint8_t { kDataset, kModel };

/// Makes the name `owner`'s if nobody has it. @errors kPermissionDenied if another owner has it.
Status take_name(db::Transaction& tx, NameKind kind, const std::string& name, const Address& owner,
                 UnixMs now_ms);

/// The number of a name's next version. @param last the newest there is.
/// @errors kConflict if `reference` asks for another one: versions follow each other.
[[nodiscard]] Result<std::uint32_t> next_version(const NameReference& reference,
                                                 std::optional<std::uint32_t> last);

}  // namespace gym::registry
