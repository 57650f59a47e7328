#pragma once

#include "gym/blob/dataset_header.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::data {

/// SHA-256 of tokens as a file of this tokenization has them: u16 or u32, little-endian.
[[nodiscard]] inline Digest tokens_sha256(const blob::Tokenization& tokenization,
                                          TokenView tokens) {
    Bytes bytes;
    blob::append_tokens({tokenization, 0}, tokens, bytes);
    return commit::sha256(bytes);
}

/// The same of tokens in parts, for Hasher::finish().
inline void update_hash(commit::Hasher& hasher, const blob::Tokenization& tokenization,
                        TokenView tokens) {
    Bytes bytes;
    blob::append_tokens({tokenization, 0}, tokens, bytes);
    hasher.update(bytes);
}

}  // namespace gym::data
