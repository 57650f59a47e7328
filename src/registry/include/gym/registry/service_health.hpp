#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

/// How the services beside gym-api are, as each tells of itself.
namespace gym::registry {

inline constexpr const char* kCoordinatorService = "gym-coordinator";
inline constexpr const char* kRewardsService = "gym-rewards";
/// Of a service that has begun and done nothing yet.
inline constexpr const char* kStartingProblem = "starting";

struct ServiceHealth {
    std::string service;
    std::string problem;  ///< the kind of error; empty: works
    UnixMs seen_at_ms = 0;
};

/// For the service's own role; no role writes about another service.
/// @param problem at most 64 bytes. @errors kPermissionDenied, those of the database.
Status note_health(db::Transaction& tx, std::string_view service, std::string_view problem,
                   UnixMs now_ms);

/// Of the services that have ever told, by name.
Result<std::vector<ServiceHealth>> service_health(db::Transaction& tx);

}  // namespace gym::registry
