#pragma once

#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/profile/profile.hpp"

namespace gym::profile {

/// Where gym-api serves the profile of its network.
inline constexpr const char* kProfilePath = "/v1/network/profile";

/// Downloads the profile of a network, reads and checks it: format, bounds, signature, and that it
/// is not issued in the future. @param url of a gym-api, or, with a path, of the document.
/// @errors kInvalidArgument: no URL, a member beyond its bounds; kUnavailable, kTimeout: no answer,
/// a certificate that is not valid; kNotFound: the server has no profile; as parse_profile().
[[nodiscard]] Result<SignedProfile> fetch_profile(const std::string& url, UnixMs now_ms);

/// The first endpoint of the profile's chain that answers. Asks all of them.
/// @errors kMismatch: one serves another chain; kUnavailable: none answers.
[[nodiscard]] Result<std::string> find_chain_rpc(const NetworkProfile& profile);

}  // namespace gym::profile
