#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gym/client/api_client.hpp"
#include "gym/common/result.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/owner/model_check.hpp"

namespace gym::owner {

struct ExportRequest {
    Digest job;
    std::optional<std::uint64_t> round;  ///< absent: the newest; 0: the initial weights
    std::filesystem::path folder;        ///< new, empty, or of an export
    /// Empty: the files that came with the job's dataset, if any did.
    std::vector<interchange::NamedFile> tokenizer;
    /// Of files that came with a dataset of another than the job's owner, all that are there: also
    /// those that say what their author likes (tokenizer::covered_files()).
    bool all_tokenizer_files = false;
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< bytes
    std::function<bool()> interrupted = {};  ///< asked between pieces; empty: never
    /// Compares what was downloaded with a chain (check_on_chain()), and says so in a sentence.
    /// Empty: nothing but gym-api's own roots is compared.
    std::function<Result<std::string>(const client::JobModel&, const ModelRoots&)> check = {};
};

struct Exported {
    client::JobModel model;
    interchange::WrittenFolder written;
    bool on_chain = false;
    std::vector<std::string> checks;    ///< what was compared, in sentences
    std::vector<std::string> warnings;  ///< what else the owner should know, in sentences
};

/// Downloads the weights of a job after a round, checks them and writes them as a folder for
/// from_pretrained(). What arrived before an error stays in the folder, and the next call continues
/// there, unless it is wrong.
/// @param api with the key of the job's owner.
/// @errors those of gym-api; kMismatch, with both sides; kAlreadyExists for a folder with other
/// files; kConflict while another process writes into it; kOutOfRange for more than this machine's
/// memory; kIo (a full disk, before anything is downloaded); kCancelled; those of `check`.
[[nodiscard]] Result<Exported> export_model(const client::ApiClient& api,
                                            const ExportRequest& request);

}  // namespace gym::owner
