#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/name_reference.hpp"
#include "gym/registry/visibility.hpp"

/// Names of models, such as zoo-llama: weights that jobs begin from. A name belongs to the owner
/// who used it first. It has versions, numbered from 1, that never change, except for who may see
/// them.
namespace gym::registry {

/// NAME or NAME@VERSION.
using ModelReference = NameReference;
/// As parse_name_reference(). @errors kInvalidArgument.
[[nodiscard]] Result<ModelReference> parse_model_reference(std::string_view text);

/// A blob and what it is the bytes of.
struct ModelBlobRef {
    Digest root;
    Digest blob;
    std::uint64_t bytes = 0;
};

struct ModelVersion {
    std::string name;
    std::uint32_t version = 0;
    Address owner;                         ///< of the name
    ModelBlobRef state;                    ///< the weights: a base state
    Bytes state_layout;                    ///< its tensors (engine::encode_layout); none in lists
    ModelBlobRef program;                  ///< the train program that they are of
    std::optional<Digest> tokenizer;       ///< root; absent: nobody said
    std::optional<Digest> tokenizer_blob;  ///< of its files (tokenizer::encode_bundle)
    std::string licence;                   ///< an SPDX license expression
    std::optional<Digest> job;             ///< that trained them; absent: uploaded
    std::optional<std::uint64_t> round;    ///< of the job
    Access access;
    UnixMs registered_at_ms = 0;
};
struct NamedModel {
    ModelVersion version;
    bool is_new = false;
};

/// What one owner may register: names and versions are never removed, and uploads stay with the
/// network.
struct ModelQuota {
    std::uint32_t names_max = 100;
    std::uint32_t versions_max = 1'000;                  ///< of all names together
    std::uint64_t bytes_max = std::uint64_t{256} << 30;  ///< of the weights that it uploaded
};

/// Makes weights the next version of a name, or returns the newest version if it has the same
/// weights, program, tokenizer and licence already. A reference with a version is that of the new
/// one. @param model whose name and version are ignored.
/// @errors kPermissionDenied: the name belongs to another owner; kConflict: the version is not the
/// next one, or the newest one is the same for other viewers; kOutOfRange: more than the quota.
Result<NamedModel> name_model(db::Transaction& tx, const ModelReference& reference,
                              const ModelVersion& model, const ModelQuota& quota = {});

// Versions that the viewer may not see are to it as if they did not exist.

/// @errors kNotFound.
Result<ModelVersion> get_model_version(db::Transaction& tx, const ModelReference& reference,
                                       const Viewer& viewer = Viewer::service());
/// Newest first, at most 1,000. @errors kNotFound for a name without any.
Result<std::vector<ModelVersion>> model_versions(db::Transaction& tx, const std::string& name,
                                                 const Viewer& viewer = Viewer::service());
/// The oldest version that has these weights, of any name.
Result<std::optional<ModelVersion>> find_model_of_state(db::Transaction& tx, const Digest& state,
                                                        const Viewer& viewer);

struct ModelFilter {
    std::optional<Address> owner;
    std::uint32_t limit = 100;  ///< at most 1,000
    std::uint32_t offset = 0;
    Viewer viewer = Viewer::service();
};
/// Of each name the newest version, newest first.
Result<std::vector<ModelVersion>> list_models(db::Transaction& tx, const ModelFilter& filter);

/// Who may see a version from now on; what was fetched before stays with those who fetched it.
/// @errors kNotFound; kPermissionDenied if it belongs to another owner who lets `owner` see it.
Status set_model_access(db::Transaction& tx, const ModelReference& reference, const Address& owner,
                        const Access& access);

}  // namespace gym::registry
