#include "data/evaluation_records.hpp"

#include <charconv>
#include <stdexcept>

#include "cli/api_json.hpp"
#include "cli/api_request.hpp"
#include "cli/record_json.hpp"
#include "gym/common/float_bits.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using namespace api_json;

/// The loss that `key` has the bits of, for people.
std::string loss(const json::object& object, const char* key) {
    const std::string bits = text_of(object, key);
    if (bits.size() != 10) throw std::runtime_error("no float has the bits " + bits);
    std::uint32_t value = 0;
    std::from_chars(bits.data() + 2, bits.data() + bits.size(), value, 16);
    return loss_text(value);
}

/// Whether `evaluation` was in force when the dataset of this number and vocabulary was registered.
bool measures(const json::object& evaluation, std::uint64_t dataset, std::uint64_t vocabulary) {
    if (number_of(evaluation, "vocabulary") != vocabulary ||
        number_of(evaluation, "datasets_before") >= dataset)
        return false;
    const json::value& retired = evaluation.at("retired");
    return retired.is_null() || dataset <= number_of(retired.as_object(), "datasets_until");
}

class Comparison {
  public:
    explicit Comparison(const json::object& record) : record_(&record) {}
    void expect(const char* key, const std::string& found) {
        const std::string recorded = text_of(*record_, key);
        if (recorded != found)
            deviations_.push_back(std::string(key) + " is recorded as " + recorded +
                                  ", measured as " + found);
    }
    void read(const json::object& record) { record_ = &record; }
    void add(std::string deviation) { deviations_.push_back(std::move(deviation)); }
    [[nodiscard]] std::vector<std::string> take() { return std::move(deviations_); }

  private:
    const json::object* record_;
    std::vector<std::string> deviations_;
};

/// The dataset's evaluation among `newest_first`; nullptr: none was in force.
const json::object* evaluation_of(const json::object& dataset,
                                  const std::vector<json::object>& newest_first) {
    const std::uint64_t registered = number_of(dataset, "number");
    const std::uint64_t vocabulary = number_of(dataset, "vocabulary");
    for (const json::object& one : newest_first)
        if (measures(one, registered, vocabulary)) return &one;
    return nullptr;
}

std::vector<std::string> deviations(const Measured& found, const json::object& dataset,
                                    const std::vector<json::object>& evaluations) {
    Comparison comparison(dataset.at("measurement").as_object());
    comparison.expect("evaluation", found.evaluation.hex());
    comparison.expect("state_root", found.after.state_root.hex());
    comparison.expect("before_bits", bits_text(found.reference.before.loss_bits));
    comparison.expect("after_bits", bits_text(found.after.loss_bits));
    comparison.expect("baseline_bits", bits_text(found.reference.baseline.loss_bits));
    const std::uint64_t recorded = number_of(dataset, "usefulness_ppm");
    if (recorded != found.usefulness_ppm)
        comparison.add("usefulness_ppm is recorded as " + std::to_string(recorded) +
                       ", measured as " + std::to_string(found.usefulness_ppm));
    const json::object* rightful = evaluation_of(dataset, evaluations);
    if (rightful == nullptr) {
        comparison.add("no evaluation was in force when the dataset was registered");
        return comparison.take();
    }
    comparison.read(*rightful);
    comparison.expect("id", found.evaluation.hex());
    comparison.expect("base_state_root", found.reference.before.state_root.hex());
    comparison.expect("baseline_state_root", found.reference.baseline.state_root.hex());
    return comparison.take();
}

}  // namespace

Result<std::vector<json::object>> fetch_evaluations(const std::string& url) {
    GYM_TRY(const json::value answer, api_get(url, "/v1/evaluations?limit=1000"));
    return read_answer("list of evaluations", [&] {
        std::vector<json::object> out;
        for (const json::value& one : answer.as_object().at("evaluations").as_array())
            out.push_back(one.as_object());
        return out;
    });
}

Result<std::string> evaluation_line(const json::object& evaluation) {
    return read_answer("evaluation", [&] {
        return text_of(evaluation, "id") + "  vocabulary " +
               std::to_string(number_of(evaluation, "vocabulary")) + ", " +
               std::to_string(number_of(evaluation, "steps")) + " steps, loss " +
               loss(evaluation, "before_bits") + " to " + loss(evaluation, "baseline_bits") +
               ", datasets after number " +
               std::to_string(number_of(evaluation, "datasets_before")) +
               (evaluation.at("retired").is_null() ? "" : ", retired");
    });
}

Result<std::vector<std::string>> compare_with_records(
    const Measured& found, const json::object& dataset,
    const std::vector<json::object>& evaluations) {
    const json::value* measurement = dataset.if_contains("measurement");
    if (measurement == nullptr || measurement->is_null())
        return fail(ErrorCode::kNotFound, "nobody has measured dataset " + found.dataset.hex() +
                                              ": its usefulness is the network's default");
    return read_answer("measurement", [&] { return deviations(found, dataset, evaluations); });
}

}  // namespace gym::app
