#pragma once

#include <cstdint>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"
#include "gym/quality/evaluation_terms.hpp"

/// A network's yardstick for the usefulness of datasets (docs/REWARDS.md, "Usefulness"): a model, a
/// base state, a reference text and a text that nobody trains on. Pure functions; safe from any
/// thread.
namespace gym::measure {

/// Upper bounds of the numbers of an evaluation.
inline constexpr std::uint32_t kEvaluationStepsMax = 1U << 20;
inline constexpr std::uint32_t kEvaluationWindowsMax = 1U << 16;

struct EvaluationInputs {
    program::TrainConfig model;
    Digest seed;
    std::uint32_t base_steps = 0;
    std::uint32_t steps = 0;
    std::uint32_t windows = 0;
    blob::Dataset reference;
    blob::Dataset held_out;
    Digest salt;  ///< 32 random bytes, as secret as the held-out text
};

/// An evaluation with its secrets and inputs, ready to measure datasets.
class Evaluation {
  public:
    /// @errors kInvalidArgument: the model or a number is out of bounds; a classifier; a text of
    /// another vocabulary than the model's, or too short for a window.
    static Result<Evaluation> create(EvaluationInputs inputs);

    [[nodiscard]] const Digest& id() const { return id_; }
    [[nodiscard]] const quality::EvaluationTerms& terms() const { return terms_; }
    [[nodiscard]] const program::Program& program() const { return program_; }
    [[nodiscard]] const blob::Dataset& reference() const { return inputs_.reference; }
    [[nodiscard]] const blob::Dataset& held_out() const { return inputs_.held_out; }
    [[nodiscard]] const Digest& salt() const { return inputs_.salt; }
    /// Tokens of a window.
    [[nodiscard]] std::uint32_t context() const { return inputs_.model.model.context; }

    /// Whether it can measure `dataset`: one vocabulary, room for a window where a job would train.
    /// @errors kInvalidArgument.
    [[nodiscard]] Status check(const blob::Dataset& dataset) const;

  private:
    Evaluation(EvaluationInputs inputs, program::Program program);
    EvaluationInputs inputs_;
    program::Program program_;
    quality::EvaluationTerms terms_;
    Digest id_;
};

}  // namespace gym::measure
