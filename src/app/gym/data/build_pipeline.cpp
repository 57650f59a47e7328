#include "data/build_pipeline.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <string>
#include <thread>

#include "cli/cli_context.hpp"
#include "data/build_print.hpp"
#include "gym/common/file.hpp"
#include "gym/common/memory.hpp"
#include "gym/data/build.hpp"
#include "gym/licence/licence.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kOptOutBytesMax = std::uint64_t{1} << 28;

/// A line on standard error: redrawn on a terminal, one every few seconds elsewhere.
class BuildLine {
  public:
    explicit BuildLine(bool quiet) : quiet_(quiet) {}
    ~BuildLine() {
        if (open_) std::fputc('\n', stderr);
    }
    BuildLine(const BuildLine&) = delete;
    BuildLine& operator=(const BuildLine&) = delete;

    void show(const data::BuildProgress& at) {
        const auto now = Clock::now();
        if (quiet_ || now - last_ < (terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(5)))
            return;
        last_ = now;
        const double seconds = std::chrono::duration<double>(now - start_).count();
        if (first_bytes_ == kUnset) first_bytes_ = at.text_bytes_read;
        const double rate = static_cast<double>(at.text_bytes_read - first_bytes_) / seconds / 1e6;
        std::fprintf(stderr,
                     terminal_ ? "\rread %s of text in %llu of %llu files, kept %llu of %llu "
                                 "documents, %llu tokens, %.1f MB/s\033[K"
                               : "read %s of text in %llu of %llu files, kept %llu of %llu "
                                 "documents, %llu tokens, %.1f MB/s\n",
                     memory_text(at.text_bytes_read).c_str(), number(at.inputs_done),
                     number(at.inputs), number(at.documents_kept), number(at.documents_read),
                     number(at.tokens), rate);
        open_ = terminal_;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::uint64_t kUnset = ~std::uint64_t{0};
    static unsigned long long number(std::uint64_t value) { return value; }
    bool quiet_;
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool open_ = false;
    Clock::time_point start_ = Clock::now(), last_ = start_;
    std::uint64_t first_bytes_ = kUnset;  ///< of an earlier run took no time of this one
};

Result<data::TextUnit> text_unit_of(const std::string& word) {
    if (word == "file") return data::TextUnit::kFile;
    if (word == "blank-lines") return data::TextUnit::kBlankLines;
    if (word == "lines") return data::TextUnit::kLine;
    return fail(ErrorCode::kInvalidArgument,
                "--documents: expected file, blank-lines or lines, not '" + word + "'");
}

/// "1G", "512M", with the suffixes K, M, G, T.
Result<std::uint64_t> bytes_of(const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, value);
    const std::string suffix(after, end);
    constexpr std::string_view kSuffixes = "KMGT";
    const std::size_t power = suffix.size() == 1 ? kSuffixes.find(suffix[0]) : 0;
    const unsigned shift = suffix.empty() ? 0 : static_cast<unsigned>(10 * (power + 1));
    if (error != std::errc{} || suffix.size() > 1 || power == std::string_view::npos ||
        value == 0 || value > (std::uint64_t{1} << 46) >> shift)
        return fail(ErrorCode::kInvalidArgument,
                    "--index-memory: expected a size like 512M or 2G, not '" + text + "'");
    return value << shift;
}

/// Names of a file, one a line.
Result<std::set<std::string>> names_in(const std::string& path) {
    std::set<std::string> out;
    if (path.empty()) return out;
    GYM_TRY(const Bytes file, read_file(path, kOptOutBytesMax));
    std::istringstream lines(std::string(file.begin(), file.end()));
    for (std::string line; std::getline(lines, line);) {
        while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
            line.pop_back();
        if (!line.empty() && line[0] != '#') out.insert(line);
    }
    return out;
}

Result<std::string> licence_of(const char* option, const std::string& text) {
    auto licence = licence::canonical(text);
    if (!licence.ok()) return licence.error().in(option);
    return licence;
}

