#include "byte_range.hpp"
#include "gym/registry/datasets.hpp"
#include "routes.hpp"

namespace gym::api {
namespace {

/// Those who may see a dataset may read what costs nothing; the rest is its owner's.
/// @errors kPermissionDenied.
Status check_reader(const registry::Dataset& dataset, const Address& reader) {
    if (dataset.owner == reader || dataset.price_wei_per_mtoken.is_zero()) return {};
    return fail(ErrorCode::kPermissionDenied,
                "dataset " + dataset.root.hex() +
                    " has a price: only its owner can download it; a job can train on it all the "
                    "same");
}

Result<Response> get_tokens(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest root, call.digest("root"));
    GYM_TRY(const registry::Dataset dataset, context.with.queries.dataset(root, viewer_of(call)));
    GYM_CHECK(check_reader(dataset, *call.owner));
    GYM_CHECK(check_confidential(context, dataset.access.visibility));
    GYM_TRY(std::shared_ptr<const blob::BlobReader> tokens,
            context.with.queries.open_blob(dataset.blob));
    return answer_download(call.request, {std::move(tokens), dataset.blob.hex(),
                                          "dataset-" + root.hex().substr(2, 8) + ".tokens"});
}

}  // namespace

void add_dataset_tokens_route(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/datasets/{root}/tokens",
                .id = "getDatasetTokens",
                .summary = "A dataset's token file (`gym data pull`), for its owner; for others "
                           "who may see it if it costs nothing. 404 for all else, as for one that "
                           "does not exist. Answers one Range with 206.",
                .path = {{"root", "The dataset's root."}},
                .needs_key = true,
                .also_success = {206},
                .answer_type = "application/octet-stream",
                .run = [&context](const Call& call) { return get_tokens(context, call); }});
}

}  // namespace gym::api
