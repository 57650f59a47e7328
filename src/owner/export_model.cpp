#include "gym/owner/export_model.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gym/client/download.hpp"
#include "gym/common/file.hpp"
#include "gym/common/file_lock.hpp"
#include "gym/common/mapped_file.hpp"
#include "gym/common/memory.hpp"
#include "gym/program/codec.hpp"
#include "gym/tokenizer/bundle.hpp"

namespace gym::owner {
namespace {

namespace fs = std::filesystem;

/// Where parts lie until the folder is written, so that the next run of the command continues.
class DownloadFolder {
  public:
    static Result<DownloadFolder> open(const fs::path& model) {
        fs::path folder = model / ".download";
        std::error_code error;
        fs::create_directories(folder, error);
        if (error) return fail(ErrorCode::kIo, folder.string() + ": " + error.message());
        auto lock = FileLock::acquire(folder / "lock", "process " + std::to_string(::getpid()));
        if (!lock.ok()) return lock.error().in("another export writes into " + model.string());
        return DownloadFolder(std::move(folder), std::move(*lock));
    }
    [[nodiscard]] fs::path part(const Digest& blob) const { return folder_ / to_hex(blob.view()); }
    /// @return the bytes that are there already.
    [[nodiscard]] std::uint64_t present(const Digest& blob) const {
        std::error_code absent;
        const std::uint64_t size = fs::file_size(part(blob), absent);
        return absent ? 0 : size;
    }
    void remove() const {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

  private:
    DownloadFolder(fs::path folder, FileLock lock)
        : folder_(std::move(folder)), lock_(std::move(lock)) {}
    fs::path folder_;
    FileLock lock_;
};

interchange::ModelFolder describe(const client::JobModel& model) {
    interchange::ModelFolder folder;
    folder.card.name = model.name;
    folder.card.job = model.job;
    folder.card.round = model.round;
    folder.card.rounds = model.rounds;
    for (const client::ModelData& data : model.datasets)
        folder.card.datasets.push_back({data.root, data.name, data.licence});
    for (const client::ModelLoss& loss : model.losses)
        folder.card.losses.push_back({loss.round, loss.validation_loss});
    return folder;
}

struct Downloaded {
    program::Program program;
    engine::State state;
    ModelRoots roots;
};

/// Program and state, checked against the roots that gym-api names.
class ModelDownload {
  public:
    ModelDownload(const client::ApiClient& api, const ExportRequest& request,
                  const client::JobModel& model, const DownloadFolder& parts)
        : api_(api), request_(request), model_(model), parts_(parts) {}

    Result<Downloaded> run() {
        GYM_TRY(program::Program program, get_program());
        GYM_TRY(engine::State state, get_state());
        ModelRoots roots{program::program_root(program), engine::state_root(state)};
        GYM_CHECK(expect("program", roots.program, model_.program.root));
        GYM_CHECK(expect("state", roots.state, model_.state.root));
        return Downloaded{std::move(program), std::move(state), roots};
    }

  private:
    Status fetch(client::ModelPart part, const client::ModelBlob& blob) {
        client::DownloadOptions options;
        options.interrupted = request_.interrupted;
        if (part == client::ModelPart::kState) options.progress = request_.progress;
        return client::download(api_, {model_.job, model_.round, part, blob},
                                parts_.part(blob.blob), options);
    }
    Result<program::Program> get_program() {
        if (model_.program.bytes > program::kProgramBytesMax)
            return fail(ErrorCode::kOutOfRange,
                        "gym-api names a program of " + memory_text(model_.program.bytes));
        GYM_CHECK(fetch(client::ModelPart::kProgram, model_.program));
        GYM_TRY(const Bytes bytes, read_file(parts_.part(model_.program.blob)));
        return program::decode(bytes);
    }
    Result<engine::State> get_state() {
        GYM_CHECK(fetch(client::ModelPart::kState, model_.state));
        GYM_CHECK(check_memory("exporting this model", model_.state.bytes));
        GYM_TRY(const MappedFile file, MappedFile::open(parts_.part(model_.state.blob)));
        return engine::decode_state(file.bytes());
    }
    static Status expect(const std::string& what, const Digest& found, const Digest& named) {
        if (found == named) return {};
        return fail(ErrorCode::kMismatch, "the downloaded " + what + " has the root " +
                                              found.hex() + ", gym-api named " + named.hex());
    }

    const client::ApiClient& api_;
    const ExportRequest& request_;
    const client::JobModel& model_;
    const DownloadFolder& parts_;
};

/// The files of the tokenizer that the job's data names, checked against its root; none if nobody
/// gave them.
Result<std::vector<interchange::NamedFile>> fetch_tokenizer(const client::ApiClient& api,
                                                            const client::JobModel& model) {
    std::vector<interchange::NamedFile> out;
    if (model.datasets.empty() || !model.datasets.front().tokenizer) return out;
    const client::ModelData& data = model.datasets.front();
    GYM_TRY(const auto files, api.tokenizer_files(data.root));
    if (!files) return out;
    GYM_TRY(tokenizer::Bundle bundle, tokenizer::read_bundle(*files));
    if (bundle.root != *data.tokenizer)
        return fail(ErrorCode::kMismatch, "gym-api sent the files of tokenizer " +
                                              bundle.root.hex() + ", dataset " + data.root.hex() +
                                              " names " + data.tokenizer->hex());
    out.reserve(bundle.files.size());
    for (tokenizer::TokenizerFile& file : bundle.files)
        out.push_back({std::move(file.name), std::move(file.bytes)});
    return out;
}

/// The parts, and then the folder beside them.
Status check_space(const fs::path& folder, const client::JobModel& model,
                   const DownloadFolder& parts) {
    constexpr std::uint64_t kRestBytes = 1 << 22;
    std::uint64_t needed = 2 * (model.state.bytes + model.program.bytes) + kRestBytes;
    needed -= std::min(model.state.bytes, parts.present(model.state.blob));
    return check_free_space(folder / "model.safetensors", needed);
}

}  // namespace

Result<Exported> export_model(const client::ApiClient& api, const ExportRequest& request) {
    GYM_CHECK(interchange::check_model_folder(request.folder));
    GYM_TRY(auto answer, api.model(request.job, request.round));
    Exported out;
    out.model = std::move(answer.value);
    GYM_CHECK(interchange::begin_model_folder(request.folder));
    GYM_TRY(const DownloadFolder parts, DownloadFolder::open(request.folder));
    GYM_CHECK(check_space(request.folder, out.model, parts));
    GYM_TRY(const Downloaded downloaded, ModelDownload(api, request, out.model, parts).run());
    interchange::ModelFolder folder = describe(out.model);
    if (request.check) {
        auto checked = request.check(out.model, downloaded.roots);
        if (!checked.ok()) {
            // Right by gym-api's word and wrong by the chain's: the next call must not start there.
            if (checked.error().code == ErrorCode::kMismatch) parts.remove();
            return checked.error();
        }
        out.on_chain = true;
        out.checks.push_back(std::move(*checked));
    } else {
        out.checks.emplace_back(
            "the bytes have the roots that gym-api named; nothing was compared with a chain");
    }
    folder.card.checks = out.checks;
    folder.tokenizer = request.tokenizer;
    if (folder.tokenizer.empty()) {
        GYM_TRY(folder.tokenizer, fetch_tokenizer(api, out.model));
    }
    GYM_TRY(out.written, interchange::write_model_folder(request.folder, downloaded.program,
                                                         downloaded.state, folder));
    parts.remove();
    return out;
}

}  // namespace gym::owner
