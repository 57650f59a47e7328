// Views of datasets, mixes, registered models and evaluations.
#include "gym/common/float_bits.hpp"
#include "json_values.hpp"
#include "views.hpp"

namespace gym::api {

namespace json = boost::json;

namespace {

json::array parts_json(const std::vector<registry::DatasetPart>& parts) {
    json::array out;
    for (const registry::DatasetPart& part : parts)
        out.push_back(json::object{{"root", part.root.hex()},
                                   {"tokens", part.tokens},
                                   {"weight_ppm", part.weight_ppm},
                                   {"owner", part.owner.hex()},
                                   {"name", part.name},
                                   {"licence", part.licence},
                                   {"price_wei_per_mtoken", part.price_wei_per_mtoken.to_string()},
                                   {"quality_ppm", part.quality_ppm}});
    return out;
}

json::value nearest_json(const std::optional<registry::NearestDataset>& nearest) {
    if (!nearest) return nullptr;
    return json::object{{"root", nearest->root.hex()}, {"ppm", nearest->ppm}};
}

json::value measurement_json(const std::optional<registry::DatasetMeasurement>& measurement) {
    if (!measurement) return nullptr;
    return json::object{{"evaluation", measurement->evaluation.hex()},
                        {"state_root", measurement->state_root.hex()},
                        {"before_bits", bits_text(measurement->before_bits)},
                        {"after_bits", bits_text(measurement->after_bits)},
                        {"baseline_bits", bits_text(measurement->baseline_bits)},
                        {"measured_at_ms", measurement->measured_at_ms}};
}

json::value retirement_json(const std::optional<registry::Retirement>& retired) {
    if (!retired) return nullptr;
    return json::object{{"salt", retired->salt.hex()},
                        {"held_out_root", retired->held_out_root.hex()},
                        {"datasets_until", retired->datasets_until},
                        {"retired_at_ms", retired->retired_at_ms}};
}

}  // namespace

json::object to_json(const registry::DatasetTokenizer& tokenizer) {
    return {{"dataset", tokenizer.dataset.hex()},
            {"blob", tokenizer.blob.hex()},
            {"bytes", tokenizer.bytes},
            {"added_at_ms", tokenizer.added_at_ms}};
}

json::object to_json(const registry::DatasetManifest& manifest) {
    return {{"dataset", manifest.dataset.hex()},
            {"root", manifest.root.hex()},
            {"blob", manifest.blob.hex()},
            {"bytes", manifest.bytes},
            {"added_at_ms", manifest.added_at_ms}};
}

json::object to_json(const registry::Dataset& dataset, const registry::Viewer& viewer) {
    return {{"root", dataset.root.hex()},
            {"blob", dataset.blob.hex()},
            {"owner", dataset.owner.hex()},
            {"name", dataset.name},
            {"names", json::array(dataset.names.begin(), dataset.names.end())},
            {"licence", dataset.licence},
            {"visibility", to_string(dataset.access.visibility)},
            {"allowed", allowed_json(dataset.access, dataset.owner, viewer)},
            {"tokens", dataset.tokens},
            {"vocabulary", dataset.vocabulary},
            {"tokenizer", or_null(dataset.tokenizer)},
            {"manifest", or_null(dataset.manifest)},
            {"price_wei_per_mtoken", dataset.price_wei_per_mtoken.to_string()},
            {"novelty_ppm", dataset.novelty_ppm},
            {"usefulness_ppm", dataset.usefulness_ppm},
            {"quality_ppm", dataset.quality_ppm},
            {"nearest", nearest_json(dataset.nearest)},
            {"measurement", measurement_json(dataset.measurement)},
            {"parts", parts_json(dataset.parts)},
            {"number", dataset.number},
            {"registered_at_ms", dataset.registered_at_ms}};
}

json::object to_json(const MixProgress& mix, const registry::Viewer& viewer) {
    return {{"state", to_string(mix.state)},
            {"dataset",
             mix.dataset ? json::value(to_json(*mix.dataset, viewer)) : json::value(nullptr)}};
}

json::object to_json(const registry::DatasetVersion& version) {
    return {{"name", version.name},
            {"version", version.version},
            {"root", version.root.hex()},
            {"owner", version.owner.hex()},
            {"registered_at_ms", version.registered_at_ms}};
}

json::object to_json(const registry::ModelVersion& version, const registry::Viewer& viewer) {
    const auto blob_json = [](const registry::ModelBlobRef& one) {
        return json::object{
            {"root", one.root.hex()}, {"blob", one.blob.hex()}, {"bytes", one.bytes}};
    };
    return {{"name", version.name},
            {"version", version.version},
            {"owner", version.owner.hex()},
            {"state", blob_json(version.state)},
            {"program", blob_json(version.program)},
            {"tokenizer", or_null(version.tokenizer)},
            {"tokenizer_blob", or_null(version.tokenizer_blob)},
            {"licence", version.licence},
            {"job_id", or_null(version.job)},
            {"round", or_null(version.round)},
            {"visibility", to_string(version.access.visibility)},
            {"allowed", allowed_json(version.access, version.owner, viewer)},
            {"registered_at_ms", version.registered_at_ms}};
}

json::object to_json(const registry::Evaluation& evaluation) {
    return {{"id", evaluation.id.hex()},
            {"number", evaluation.number},
            {"program_root", evaluation.terms.program_root.hex()},
            {"seed", evaluation.terms.seed.hex()},
            {"vocabulary", evaluation.terms.vocabulary},
            {"base_steps", evaluation.terms.base_steps},
            {"steps", evaluation.terms.steps},
            {"windows", evaluation.terms.windows},
            {"reference_root", evaluation.terms.reference_root.hex()},
            {"held_out", evaluation.terms.held_out.hex()},
            {"model", evaluation.model_yaml},
            {"base_state_root", evaluation.base_state_root.hex()},
            {"before_bits", bits_text(evaluation.before_bits)},
            {"baseline_state_root", evaluation.baseline_state_root.hex()},
            {"baseline_bits", bits_text(evaluation.baseline_bits)},
            {"datasets_before", evaluation.datasets_before},
            {"published_at_ms", evaluation.published_at_ms},
            {"retired", retirement_json(evaluation.retired)}};
}

// Records that nodes signed.

}  // namespace gym::api
