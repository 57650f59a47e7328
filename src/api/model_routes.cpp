#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "gym/http_server/download.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/retention.hpp"
#include "routes.hpp"
#include "state_file.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using Reader = std::shared_ptr<const blob::BlobReader>;

constexpr std::uint64_t kRoundMax = 1'000'000;

/// A job's weights after one of its rounds.
struct Version {
    JobView view;
    std::uint64_t round = 0;  ///< 0: before any training
    std::uint64_t newest = 0;
    registry::StateRef state;
};

const registry::Round* aggregated(const JobView& view, std::uint64_t number) {
    const auto found = std::ranges::find(view.rounds, number, &registry::Round::round);
    return found == view.rounds.end() || !found->next_base ? nullptr : &*found;
}

std::uint64_t newest_of(const JobView& view) {
    std::uint64_t newest = 0;
    for (const registry::Round& round : view.rounds)
        if (round.next_base) newest = std::max(newest, round.round);
    // Where rounds overlap, the first one's next base state is the one that the job begins from.
    return newest > view.job.terms.elastic.overlap ? newest : 0;
}

/// @errors kNotFound for a job whose model the caller may not see, as for one that does not exist,
/// and for a round that is not aggregated; kConflict before the job has a model.
Result<Version> version_of(RouteContext& context, const Call& call) {
    GYM_TRY(const Digest id, call.digest("id"));
    Version out;
    GYM_TRY(out.view, context.with.queries.job_of_model(id, viewer_of(call)));
    const registry::Job& job = out.view.job;
    GYM_CHECK(check_confidential(context, job.access.visibility));
    if (!job.artifacts)
        return fail(ErrorCode::kConflict,
                    job.ended_at_ms ? "the job ended before it had a model"
                                    : "the job has no model yet: the coordinator prepares it");
    out.newest = newest_of(out.view);
    GYM_TRY(out.round, call.number("round", kRoundMax, out.newest));
    const registry::Round* round = aggregated(out.view, out.round);
    if (out.round != 0 && round == nullptr)
        return fail(ErrorCode::kNotFound, "round " + std::to_string(out.round) +
                                              " has no weights: the newest are those after round " +
                                              std::to_string(out.newest) + " of " +
                                              std::to_string(job.terms.rounds));
    out.state = round != nullptr ? *round->next_base
                                 : registry::StateRef{job.artifacts->base_state_root,
                                                      job.artifacts->base_state_blob};
    return out;
}

/// The version's weights. @errors kNotFound where they were pruned, saying which are kept.
Result<Reader> open_state(RouteContext& context, const Version& version) {
    auto state = context.with.queries.open_blob(version.state.blob);
    if (state.ok()) return Reader(std::move(state).value());
    const std::vector<std::uint64_t>& kept = version.view.kept_rounds;
    if (state.error().code != ErrorCode::kNotFound || kept.empty() ||
        std::ranges::binary_search(kept, version.round))
        return state.error();
    return fail(ErrorCode::kNotFound,
                "the weights after round " + std::to_string(version.round) +
                    " were pruned when the round was final; those that are kept are after rounds " +
                    registry::list_of_rounds(kept) + " (0: before any training)");
}

json::object blob_json(const Digest& root, const Digest& blob, std::uint64_t bytes) {
    return {{"root", root.hex()}, {"blob", blob.hex()}, {"bytes", bytes}};
}

json::array losses_json(const Version& version) {
    json::array out;
    for (const registry::Round& round : version.view.rounds) {
        if (round.round > version.round || !round.validation_loss ||
            !std::isfinite(*round.validation_loss))
            continue;
        out.push_back({{"round", round.round}, {"validation_loss", *round.validation_loss}});
    }
    return out;
}

/// Who wrote the files of a dataset's tokenizer: of a mix, the owner of the part that they came
/// with.
Result<std::optional<Address>> tokenizer_owner(Queries& queries, const registry::Dataset& dataset) {
    GYM_TRY(const auto files, queries.dataset_tokenizer(dataset.root));
    if (!files) return std::optional<Address>();
    if (dataset.parts.empty()) return std::optional(dataset.owner);
    for (const registry::DatasetPart& part : dataset.parts) {
        GYM_TRY(const auto its, queries.dataset_tokenizer(part.root));
        if (its && its->blob == files->blob) return std::optional(part.owner);
    }
    return std::optional<Address>();
}

/// Where a public model's blobs are, too. Mirrors have no others.
Result<json::array> mirrors_of(Queries& queries, const registry::Job& job) {
    json::array out;
    if (job.access.visibility != registry::Visibility::kPublic) return out;
    GYM_TRY(const auto mirrors, queries.mirrors());
    for (const std::string& mirror : mirrors)
        out.emplace_back(mirror);
    return out;
}

