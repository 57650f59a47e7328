#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/measure/evaluation.hpp"
#include "gym/quality/usefulness.hpp"

/// Measures what training on a dataset brings. A measurement is a unit of training and an
/// evaluation of the engine: a pure function of evaluation and dataset, with the same bits on every
/// machine (docs/NUMERICS.md).
namespace gym::measure {

struct MeasureOptions {
    engine::EngineOptions engine;
    /// Called after every step of training and every batch of evaluation, with the name of the
    /// phase
    /// ("reference").
    std::function<void(std::string_view, const engine::UnitProgress&)> progress;
    std::stop_token cancel;
};

/// A state and its loss on the held-out text.
struct Scored {
    Digest state_root;  ///< of the base state, or of the training state after the last step
    std::uint32_t loss_bits = 0;

    friend bool operator==(const Scored&, const Scored&) = default;
};

/// The state in which every measurement of an evaluation begins.
struct Base {
    engine::State state;  ///< parameters alone
    Digest state_root;
};
/// The initial state of the seed, trained for `base_steps` on the reference as round 0.
/// @errors of engine::run_unit(), kCancelled.
[[nodiscard]] Result<Base> make_base(const Evaluation& evaluation,
                                     const MeasureOptions& options = {});

/// The two losses that all datasets of an evaluation are compared with.
struct ReferenceLosses {
    Scored before;    ///< of the base state
    Scored baseline;  ///< after training on the reference

    friend bool operator==(const ReferenceLosses&, const ReferenceLosses&) = default;
};
/// @errors also kInvalidArgument where the reference brings nothing: no share of that is defined.
[[nodiscard]] Result<ReferenceLosses> measure_reference(const Evaluation& evaluation,
                                                        const Base& base,
                                                        const MeasureOptions& options = {});

/// Trains the base state on `dataset` for the evaluation's steps and scores it.
/// @errors of Evaluation::check(); kInvalidArgument if the loss is not finite; kCancelled.
[[nodiscard]] Result<Scored> measure_dataset(const Evaluation& evaluation, const Base& base,
                                             const blob::Dataset& dataset,
                                             const MeasureOptions& options = {});

[[nodiscard]] quality::LossBits losses_of(const ReferenceLosses& reference, const Scored& after);

}  // namespace gym::measure
