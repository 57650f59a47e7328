#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gym/engine/unit.hpp"

namespace gym::app {

/// A float's bits as a number for readers; null for NaN and infinities.
[[nodiscard]] boost::json::value number_of_bits(std::uint32_t bits);
/// Bits and number, for people: "2.444429 (0x401c7187)".
[[nodiscard]] std::string loss_text(std::uint32_t bits);

/// One step record; floats as their bits ("0x40b0...") and, for readers, as numbers.
[[nodiscard]] boost::json::object to_json(const engine::StepRecord& record);
/// @errors kMalformed naming the member. The readable numbers are not looked at.
[[nodiscard]] Result<engine::StepRecord> record_from_json(const boost::json::value& value);

/// What `gym unit run` writes and `gym unit verify` checks.
struct UnitFile {
    engine::UnitSpec spec;
    std::vector<engine::StepRecord> records;
    Digest records_root;
    Digest final_state_root;
    Digest delta_root;
    std::uint64_t tokens = 0;
    std::uint64_t flops = 0;
};
[[nodiscard]] boost::json::object to_json(const UnitFile& unit);
[[nodiscard]] Result<UnitFile> unit_from_json(const boost::json::value& value);

}  // namespace gym::app
