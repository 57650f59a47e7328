#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>

/// What the commands about registered datasets print for people; the objects are gym-api's.
namespace gym::app {

void print_dataset(const boost::json::object& dataset);
void print_dataset_line(const boost::json::object& dataset);

/// "48.65 %" from millionths.
[[nodiscard]] std::string percent(std::uint64_t ppm);

}  // namespace gym::app
