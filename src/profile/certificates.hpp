#pragma once

#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

namespace gym::profile {

/// That `pem` is one or more X.509 certificates, each valid at `now_ms`, and nothing secret.
/// @errors kInvalidArgument with what is wrong and, of a date, which.
Status check_certificates(const std::string& pem, UnixMs now_ms);

}  // namespace gym::profile
