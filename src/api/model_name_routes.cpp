// Models that have a name: registered, listed, downloaded.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "gym/common/json_fields.hpp"
#include "gym/http_server/download.hpp"
#include "gym/registry/model_names.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace model_names {
namespace {

namespace json = boost::json;
using registry::ModelVersion;
using Reader = std::shared_ptr<const blob::BlobReader>;

constexpr std::uint64_t kBodyBytesMax = 64 << 10;  // with an allow-list of 1,000 addresses
constexpr std::uint64_t kListMax = 1'000;
constexpr std::uint64_t kOffsetMax = 1'000'000'000;

const Parameter kName{"name", "A model's name, such as zoo-llama."};
const Parameter kVersion{"version", "A number from 1, or latest."};

Result<registry::ModelReference> reference_of(const Call& call, const std::string& version) {
    std::string text = call.path.find("name")->second;
    if (text.find('@') != std::string::npos)
        return fail(ErrorCode::kInvalidArgument, "'name' is a name without a version");
    if (!version.empty() && version != "latest") text += "@" + version;
    return registry::parse_model_reference(text);
}

/// A member that may be left out.
template <class Read>
auto if_there(const json::object& object, const char* name, Read read)
    -> std::optional<std::decay_t<decltype(read(object, name))>> {
    if (!object.contains(name)) return std::nullopt;
    return read(object, name);
}

/// Members of a ModelOffer but those about visibility.
void read_weights(const json::object& object, ModelOffer& offer) {
    using json_fields::fixed_of;
    offer.state = if_there(object, "state", fixed_of<Digest>);
    offer.program = if_there(object, "program", fixed_of<Digest>);
    offer.tokenizer = if_there(object, "tokenizer", fixed_of<Digest>);
    offer.job = if_there(object, "job", fixed_of<Digest>);
    offer.round = if_there(object, "round", json_fields::number_of<std::uint64_t>);
    offer.reference.version = if_there(object, "version", json_fields::number_of<std::uint32_t>);
    offer.licence = json_fields::text_of(object, "licence");
}

Result<ModelOffer> read_offer(const Call& call) {
    ModelOffer offer;
    offer.owner = *call.owner;
    GYM_TRY(offer.reference, reference_of(call, ""));
    std::optional<std::string> visibility;
    std::vector<std::string> allowed;
    try {
        const json::object object = json::parse(call.request.body).as_object();
        read_weights(object, offer);
        visibility = if_there(object, "visibility", json_fields::text_of);
        if (const json::value* list = object.if_contains("allowed"))
            for (const json::value& one : list->as_array())
                allowed.emplace_back(one.as_string());
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed,
                    std::string("the body must be a ModelOffer (openapi.json): ") + error.what());
    }
    if (!visibility && allowed.empty()) return offer;
    GYM_TRY(offer.access, registry::make_access(visibility.value_or("allow-list"), allowed));
    return offer;
}

Result<Response> add_version(RouteContext& context, const Call& call) {
    GYM_TRY(const ModelOffer offer, read_offer(call));
    std::optional<Turns::Turn> turn;
    if (offer.tokenizer) {
        GYM_TRY(Turns::Turn taken, turn_for_tokenizer(context, call));
        turn.emplace(std::move(taken));
    }
    GYM_TRY(const auto named, context.with.submissions.name_model(offer));
    return json_response(named.is_new ? 201 : 200,
                         json::serialize(to_json(named.version, viewer_of(call))));
}

Result<Response> list_models(RouteContext& context, const Call& call) {
    registry::ModelFilter filter;
    filter.viewer = viewer_of(call);
    if (call.has("owner")) {
        GYM_TRY(filter.owner, call.address("owner"));
    }
    GYM_TRY(const std::uint64_t limit, call.number("limit", kListMax, 100));
    GYM_TRY(const std::uint64_t offset, call.number("offset", kOffsetMax, 0));
    filter.limit = static_cast<std::uint32_t>(limit);
    filter.offset = static_cast<std::uint32_t>(offset);
    GYM_TRY(const auto models, context.with.queries.models(filter));
    return json_response(
        200, json::serialize(json::object{{"models", to_json_list(models, filter.viewer)}}));
}

Result<Response> list_versions(RouteContext& context, const Call& call) {
    GYM_TRY(const auto reference, reference_of(call, ""));
    GYM_TRY(const auto versions,
            context.with.queries.model_versions(reference.name, viewer_of(call)));
    return json_response(
        200, json::serialize(json::object{{"versions", to_json_list(versions, viewer_of(call))}}));
}

Result<ModelVersion> version_of(RouteContext& context, const Call& call) {
    GYM_TRY(const auto reference, reference_of(call, call.path.find("version")->second));
    return context.with.queries.model_version(reference, viewer_of(call));
}

Result<Response> get_version(RouteContext& context, const Call& call) {
    GYM_TRY(const ModelVersion version, version_of(context, call));
    return json_response(200, json::serialize(to_json(version, viewer_of(call))));
}

Result<Response> put_visibility(RouteContext& context, const Call& call) {
    GYM_TRY(const auto reference, reference_of(call, call.path.find("version")->second));
    GYM_TRY(const registry::Access access, read_access(call.request.body));
    GYM_TRY(const auto version,
            context.with.submissions.set_model_access(*call.owner, reference, access));
    return json_response(200, json::serialize(to_json(version, viewer_of(call))));
}

