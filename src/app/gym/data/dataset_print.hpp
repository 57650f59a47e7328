#pragma once

#include <cstdint>
#include <string>

#include "gym/registry/datasets.hpp"

/// Prints registered datasets for people.
namespace gym::app {

void print_dataset(const registry::Dataset& dataset);
void print_dataset_line(const registry::Dataset& dataset);

/// "48.65 %" from millionths.
[[nodiscard]] std::string percent(std::uint64_t ppm);

}  // namespace gym::app
