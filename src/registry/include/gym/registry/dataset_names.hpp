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
#include "gym/registry/dataset_quota.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/name_reference.hpp"
#include "gym/registry/visibility.hpp"

/// Names of datasets, such as zoo-dataset-v2. A name belongs to the owner who used it first. It has
/// versions, numbered from 1: each is a dataset of that owner, and none ever changes.
namespace gym::registry {

/// NAME or NAME@VERSION.
using DatasetReference = NameReference;
/// As parse_name_reference(). @errors kInvalidArgument.
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
/// @errors kNotFound: no such dataset, and nothing else is wrong; kPermissionDenied: it or the name
/// belongs to another owner; kConflict: the version is not the next one; kOutOfRange: the owner has
/// `names_max` names already.
Result<NamedDataset> name_dataset(db::Transaction& tx, const DatasetReference& reference,
                                  const Digest& root, const Address& owner, UnixMs now_ms,
                                  std::uint32_t names_max = DatasetQuota().names_max);
/// Of the versions that the viewer may see, as are the newest ones. @errors kNotFound.
Result<DatasetVersion> get_dataset_version(db::Transaction& tx, const DatasetReference& reference,
                                           const Viewer& viewer = Viewer::service());
/// Newest first, at most 1,000. @errors kNotFound for a name without any that the viewer may see.
Result<std::vector<DatasetVersion>> dataset_versions(db::Transaction& tx, const std::string& name,
                                                     const Viewer& viewer = Viewer::service());
/// Sets `names` of registered datasets. Needs the rights of the API.
Status add_names(db::Transaction& tx, std::span<Dataset> datasets);

}  // namespace gym::registry
