#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "gym/blob/dataset.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Registered datasets as gym-api shows them (its openapi.json: Dataset).
namespace gym::app {

struct DatasetTerms {
    std::string name;     ///< for people, 1 to 128 bytes
    std::string licence;  ///< an SPDX license expression
    Amount price_wei_per_mtoken;
};

/// Uploads and registers `dataset`; a server that restarts meanwhile is waited for. Content
/// addressed: sending the same again changes nothing.
/// @return the record as it stands. @errors kConflict (somebody else's, or other terms),
/// kInvalidArgument, kUnauthenticated, kUnavailable.
[[nodiscard]] Result<boost::json::object> register_dataset(const std::string& url,
                                                           const std::string& api_key,
                                                           const blob::Dataset& dataset,
                                                           const DatasetTerms& terms);

/// Absent if nobody registered it. @errors as api_get(), but kNotFound.
[[nodiscard]] Result<std::optional<boost::json::object>> fetch_dataset(const std::string& url,
                                                                       const Digest& root);

/// What a job pays for the tokens that it consumes.
struct DataTerms {
    Amount price_wei_per_mtoken;
    std::uint32_t quality_ppm = 0;
};
/// @errors kMalformed for an answer that is none.
[[nodiscard]] Result<DataTerms> data_terms_of(const boost::json::object& dataset);

/// Percent-encodes all but letters, digits and "-._".
[[nodiscard]] std::string encode_query(const std::string& text);

}  // namespace gym::app
