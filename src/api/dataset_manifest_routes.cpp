// A dataset's manifest: given by the dataset's owner, for those who may see the dataset.
#include <boost/json/serialize.hpp>

#include "gym/http_server/download.hpp"
#include "gym/registry/datasets.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

Result<Response> put_manifest(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    GYM_TRY(const Digest upload, call.digest("upload"));
    GYM_TRY(const registry::Dataset dataset, context.with.queries.dataset(root, viewer_of(call)));
    if (dataset.owner != *call.owner)
        return fail(ErrorCode::kPermissionDenied,
                    "dataset " + root.hex() + " belongs to " + dataset.owner.hex());
    GYM_TRY(const auto added, context.with.submissions.add_dataset_manifest(dataset, upload));
    return json_response(added.is_new ? 201 : 200, boost::json::serialize(to_json(added.manifest)));
}

Result<Response> get_manifest(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    GYM_TRY(const registry::Dataset dataset, context.with.queries.dataset(root, viewer_of(call)));
    GYM_CHECK(check_confidential(context, dataset.access.visibility));
    GYM_TRY(const auto found, context.with.queries.dataset_manifest(root));
    if (!found)
        return fail(ErrorCode::kNotFound,
                    "the owner of dataset " + root.hex() + " has given no manifest");
    GYM_TRY(std::shared_ptr<const blob::BlobReader> file,
            context.with.queries.open_blob(found->blob));
    return answer_download(call.request,
                           {std::move(file), found->blob.hex(),
                            "dataset-" + root.hex().substr(2, 8) + ".manifest.jsonl"});
}

}  // namespace

void add_dataset_manifest_routes(Router& router, RouteContext& context) {
    const std::vector<Parameter> path{{"root", "The dataset's root."}};
    router.add({.method = "PUT",
                .pattern = "/v1/datasets/{root}/manifest",
                .id = "putDatasetManifest",
                .summary = "Stores the manifest of a dataset of the key's owner: `upload` is the "
                           "root of a finished upload of the file that `gym data build` writes "
                           "beside the token file. 200: it was there; 409: another was; 422: it "
                           "is of another dataset.",
                .path = path,
                .query = {{"upload", "Blob root of a finished upload (PUT /v1/blobs/{root})."}},
                .needs_key = true,
                .success = 201,
                .also_success = {200},
                .schema = "DatasetManifest",
                .run = [&context](const Call& call) { return put_manifest(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/datasets/{root}/manifest",
                .id = "getDatasetManifest",
                .summary = "The manifest of a dataset: JSON lines that name the source, licence "
                           "and hash of each document (docs/DATA.md, \"The manifest\"). Answers "
                           "one Range with 206; 404 if nobody gave it.",
                .path = path,
                .needs_key = true,
                .also_success = {206},
                .answer_type = "application/octet-stream",
                .run = [&context](const Call& call) { return get_manifest(context, call); }});
}

}  // namespace gym::api
