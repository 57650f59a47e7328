#pragma once

#include <memory>
#include <string>

#include "gym/blob/blob_store.hpp"
#include "gym/http_server/handler.hpp"

namespace gym::http_server {

/// What is sent, and what a client compares to know that it is still the same.
struct Download {
    std::shared_ptr<const blob::BlobReader> source;
    std::string etag;  ///< without quotes: a root, so that equal tags mean equal bytes
    std::string file_name;
    /// Without more: the owner's alone, which no cache on the way may keep.
    std::string cache_control = "private";
};

/// The answer to a GET or HEAD of `download`, by RFC 9110: all of it (200), the one range that
/// Range names (206), or 416 for a range behind the end. Several ranges, a range in other words,
/// and one for another entity (If-Range) are answered with all of it, as the RFC allows.
[[nodiscard]] Response answer_download(const Request& request, Download download);

}  // namespace gym::http_server
