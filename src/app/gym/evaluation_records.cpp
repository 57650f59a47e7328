#include "evaluation_records.hpp"

#include <charconv>
#include <cstdio>

#include "api_request.hpp"
#include "record_json.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

Error no_record(const char* key) {
    return fail(ErrorCode::kMalformed,
                "gym-api answered something without a fitting '" + std::string(key) + "'");
}

Result<std::string> text(const json::object& object, const char* key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_string()) return no_record(key);
    return std::string(value->get_string());
}

Result<std::uint64_t> number(const json::object& object, const char* key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return no_record(key);
    return static_cast<std::uint64_t>(value->get_int64());
}

/// The loss that `key` has the bits of, for people.
std::string loss(const json::object& object, const char* key) {
    const auto bits = text(object, key);
    std::uint32_t value = 0;
    if (!bits.ok() || bits->size() != 10) return "?";
    std::from_chars(bits->data() + 2, bits->data() + bits->size(), value, 16);
    return loss_text(value);
}

/// Whether `evaluation` was in force when the dataset of this number and vocabulary was registered.
Result<bool> measures(const json::object& evaluation, std::uint64_t dataset,
                      std::uint64_t vocabulary) {
    GYM_TRY(const std::uint64_t of, number(evaluation, "vocabulary"));
    GYM_TRY(const std::uint64_t before, number(evaluation, "datasets_before"));
    const json::value* retired = evaluation.if_contains("retired");
    if (retired == nullptr) return no_record("retired");
    if (of != vocabulary || before >= dataset) return false;
    if (retired->is_null()) return true;
    if (!retired->is_object()) return no_record("retired");
    GYM_TRY(const std::uint64_t until, number(retired->get_object(), "datasets_until"));
    return dataset <= until;
}

class Comparison {
  public:
    explicit Comparison(const json::object& record) : record_(&record) {}
    Status expect(const char* key, const std::string& found) {
        GYM_TRY(const std::string recorded, text(*record_, key));
        if (recorded != found)
            deviations_.push_back(std::string(key) + " is recorded as " + recorded +
                                  ", measured as " + found);
        return {};
    }
    void read(const json::object& record) { record_ = &record; }
    void add(std::string deviation) { deviations_.push_back(std::move(deviation)); }
    [[nodiscard]] std::vector<std::string> take() { return std::move(deviations_); }

  private:
    const json::object* record_;
    std::vector<std::string> deviations_;
};

/// The dataset's evaluation among `newest_first`; nullptr: none was in force.
Result<const json::object*> evaluation_of(const json::object& dataset,
                                          const std::vector<json::object>& newest_first) {
    GYM_TRY(const std::uint64_t registered, number(dataset, "number"));
    GYM_TRY(const std::uint64_t vocabulary, number(dataset, "vocabulary"));
    for (const json::object& one : newest_first) {
        GYM_TRY(const bool fits, measures(one, registered, vocabulary));
        if (fits) return &one;
    }
    return static_cast<const json::object*>(nullptr);
}

}  // namespace

Result<std::vector<json::object>> fetch_evaluations(const std::string& url) {
    GYM_TRY(const json::value answer, api_get(url, "/v1/evaluations?limit=1000"));
    const json::value* list =
        answer.is_object() ? answer.get_object().if_contains("evaluations") : nullptr;
    if (list == nullptr || !list->is_array()) return no_record("evaluations");
    std::vector<json::object> out;
    for (const json::value& one : list->get_array()) {
        if (!one.is_object()) return no_record("evaluations");
        out.push_back(one.get_object());
    }
    return out;
}

void print_evaluation_record(const json::object& evaluation) {
    const auto count = [&](const char* key) { return number(evaluation, key).value_or(0); };
    const json::value* retired = evaluation.if_contains("retired");
    const bool in_force = retired == nullptr || retired->is_null();
    std::printf("%s  vocabulary %llu, %llu steps, loss %s to %s, datasets after number %llu%s\n",
                text(evaluation, "id").value_or("?").c_str(),
                static_cast<unsigned long long>(count("vocabulary")),
                static_cast<unsigned long long>(count("steps")),
                loss(evaluation, "before_bits").c_str(), loss(evaluation, "baseline_bits").c_str(),
                static_cast<unsigned long long>(count("datasets_before")),
                in_force ? "" : ", retired");
}

Result<std::vector<std::string>> compare_with_records(
    const Measured& found, const json::object& dataset,
    const std::vector<json::object>& evaluations) {
    const json::value* measurement = dataset.if_contains("measurement");
    if (measurement == nullptr || !measurement->is_object())
        return fail(ErrorCode::kNotFound, "nobody has measured dataset " + found.dataset.hex() +
                                              ": its usefulness is the network's default");
    Comparison comparison(measurement->get_object());
    GYM_CHECK(comparison.expect("evaluation", found.evaluation.hex()));
    GYM_CHECK(comparison.expect("state_root", found.after.state_root.hex()));
    GYM_CHECK(comparison.expect("before_bits", bits_text(found.reference.before.loss_bits)));
    GYM_CHECK(comparison.expect("after_bits", bits_text(found.after.loss_bits)));
    GYM_CHECK(comparison.expect("baseline_bits", bits_text(found.reference.baseline.loss_bits)));
    GYM_TRY(const std::uint64_t recorded, number(dataset, "usefulness_ppm"));
    if (recorded != found.usefulness_ppm)
        comparison.add("usefulness_ppm is recorded as " + std::to_string(recorded) +
                       ", measured as " + std::to_string(found.usefulness_ppm));
    GYM_TRY(const json::object* rightful, evaluation_of(dataset, evaluations));
    if (rightful == nullptr) {
        comparison.add("no evaluation was in force when the dataset was registered");
        return comparison.take();
    }
    comparison.read(*rightful);
    GYM_CHECK(comparison.expect("id", found.evaluation.hex()));
    GYM_CHECK(comparison.expect("base_state_root", found.reference.before.state_root.hex()));
    GYM_CHECK(comparison.expect("baseline_state_root", found.reference.baseline.state_root.hex()));
    return comparison.take();
}

}  // namespace gym::app
