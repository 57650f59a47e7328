#include "data/build_pipeline.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include "cli/cli_context.hpp"
#include "data/build_print.hpp"
#include "gym/common/memory.hpp"
#include "gym/data/build.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

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

void add_selection_options(CLI::App& command, data::BuildWords& words) {
    command.add_option("--steps", words.steps,
                       "Steps and presets between commas (`gym data steps` lists them; default: "
                       "default)");
    command
        .add_option("--languages", words.languages,
                    "Codes of the languages that the step language keeps, such as en,de")
        ->delimiter(',');
    command
        .add_option("--licences", words.licences,
                    "Keep only documents under these licences (SPDX ids between commas)")
        ->delimiter(',');
    command.add_option("--licence", words.licence, "Licence of documents that do not name theirs");
    command.add_option(
        "--opt-out", words.opt_out_file,
        "File of ids, URLs and host names, one a line, whose documents are left out");
    command.add_option("--seed", words.seed, "Seed of the step minhash (default 1)");
}

}  // namespace

void add_pipeline_options(CLI::App& command, data::BuildWords& words) {
    command.add_option("inputs", words.inputs,
                       "Files, folders, s3://BUCKET/KEY, s3://BUCKET/PREFIX/ or https:// URLs of "
                       "text, JSON lines or Parquet, also .gz and .zst");
    add_selection_options(command, words);
    command.add_option("--format", words.format,
                       "Read all inputs as text, jsonl or parquet (default: by their names)");
    command.add_option("--documents", words.documents,
                       "Where a document of a text ends: file (default), blank-lines, lines");
    command.add_option("--text-key", words.text_key,
                       "Member of a record that holds the text (default: text, else content)");
    command.add_option("--licence-key", words.licence_key,
                       "Member of a record that holds its licence (default: licence, license)");
    command.add_option("--pad-to", words.pad_to,
                       "Put every document into rows of its own, of as many tokens as the model's "
                       "context, filled up with --padding-token");
    command.add_option("--padding-token", words.padding_token,
                       "Number of the token that fills rows; the model's padding_token");
    command.add_flag("--skip-malformed", words.skip_malformed,
                     "Count records that cannot be read and leave them out");
    command.add_option("--threads", words.threads,
                       "Threads (default: one a core); the result does not depend on them");
    command.add_option("--index-memory", words.index_memory,
                       "Memory for finding duplicates; 1G, the default, suffices for about five "
                       "million documents");
    command.add_option("--s3-endpoint", words.s3_endpoint,
                       "S3 server (default: $AWS_ENDPOINT_URL_S3, else AWS); keys are "
                       "$AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY");
}

Result<data::BuildReport> build_dataset(data::BuildOptions options, bool quiet) {
    const InterruptGuard interrupt;
    BuildLine line(quiet);
    options.progress = [&line](const data::BuildProgress& at) { line.show(at); };
    options.stopped = [&interrupt] { return interrupt.interrupted(); };
    options.remote.stopped = options.stopped;
    // A file size limit is then an error of write(2), like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    return data::build(options);
}

Status run_pipeline(const CliContext& context, const data::BuildWords& words,
                    const data::EncoderFactory& encoder) {
    GYM_TRY(data::BuildOptions options, data::build_options(words));
    options.encoder = encoder;
    GYM_TRY(const data::BuildReport report, build_dataset(options, context.json));
    return print_build(context, options, report);
}

}  // namespace gym::app
