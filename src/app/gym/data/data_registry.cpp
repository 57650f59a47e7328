#include "data/data_registry.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/byte_progress.hpp"
#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/inputs.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "cli/visibility.hpp"
#include "data/data_print.hpp"
#include "data/dataset_print.hpp"
#include "data/evaluation_records.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/common/file.hpp"
#include "gym/licence/licence.hpp"
#include "gym/owner/push_data.hpp"
#include "gym/owner/visible_to.hpp"
#include "gym/quality/chunker.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::app {
namespace {

struct RegistryOptions {
    std::string file;
    std::string name;
    std::string licence;
    std::string price = "0";
    std::string owner;
    std::string as;       ///< a name that the dataset gets, or its next version
    std::string dataset;  ///< a root or its first digits, or a token file's path
    bool yes = false;
    VisibilityOptions visibility;
    bool no_manifest = false;
    ApiOptions api;
};

/// A registration can never be changed: likely mistakes need a flag that confirms them.
Status check_terms(const RegistryOptions& options, const client::DatasetTerms& terms,
                   std::uint64_t tokens) {
    if (options.yes) return {};
    if (!terms.price_wei_per_mtoken.is_zero() && tokens < quality::kShingleTokens)
        return fail(ErrorCode::kConflict,
                    "a text of " + std::to_string(tokens) +
                        " tokens is too short to count as new: its quality is 0 %, so it can never "
                        "earn anything; add --yes to register it anyway");
    return {};
}

/// The dataset's worth is known, and fixed, only after its registration.
void warn_of_no_worth(const registry::Dataset& record, const client::DatasetTerms& terms) {
    if (record.quality_ppm != 0 || terms.price_wei_per_mtoken.is_zero()) return;
    print_notice("warning",
                 "its quality is 0 %, because it resembles registered data or was measured as "
                 "useless: it earns nothing at any price");
}

void warn_of_no_tokenizer(const RegistryOptions& options, const owner::PushedData& pushed) {
    if (pushed.has_tokenizer || !pushed.record->tokenizer) return;
    print_notice("warning",
                 "there is no {}: models that are trained on this dataset are exported without its "
                 "tokenizer; `gym data build` writes the file",
                 tokenizer::bundle_path(options.file).string());
}

Result<owner::DataPush> push_of(const RegistryOptions& options) {
    owner::DataPush push;
    push.token_file = options.file;
    push.with_manifest = !options.no_manifest;
    push.terms.licence = options.licence;
    if (!options.licence.empty()) {  // before a long text is read
        const auto known = licence::canonical(options.licence);
        if (!known.ok()) return known.error().in("licence");
    }
    GYM_TRY(push.terms.price_wei_per_mtoken, price_argument("--price", options.price, kDataPrice));
    push.terms.name = options.name.empty() ? std::filesystem::path(options.file).filename().string()
                                           : options.name;
    if (!options.as.empty()) {
        GYM_TRY(push.reference, registry::parse_dataset_reference(options.as));
    }
    GYM_TRY(push.terms.access, options.visibility.access());
    return push;
}

/// A text, or a token file, whose tokens stay on the disk.
Result<owner::LocalTokens> read_offered(const std::string& path) {
    GYM_TRY(const auto of_file, owner::scan_token_file(path));
    if (of_file) return owner::LocalTokens::in_file(*of_file);
    GYM_TRY(blob::Dataset of_text, read_dataset(path));
    return owner::LocalTokens::in_memory(std::move(of_text));
}

Result<owner::PushedData> send(const client::ApiClient& api, const owner::LocalTokens& offered,
                               owner::DataPush push) {
    ByteProgress line("uploading");
    push.progress = [&](std::uint64_t done, std::uint64_t total) { line.show(done, total); };
    return owner::push_data(api, offered, push);
}

Status register_file(const CliContext& context, const RegistryOptions& options) {
    GYM_TRY(const owner::DataPush push, push_of(options));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    GYM_TRY(const owner::LocalTokens offered, read_offered(options.file));
    GYM_CHECK(check_terms(options, push.terms, offered.dataset.tokens));
    GYM_TRY(const owner::PushedData pushed, send(api, offered, push));
    warn_of_no_worth(*pushed.record, push.terms);
    warn_of_no_tokenizer(options, pushed);
    const std::string sees = owner::who_sees_data(pushed.record->access, owner::count_nodes(api));
    if (context.json) {
        boost::json::object out = pushed.record.json;
        out["visible_to"] = sees;
        if (pushed.version) out["named"] = pushed.version->json;
        context.print_json(out);
        return {};
    }
    print_dataset(*pushed.record);
    print_row("who can see it", "{}", sees);
    if (const auto& version = pushed.version)
        print_row("named", "{}@{}", (*version)->name, (*version)->version);
    return {};
}

Status list_evaluations(const CliContext& context, const RegistryOptions& options) {
    GYM_TRY(const auto evaluations, options.api.client().evaluations());
    for (const auto& evaluation : evaluations) {
        if (context.json)
            context.print_json(evaluation.json);
        else
            print_line("{}", evaluation_line(*evaluation));
    }
    if (!context.json && evaluations.empty())
        print_line("no evaluations: the usefulness of all datasets is the network's default");
    return {};
}

Status list_versions(const CliContext& context, const RegistryOptions& options) {
    GYM_TRY(const auto reference, registry::parse_dataset_reference(options.name));
    GYM_TRY(const auto versions, options.api.client().dataset_versions(reference.name));
    for (const auto& version : versions) {
        if (context.json)
            context.print_json(version.json);
        else
            print_line("{}@{}  {}", version->name, version->version, version->root.hex());
    }
    return {};
}

Status list_datasets(const CliContext& context, const RegistryOptions& options) {
    GYM_TRY(const auto datasets, options.api.client().datasets(
                                     {.owner = options.owner, .limit = client::kPageItemsMax}));
    for (const auto& dataset : datasets) {
        if (context.json)
            context.print_json(dataset.json);
        else
            print_dataset_line(*dataset);
    }
    if (!context.json && datasets.empty()) print_line("no datasets");
    return {};
}

/// A file where there is one, so that no file's name can be taken for a root.
Status show_dataset(const CliContext& context, const RegistryOptions& options) {
    std::error_code error;
    const bool is_file = std::filesystem::exists(options.dataset, error);
    const bool is_name = registry::parse_dataset_reference(options.dataset).ok();
    // A word that could be a name is one only where a network is named.
    if (is_file || !(is_id_prefix(options.dataset) || (is_name && options.api.named_url())))
        return show_dataset_file(context, options.dataset);
    const client::ApiClient api = options.api.client();
    GYM_TRY(const Digest root, find_dataset(api, options.dataset));
    GYM_TRY(const auto record, api.dataset(root));
    if (!record)
        return fail(ErrorCode::kNotFound,
                    "dataset " + root.hex() + " is not registered" +
                        (options.api.has_key()
                             ? " (`gym data list` shows what is)"
                             : ", or not for you to see: --api-key-file FILE or GYM_API_KEY names "
                               "your key"));
    if (context.json)
        context.print_json(record->json);
    else
        print_dataset(**record);
    return {};
}

}  // namespace

