#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/datasets.hpp"

/// Names of datasets, such as zoo-dataset-v2. A name belongs to the owner who used it first. It has
/// versions, numbered from 1: each is a dataset of that owner, and none ever changes.
namespace gym::registry {

inline constexpr std::size_t kDatasetNameBytesMax = 64;
inline constexpr std::uint32_t kDatasetVersionMax = 1'000'000;

/// NAME or NAME@VERSION as people write it.
struct DatasetReference {
    std::string name;
    std::optional<std::uint32_t> version;  ///< absent: the newest
};
/// @errors kInvalidArgument unless the name has 1 to 64 lower-case letters, digits, '.', '_' and
/// '-', begins with a letter or digit and is not hexadecimal, as roots are; and for a version that
/// is not 1 to kDatasetVersionMax.
[[nodiscard]] Result<DatasetReference> parse_dataset_reference(std::string_view text);

struct DatasetVersion {
    std::string name;
    std::uint32_t version = 0;
    Digest root;
    Address owner;
    UnixMs registered_at_ms = 0;
};
struct NamedDataset {
    DatasetVersion version;
    bool is_new = false;
};

/// Makes `root` the next version of a name, or returns what the newest version is if it is `root`
/// already. A reference with a version is that of the new one.
/// @errors kNotFound: no such dataset, and nothing else is wrong; kPermissionDenied: it or the name belongs to another owner;
/// kConflict: the version is not the next one.
Result<NamedDataset> name_dataset(db::Transaction& tx, const DatasetReference& reference,
                                  const Digest& root, const Address& owner, UnixMs now_ms);
/// @errors kNotFound.
Result<DatasetVersion> get_dataset_version(db::Transaction& tx, const DatasetReference& reference);
/// Sets `names` of registered datasets. Needs the rights of the API.
Status add_names(db::Transaction& tx, std::span<Dataset> datasets);
/// Newest first, at most 1,000. @errors kNotFound for a name without any.
Result<std::vector<DatasetVersion>> dataset_versions(db::Transaction& tx, const std::string& name);

}  // namespace gym::registry
