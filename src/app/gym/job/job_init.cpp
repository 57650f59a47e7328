#include "job/job_init.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "cli/byte_progress.hpp"
#include "cli/find_id.hpp"
#include "cli/rows.hpp"
#include "gym/owner/upload_weights.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"

namespace gym::app {
namespace {

/// "job:ab12@3" with the whole id.
Result<std::string> complete_job(const client::ApiClient& api, const std::string& init) {
    const std::string rest = init.substr(registry::kInitJobPrefix.size());
    const std::size_t at = rest.find('@');
    GYM_TRY(const Digest id, find_job(api, rest.substr(0, at)));
    const std::string whole = std::string(registry::kInitJobPrefix) + id.hex() +
                              (at == std::string::npos ? "" : rest.substr(at));
    GYM_TRY(const auto parsed, registry::parse_init(whole));
    return to_string(parsed);
}

/// @return the root of the uploaded state.
Result<Digest> upload_weights(const client::ApiClient& api, const ResolvedJob& job) {
    GYM_TRY(const auto program, program::train_program(job.config));
    ByteProgress line("uploading the weights");  // not seen if gym-api has the state
    return owner::upload_weights(
        api, program, {.weights = job.init, .progress = [&](std::uint64_t done, std::uint64_t all) {
                           line.show(done, all);
                       }});
}

/// The weights that a name stands for now: its next version changes nothing in the job.
Result<std::string> root_of_model(const client::ApiClient& api, const std::string& name) {
    GYM_TRY(const auto reference, registry::parse_model_reference(name));
    const auto model = api.model_version(reference);
    if (!model.ok())
        return model.error().in("'init': there is no file or folder " + name +
                                ", and as a model's name");
    print_notice("init", "{}@{}, weights {}", (*model)->name, (*model)->version,
                 (*model)->state.root.hex());
    return (*model)->state.root.hex();
}

}  // namespace

Status resolve_init(const client::ApiClient& api, ResolvedJob& job) {
    if (job.init.empty() || registry::parse_init(job.init).ok()) return {};
    std::string init;
    std::error_code unknown;
    if (job.init.starts_with(registry::kInitJobPrefix)) {
        GYM_TRY(init, complete_job(api, job.init));
    } else if (!std::filesystem::exists(job.init, unknown)) {
        GYM_TRY(init, root_of_model(api, job.init));
    } else {
        GYM_TRY(const Digest root, upload_weights(api, job));
        init = root.hex();
    }
    return begin_from(job, init);
}

}  // namespace gym::app
