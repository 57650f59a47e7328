#include "gym/dispute/network_limit.hpp"

#include "gym/common/memory.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/update_codec.hpp"

namespace gym::dispute {

std::string network_limit(const program::Program& program) {
    const std::uint64_t bytes = program::parameter_count(program) * sizeof(float);
    if (bytes > kDeltaBytesMax - kDeltaHeadBytes)
        return "its parameters take " + memory_text(bytes) + ", a network's limit is " +
               memory_text(kDeltaBytesMax);
    // Until games decide about updates: nothing that cannot be disputed may be paid for.
    if (program.find_slot(program::kUpdateCodec) != program::kNoSlot)
        return "no game decides about the updates of its rounds yet: leave `update` out";
    const auto trace = trace_program(program);
    return trace.ok() ? std::string() : trace.error().message;
}

}  // namespace gym::dispute
