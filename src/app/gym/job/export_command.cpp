#include "job/export_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/byte_progress.hpp"
#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/inputs.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/owner/export_model.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct ExportOptions {
    std::string id;
    std::string output;
    std::optional<std::uint64_t> round;
    std::vector<std::string> tokenizer;
    bool all_tokenizer_files = false;
    ApiOptions api;
    ChainOptions chain;
};

/// Compares with the chain that is named; empty if none is.
Result<std::function<Result<std::string>(const client::JobModel&, const owner::ModelRoots&)>>
check_of(const ExportOptions& options, const client::ApiClient& api) {
    using Check =
        std::function<Result<std::string>(const client::JobModel&, const owner::ModelRoots&)>;
    if (!options.chain.is_named()) return Check();
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(const contracts::Deployment deployment, options.chain.contracts());
    return Check([&api, url, deployment](const client::JobModel& model,
                                         const owner::ModelRoots& roots) -> Result<std::string> {
        GYM_TRY(const auto chain, chain::make_http_client(url));
        return owner::check_on_chain(api, *chain, deployment, model, roots);
    });
}

void print(const CliContext& context, const ExportOptions& options, const owner::Exported& done) {
    const client::JobModel& model = done.model;
    const interchange::WrittenFolder& written = done.written;
    for (const std::string& warning : done.warnings)
        print_notice("warning", "{}", warning);
    if (context.json) {
        context.print_json({{"job", model.job.hex()},
                            {"round", model.round},
                            {"rounds", model.rounds},
                            {"trained", model.round != 0},
                            {"warnings", json::array(done.warnings.begin(), done.warnings.end())},
                            {"program_root", written.program_root.hex()},
                            {"state_root", written.state_root.hex()},
                            {"checked_on_chain", done.on_chain},
                            {"checks", json::array(done.checks.begin(), done.checks.end())},
                            {"names", written.names},
                            {"tensors", written.tensors},
                            {"for_transformers", written.for_transformers},
                            {"folder", options.output},
                            {"files", json::array(written.files.begin(), written.files.end())}});
        return;
    }
    print_row("model", "{}, {} round {} of {}", model.name, model.round == 0 ? "before" : "after",
              std::max<std::uint64_t>(model.round, 1), std::max(model.rounds, model.round));
    print_row("program root", "{}", written.program_root.hex());
    print_row("state root", "{}", written.state_root.hex());
    for (const std::string& sentence : done.checks)
        print_row(done.on_chain ? "checked" : "not checked", "{}", sentence);
    if (!done.on_chain) print_row("", "--chain and --deployment compare it with a chain");
    print_row("tensors", "{}, with the names of {}", written.tensors, written.names);
    if (!written.for_transformers)
        print_row("", "transformers have no model of this form; `gym` reads the folder");
    print_row("written", "{}", options.output);
}

Status run_export(const CliContext& context, const ExportOptions& options) {
    GYM_CHECK(interchange::check_model_folder(options.output));
    GYM_TRY(auto tokenizer, read_tokenizer_files(options.tokenizer));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    GYM_TRY(const Digest id, find_job(api, options.id));
    const InterruptGuard guard;
    ByteProgress progress("downloading");
    owner::ExportRequest request{id, options.round, options.output, std::move(tokenizer),
                                 options.all_tokenizer_files};
    request.interrupted = [&] { return guard.interrupted(); };
    request.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    GYM_TRY(request.check, check_of(options, api));
    GYM_TRY(const owner::Exported done, owner::export_model(api, request));
    progress.finish();
    print(context, options, done);
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
                        "Files of the data's tokenizer, or its folder, to put beside the weights "
                        "(default: those that were registered with the dataset)");
    command->add_flag("--all-tokenizer-files", options->all_tokenizer_files,
                      "Take also what the owner of somebody else's dataset wrote beside its "
                      "tokenizer, such as a chat template; nobody checks it");
    options->api.add_to(*command, true);
    options->chain.add_to(*command);
    command->callback([&context, options] { context.finish(run_export(context, *options)); });
}

}  // namespace gym::app
