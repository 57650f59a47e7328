#pragma once

#include <string>
#include <string_view>

// Text from strangers that people see on a terminal. UTF-8 is neither needed nor checked.
namespace gym {

/// Whether `text` has no control character (C0, DEL, C1): none that moves a cursor, hides what
/// follows, or begins a line that seems to come from another program.
[[nodiscard]] bool is_printable(std::string_view text) noexcept;

/// `text` without those that are no line feed or tab.
[[nodiscard]] std::string without_controls(std::string_view text);

/// `text` for logs and databases: other than printable ASCII becomes '?', and "..." replaces what
/// is beyond `size_max`.
[[nodiscard]] std::string printable_ascii(std::string_view text, std::size_t size_max);

}  // namespace gym
