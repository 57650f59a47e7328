#pragma once

#include <array>
#include <string_view>

namespace gym {

/// Variables of the environment that hold passwords and keys: programs that read strangers' files
/// are started without them.
inline constexpr std::array<std::string_view, 7> kSecretVariables{
    "GYM_API_KEY",       "GYM_PASSPHRASE",        "GYM_DB_PASSWORD",  "PGPASSWORD",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};

}  // namespace gym
