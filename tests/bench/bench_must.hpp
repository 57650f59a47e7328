#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "gym/common/result.hpp"

namespace gym::bench {

/// Ends the benchmark with exit code 1 and a reason.
[[noreturn]] inline void give_up(const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
    std::exit(1);
}

/// The value, or the end of the benchmark with the error's message.
template <class T>
T must(Result<T> result) {
    if (!result.ok()) give_up(result.error().message);
    return std::move(result).value();
}
inline void must(const Status& status) {
    if (!status.ok()) give_up(status.error().message);
}

}  // namespace gym::bench
