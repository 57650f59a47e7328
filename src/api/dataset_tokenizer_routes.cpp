// The files of a dataset's tokenizer: given by the dataset's owner, for those who may see the
// dataset.
#include <boost/json/serialize.hpp>

#include "gym/http_server/download.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

/// The files are those of the tokenizer that the dataset names. @errors kInvalidArgument,
/// kMalformed, kMismatch.
Status check_files(const registry::Dataset& dataset, ByteView files) {
    if (!dataset.tokenizer)
        return fail(ErrorCode::kInvalidArgument,
                    "dataset " + dataset.root.hex() + " names no tokenizer");
    GYM_TRY(const auto bundle, tokenizer::read_bundle(files));
    if (bundle.root == *dataset.tokenizer) return {};
    return fail(ErrorCode::kMismatch, "the files are those of tokenizer " + bundle.root.hex() +
                                          ", dataset " + dataset.root.hex() + " names " +
                                          dataset.tokenizer->hex());
}

Result<Response> put_tokenizer(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    GYM_TRY(const registry::Dataset dataset, context.with.queries.dataset(root, viewer_of(call)));
    if (dataset.owner != *call.owner)
        return fail(ErrorCode::kPermissionDenied,
                    "dataset " + root.hex() + " belongs to " + dataset.owner.hex());
    GYM_CHECK(check_confidential(context, dataset.access.visibility));
    const ByteView files = as_bytes(call.request.body);
    {
        GYM_TRY([[maybe_unused]] const Turns::Turn turn, turn_for_tokenizer(context, call));
        GYM_CHECK(check_files(dataset, files));
    }
    GYM_TRY(const auto added, context.with.submissions.add_dataset_tokenizer(root, files));
    return json_response(added.is_new ? 201 : 200, json::serialize(to_json(added.tokenizer)));
}

Result<Response> get_tokenizer(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    GYM_TRY(const registry::Dataset dataset, context.with.queries.dataset(root, viewer_of(call)));
    GYM_CHECK(check_confidential(context, dataset.access.visibility));
    GYM_TRY(const auto found, context.with.queries.dataset_tokenizer(root));
    if (!found)
        return fail(ErrorCode::kNotFound,
                    "the owner of dataset " + root.hex() + " has given no tokenizer files");
    GYM_TRY(std::shared_ptr<const blob::BlobReader> files,
            context.with.queries.open_blob(found->blob));
    return answer_download(call.request, {std::move(files), found->blob.hex(),
                                          "dataset-" + root.hex().substr(2, 8) + ".tokenizer"});
}

}  // namespace

Result<Turns::Turn> turn_for_tokenizer(RouteContext& context, const Call& call) {
    auto turn = context.tokenizers.take(*call.owner, context.with.clock.now_ms());
    if (turn) return *std::move(turn);
    return fail(ErrorCode::kUnavailable, "other tokenizer files are being read; ask again");
}

void add_dataset_tokenizer_routes(Router& router, RouteContext& context) {
    const std::vector<Parameter> path{{"root", "The dataset's root."}};
    router.add({.method = "PUT",
                .pattern = "/v1/datasets/{root}/tokenizer",
                .id = "putDatasetTokenizer",
                .summary = "Stores the files of the tokenizer that a dataset of the key's owner "
                           "names (`gym data build` writes them beside the token file; "
                           "docs/TOKENIZERS.md, \"Files\"). 200: they were there; 409: others "
                           "were; 422: they are of another tokenizer.",
                .path = path,
                .needs_key = true,
                .body_type = "application/octet-stream",
                .body_bytes_max = tokenizer::kBundleBytesMax,
                .success = 201,
                .also_success = {200},
                .schema = "DatasetTokenizer",
                .run = [&context](const Call& call) { return put_tokenizer(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/datasets/{root}/tokenizer",
                .id = "getDatasetTokenizer",
                .summary = "The files of a dataset's tokenizer as one blob (docs/TOKENIZERS.md, "
                           "\"Files\"). Answers one Range with 206; 404 if nobody gave them.",
                .path = path,
                .needs_key = true,
                .also_success = {206},
                .answer_type = "application/octet-stream",
                .run = [&context](const Call& call) { return get_tokenizer(context, call); }});
}

}  // namespace gym::api
