#include "model/model_registry.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/byte_progress.hpp"
#include "cli/find_id.hpp"
#include "cli/inputs.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "cli/visibility.hpp"
#include "gym/licence/licence.hpp"
#include "gym/node/node_config.hpp"
#include "gym/owner/named_model.hpp"
#include "gym/owner/visible_to.hpp"
#include "gym/registry/job_spec.hpp"
#include "model/model_weights.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

using registry::ModelVersion;
using Named = client::Answer<ModelVersion>;

struct Options {
    std::string weights;  ///< a folder, a file or job:ID[@ROUND]
    std::string name;     ///< NAME[@VERSION]
    std::string model;
    std::string licence = "private";
    std::string output;
    std::string owner;
    std::vector<std::string> tokenizer;
    VisibilityOptions visibility;
    ApiOptions api;
};

std::string title_of(const ModelVersion& model) {
    return model.name + "@" + std::to_string(model.version);
}

std::string origin_of(const ModelVersion& model) {
    if (!model.job) return "uploaded";
    return "job " + model.job->hex() + " after round " + std::to_string(model.round.value_or(0));
}

void print_model(const ModelVersion& model) {
    print_row("model", "{}", title_of(model));
    print_row("owner", "{}", model.owner.hex());
    print_row("weights", "{}", model.state.root.hex());
    print_row("program root", "{}", model.program.root.hex());
    print_row("tokenizer", "{}", model.tokenizer ? model.tokenizer->hex() : "not named");
    print_row("from", "{}", origin_of(model));
    print_row("licence", "{}", model.licence);
    print_row("visibility", "{}", registry::to_string(model.access.visibility));
}

void print_models(const CliContext& context, const std::vector<Named>& models) {
    for (const Named& model : models) {
        if (context.json)
            context.print_json(model.json);
        else
            print_line("{:<32}  {}  {}  {}", title_of(*model), model->state.root.hex(),
                       registry::to_string(model->access.visibility), model->licence);
    }
}

/// What a job of the owner trained; nothing is uploaded.
Result<Named> push_job(const client::ApiClient& api, const Options& options,
                       const registry::ModelReference& reference, client::ModelTerms terms) {
    GYM_TRY(const auto weights, find_init_job(api, options.weights));
    terms.job = weights.job;
    terms.round = weights.round;
    return api.name_model(reference, terms);
}

Result<Named> push_files(const client::ApiClient& api, const Options& options,
                         const registry::ModelReference& reference,
                         const client::ModelTerms& terms) {
    GYM_TRY(const auto program, program_of_weights(options.weights, options.model));
    owner::ModelPush push{.reference = reference,
                          .weights = options.weights,
                          .licence = terms.licence,
                          .access = terms.access};
    if (options.tokenizer.empty()) {
        GYM_TRY(push.tokenizer, tokenizer_beside(options.weights));
    } else {
        GYM_TRY(push.tokenizer, read_tokenizer_files(options.tokenizer));
    }
    const InterruptGuard guard;
    ByteProgress progress("uploading the weights");
    push.interrupted = [&] { return guard.interrupted(); };
    push.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
    return owner::push_model(api, program, push);
}

Status push(const CliContext& context, const Options& options) {
    GYM_TRY(const auto reference, registry::parse_model_reference(options.name));
    client::ModelTerms terms;
    auto licence = licence::canonical(options.licence);
    if (!licence.ok()) return licence.error().in("--licence");
    terms.licence = *std::move(licence);
    GYM_TRY(terms.access, options.visibility.access());
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    GYM_TRY(Named model, options.weights.starts_with(registry::kInitJobPrefix)
                             ? push_job(api, options, reference, terms)
                             : push_files(api, options, reference, terms));
    const std::string sees = owner::who_sees_named_model(model->access, owner::count_nodes(api));
    if (context.json) {
        model.json["visible_to"] = sees;
        context.print_json(model.json);
        return {};
    }
    print_model(*model);
    print_row("who can see it", "{}", sees);
    return {};
}

Status pull(const CliContext& context, const Options& options) {
    GYM_TRY(const auto reference, registry::parse_model_reference(options.name));
    GYM_CHECK(interchange::check_model_folder(options.output));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    const InterruptGuard guard;
    ByteProgress progress("downloading");
    GYM_TRY(
        const owner::Pulled pulled,
        owner::pull_model(api, {.reference = reference,
                                .folder = options.output,
                                .progress = [&](std::uint64_t done,
                                                std::uint64_t all) { progress.show(done, all); },
                                .interrupted = [&] { return guard.interrupted(); }}));
    progress.finish();
    const auto& files = pulled.written.files;
    if (context.json) {
        context.print_json({{"name", pulled.model.name},
                            {"version", pulled.model.version},
                            {"program_root", pulled.written.program_root.hex()},
                            {"state_root", pulled.written.state_root.hex()},
                            {"folder", options.output},
                            {"files", boost::json::array(files.begin(), files.end())}});
        return {};
    }
    print_model(pulled.model);
    print_row("written", "{}", options.output);
    return {};
}

