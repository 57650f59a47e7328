#include <boost/json/serialize.hpp>

#include "gym/registry/dataset_names.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

const Parameter kName{"name", "A dataset's name, such as zoo-dataset-v2."};

Result<registry::DatasetReference> reference_of(const Call& call, const std::string& version) {
    std::string text = call.path.find("name")->second;
    if (text.find('@') != std::string::npos)
        return fail(ErrorCode::kInvalidArgument, "'name' is a name without a version");
    if (!version.empty() && version != "latest") text += "@" + version;
    return registry::parse_dataset_reference(text);
}

Result<Response> add_version(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    const auto version = call.query.find("version");
    GYM_TRY(const auto reference,
            reference_of(call, version == call.query.end() ? "" : version->second));
    GYM_TRY(const auto named, context.with.submissions.name_dataset(*call.owner, reference, root));
    return json_response(named.is_new ? 201 : 200, json::serialize(to_json(named.version)));
}

Result<Response> list_versions(RouteContext& context, const Call& call) {
    GYM_TRY(const auto reference, reference_of(call, ""));
    GYM_TRY(const auto versions,
            context.with.queries.dataset_versions(reference.name, viewer_of(call)));
    return json_response(200, json::serialize(json::object{{"versions", to_json_list(versions)}}));
}

Result<Response> get_version(RouteContext& context, const Call& call) {
    GYM_TRY(const auto reference, reference_of(call, call.path.find("version")->second));
    GYM_TRY(const auto version, context.with.queries.dataset_version(reference, viewer_of(call)));
    return json_response(200, json::serialize(to_json(version)));
}

}  // namespace

void add_dataset_name_routes(Router& router, RouteContext& context) {
    router.add({.method = "POST",
                .pattern = "/v1/dataset-names/{name}/versions",
                .id = "nameDataset",
                .summary =
                    "Makes a registered dataset the next version of a name, which belongs to the "
                    "owner who used it first. Repeated for the newest version, it answers 200. "
                    "403: dataset or name belong to another owner. 409: `version` is not the next.",
                .path = {kName},
                .query = {{"root", "The root of a dataset of the owner. Required."},
                          {"version", "The number that the new version must have."}},
                .needs_key = true,
                .success = 201,
                .also_success = {200},
                .schema = "DatasetVersion",
                .run = [&context](const Call& call) { return add_version(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/dataset-names/{name}",
                .id = "listDatasetVersions",
                .summary = "The versions of a name that the caller may see, newest first.",
                .path = {kName},
                .takes_key = true,
                .schema = "DatasetVersionList",
                .run = [&context](const Call& call) { return list_versions(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/dataset-names/{name}/versions/{version}",
                .id = "getDatasetVersion",
                .summary = "The dataset that a version of a name is.",
                .path = {kName, {"version", "A number from 1, or latest."}},
                .takes_key = true,
                .schema = "DatasetVersion",
                .run = [&context](const Call& call) { return get_version(context, call); }});
}

}  // namespace gym::api
