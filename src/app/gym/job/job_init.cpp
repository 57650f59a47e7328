#include "job/job_init.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "cli/byte_progress.hpp"
#include "cli/find_id.hpp"
#include "cli/rows.hpp"
#include "gym/interchange/weights_file.hpp"
#include "gym/owner/init_check.hpp"
#include "gym/owner/upload_weights.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/tokenizer/weights_tokenizer.hpp"

namespace gym::app {
namespace {

/// @return the root of the uploaded state.
Result<Digest> upload_weights(const client::ApiClient& api, const ResolvedJob& job) {
    GYM_TRY(const auto program, program::train_program(job.config));
    ByteProgress line("uploading the weights");  // not seen if gym-api has the state
    return owner::upload_weights(
        api, program, {.weights = job.init, .progress = [&](std::uint64_t done, std::uint64_t all) {
                           line.show(done, all);
                       }});
}

/// Whether `init` can only be files.
bool is_weights_file(const std::string& init) {
    std::error_code unknown;
    return !init.empty() && !init.starts_with(registry::kInitJobPrefix) &&
           !registry::parse_init(init).ok() && std::filesystem::exists(init, unknown);
}

/// Whether `init` can only be a registered model's name.
bool is_name(const std::string& init) {
    std::error_code unknown;
    return !init.empty() && !init.starts_with(registry::kInitJobPrefix) &&
           !registry::parse_init(init).ok() && !std::filesystem::exists(init, unknown);
}

/// The weights of a job that `init` names, which fit.
Result<registry::InitialWeights> fitting_weights(const client::ApiClient& api,
                                                 const ResolvedJob& job) {
    GYM_TRY(auto weights, find_init_job(api, job.init));
    GYM_TRY(const auto program, program::train_program(job.config));
    const Status fits = owner::check_job_weights(api, weights, program);
    if (!fits.ok()) return fits.error().in(job.init);
    return weights;
}

Status check_named(const client::ApiClient& api, const registry::ModelVersion& model,
                   const ResolvedJob& job) {
    GYM_TRY(const auto program, program::train_program(job.config));
    const Status fits = owner::check_named_weights(api, model, program);
    return fits.ok() ? fits : Status(fits.error().in("'init' names " + job.init));
}

/// A quote needs neither a key nor a network that answers: it says what it could not check.
Status or_warning(const Status& checked, ResolvedJob& job) {
    if (checked.ok()) return checked;
    const ErrorCode code = checked.error().code;
    if (code != ErrorCode::kUnauthenticated && code != ErrorCode::kUnavailable) return checked;
    job.warnings.push_back("whether the weights fit the model is not checked: " +
                           checked.error().message);
    return {};
}

}  // namespace

Status resolve_named_init(const client::ApiClient& api, ResolvedJob& job) {
    if (!is_name(job.init)) return {};
    GYM_TRY(const auto reference, registry::parse_model_reference(job.init));
    const auto model = api.model_version(reference);
    if (!model.ok() && model.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound,
                    "'init' names " + job.init +
                        ": there is no such file or folder, and no registered model has this name "
                        "(`gym model registered` lists them)");
    if (!model.ok()) return model.error().in("'init' names " + job.init);
    GYM_CHECK(or_warning(check_named(api, **model, job), job));
    print_notice("init", "{}@{}, weights {}", (*model)->name, (*model)->version,
                 (*model)->state.root.hex());
    return begin_from(job, (*model)->state.root.hex());
}

Status check_init(const client::ApiClient& api, bool has_key, ResolvedJob& job) {
    if (job.init.starts_with(registry::kInitJobPrefix)) {
        if (!has_key) {
            job.warnings.push_back("whether the weights of " + job.init +
                                   " fit the model is not checked: that needs an API key "
                                   "(--api-key-file or GYM_API_KEY)");
            return {};
        }
        const auto weights = fitting_weights(api, job);
        return weights.ok() ? Status() : or_warning(weights.error(), job);
    }
    if (!is_weights_file(job.init)) return {};
    GYM_TRY(const auto program, program::train_program(job.config));
    GYM_TRY([[maybe_unused]] const auto weights, interchange::load_weights(job.init, program));
    return {};
}

Status check_init_tokenizer(const client::ApiClient& api, const ResolvedJob& job) {
    GYM_TRY(const auto of_weights,
            tokenizer::tokenizer_of_weights(is_weights_file(job.init) ? job.init : ""));
    if (!of_weights) return {};
    Digest of_dataset;
    if (job.tokens) {
        of_dataset = job.tokens->dataset.tokenizer;
    } else {
        GYM_TRY(const DataPrice known, data_price(api, job));
        if (known.record) of_dataset = known.record->tokenizer.value_or(Digest());
    }
    return tokenizer::check_same_tokenizer(of_weights, of_dataset,
                                           "dataset " + job.dataset_root.hex());
}

Status resolve_init(const client::ApiClient& api, ResolvedJob& job) {
    GYM_CHECK(resolve_named_init(api, job));
    if (job.init.empty() || registry::parse_init(job.init).ok()) return {};
    std::string init;
    if (job.init.starts_with(registry::kInitJobPrefix)) {
        // Before a dataset is registered for the job.
        GYM_TRY(const auto weights, fitting_weights(api, job));
        init = to_string(weights);
    } else {
        GYM_TRY(const Digest root, upload_weights(api, job));
        init = root.hex();
    }
    return begin_from(job, init);
}

}  // namespace gym::app
