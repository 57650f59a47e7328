#pragma once

#include <string_view>

namespace gym {

/// Prints the failed invariant and its place to stderr, then aborts. Never returns.
[[noreturn]] void assertion_failed(std::string_view condition, std::string_view message,
                                   std::string_view file, int line) noexcept;

}  // namespace gym

/// A broken invariant of our own code, on in release builds too. Never for input: that is a Result.
#define GYM_ASSERT(condition, message)                                          \
    do {                                                                        \
        if (!(condition)) [[unlikely]]                                          \
            ::gym::assertion_failed(#condition, (message), __FILE__, __LINE__); \
    } while (false)
