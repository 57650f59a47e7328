#include "gym/common/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace gym {

void assertion_failed(std::string_view condition, std::string_view message, std::string_view file,
                      int line) noexcept {
    std::fprintf(stderr, "%.*s:%d: invariant broken: %.*s (%.*s)\n", static_cast<int>(file.size()),
                 file.data(), line, static_cast<int>(message.size()), message.data(),
                 static_cast<int>(condition.size()), condition.data());
    std::abort();
}

}  // namespace gym
