#include "data/pull_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/network_options.hpp"
#include "data/build_print.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/common/file.hpp"
#include "gym/data/remote.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

struct PullOptions {
    std::string dataset;
    std::string output;
    ApiOptions api;
};

/// The key where one is given: datasets that are not public need it.
std::string key_of(const ApiOptions& api) {
    if (const auto key = api.key(); key.ok()) return *key;
    return {};
}

Status pull(const CliContext& context, const PullOptions& options) {
    GYM_CHECK(check_writable(options.output));
    GYM_TRY(const Digest root, find_dataset(options.api.client(kApiRetryFor), options.dataset));
    GYM_TRY(const auto summary, pull_dataset(options.api, root, options.output));
    print_summary(context, summary, options.output);
    return {};
}

}  // namespace

Result<blob::DatasetSummary> pull_dataset(const ApiOptions& api, const Digest& root,
                                          const fs::path& output) {
    const InterruptGuard interrupt;
    data::RemoteOptions remote_options;
    remote_options.bearer = key_of(api);
    remote_options.stopped = [&interrupt] { return interrupt.interrupted(); };
    data::Remote remote(std::move(remote_options));
    std::string base = api.base_url();
    while (base.ends_with('/'))
        base.pop_back();
    // The root is in the name, so that what is left of another dataset is not continued.
    const fs::path copy = output.string() + "." + root.hex().substr(2, 8);
    const Status fetched = remote.download({.name = "dataset " + root.hex(),
                                            .path = {},
                                            .url = base + "/v1/datasets/" + root.hex() + "/tokens"},
                                           copy);
    if (!fetched.ok() && fetched.error().code == ErrorCode::kUnauthenticated)
        return fail(ErrorCode::kUnauthenticated,
                    "gym-api gives the tokens of dataset " + root.hex() +
                        " only to a key that may read them: name yours with --api-key-file or "
                        "GYM_API_KEY");
    GYM_CHECK(fetched);
    auto summary = blob::scan_dataset(copy);
    std::error_code error;
    if (!summary.ok() || summary->root != root) {
        fs::remove(copy, error);
        return fail(ErrorCode::kMismatch,
                    "gym-api sent other tokens than those of " + root.hex() +
                        (summary.ok() ? ": their root is " + summary->root.hex()
                                      : ": " + summary.error().message));
    }
    fs::rename(copy, output, error);
    if (error)
        return fail(ErrorCode::kIo, "cannot write " + output.string() + ": " + error.message());
    return summary;
}

void add_pull_command(CLI::App& data, CliContext& context) {
    auto options = std::make_shared<PullOptions>();
    CLI::App* command = data.add_subcommand(
        "pull", "Fetch the tokens of a registered dataset and check them against its root");
    options->api.add_to(*command, true);
    command
        ->add_option("dataset", options->dataset,
                     "Root of a registered dataset (first digits suffice), or NAME[@VERSION]")
        ->required();
    command->add_option("-o,--output", options->output, "Token file to write")->required();
    command->callback([&context, options] { context.finish(pull(context, *options)); });
}

}  // namespace gym::app
