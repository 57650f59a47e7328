#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/quality/evaluation_terms.hpp"
#include "gym/registry/datasets.hpp"

/// Evaluations and what they measured (docs/REWARDS.md, "Usefulness"). Writing takes the role
/// gym_evaluator; the database itself computes the usefulness and refuses what does not fit.
namespace gym::registry {

/// Published at the end of an evaluation: it opens the commitment.
struct Retirement {
    Digest salt;
    Digest held_out_root;
    std::uint64_t datasets_until = 0;  ///< number of the last dataset that it still measures
    UnixMs retired_at_ms = 0;
};

struct Evaluation {
    Digest id;  ///< quality::evaluation_id(terms)
    quality::EvaluationTerms terms;
    std::string model_yaml;
    Digest base_state_root;
    std::uint32_t before_bits = 0;  ///< the base state's loss
    Digest baseline_state_root;
    std::uint32_t baseline_bits = 0;    ///< after training on the reference; less than before
    std::uint64_t number = 0;           ///< from 1 in the order of publication; set by the database
    std::uint64_t datasets_before = 0;  ///< it measures datasets of higher numbers; likewise
    UnixMs published_at_ms = 0;
    std::optional<Retirement> retired;
};

/// @return whether it is new; the same again changes nothing. @errors kConflict: the reference is
/// not registered, or the id is published with other losses; kInvalidArgument: the id is not that
/// of the terms; kPermissionDenied.
Result<bool> publish_evaluation(db::Transaction& tx, const Evaluation& evaluation);
/// @errors kNotFound.
Result<Evaluation> get_evaluation(db::Transaction& tx, const Digest& id);
/// Newest first, at most 1,000.
Result<std::vector<Evaluation>> list_evaluations(db::Transaction& tx, std::uint32_t limit);
/// The one that measures a dataset: the newest of its vocabulary that was in force when it was
/// registered; absent if there was none.
Result<std::optional<Digest>> evaluation_for(db::Transaction& tx, const Digest& dataset);

/// Opens the commitment: datasets that are registered from now on are not measured with it.
/// @errors kNotFound; kInvalidArgument: salt and root are not what was committed to; kConflict: it
/// is retired.
Status retire_evaluation(db::Transaction& tx, const Digest& id, const Retirement& opening);

/// Measurement of a dataset; its evaluation has the rest.
struct NewMeasurement {
    Digest dataset;
    Digest evaluation;
    Digest state_root;  ///< of the training state after the steps on the dataset
    std::uint32_t after_bits = 0;
    UnixMs measured_at_ms = 0;
};
/// From now on the dataset's usefulness is the measured one; jobs of before keep their terms.
/// @return the dataset as it is then. @errors kNotFound: either is unknown; kConflict: another
/// evaluation is the dataset's, or another vocabulary; kAlreadyExists: it was measured.
Result<Dataset> record_measurement(db::Transaction& tx, const NewMeasurement& measurement);

}  // namespace gym::registry
