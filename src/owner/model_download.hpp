#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/client/download.hpp"
#include "gym/common/file_lock.hpp"
#include "gym/engine/state.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/owner/model_check.hpp"
#include "gym/program/program.hpp"
#include "gym/tokenizer/bundle.hpp"

/// The parts of a model from gym-api, checked against the roots that it names.
namespace gym::owner {

/// Where parts lie until a model's folder is written, so that the next run of the command
/// continues.
class DownloadFolder {
  public:
    /// @errors kConflict while another process writes into `model`; kIo.
    static Result<DownloadFolder> open(const std::filesystem::path& model);
    [[nodiscard]] std::filesystem::path part(const Digest& blob) const;
    void remove() const;

  private:
    DownloadFolder(std::filesystem::path folder, FileLock lock)
        : folder_(std::move(folder)), lock_(std::move(lock)) {}
    std::filesystem::path folder_;
    FileLock lock_;
};

/// What is downloaded: of a job after a round, or of a registered model.
struct ModelSource {
    Digest job = {};
    std::uint64_t round = 0;
    std::optional<registry::ModelReference> named = {};
    client::ModelBlob program = {};
    client::ModelBlob state = {};
    std::vector<std::string> mirrors = {};  ///< asked first
};

struct DownloadCalls {
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< of the state
    std::function<bool()> interrupted = {};
    std::function<void(const std::string&)> note = {};  ///< a sentence for people
};

struct Downloaded {
    program::Program program;
    engine::State state;
    ModelRoots roots;
};

/// @errors those of client::download(); kMismatch for other roots; kOutOfRange for more than this
/// machine's memory; kMalformed.
[[nodiscard]] Result<Downloaded> download_model(const client::ApiClient& api,
                                                const ModelSource& source,
                                                const DownloadFolder& parts,
                                                const DownloadCalls& calls);

/// The tokenizer in a bundle. @errors kMismatch, naming `whose`, for another root.
[[nodiscard]] Result<tokenizer::Bundle> read_bundle_of(ByteView bundle, const Digest& root,
                                                       const std::string& whose);
/// Tokenizer files for a model's folder.
[[nodiscard]] std::vector<interchange::NamedFile> named_files(
    std::vector<tokenizer::TokenizerFile> files);

/// Room for the parts, less what lies there already, and then for the folder beside them. Makes
/// nothing. @param other_bytes of files that are neither program nor weights: the tokenizer's.
/// @errors kIo; kOutOfRange for parts that no model has.
[[nodiscard]] Status check_space(const std::filesystem::path& folder, const ModelSource& source,
                                 std::uint64_t other_bytes);

/// Of a tokenizer that is not downloaded yet: most have less.
inline constexpr std::uint64_t kTokenizerBytes = std::uint64_t{4} << 20;

}  // namespace gym::owner
