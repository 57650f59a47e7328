#include "job/export_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/inputs.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/client/download.hpp"
#include "gym/common/file.hpp"
#include "gym/common/file_lock.hpp"
#include "gym/common/mapped_file.hpp"
#include "gym/common/memory.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/codec.hpp"
#include "job/model_check.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

struct ExportOptions {
    std::string id;
    std::string output;
    std::optional<std::uint64_t> round;
    std::vector<std::string> tokenizer;
    ApiOptions api;
    ChainOptions chain;
};

/// One line on standard error while a download runs.
class DownloadProgress {
  public:
    void show(std::uint64_t done, std::uint64_t total) {
        const auto now = Clock::now();
        if (first_ == 0) first_ = done;
        if (done < total && now - last_ < (terminal_ ? kRedraw : kLine)) return;
        last_ = now;
        const double seconds = std::chrono::duration<double>(now - start_).count();
        const double rate = static_cast<double>(done - first_) / std::max(seconds, 1e-3);
        std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n",
                     fmt::format("downloading  {} of {}  {:.0f} %  {}/s", memory_text(done),
                                 memory_text(total),
                                 100.0 * static_cast<double>(done) / static_cast<double>(total),
                                 memory_text(static_cast<std::uint64_t>(rate)))
                         .c_str());
        open_line_ = terminal_;
    }
    DownloadProgress() = default;
    ~DownloadProgress() {
        if (open_line_) std::fputc('\n', stderr);
    }
    DownloadProgress(const DownloadProgress&) = delete;
    DownloadProgress& operator=(const DownloadProgress&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kRedraw{200}, kLine{5'000};
    const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    const Clock::time_point start_ = Clock::now();
    Clock::time_point last_ = start_;
    std::uint64_t first_ = 0;  // bytes that were there, or came with the first piece
    bool open_line_ = false;
};

/// Where parts lie until the folder is written, so that the next run of the command continues.
class DownloadFolder {
  public:
    static Result<DownloadFolder> open(const fs::path& model) {
        fs::path folder = model / ".download";
        std::error_code error;
        fs::create_directories(folder, error);
        if (error) return fail(ErrorCode::kIo, folder.string() + ": " + error.message());
        auto lock = FileLock::acquire(folder / "lock", "process " + std::to_string(::getpid()));
        if (!lock.ok())
            return lock.error().in("another `gym job export` writes into " + model.string());
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
    ModelDownload(const client::ApiClient& api, const client::JobModel& model,
                  const DownloadFolder& parts)
        : api_(api), model_(model), parts_(parts) {}

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
        const InterruptGuard guard;
        DownloadProgress progress;
        client::DownloadOptions options;
        options.interrupted = [&] { return guard.interrupted(); };
        if (part == client::ModelPart::kState)
            options.progress = [&](std::uint64_t done, std::uint64_t total) {
                progress.show(done, total);
            };
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
    const client::JobModel& model_;
    const DownloadFolder& parts_;
};

/// What was checked of the roots, in sentences.
struct Checks {
    bool on_chain = false;
    std::vector<std::string> sentences;
};

Result<Checks> check(const ExportOptions& options, const client::ApiClient& api,
                     const client::JobModel& model, const ModelRoots& roots) {
    if (!options.chain.is_named())
        return Checks{false,
                      {"the bytes have the roots that gym-api named; nothing was compared with a "
                       "chain (--chain and --deployment do that)"}};
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(const contracts::Deployment deployment, options.chain.contracts());
    GYM_TRY(const auto chain, chain::make_http_client(url));
    GYM_TRY(std::string sentence, check_on_chain(api, *chain, deployment, model, roots));
    return Checks{true, {std::move(sentence)}};
}

void print(const CliContext& context, const ExportOptions& options, const client::JobModel& model,
           const interchange::WrittenFolder& written, const Checks& checks) {
    if (context.json) {
        context.print_json(
            {{"job", model.job.hex()},
             {"round", model.round},
             {"rounds", model.rounds},
             {"program_root", written.program_root.hex()},
             {"state_root", written.state_root.hex()},
             {"checked_on_chain", checks.on_chain},
             {"checks", json::array(checks.sentences.begin(), checks.sentences.end())},
             {"names", written.names},
             {"tensors", written.tensors},
             {"for_transformers", written.for_transformers},
             {"folder", options.output},
             {"files", json::array(written.files.begin(), written.files.end())}});
        return;
    }
    print_row("model", "{}, after round {} of {}", model.name, model.round, model.rounds);
    print_row("program root", "{}", written.program_root.hex());
    print_row("state root", "{}", written.state_root.hex());
    for (const std::string& sentence : checks.sentences)
        print_row(checks.on_chain ? "checked" : "not checked", "{}", sentence);
    print_row("tensors", "{}, with the names of {}", written.tensors, written.names);
    if (!written.for_transformers)
        print_row("", "transformers have no model of this form; `gym` reads the folder");
    print_row("written", "{}", options.output);
}

/// The parts, and then the folder beside them.
Status check_space(const ExportOptions& options, const client::JobModel& model,
                   const DownloadFolder& parts) {
    constexpr std::uint64_t kRestBytes = 1 << 22;
    std::uint64_t needed = 2 * (model.state.bytes + model.program.bytes) + kRestBytes;
    needed -= std::min(model.state.bytes, parts.present(model.state.blob));
    return check_free_space(fs::path(options.output) / "model.safetensors", needed);
}

Status run_export(const CliContext& context, const ExportOptions& options) {
    GYM_CHECK(interchange::check_model_folder(options.output));
    GYM_TRY(auto tokenizer, read_tokenizer_files(options.tokenizer));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    GYM_TRY(const Digest id, find_job(api, options.id));
    GYM_TRY(const auto answer, api.model(id, options.round));
    const client::JobModel& model = *answer;
    GYM_CHECK(interchange::begin_model_folder(options.output));
    GYM_TRY(const DownloadFolder parts, DownloadFolder::open(options.output));
    GYM_CHECK(check_space(options, model, parts));
    GYM_TRY(const Downloaded downloaded, ModelDownload(api, model, parts).run());
    const auto checked = check(options, api, model, downloaded.roots);
    if (!checked.ok()) {
        // Right by gym-api's word and wrong by the chain's: the next run must not start from it.
        if (checked.error().code == ErrorCode::kMismatch) parts.remove();
        return checked.error();
    }
    const Checks& checks = *checked;
    interchange::ModelFolder folder = describe(model);
    folder.card.checks = checks.sentences;
    folder.tokenizer = std::move(tokenizer);
    GYM_TRY(const auto written, interchange::write_model_folder(options.output, downloaded.program,
                                                                downloaded.state, folder));
    parts.remove();
    print(context, options, model, written, checks);
    return {};
}

}  // namespace

void add_export_command(CLI::App& job, CliContext& context) {
    auto options = std::make_shared<ExportOptions>();
    CLI::App* command = job.add_subcommand(
        "export", "Write a job's weights as a folder that Hugging Face's from_pretrained reads");
    command->add_option("id", options->id, "Job id, or its first digits")->required();
    command
        ->add_option("-o,--output", options->output, "Folder to write: new, empty, or of an export")
        ->required();
    command->add_option("--round", options->round,
                        "Round after which the weights are taken (default: the newest); 0: the "
                        "initial weights");
    command->add_option("--tokenizer", options->tokenizer,
                        "Files of the data's tokenizer, to put beside the weights");
    options->api.add_to(*command, true);
    options->chain.add_to(*command);
    command->callback([&context, options] { context.finish(run_export(context, *options)); });
}

}  // namespace gym::app