Result<Response> get_model(RouteContext& context, const Call& call) {
    GYM_TRY(const Version version, version_of(context, call));
    Queries& queries = context.with.queries;
    const registry::Job& job = version.view.job;
    GYM_TRY(const Reader program, queries.open_blob(job.artifacts->program_blob));
    GYM_TRY(const Reader state, open_state(context, version));
    GYM_TRY(const registry::Dataset dataset,
            queries.dataset(job.dataset_root, registry::Viewer::service()));
    // What a model was trained on belongs to it: licence and vocabulary. The name does not.
    const bool seen = viewer_of(call).may_see(dataset.access, dataset.owner);
    json::object data{
        {"root", dataset.root.hex()}, {"name", seen ? dataset.shown_name() : std::string()},
        {"licence", dataset.licence}, {"vocabulary", dataset.vocabulary},
        {"tokenizer", nullptr},       {"tokenizer_owner", nullptr}};
    if (dataset.tokenizer) data["tokenizer"] = dataset.tokenizer->hex();
    GYM_TRY(const json::array mirrors, mirrors_of(queries, job));
    GYM_TRY(const auto gave, tokenizer_owner(queries, dataset));
    if (gave) data["tokenizer_owner"] = gave->hex();
    return json_response(
        200, json::serialize(json::object{
                 {"job_id", job.id.hex()},
                 {"owner", job.owner.hex()},
                 {"name", job.name},
                 {"round", version.round},
                 {"newest_round", version.newest},
                 {"rounds", job.terms.rounds},
                 {"program", blob_json(job.artifacts->program_root, job.artifacts->program_blob,
                                       program->size())},
                 {"state", blob_json(version.state.root, version.state.blob, state->size())},
                 {"datasets", json::array{data}},
                 {"losses", losses_json(version)},
                 {"mirrors", mirrors}}));
}

std::string file_name(const Version& version, const char* what) {
    return "job-" + version.view.job.id.hex().substr(2, 8) + "-round-" +
           std::to_string(version.round) + what;
}

Result<Response> get_program(RouteContext& context, const Call& call) {
    GYM_TRY(const Version version, version_of(context, call));
    const Digest& blob = version.view.job.artifacts->program_blob;
    GYM_TRY(Reader program, context.with.queries.open_blob(blob));
    return answer_download(call.request,
                           {std::move(program), blob.hex(), file_name(version, ".gym")});
}

Result<Response> get_state(RouteContext& context, const Call& call) {
    GYM_TRY(const Version version, version_of(context, call));
    GYM_TRY(Reader state, open_state(context, version));
    return answer_download(
        call.request, {std::move(state), version.state.blob.hex(), file_name(version, ".state")});
}

Result<Response> get_weights(RouteContext& context, const Call& call) {
    GYM_TRY(const Version version, version_of(context, call));
    GYM_TRY(Reader state, open_state(context, version));
    const std::map<std::string, std::string> metadata{
        {"format", "pt"},
        {"gym.base_root", version.state.root.hex()},
        {"gym.program_root", version.view.job.artifacts->program_root.hex()}};
    GYM_TRY(Reader weights, state_as_safetensors(std::move(state), metadata));
    // Not a root: the file's own form is part of what a client compares.
    return answer_download(call.request, {std::move(weights), version.state.blob.hex() + "-weights",
                                          file_name(version, ".safetensors")});
}

const std::vector<Parameter> kJobPath{{"id", "The job's id."}};
const std::vector<Parameter> kRoundQuery{
    {"round",
     "After which the weights are (default: the newest that is aggregated); 0: before any "
     "training."}};

Route download_route(const char* what, const char* id, const char* summary) {
    return {.method = "GET",
            .pattern = std::string("/v1/jobs/{id}/model/") + what,
            .id = id,
            .summary = summary,
            .path = kJobPath,
            .query = kRoundQuery,
            .needs_key = true,
            .also_success = {206},
            .answer_type = "application/octet-stream"};
}

}  // namespace

void add_model_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/model",
                .id = "getModel",
                .summary = "A job's model after a round: roots, sizes, data and losses. For those "
                           "whom the job's visibility lets see it, also while the job runs; 404 "
                           "for all others, for a round that is not aggregated, and for one whose "
                           "weights were pruned.",
                .path = kJobPath,
                .query = kRoundQuery,
                .needs_key = true,
                .schema = "Model",
                .run = [&context](const Call& call) { return get_model(context, call); }});
    Route program = download_route(
        "program", "getModelProgram",
        "The train program's bytes, as in a .gym file. Answers one Range (RFC 9110) with 206.");
    program.run = [&context](const Call& call) { return get_program(context, call); };
    router.add(std::move(program));
    Route state =
        download_route("state", "getModelState",
                       "The base state's bytes (docs/PROTOCOL.md, \"States, deltas, "
                       "datasets\"). Answers one Range with 206; the ETag is their root.");
    state.run = [&context](const Call& call) { return get_state(context, call); };
    router.add(std::move(state));
    Route weights = download_route("weights.safetensors", "getModelWeights",
                                   "The same parameters as one safetensors file, with the "
                                   "program's names (`gym job export` gives them Hugging Face's). "
                                   "Answers one Range with 206.");
    weights.run = [&context](const Call& call) { return get_weights(context, call); };
    router.add(std::move(weights));
}

}  // namespace gym::api
