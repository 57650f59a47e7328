#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/program.hpp"

/// Models that have a name in a network: weights go there, and come back.
namespace gym::owner {

struct ModelPush {
    registry::ModelReference reference;
    std::filesystem::path weights;  ///< as interchange::load_weights() reads them
    std::vector<interchange::NamedFile> tokenizer = {};
    std::string licence;                          ///< an SPDX license expression
    std::optional<registry::Access> access = {};  ///< absent: the licence decides
    client::UploadProgress progress = {};         ///< of the state's bytes; may be empty
    std::function<bool()> interrupted = {};       ///< asked between parts; empty: never
};

/// Uploads weights of `program` with the program and makes them the next version of a name. What
/// gym-api has already is not sent again: a call after an error continues.
/// @param api with a key. @errors those of upload_weights(), tokenizer::make_bundle() and
/// ApiClient::name_model(); kInvalidArgument where something private would travel in the clear.
[[nodiscard]] Result<client::Answer<registry::ModelVersion>> push_model(
    const client::ApiClient& api, const program::Program& program, const ModelPush& push);

struct ModelPull {
    registry::ModelReference reference;
    std::filesystem::path folder;  ///< new, empty, or of an export
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< bytes
    std::function<bool()> interrupted = {};  ///< asked between pieces; empty: never
};
struct Pulled {
    registry::ModelVersion model;
    interchange::WrittenFolder written;
};

/// Downloads a version of a model, checks program and weights against their roots, and writes them
/// as a folder for from_pretrained(). What arrived before an error stays for the next call.
/// @param api with a key. @errors as export_model().
[[nodiscard]] Result<Pulled> pull_model(const client::ApiClient& api, const ModelPull& pull);

struct CachedModel {
    registry::ModelVersion model;
    std::filesystem::path folder;
};
/// The folder below `home` with a version of a model: pulled, or there from an earlier call and
/// checked against the version's roots. @param pull without its folder. @errors as pull_model().
[[nodiscard]] Result<CachedModel> cached_model(const client::ApiClient& api,
                                               const std::filesystem::path& home, ModelPull pull);

}  // namespace gym::owner
