#include "data/pull_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

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
    GYM_TRY(const auto summary, pull_dataset(options.api, root, options.output, false));
    print_summary(context, summary, options.output);
    return {};
}

}  // namespace

namespace {

/// All that the network has of a dataset. @param stopped asked while bytes arrive.
Result<owner::DataPull> whole_pull(const ApiOptions& api, const Digest& root,
                                   std::function<bool()> stopped) {
    GYM_TRY(const auto record, api.client(kApiRetryFor).dataset(root));
    if (!record)
        return fail(ErrorCode::kNotFound, "dataset " + root.hex() +
                                              " is not registered, or not for you to see: "
                                              "--api-key-file or GYM_API_KEY names your key");
    const registry::Dataset& known = **record;
    return owner::DataPull{.api = api.base_url(),
                           .key = key_of(api),
                           .root = root,
                           .tokens = known.tokens,
                           .vocabulary = known.vocabulary,
                           .manifest = known.manifest,
                           .tokenizer = known.tokenizer,
                           .output = {},
                           .stopped = std::move(stopped)};
}

}  // namespace

Result<blob::DatasetSummary> pull_dataset(const ApiOptions& api, const Digest& root,
                                          const fs::path& output, bool tokens_alone) {
    const InterruptGuard interrupt;
    GYM_TRY(owner::DataPull pull,
            whole_pull(api, root, [&interrupt] { return interrupt.interrupted(); }));
    pull.output = output;
    if (tokens_alone) {
        pull.manifest.reset();
        pull.tokenizer.reset();
    }
    return owner::pull_data(pull);
}

Result<std::uint32_t> separator_of_dataset(const ApiOptions& api, const Digest& root) {
    const InterruptGuard interrupt;
    GYM_TRY(owner::DataPull pull,
            whole_pull(api, root, [&interrupt] { return interrupt.interrupted(); }));
    return owner::registered_separator(std::move(pull));
}

void add_pull_command(CLI::App& data, CliContext& context) {
    auto options = std::make_shared<PullOptions>();
    CLI::App* command = data.add_subcommand("pull",
                                            "Fetch the tokens of a registered dataset, with its "
                                            "manifest and tokenizer, and check them against "
                                            "their roots");
    options->api.add_to(*command, true);
    command
        ->add_option("dataset", options->dataset,
                     "Root of a registered dataset (first digits suffice), or NAME[@VERSION]")
        ->required();
    command->add_option("-o,--output", options->output, "Token file to write")->required();
    command->callback([&context, options] { context.finish(pull(context, *options)); });
}

}  // namespace gym::app
