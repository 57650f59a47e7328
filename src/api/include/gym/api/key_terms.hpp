#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

/// What an API key is good for. It never spends: money moves by the owner's signature alone.
namespace gym::api {

enum class KeyScope : std::uint8_t {
    kRead,   ///< what its owner alone may read
    kData,   ///< register datasets, models and mixes, upload, change visibility
    kJobs,   ///< pause, resume and cancel jobs
    kSpend,  ///< bring orders that its owner signed
};

[[nodiscard]] std::string_view to_string(KeyScope scope) noexcept;
/// Reads "read,spend". @errors kInvalidArgument naming what is no scope, or for none.
[[nodiscard]] Result<std::vector<KeyScope>> parse_scopes(std::string_view text);
/// What parse_scopes() reads.
[[nodiscard]] std::string to_string(const std::vector<KeyScope>& scopes);

struct KeyTerms {
    std::vector<KeyScope> scopes = {KeyScope::kRead, KeyScope::kData, KeyScope::kJobs,
                                    KeyScope::kSpend};
    std::optional<UnixMs> expires_at_ms = {};  ///< absent: never
    /// The most that all orders together may come to that the key brings; absent: no limit.
    std::optional<Amount> spend_max_wei = {};
};

/// On whose behalf a request with an API key is made.
struct KeyHolder {
    Address owner;
    std::string key_id;  ///< the key's public part
    std::vector<KeyScope> scopes;
};
/// @errors kPermissionDenied naming the scope that the key lacks.
[[nodiscard]] Status check_scope(const KeyHolder& holder, KeyScope scope);

}  // namespace gym::api
