#include "gym/common/float_bits.hpp"
#include "views.hpp"

// Datasets, and what they were measured with.
namespace gym::api {
namespace {

namespace json = boost::json;

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

json::object to_json(const registry::Dataset& dataset) {
    return {{"root", dataset.root.hex()},
            {"blob", dataset.blob.hex()},
            {"owner", dataset.owner.hex()},
            {"name", dataset.name},
            {"licence", dataset.licence},
            {"tokens", dataset.tokens},
            {"vocabulary", dataset.vocabulary},
            {"price_wei_per_mtoken", dataset.price_wei_per_mtoken.to_string()},
            {"novelty_ppm", dataset.novelty_ppm},
            {"usefulness_ppm", dataset.usefulness_ppm},
            {"quality_ppm", dataset.quality_ppm},
            {"nearest", nearest_json(dataset.nearest)},
            {"measurement", measurement_json(dataset.measurement)},
            {"number", dataset.number},
            {"registered_at_ms", dataset.registered_at_ms}};
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

}  // namespace gym::api
