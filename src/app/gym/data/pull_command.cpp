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
#include "gym/owner/pull_data.hpp"
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
    GYM_TRY(const auto summary, pull_dataset(options.api, root, options.output, true));
    print_summary(context, summary, options.output);
    return {};
}

}  // namespace

Result<blob::DatasetSummary> pull_dataset(const ApiOptions& api, const Digest& root,
                                          const fs::path& output, bool with_manifest) {
    const InterruptGuard interrupt;
    GYM_TRY(const auto record, api.client(kApiRetryFor).dataset(root));
    if (!record)
        return fail(ErrorCode::kNotFound, "dataset " + root.hex() +
                                              " is not registered, or not for you to see: "
                                              "--api-key-file or GYM_API_KEY names your key");
    const registry::Dataset& known = **record;
    return owner::pull_data({.api = api.base_url(),
                             .key = key_of(api),
                             .root = root,
                             .tokens = known.tokens,
                             .vocabulary = known.vocabulary,
                             .manifest = with_manifest ? known.manifest : std::nullopt,
                             .output = output,
                             .stopped = [&interrupt] { return interrupt.interrupted(); }});
}

void add_pull_command(CLI::App& data, CliContext& context) {
    auto options = std::make_shared<PullOptions>();
    CLI::App* command = data.add_subcommand(
        "pull",
        "Fetch the tokens of a registered dataset, with its manifest, and check them against their "
        "roots");
    options->api.add_to(*command, true);
    command
        ->add_option("dataset", options->dataset,
                     "Root of a registered dataset (first digits suffice), or NAME[@VERSION]")
        ->required();
    command->add_option("-o,--output", options->output, "Token file to write")->required();
    command->callback([&context, options] { context.finish(pull(context, *options)); });
}

}  // namespace gym::app
