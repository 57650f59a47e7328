#include "program/network_limit.hpp"

#include "gym/common/memory.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/program/cost.hpp"

namespace gym::app {

std::string network_limit(const program::Program& program) {
    constexpr std::uint64_t kHeadBytes = 16;  // of a delta, before its parameters
    const std::uint64_t bytes = program::parameter_count(program) * sizeof(float);
    if (bytes > dispute::kDeltaBytesMax - kHeadBytes)
        return "its parameters take " + memory_text(bytes) + ", a network's limit is " +
               memory_text(dispute::kDeltaBytesMax);
    const auto trace = dispute::trace_program(program);
    return trace.ok() ? std::string() : trace.error().message;
}

}  // namespace gym::app
