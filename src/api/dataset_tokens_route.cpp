#include "gym/http_server/download.hpp"
#include "gym/registry/datasets.hpp"
#include "routes.hpp"

namespace gym::api {
namespace {

/// Those who may see a dataset may read what costs nothing; the rest is its owner's.
/// @param text a registry::Dataset that is no mix, or a part of one. @errors kPermissionDenied.
template <class Text>
Status check_text(const Text& text, const Address& reader) {
    if (text.owner == reader || text.price_wei_per_mtoken.is_zero()) return {};
    return fail(ErrorCode::kPermissionDenied,
                "dataset " + text.root.hex() +
                    " has a price: only its owner can download it; a job can train on it all the "
                    "same");
}

/// A mix is for those who may read every part of it, whoever had it made. @errors as check_text().
Status check_reader(const registry::Dataset& dataset, const Address& reader) {
    if (dataset.parts.empty()) return check_text(dataset, reader);
    for (const registry::DatasetPart& part : dataset.parts)
        if (const Status status = check_text(part, reader); !status.ok())
            return status.error().in("a part of the mix");
    return {};
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
