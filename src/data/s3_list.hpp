#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/result.hpp"

namespace gym::data {

struct S3Object {
    std::string key;
    std::string etag;
    std::uint64_t size_bytes = 0;
};
struct S3Page {
    std::vector<S3Object> objects;
    std::string next;  ///< continuation token; empty: the last page
};
/// An answer of ListObjectsV2. @errors kMalformed.
[[nodiscard]] Result<S3Page> read_s3_page(const std::string& xml);

}  // namespace gym::data
