#include "gym/engine/seed.hpp"

#include "gym/commit/sha256.hpp"

namespace gym::engine {

Digest parse_seed(std::string_view text) {
    if (const auto digest = Digest::parse(text); digest.ok()) return *digest;
    return commit::sha256(as_bytes(text));
}

}  // namespace gym::engine
