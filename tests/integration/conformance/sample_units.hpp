#pragma once

#include <string>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/program.hpp"

/// Units that are small enough for a second implementation in Python.
namespace gym::conformance {

struct SampleUnit {
    std::string name;
    std::string yaml;  ///< what the program is made of
    program::Program program;
    blob::Dataset dataset;
    engine::State base;
    /// Elements of the base state that are not the drawn ones: tensor, element, bits.
    struct Override {
        std::size_t tensor;
        std::size_t element;
        std::uint32_t bits;
    };
    std::vector<Override> overrides;
    engine::UnitSpec spec;

    [[nodiscard]] engine::Unit unit() const { return {program, base, dataset, spec}; }
};

/// The same units for every call: two slots of a small GPT, a Llama with everything that training
/// can do, two classifiers, a unit whose first step is not finite.
std::vector<SampleUnit> sample_units();

struct SampleResult {
    engine::UnitResult unit;
    std::vector<Digest> chunks;  ///< the last step's
};
SampleResult run(const SampleUnit& sample);

}  // namespace gym::conformance
