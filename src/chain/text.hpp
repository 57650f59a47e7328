#pragma once

#include <string>
#include <string_view>

namespace gym::chain {

/// Text from outside made fit for logs and databases: other than printable ASCII becomes '?', long
/// text is cut.
[[nodiscard]] std::string printable(std::string_view text, std::size_t size_max);
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace gym::chain
