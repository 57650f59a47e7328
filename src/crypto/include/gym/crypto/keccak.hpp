#pragma once

#include <initializer_list>

#include "gym/common/bytes.hpp"

namespace gym::crypto {

/// Keccak-256 as Ethereum uses it (the padding of the original submission, not of SHA3-256).
/// Thread-safe.
[[nodiscard]] Digest keccak256(ByteView bytes);
/// Keccak-256 of the concatenation of `parts`.
[[nodiscard]] Digest keccak256(std::initializer_list<ByteView> parts);
/// Keccak-256 of a text's bytes, for signatures of types, events and functions.
[[nodiscard]] Digest keccak256_text(std::string_view text);

}  // namespace gym::crypto
