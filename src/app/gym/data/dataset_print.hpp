#pragma once

#include <cstdint>
#include <string>

#include "gym/registry/datasets.hpp"

/// Prints registered datasets for people.
namespace gym::app {

void print_dataset(const registry::Dataset& dataset);
/// The parts of a mix, a line each; nothing of other datasets.
void print_parts(const registry::Dataset& mix);
void print_dataset_line(const registry::Dataset& dataset);

/// "48.65 %" from millionths.
[[nodiscard]] std::string percent(std::uint64_t ppm);

}  // namespace gym::app
