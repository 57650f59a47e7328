#include "cli/visibility.hpp"

#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>

#include "cli/find_id.hpp"
#include "cli/rows.hpp"
#include "gym/owner/visible_to.hpp"
#include "gym/registry/model_names.hpp"

namespace gym::app {
namespace {

using registry::Visibility;

struct Options {
    std::string subject;
    VisibilityOptions visibility;
    ApiOptions api;
};

/// Of the command, where it may not be left out.
Result<registry::Access> said(const Options& options) {
    GYM_TRY(const auto access, options.visibility.access());
    if (access) return *access;
    return fail(ErrorCode::kInvalidArgument,
                "name a visibility: public, allow-list with --allow ADDRESS, or private");
}

/// Prints the answer to a change: what it is of, and to whom it is open now.
template <class Record>
void report(const CliContext& context, const char* label, const std::string& subject,
            client::Answer<Record> changed, const std::string& sees) {
    if (context.json) {
        changed.json["visible_to"] = sees;
        context.print_json(changed.json);
        return;
    }
    print_row(label, "{}", subject);
    print_row("visibility", "{}", to_string(changed->access.visibility));
    print_row("who can see it", "{}", sees);
}

Status set_data(const CliContext& context, const Options& options) {
    GYM_TRY(const registry::Access access, said(options));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key());
    GYM_TRY(const Digest root, find_dataset(api, options.subject));
    GYM_TRY(const auto dataset, api.set_dataset_access(root, access));
    report(context, "dataset root", root.hex(), dataset,
           owner::who_sees_data(dataset->access, owner::count_nodes(api)));
    return {};
}

Status set_job(const CliContext& context, const Options& options) {
    GYM_TRY(const registry::Access access, said(options));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key());
    GYM_TRY(const Digest id, find_job(api, options.subject));
    GYM_TRY(const auto job, api.set_job_access(id, access));
    report(context, "job", id.hex(), job,
           owner::who_sees_model(job->access, owner::count_nodes(api)));
    return {};
}

Status set_model(const CliContext& context, const Options& options) {
    GYM_TRY(const registry::Access access, said(options));
    GYM_TRY(const auto reference, registry::parse_model_reference(options.subject));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key());
    GYM_TRY(const auto model, api.set_model_access(reference, access));
    report(context, "model", model->name + "@" + std::to_string(model->version), model,
           owner::who_sees_named_model(model->access, owner::count_nodes(api)));
    return {};
}

using Run = Status (*)(const CliContext&, const Options&);

void add_command(CLI::App& parent, CliContext& context, const char* about, const char* subject,
                 Run run) {
    auto options = std::make_shared<Options>();
    CLI::App* command = parent.add_subcommand("visibility", about);
    options->api.add_to(*command, true);
    command->add_option("subject", options->subject, subject)->required();
    command
        ->add_option(
            "visibility", options->visibility.visibility,
            "public, allow-list or private; copies that others have fetched stay with them")
        ->check(CLI::IsMember({"public", "allow-list", "private"}));
    command->add_option("--allow", options->visibility.allowed,
                        "Account on the allow-list; repeat it for several. The list takes the "
                        "place of an earlier one");
    command->callback([&context, options, run] { context.finish(run(context, *options)); });
}

}  // namespace

void VisibilityOptions::add_to(CLI::App& command, const char* about) {
    command.add_option("--visibility", visibility, about)
        ->check(CLI::IsMember({"public", "allow-list", "private"}));
    command.add_option("--allow", allowed,
                       "Account on the allow-list; repeat it for several accounts");
}

Result<std::optional<registry::Access>> VisibilityOptions::access() const {
    if (visibility.empty() && allowed.empty()) return std::optional<registry::Access>();
    GYM_TRY(registry::Access access,
            registry::make_access(visibility.empty() ? to_string(Visibility::kAllowList)
                                                     : std::string_view(visibility),
                                  allowed));
    if (access.visibility == Visibility::kAllowList && access.allowed.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "an allow-list names accounts: --allow 0xACCOUNT, once for each; private lets "
                    "nobody else see it");
    return std::optional(std::move(access));
}

void add_data_visibility_command(CLI::App& data, CliContext& context) {
    add_command(data, context, "Set the visibility of a dataset of yours",
                "Root of a registered dataset (first digits suffice), or NAME[@VERSION]", set_data);
}

void add_job_visibility_command(CLI::App& job, CliContext& context) {
    add_command(job, context, "Set the visibility of the model of a job of yours",
                "Job id, or its first digits", set_job);
}

void add_model_visibility_command(CLI::App& model, CliContext& context) {
    add_command(model, context, "Set the visibility of a registered model of yours",
                "Name of a registered model: NAME, or NAME@VERSION", set_model);
}

}  // namespace gym::app
