#pragma once

#include <bit>

#include "gym/quality/evaluation_terms.hpp"
#include "gym/registry/evaluations.hpp"

namespace gym::testing {

/// An evaluation that the registry takes, with made-up results. Losses are in nats.
inline registry::Evaluation sample_evaluation(const Digest& reference, std::uint8_t seed = 1,
                                              float before = 5.0F, float baseline = 3.0F) {
    Digest salt, held_out_root;
    salt.data.back() = seed;
    held_out_root.data.front() = seed;
    quality::EvaluationTerms terms;
    terms.program_root.data.front() = 7;
    terms.seed.data.back() = seed;
    terms.vocabulary = 256;
    terms.base_steps = 3;
    terms.steps = 20;
    terms.windows = 16;
    terms.reference_root = reference;
    terms.held_out = quality::held_out_commitment(salt, held_out_root);
    registry::Evaluation out;
    out.id = quality::evaluation_id(terms);
    out.terms = terms;
    out.model_yaml = "batch: 2\n";
    out.before_bits = std::bit_cast<std::uint32_t>(before);
    out.baseline_bits = std::bit_cast<std::uint32_t>(baseline);
    out.published_at_ms = 1'000;
    return out;
}

/// The opening of sample_evaluation()'s commitment.
inline registry::Retirement sample_retirement(std::uint8_t seed = 1) {
    registry::Retirement out;
    out.salt.data.back() = seed;
    out.held_out_root.data.front() = seed;
    out.retired_at_ms = 2'000;
    return out;
}

/// A measurement in which the loss after training is `after` nats.
inline registry::NewMeasurement sample_measurement(const Digest& dataset, const Digest& evaluation,
                                                   float after) {
    registry::NewMeasurement out;
    out.dataset = dataset;
    out.evaluation = evaluation;
    out.after_bits = std::bit_cast<std::uint32_t>(after);
    out.measured_at_ms = 1'500;
    return out;
}

}  // namespace gym::testing
