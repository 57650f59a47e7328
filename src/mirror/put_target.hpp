#pragma once

#include <cstdint>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/http/connection.hpp"

/// What uploads and orders for copies have in common: both are PUT of /b/ROOT.
namespace gym::mirror {

inline constexpr std::uint64_t kPutReplyBytesMax = 64 << 10;

[[nodiscard]] std::string put_target(const http::Url& at, const Digest& root);
/// How long the content may be on its way: a minute, and a millisecond for each 1,000 bytes. A
/// worker that is slower has no time to train either.
[[nodiscard]] std::uint32_t put_ms_max(std::uint64_t size_bytes);
/// A web page says 200 to anything, and Gym's mirrors speak JSON.
[[nodiscard]] bool is_ours(const http::Reply& reply);
/// Of a refusal, in printable ASCII.
[[nodiscard]] std::string detail_of(const http::Reply& reply);

}  // namespace gym::mirror