Result<data::BuildOptions> build_options(const PipelineOptions& options) {
    data::BuildOptions out;
    out.inputs = options.inputs;
    out.output = options.output;
    out.reader.format = options.format;
    GYM_TRY(out.reader.text_unit, text_unit_of(options.documents));
    if (!options.text_key.empty()) out.reader.keys.text = {options.text_key};
    if (!options.licence_key.empty()) out.reader.keys.licence = {options.licence_key};
    out.remote = data::RemoteOptions::from_environment();
    if (!options.s3_endpoint.empty()) out.remote.s3_endpoint = options.s3_endpoint;
    GYM_TRY(out.steps.steps, data::parse_steps(options.steps));
    out.steps.languages = {options.languages.begin(), options.languages.end()};
    out.steps.seed = options.seed;
    if (!options.licence.empty()) {
        GYM_TRY(out.steps.consent.default_licence, licence_of("--licence", options.licence));
    }
    for (const std::string& one : options.licences) {
        GYM_TRY(std::string licence, licence_of("--licences", one));
        out.steps.consent.licences.insert(std::move(licence));
    }
    GYM_TRY(out.steps.consent.opted_out, names_in(options.opt_out_file));
    out.skip_malformed = options.skip_malformed;
    if (options.context > 0) out.window_tokens = std::uint64_t{options.context} + 1;
    out.threads = options.threads > 0
                      ? options.threads
                      : std::clamp(std::thread::hardware_concurrency(), 1U, data::kThreadsMax);
    GYM_TRY(out.index_bytes_max, bytes_of(options.index_memory));
    return out;
}

void add_selection_options(CLI::App& command, PipelineOptions& options) {
    command.add_option("--steps", options.steps,
                       "Steps and presets between commas (`gym data steps` lists them; default: "
                       "default)");
    command
        .add_option("--languages", options.languages,
                    "Codes of the languages that the step language keeps, such as en,de")
        ->delimiter(',');
    command
        .add_option("--licences", options.licences,
                    "Keep only documents under these licences (SPDX ids between commas)")
        ->delimiter(',');
    command.add_option("--licence", options.licence,
                       "Licence of documents that do not name theirs");
    command.add_option(
        "--opt-out", options.opt_out_file,
        "File of ids, URLs and host names, one a line, whose documents are left out");
    command.add_option("--seed", options.seed, "Seed of the step minhash (default 1)");
}

}  // namespace

void add_pipeline_options(CLI::App& command, PipelineOptions& options) {
    command.add_option("inputs", options.inputs,
                       "Files, folders, s3://BUCKET/KEY, s3://BUCKET/PREFIX/ or https:// URLs of "
                       "text, JSON lines or Parquet, also .gz and .zst");
    add_selection_options(command, options);
    command.add_option("--format", options.format,
                       "Read all inputs as text, jsonl or parquet (default: by their names)");
    command.add_option("--documents", options.documents,
                       "Where a document of a text ends: file (default), blank-lines, lines");
    command.add_option("--text-key", options.text_key,
                       "Member of a record that holds the text (default: text, else content)");
    command.add_option("--licence-key", options.licence_key,
                       "Member of a record that holds its licence (default: licence, license)");
    command.add_flag("--skip-malformed", options.skip_malformed,
                     "Count records that cannot be read and leave them out");
    command.add_option("--threads", options.threads,
                       "Threads (default: one a core); the result does not depend on them");
    command.add_option("--index-memory", options.index_memory,
                       "Memory for finding duplicates; 1G, the default, suffices for about five "
                       "million documents");
    command.add_option("--s3-endpoint", options.s3_endpoint,
                       "S3 server (default: $AWS_ENDPOINT_URL_S3, else AWS); keys are "
                       "$AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY");
}

Result<Built> build_dataset(const PipelineOptions& options, const data::EncoderFactory& encoder,
                            bool quiet) {
    GYM_TRY(data::BuildOptions build, build_options(options));
    const InterruptGuard interrupt;
    BuildLine line(quiet);
    build.encoder = encoder;
    build.progress = [&line](const data::BuildProgress& at) { line.show(at); };
    build.stopped = [&interrupt] { return interrupt.interrupted(); };
    build.remote.stopped = build.stopped;
    // A file size limit is then an error of write(2), like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    GYM_TRY(data::BuildReport report, data::build(build));
    // They are of this call.
    build.progress = {};
    build.stopped = build.remote.stopped = {};
    return Built{std::move(build), std::move(report)};
}

Status run_pipeline(const CliContext& context, const PipelineOptions& options,
                    const data::EncoderFactory& encoder) {
    GYM_TRY(const Built built, build_dataset(options, encoder, context.json));
    return print_build(context, built.options, built.report);
}

}  // namespace gym::app
