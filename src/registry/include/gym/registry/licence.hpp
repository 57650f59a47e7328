#pragma once

#include <cstddef>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym::registry {

inline constexpr std::size_t kLicenceBytesMax = 256;

/// Whether `text` is an SPDX license expression (SPDX specification 2.3, annex D): identifiers with
/// an optional "+", LicenseRef- and DocumentRef-...:LicenseRef- references, WITH, AND, OR and
/// parentheses. Syntax alone: whether an identifier is on SPDX's list is not looked up. NONE and
/// NOASSERTION are refused, because they name no licence.
/// @errors kInvalidArgument saying what is wrong, where, and what to write instead.
[[nodiscard]] Status check_licence(std::string_view text);

}  // namespace gym::registry
