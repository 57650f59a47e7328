#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gym/client/records.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/measure/measurement.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/evaluations.hpp"

/// Evaluations and measurements that the network publishes.
namespace gym::app {

/// For people, without a line feed.
[[nodiscard]] std::string evaluation_line(const registry::Evaluation& evaluation);

/// A measured result, with the address that measured it.
struct Measured {
    Digest evaluation;
    Digest dataset;
    measure::ReferenceLosses reference;
    measure::Scored after;
    std::uint32_t usefulness_ppm = 0;
};

/// @param evaluations newest first.
/// In what `dataset` and `evaluations`, the network's records, differ from `found`: one sentence
/// each. Also whether that evaluation is the dataset's: the newest of its vocabulary that was in
/// force when it was registered.
/// @errors kNotFound: the dataset has not been measured.
[[nodiscard]] Result<std::vector<std::string>> compare_with_records(
    const Measured& found, const registry::Dataset& dataset,
    const client::AnswerList<registry::Evaluation>& evaluations);

}  // namespace gym::app
