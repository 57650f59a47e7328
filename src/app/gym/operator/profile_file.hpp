#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/profile/profile.hpp"

namespace gym::app {

/// What `gym operator sign-profile` reads; deploy/config/profile.yaml documents every key.
struct ProfileFile {
    profile::NetworkProfile profile;  ///< without contracts, time, and the CA if that is a file
    std::filesystem::path ca_file;    ///< empty: the profile has what the file says
    std::filesystem::path deployment;
};

/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<ProfileFile> load_profile_file(const std::string& path);

/// The profile with the contracts of the deployment and the certificates of the CA file, issued at
/// `now_ms` and checked. @errors those of the two files, and of profile::check.
[[nodiscard]] Result<profile::NetworkProfile> complete_profile(const ProfileFile& file,
                                                               UnixMs now_ms);

}  // namespace gym::app