Result<Response> send(RouteContext& context, const Call& call, const ModelVersion& version,
                      const Digest& blob, const char* ending) {
    GYM_CHECK(check_confidential(context, version.access.visibility));
    GYM_TRY(Reader bytes, context.with.queries.open_blob(blob));
    return answer_download(call.request,
                           {std::move(bytes), blob.hex(),
                            version.name + "-" + std::to_string(version.version) + ending});
}

Result<Response> get_state(RouteContext& context, const Call& call) {
    GYM_TRY(const ModelVersion version, version_of(context, call));
    return send(context, call, version, version.state.blob, ".state");
}

Result<Response> get_program(RouteContext& context, const Call& call) {
    GYM_TRY(const ModelVersion version, version_of(context, call));
    return send(context, call, version, version.program.blob, ".gym");
}

Result<Response> get_tokenizer(RouteContext& context, const Call& call) {
    GYM_TRY(const ModelVersion version, version_of(context, call));
    if (!version.tokenizer_blob)
        return fail(ErrorCode::kNotFound, "nobody has given the tokenizer files of " +
                                              version.name + "@" + std::to_string(version.version));
    return send(context, call, version, *version.tokenizer_blob, ".tokenizer");
}

using Handle = Result<Response> (*)(RouteContext&, const Call&);

Route download_route(RouteContext& context, const char* part, const char* id, const char* summary,
                     Handle handle) {
    return {.method = "GET",
            .pattern = std::string("/v1/model-names/{name}/versions/{version}/") + part,
            .id = id,
            .summary = summary,
            .path = {kName, kVersion},
            .needs_key = true,
            .also_success = {206},
            .answer_type = "application/octet-stream",
            .run = [&context, handle](const Call& call) { return handle(context, call); }};
}

void add_downloads(Router& router, RouteContext& context) {
    router.add(download_route(context, "state", "getModelVersionState",
                              "The weights, as a base state (docs/PROTOCOL.md, \"States, deltas, "
                              "datasets\"). Answers one Range with 206; the ETag is their root.",
                              get_state));
    router.add(download_route(context, "program", "getModelVersionProgram",
                              "The train program's bytes, as in a .gym file.", get_program));
    router.add(download_route(context, "tokenizer", "getModelVersionTokenizer",
                              "The files of the model's tokenizer as one blob "
                              "(docs/TOKENIZERS.md, \"Files\"); 404 if nobody gave them.",
                              get_tokenizer));
}

void add_routes(Router& router, RouteContext& context) {
    const auto run = [&context](Handle handle) {
        return [&context, handle](const Call& call) { return handle(context, call); };
    };
    router.add({.method = "GET",
                .pattern = "/v1/model-names",
                .id = "listModels",
                .summary = "Of each name of a model the newest version that the caller may see.",
                .query = {{"owner", "Only names of this address."},
                          {"limit", "At most so many, 100 without; at most 1000."},
                          {"offset", "Leave out so many."}},
                .takes_key = true,
                .schema = "ModelNameList",
                .run = run(list_models)});
    router.add({.method = "POST",
                .pattern = "/v1/model-names/{name}/versions",
                .id = "nameModel",
                .summary =
                    "Makes weights the next version of a name, which belongs to the owner who used "
                    "it first: an uploaded state with its program, or what a job of the owner "
                    "trained. Repeated for the newest version, it answers 200. 403: name or job "
                    "belong to another owner. 409: `version` is not the next.",
                .path = {kName},
                .needs_key = true,
                .body_type = "application/json",
                .body_schema = "ModelOffer",
                .body_bytes_max = kBodyBytesMax,
                .success = 201,
                .also_success = {200},
                .schema = "ModelVersion",
                .run = run(add_version)});
    router.add({.method = "GET",
                .pattern = "/v1/model-names/{name}",
                .id = "listModelVersions",
                .summary = "The versions of a name that the caller may see, newest first.",
                .path = {kName},
                .takes_key = true,
                .schema = "ModelVersionList",
                .run = run(list_versions)});
    router.add({.method = "GET",
                .pattern = "/v1/model-names/{name}/versions/{version}",
                .id = "getModelVersion",
                .summary = "The weights that a version of a name is; `init` takes their root.",
                .path = {kName, kVersion},
                .takes_key = true,
                .schema = "ModelVersion",
                .run = run(get_version)});
    router.add({.method = "PUT",
                .pattern = "/v1/model-names/{name}/versions/{version}/visibility",
                .id = "setModelVisibility",
                .summary = "Sets the visibility of a version of a model of the owner. Copies that "
                           "others have fetched stay with them.",
                .path = {kName, kVersion},
                .needs_key = true,
                .body_type = "application/json",
                .body_schema = "Access",
                .body_bytes_max = kBodyBytesMax,
                .schema = "ModelVersion",
                .run = run(put_visibility)});
    add_downloads(router, context);
}

}  // namespace
}  // namespace model_names

void add_model_name_routes(Router& router, RouteContext& context) {
    model_names::add_routes(router, context);
}

}  // namespace gym::api
