#pragma once

#include <optional>

#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/name_reference.hpp"

/// What names of datasets and of models have in common in the database.
namespace gym::registry {

/// A kind of names, each with a table (name, owner, registered_at_ms).
enum class NameKind : std::uint8_t { kDataset, kModel };

/// Ends a refusal over a quota: "; the operator ...", naming the configuration's section.
[[nodiscard]] std::string whom_to_ask(NameKind kind);

struct NewName {
    Address owner;
    UnixMs now_ms = 0;
    std::uint32_t names_max = 0;  ///< that an owner may have of a kind
};

/// Makes the name its owner's if nobody has it. Needs a lock of all names of the kind.
/// @errors kPermissionDenied if another owner has it; kOutOfRange if this one has enough.
Status take_name(db::Transaction& tx, NameKind kind, const std::string& name, const NewName& taken);

/// The number of a name's next version. @param last the newest there is.
/// @errors kConflict if `reference` asks for another one: versions follow each other.
[[nodiscard]] Result<std::uint32_t> next_version(const NameReference& reference,
                                                 std::optional<std::uint32_t> last);

}  // namespace gym::registry
