#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/measure/measurement.hpp"

/// Evaluations and measurements as gym-api shows them (its openapi.json: Evaluation, Measurement).
namespace gym::app {

/// Newest first. @errors as api_get(); kMalformed.
[[nodiscard]] Result<std::vector<boost::json::object>> fetch_evaluations(const std::string& url);

/// For people, without a line feed. @errors kMalformed.
[[nodiscard]] Result<std::string> evaluation_line(const boost::json::object& evaluation);

/// What somebody found by measuring.
struct Measured {
    Digest evaluation;
    Digest dataset;
    measure::ReferenceLosses reference;
    measure::Scored after;
    std::uint32_t usefulness_ppm = 0;
};

/// In what `dataset` and `evaluations`, the network's records, differ from `found`: one sentence
/// each. Also whether that evaluation is the dataset's: the newest of its vocabulary that was in
/// force when it was registered.
/// @errors kMalformed for records that are none; kNotFound: nobody has measured the dataset.
[[nodiscard]] Result<std::vector<std::string>> compare_with_records(
    const Measured& found, const boost::json::object& dataset,
    const std::vector<boost::json::object>& evaluations);

}  // namespace gym::app
