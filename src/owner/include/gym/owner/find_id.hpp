#pragma once

#include <string>

#include "gym/client/api_client.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::owner {

/// Whether `text` can be the beginning of an id: 4 to 64 hex digits, 0x before them or not.
[[nodiscard]] bool is_id_prefix(const std::string& text);

/// The id that `text` is, or the only job or dataset whose id begins like it. A whole id is taken
/// without a request. @errors kInvalidArgument: no digits of an id, or of several; kNotFound; those
/// of client::ApiClient.
[[nodiscard]] Result<Digest> find_job(const client::ApiClient& api, const std::string& text);
/// "job:ID[@ROUND]", where the first digits of the id suffice. `text` begins with
/// registry::kInitJobPrefix (an invariant of the caller). @errors also those of parse_init().
[[nodiscard]] Result<registry::InitialWeights> find_init_job(const client::ApiClient& api,
                                                             const std::string& text);
/// Also by its name: NAME, or NAME@VERSION.
[[nodiscard]] Result<Digest> find_dataset(const client::ApiClient& api, const std::string& text);

}  // namespace gym::owner
