#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/commit/sha256.hpp"

namespace gym::data {

/// Tokens as u16 little-endian.
[[nodiscard]] inline std::vector<std::uint8_t> token_bytes(std::span<const std::uint16_t> tokens) {
    std::vector<std::uint8_t> bytes(tokens.size() * 2);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        bytes[2 * i] = static_cast<std::uint8_t>(tokens[i]);
        bytes[2 * i + 1] = static_cast<std::uint8_t>(tokens[i] >> 8);
    }
    return bytes;
}

/// SHA-256 of token_bytes().
[[nodiscard]] inline Digest tokens_sha256(std::span<const std::uint16_t> tokens) {
    return commit::sha256(token_bytes(tokens));
}

/// The same of tokens in parts, for Hasher::finish().
inline void update_hash(commit::Hasher& hasher, std::span<const std::uint16_t> tokens) {
    hasher.update(token_bytes(tokens));
}

}  // namespace gym::data
