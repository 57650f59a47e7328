#pragma once

#include <string_view>

#include "gym/common/bytes.hpp"

namespace gym::engine {

/// A job seed as people write it: 64 hexadecimal digits as they are, any other text by its SHA-256.
[[nodiscard]] Digest parse_seed(std::string_view text);

}  // namespace gym::engine
