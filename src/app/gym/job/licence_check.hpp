#pragma once

#include <string>
#include <string_view>

namespace gym::app {

/// The first id of an SPDX license expression that is not among the ones that data and programs are
/// commonly under, and no LicenseRef- either: maybe a mistyped one. Empty: all are known. It is no
/// judgement: the SPDX list has hundreds of ids more.
[[nodiscard]] std::string uncommon_licence(std::string_view expression);

}  // namespace gym::app
