#pragma once

#include <string_view>
#include <utility>

#include "gym/common/assert.hpp"
#include "gym/common/result.hpp"

namespace gym::testing {

/// The value, or the end of the program with the error's message and the place of the call: for
/// what a test cannot go on without.
template <class T>
T must(Result<T> result, std::string_view what = "result.ok()",
       std::string_view file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!result.ok()) assertion_failed(what, result.error().message, file, line);
    return std::move(result).value();
}
inline void must(const Status& status, std::string_view what = "status.ok()",
                 std::string_view file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!status.ok()) assertion_failed(what, status.error().message, file, line);
}

}  // namespace gym::testing
