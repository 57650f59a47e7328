#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"

/// The files of tests/vectors/conformance (docs/CONFORMANCE.md).
namespace gym::conformance {

/// Compares `file` with the committed file NAME.json, byte for byte. GYM_UPDATE_VECTORS=1 writes it
/// anew, which only an addition may need: a changed line is a changed rule.
void expect_committed(const std::string& name, const boost::json::object& file);

/// Bytes that are the same on every machine, without a short period.
class Pattern {
  public:
    explicit Pattern(std::uint64_t seed) : state_(seed) {}
    std::uint32_t word();
    /// f32 elements, little-endian: magnitudes from 2^-8 to 2^3 and, if `special`, now and then a
    /// zero of either sign, a subnormal, an infinity or NaN.
    Bytes floats(std::uint64_t count, bool special);
    /// i32 elements below `bound`.
    Bytes indices(std::uint64_t count, std::uint32_t bound);

  private:
    std::uint64_t state_;
};

}  // namespace gym::conformance
