#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

/// Rows that commands print for people: a label and its value, one fact per row, with all values in
/// one column.
namespace gym::app {

/// An empty label continues the row above.
void print_row_text(std::FILE* out, std::string_view label, const std::string& value);

/// Prints a row on standard output: print_row("tokens", "{} in {:.1f} s", tokens, seconds).
template <class... Values>
void print_row(std::string_view label, fmt::format_string<Values...> text, Values&&... values) {
    print_row_text(stdout, label, fmt::format(text, std::forward<Values>(values)...));
}

/// Prints a line that is not a row, such as one of a table.
template <class... Values>
void print_line(fmt::format_string<Values...> text, Values&&... values) {
    std::puts(fmt::format(text, std::forward<Values>(values)...).c_str());
}

/// Prints a row about the command's course on standard error, which no script reads as its result.
template <class... Values>
void print_notice(std::string_view label, fmt::format_string<Values...> text, Values&&... values) {
    print_row_text(stderr, label, fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace gym::app
