#pragma once

#include <span>
#include <string_view>

namespace gym::licence {

/// The identifiers of SPDX's licence list 3.24, deprecated ones included, in the order of their
/// lower-case letters (spdx.org/licenses; by npm's spdx-license-ids 3.0.24).
[[nodiscard]] std::span<const std::string_view> spdx_ids();

}  // namespace gym::licence
