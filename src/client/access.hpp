#pragma once

#include <string>

#include "gym/common/result.hpp"
#include "gym/registry/visibility.hpp"

namespace gym::client {

/// The body of a change of visibility.
[[nodiscard]] std::string access_body(const registry::Access& access);

/// What is not public does not leave this machine in the clear. @errors kInvalidArgument for plain
/// HTTP to another machine.
[[nodiscard]] Status check_confidential(const std::string& url, registry::Visibility visibility);

}  // namespace gym::client
