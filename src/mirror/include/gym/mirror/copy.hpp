#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Second copies: the coordinator orders a mirror to fetch an upload from the mirror that took it
/// (docs/PROTOCOL.md, "Blobs by HTTP").
namespace gym::mirror {

/// The header that names the mirror to fetch from, as http_server::Request::header() takes it.
inline constexpr const char* kCopyFromHeader = "gym-copy-from";

/// Where a copy stands.
enum class CopyState : std::uint8_t { kHere, kUnderWay };

/// The longest that a copy of so many bytes may take, after which both sides give it up. A worker
/// may take as long for an upload.
[[nodiscard]] std::int64_t copy_ms_max(std::uint64_t size_bytes);

/// Tells the mirror at `url` to fetch the blob from the mirror `source`, or asks how far it is: the
/// same request. @param headers of this one request: a signature is taken once.
/// @errors, with what it answers: kOutOfRange: it is busy or full (503, 507); kMismatch: it tried
/// in vain (422); kPermissionDenied: it refuses, or is no mirror. kUnavailable: none answers there;
/// kTimeout, kMalformed, kCancelled.
[[nodiscard]] Result<CopyState> order_copy(const std::string& url, const Digest& root,
                                           const std::string& source,
                                           std::vector<std::pair<std::string, std::string>> headers,
                                           const std::stop_token& stop);

/// One spelling of a mirror's address: without slashes at its end.
[[nodiscard]] std::string trimmed_url(std::string url);

/// Of two mirrors the one with the higher rank comes first for a blob: the same order for all who
/// ask, another for each blob. `url` as trimmed_url() gives it.
[[nodiscard]] Digest rank_of(const Digest& root, const std::string& url);

}  // namespace gym::mirror
