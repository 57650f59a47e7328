#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"

/// The terms that identify an evaluation of datasets (docs/REWARDS.md, "Usefulness"). Pure
/// functions.
namespace gym::quality {

/// The public terms of an evaluation.
struct EvaluationTerms {
    Digest program_root;           ///< of the train program
    Digest seed;                   ///< of the base state and of all batches
    std::uint32_t vocabulary = 0;  ///< of the model and of every dataset that it applies to
    /// Steps on the reference that make the base state; 0: it is the initial state of the seed.
    std::uint32_t base_steps = 0;
    std::uint32_t steps = 0;    ///< of training on what is measured, and on the reference
    std::uint32_t windows = 0;  ///< of the held-out text, as engine::evaluate() takes them
    Digest reference_root;      ///< of the reference's tokens; a registered dataset
    Digest held_out;            ///< held_out_commitment() of the held-out tokens

    friend bool operator==(const EvaluationTerms&, const EvaluationTerms&) = default;
};

/// SHA-256 of "GYMHELD1", `salt` and `root`. The salt prevents guessing: without it, no one can try
/// candidate texts.
[[nodiscard]] Digest held_out_commitment(const Digest& salt, const Digest& root);

/// SHA-256 of "GYMUSEF1" and the terms in order (integers big-endian).
[[nodiscard]] Digest evaluation_id(const EvaluationTerms& terms);

}  // namespace gym::quality