void add_data_registry_commands(CLI::App& data, CliContext& context) {
    auto options = std::make_shared<RegistryOptions>();
    const auto add = [&](const char* name, const char* about, bool with_key, auto run) {
        CLI::App* command = data.add_subcommand(name, about);
        options->api.add_to(*command, with_key);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    CLI::App* enter =
        add("register", "Register a text or token file for jobs to train on; its owner is paid",
            true, register_file);
    enter->add_option("file", options->file, "Text (a token is a byte) or token file")->required();
    enter->add_option("--licence", options->licence,
                      "SPDX expression like CC-BY-4.0 or LicenseRef-name; or private, proprietary, "
                      "no-training, public-domain; it may permit no more than the licences of the "
                      "documents (default: all of theirs together)");
    enter->add_option("--name", options->name,
                      "Name that is shown in lists (default: the file's name)");
    enter->add_option("--price", options->price,
                      "Price of a million tokens of text in final units, before the quality "
                      "factor; can never change (default 0)");
    enter->add_option("--as", options->as,
                      "Also make it the next version of this name, NAME or NAME@VERSION, which is "
                      "yours if you use it first");
    enter->add_flag("--yes", options->yes,
                    "Register even with a price on a text that is too short to earn anything");
    enter->add_flag("--no-manifest", options->no_manifest,
                    "Keep the manifest beside the token file to yourself (default: those who may "
                    "see the dataset can read it)");
    options->visibility.add_to(
        *enter,
        "Let others see it: public, allow-list or private (default: public; private under "
        "LicenseRef-private). `gym data visibility` changes it later");
    add_data_visibility_command(data, context);
    add("list", "List registered datasets that you may see, newest first", true, list_datasets)
        ->add_option("--owner", options->owner, "List only datasets of this address");
    add("evaluations", "List the evaluations that measure the usefulness of datasets, newest first",
        false, list_evaluations);
    add("versions", "List the versions of a dataset's name, newest first", true, list_versions)
        ->add_option("name", options->name, "Name, such as zoo-dataset-v2")
        ->required();
    add("show",
        "Show a token file's root, size and vocabulary, or a registered dataset's price and "
        "quality by its root or name",
        true, show_dataset)
        ->add_option(
            "dataset", options->dataset,
            "Token file, or the root (first digits suffice) or name of a registered dataset")
        ->required();
}

}  // namespace gym::app
