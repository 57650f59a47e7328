#include "data/evaluation_records.hpp"

#include <algorithm>

#include "cli/record_json.hpp"
#include "gym/common/float_bits.hpp"
#include "gym/common/plural.hpp"

namespace gym::app {
namespace {

/// Whether `evaluation` was in force when the dataset was registered.
bool measures(const registry::Evaluation& evaluation, const registry::Dataset& dataset) {
    if (evaluation.terms.vocabulary != dataset.vocabulary ||
        evaluation.datasets_before >= dataset.number)
        return false;
    return !evaluation.retired || dataset.number <= evaluation.retired->datasets_until;
}

class Comparison {
  public:
    void expect(const char* what, const Digest& recorded, const Digest& found) {
        compare(what, recorded.hex(), found.hex());
    }
    void expect_loss(const char* what, std::uint32_t recorded, std::uint32_t found) {
        compare(what, bits_text(recorded), bits_text(found));
    }
    void compare(const char* what, const std::string& recorded, const std::string& found) {
        if (recorded != found)
            add(std::string(what) + " is recorded as " + recorded + ", measured as " + found);
    }
    void add(std::string deviation) { deviations_.push_back(std::move(deviation)); }
    [[nodiscard]] std::vector<std::string> take() { return std::move(deviations_); }

  private:
    std::vector<std::string> deviations_;
};

}  // namespace

std::string evaluation_line(const registry::Evaluation& evaluation) {
    return evaluation.id.hex() + "  vocabulary " + std::to_string(evaluation.terms.vocabulary) +
           ", " + counted(evaluation.terms.steps, "step") + ", loss " +
           loss_text(evaluation.before_bits) + " to " + loss_text(evaluation.baseline_bits) +
           ", datasets after number " + std::to_string(evaluation.datasets_before) +
           (evaluation.retired ? ", retired" : "");
}

Result<std::vector<std::string>> compare_with_records(
    const Measured& found, const registry::Dataset& dataset,
    const client::AnswerList<registry::Evaluation>& evaluations) {
    if (!dataset.measurement)
        return fail(ErrorCode::kNotFound, "there is no measurement of dataset " +
                                              found.dataset.hex() +
                                              ": its usefulness is the network's default");
    const registry::DatasetMeasurement& recorded = *dataset.measurement;
    Comparison comparison;
    comparison.expect("evaluation", recorded.evaluation, found.evaluation);
    comparison.expect("state_root", recorded.state_root, found.after.state_root);
    comparison.expect_loss("before_bits", recorded.before_bits, found.reference.before.loss_bits);
    comparison.expect_loss("after_bits", recorded.after_bits, found.after.loss_bits);
    comparison.expect_loss("baseline_bits", recorded.baseline_bits,
                           found.reference.baseline.loss_bits);
    comparison.compare("usefulness_ppm", std::to_string(dataset.usefulness_ppm),
                       std::to_string(found.usefulness_ppm));
    const auto rightful = std::ranges::find_if(
        evaluations, [&](const auto& evaluation) { return measures(*evaluation, dataset); });
    if (rightful == evaluations.end()) {
        comparison.add("no evaluation was in force when the dataset was registered");
        return comparison.take();
    }
    const registry::Evaluation& evaluation = rightful->value;
    comparison.expect("id", evaluation.id, found.evaluation);
    comparison.expect("base_state_root", evaluation.base_state_root,
                      found.reference.before.state_root);
    comparison.expect("baseline_state_root", evaluation.baseline_state_root,
                      found.reference.baseline.state_root);
    return comparison.take();
}

}  // namespace gym::app