Status list_registered(const CliContext& context, const Options& options) {
    GYM_TRY(const auto models,
            options.api.client().models({.owner = options.owner, .limit = client::kPageItemsMax}));
    print_models(context, models);
    if (!context.json && models.empty()) print_line("no models");
    return {};
}

Status list_versions(const CliContext& context, const Options& options) {
    GYM_TRY(const auto reference, registry::parse_model_reference(options.name));
    GYM_TRY(const auto models, options.api.client().model_versions(reference.name));
    print_models(context, models);
    return {};
}

constexpr const char* kReference = "Name of a registered model: NAME, or NAME@VERSION";

using Run = Status (*)(const CliContext&, const Options&);

/// A command with options of its own.
struct Command {
    CLI::App* app;
    std::shared_ptr<Options> options;
};
Command add(CLI::App& model, CliContext& context, const char* name, const char* about, Run run) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = model.add_subcommand(name, about);
    options->api.add_to(*command, true);
    command->callback([&context, options, run] { context.finish(run(context, *options)); });
    return {command, options};
}

void add_push(CLI::App& model, CliContext& context) {
    const auto [command, options] =
        add(model, context, "push", "Register weights under a name, for jobs to begin from", push);
    command
        ->add_option("weights", options->weights,
                     "Folder in Hugging Face form, safetensors file or state; or job:ID[@ROUND], "
                     "what a job of yours trained")
        ->required();
    command
        ->add_option("name", options->name,
                     "Name, or NAME@VERSION with the number that the new version must have; the "
                     "name is yours if you use it first")
        ->required();
    command->add_option("--model", options->model,
                        "Preset or model file of the weights (default: what the folder says)");
    command->add_option("--licence", options->licence,
                        "SPDX expression like Apache-2.0; or private, proprietary, no-training, "
                        "public-domain (default private)");
    command->add_option("--tokenizer", options->tokenizer,
                        "Files of the model's tokenizer (default: those in the folder)");
    options->visibility.add_to(
        *command, "Who may see and use it (default: private under a private licence, else public)");
}

}  // namespace

Result<std::string> fetch_named_weights(const std::string& name) {
    const auto reference = registry::parse_model_reference(name);
    const ApiOptions options;
    if (!reference.ok() || !options.named_url())
        return fail(ErrorCode::kNotFound,
                    "there is no file or folder " + name +
                        (reference.ok() ? "; to look it up as the name of a model, name a network "
                                          "with GYM_API or `gym network use`"
                                        : ""));
    GYM_TRY(const node::NodeConfig config, node::load_node_config(""));
    const auto api = options.client_with_key(kApiRetryFor);
    if (!api.ok())
        return api.error().in("there is no file or folder " + name + ", and to look up a model");
    const InterruptGuard guard;
    ByteProgress progress("downloading");
    auto pulled = owner::cached_model(
        *api, config.data_dir / "models",
        {.reference = *reference,
         .folder = {},
         .progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); },
         .interrupted = [&] { return guard.interrupted(); }});
    progress.finish();
    if (!pulled.ok())
        return pulled.error().in("there is no file or folder " + name + ", and as a model's name");
    print_notice("init", "{}, weights {}", title_of(pulled->model), pulled->model.state.root.hex());
    return pulled->folder.string();
}

void add_model_registry_commands(CLI::App& model, CliContext& context) {
    add_push(model, context);
    const auto [pulls, pull_options] = add(
        model, context, "pull",
        "Download a registered model as a folder that Hugging Face's from_pretrained reads", pull);
    pulls->add_option("name", pull_options->name, kReference)->required();
    pulls
        ->add_option("-o,--output", pull_options->output,
                     "Folder to write: new, empty, or of an export")
        ->required();
    const auto [lists, list_options] =
        add(model, context, "registered", "List the models that have a name in the network",
            list_registered);
    lists->add_option("--owner", list_options->owner, "List only names of this address");
    const auto [versions, version_options] =
        add(model, context, "versions", "List the versions of a name, newest first", list_versions);
    versions->add_option("name", version_options->name, "Name of a registered model")->required();
    add_model_visibility_command(model, context);
}

}  // namespace gym::app
