#include "model_download.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "gym/common/file.hpp"
#include "gym/common/mapped_file.hpp"
#include "gym/common/memory.hpp"
#include "gym/engine/state.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/program/codec.hpp"
#include "mirror_download.hpp"

namespace gym::owner {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDownloads = ".download";

fs::path part_in(const fs::path& model, const Digest& blob) {
    return model / kDownloads / to_hex(blob.view());
}

}  // namespace

Result<DownloadFolder> DownloadFolder::open(const fs::path& model) {
    fs::path folder = model / kDownloads;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return fail(ErrorCode::kIo, folder.string() + ": " + error.message());
    auto lock = FileLock::acquire(folder / "lock", "process " + std::to_string(::getpid()));
    if (!lock.ok()) return lock.error().in("another export writes into " + model.string());
    return DownloadFolder(std::move(folder), std::move(*lock));
}

fs::path DownloadFolder::part(const Digest& blob) const {
    return folder_ / to_hex(blob.view());
}

void DownloadFolder::remove() const {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

namespace {

class Download {
  public:
    Download(const client::ApiClient& api, const ModelSource& source, const DownloadFolder& parts,
             const DownloadCalls& calls)
        : api_(api), source_(source), parts_(parts), calls_(calls) {}

    Result<Downloaded> run() {
        GYM_TRY(program::Program program, get_program());
        GYM_TRY(engine::State state, get_state());
        ModelRoots roots{program::program_root(program), engine::state_root(state)};
        GYM_CHECK(expect("program", roots.program, source_.program.root));
        GYM_CHECK(expect("state", roots.state, source_.state.root));
        return Downloaded{std::move(program), std::move(state), roots};
    }

  private:
    Status fetch(client::ModelPart part, const client::ModelBlob& blob) {
        client::DownloadOptions options;
        options.interrupted = calls_.interrupted;
        if (part == client::ModelPart::kState) options.progress = calls_.progress;
        GYM_CHECK(ask_mirrors(blob, options));
        return client::download(api_, {source_.job, source_.round, part, blob, source_.named},
                                parts_.part(blob.blob), options);
    }
    /// What mirrors give lies where gym-api's download would: that only checks it again.
    Status ask_mirrors(const client::ModelBlob& blob, const client::DownloadOptions& options) {
        if (source_.mirrors.empty()) return {};
        mirror::FetchOptions fetch;
        fetch.blob_bytes_max = std::max(fetch.blob_bytes_max, blob.bytes);
        const auto mirrors = mirror::Fetcher::create(source_.mirrors, fetch);
        Status got = mirrors.ok()
                         ? download_from_mirrors(**mirrors, blob, parts_.part(blob.blob), options)
                         : Status(mirrors.error());
        if (got.ok()) return {};
        const ErrorCode code = got.error().code;
        if (code == ErrorCode::kCancelled || code == ErrorCode::kIo) return got;
        if (calls_.note) calls_.note("gym-api is asked instead of mirrors: " + got.error().message);
        return {};
    }
    Result<program::Program> get_program() {
        if (source_.program.bytes > program::kProgramBytesMax)
            return fail(ErrorCode::kOutOfRange,
                        "gym-api names a program of " + memory_text(source_.program.bytes));
        GYM_CHECK(fetch(client::ModelPart::kProgram, source_.program));
        GYM_TRY(const Bytes bytes, read_file(parts_.part(source_.program.blob)));
        return program::decode(bytes);
    }
    Result<engine::State> get_state() {
        GYM_CHECK(fetch(client::ModelPart::kState, source_.state));
        GYM_CHECK(check_memory("exporting this model", source_.state.bytes));
        GYM_TRY(const MappedFile file, MappedFile::open(parts_.part(source_.state.blob)));
        return engine::decode_state(file.bytes());
    }
    static Status expect(const std::string& what, const Digest& found, const Digest& named) {
        if (found == named) return {};
        return fail(ErrorCode::kMismatch, "the downloaded " + what + " has the root " +
                                              found.hex() + ", gym-api named " + named.hex());
    }

    const client::ApiClient& api_;
    const ModelSource& source_;
    const DownloadFolder& parts_;
    const DownloadCalls& calls_;
};

}  // namespace

Result<Downloaded> download_model(const client::ApiClient& api, const ModelSource& source,
                                  const DownloadFolder& parts, const DownloadCalls& calls) {
    return Download(api, source, parts, calls).run();
}

Result<tokenizer::Bundle> read_bundle_of(ByteView bytes, const Digest& root,
                                         const std::string& whose) {
    GYM_TRY(tokenizer::Bundle bundle, tokenizer::read_bundle(bytes));
    if (bundle.root != root)
        return fail(ErrorCode::kMismatch, "gym-api sent the files of tokenizer " +
                                              bundle.root.hex() + ", " + whose + " names " +
                                              root.hex());
    return bundle;
}

std::vector<interchange::NamedFile> named_files(std::vector<tokenizer::TokenizerFile> files) {
    std::vector<interchange::NamedFile> out;
    out.reserve(files.size());
    for (tokenizer::TokenizerFile& file : files)
        out.push_back({std::move(file.name), std::move(file.bytes)});
    return out;
}

Status check_space(const fs::path& folder, const ModelSource& source, std::uint64_t other_bytes) {
    constexpr std::uint64_t kTextBytes = 1 << 16;
    // gym-api's word, before a byte is written.
    if (source.state.bytes > engine::kStateBytesMax ||
        source.program.bytes > program::kProgramBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    "gym-api names a state of " + std::to_string(source.state.bytes) +
                        " bytes and a program of " + std::to_string(source.program.bytes) +
                        ": no model is so large");
    // The parts, until the folder is written beside them.
    std::uint64_t needed =
        2 * (source.state.bytes + source.program.bytes) + kTextBytes + other_bytes;
    std::error_code absent;
    const std::uint64_t present = fs::file_size(part_in(folder, source.state.blob), absent);
    if (!absent) needed -= std::min(source.state.bytes, present);
    return check_free_space(folder / "model.safetensors", needed);
}

}  // namespace gym::owner
