#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "gym/common/json_fields.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kBodyBytesMax = 64 << 10;  // of an allow-list: 1,000 addresses as text

Result<Response> put_dataset(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    GYM_TRY(const registry::Access access, read_access(call.request.body));
    GYM_TRY(const auto dataset,
            context.with.submissions.set_dataset_access(*call.owner, root, access));
    return json_response(200, json::serialize(to_json(dataset, viewer_of(call))));
}

Result<Response> put_job(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest id, call.digest("id"));
    GYM_TRY(const registry::Access access, read_access(call.request.body));
    GYM_TRY(const auto job, context.with.submissions.set_job_access(*call.owner, id, access));
    return json_response(200, json::serialize(to_json(job, viewer_of(call))));
}

}  // namespace

Result<registry::Access> read_access(const std::string& body) {
    std::string visibility;
    std::vector<std::string> allowed;
    try {
        const json::object object = json::parse(body).as_object();
        visibility = json_fields::text_of(object, "visibility");
        if (const json::value* list = object.if_contains("allowed"))
            for (const json::value& one : list->as_array())
                allowed.emplace_back(one.as_string());
        if (object.size() != (object.contains("allowed") ? 2U : 1U))
            throw std::runtime_error("other members");
    } catch (const std::exception&) {
        return fail(ErrorCode::kMalformed,
                    "the body must be {\"visibility\": \"...\", \"allowed\": [\"0x...\"]}");
    }
    return registry::make_access(visibility, allowed);
}

Status check_confidential(const RouteContext& context, registry::Visibility visibility) {
    if (context.options.is_confidential || visibility == registry::Visibility::kPublic) return {};
    return fail(ErrorCode::kPermissionDenied,
                "this gym-api is reached without TLS from other machines, where everyone between "
                "can read along: it takes and gives only what is public (its operator puts a TLS "
                "proxy in front and says so with 'behind_tls: true')");
}

void add_visibility_routes(Router& router, RouteContext& context) {
    router.add({.method = "PUT",
                .pattern = "/v1/datasets/{root}/visibility",
                .id = "setDatasetVisibility",
                .summary = "Sets the visibility of a dataset of the owner. Copies that others have "
                           "fetched stay with them, and running jobs continue.",
                .path = {{"root", "The root of its tokens."}},
                .needs_key = true,
                .body_type = "application/json",
                .body_schema = "Access",
                .body_bytes_max = kBodyBytesMax,
                .schema = "Dataset",
                .run = [&context](const Call& call) { return put_dataset(context, call); }});
    router.add({.method = "PUT",
                .pattern = "/v1/jobs/{id}/visibility",
                .id = "setJobVisibility",
                .summary = "Sets the visibility of the model of a job of the owner.",
                .path = {{"id", "The job's id."}},
                .needs_key = true,
                .body_type = "application/json",
                .body_schema = "Access",
                .body_bytes_max = kBodyBytesMax,
                .schema = "Job",
                .run = [&context](const Call& call) { return put_job(context, call); }});
}

}  // namespace gym::api
