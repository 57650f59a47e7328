#pragma once

#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// Where gym-api lists what has an id.
struct IdList {
    const char* path;   ///< "/v1/jobs"
    const char* items;  ///< its array in the answer: "jobs"
    const char* key;    ///< the id in an item: "id"
    const char* what;   ///< for people: "job"
};

inline constexpr IdList kJobIds{"/v1/jobs", "jobs", "id", "job"};
inline constexpr IdList kDatasetRoots{"/v1/datasets", "datasets", "root", "dataset"};

/// Whether `text` can be the beginning of an id: 4 to 64 hex digits, 0x before them or not.
[[nodiscard]] bool is_id_prefix(const std::string& text);

/// The id that `text` is, or the only one in the list that begins like it. A whole id asks nobody.
/// @errors kInvalidArgument: no digits of an id, or of several; kNotFound; those of api_get().
[[nodiscard]] Result<Digest> find_id(const std::string& api_url, const IdList& list,
                                     const std::string& text);

}  // namespace gym::app
