#include "gym/dispute/network_limit.hpp"

#include "gym/common/memory.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/program/cost.hpp"

namespace gym::dispute {

std::string network_limit(const program::Program& program) {
    const std::uint64_t bytes = program::parameter_count(program) * sizeof(float);
    if (bytes > kDeltaBytesMax - kDeltaHeadBytes)
        return "its parameters take " + memory_text(bytes) + ", a network's limit is " +
               memory_text(kDeltaBytesMax);
    const auto trace = trace_program(program);
    return trace.ok() ? std::string() : trace.error().message;
}

}  // namespace gym::dispute
