#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::commit::test {

/// The rows of tests/vectors/merkle.txt that start with `kind`, split at spaces, without the kind.
inline std::vector<std::vector<std::string>> vector_rows(const std::string& kind) {
    const char* source = std::getenv("GYM_SOURCE_DIR");
    std::ifstream file(std::string(source ? source : ".") + "/tests/vectors/merkle.txt");
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word != kind) continue;
        std::vector<std::string>& row = rows.emplace_back();
        while (words >> word)
            row.push_back(word);
    }
    return rows;
}

/// pattern() and leaf() of make_merkle_vectors.py.
inline Bytes pattern(std::size_t size) {
    Bytes out(size);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8) * 17 + 7);
    return out;
}

inline Digest numbered_leaf(std::uint64_t index) {
    return sha256(Encoder().raw(as_bytes("leaf")).u64(index).view());
}

inline std::vector<Digest> numbered_leaves(std::uint64_t count) {
    std::vector<Digest> out;
    for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(numbered_leaf(i));
    return out;
}

}  // namespace gym::commit::test
