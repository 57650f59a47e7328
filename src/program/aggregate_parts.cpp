#include "gym/program/aggregate_parts.hpp"

#include <algorithm>

namespace gym::program {
namespace {

/// Short, because names are bounded and a prefix comes in front of them.
std::string part_name(std::uint32_t parameter, std::uint64_t part) {
    return "parameter." + std::to_string(parameter) + "." + std::to_string(part);
}

}  // namespace

std::vector<AggregatePart> aggregate_parts(const Program& train, std::uint32_t deltas,
                                           std::uint64_t elements_max) {
    const std::uint64_t most = elements_max / deltas;
    std::vector<AggregatePart> parts;
    std::uint32_t parameter = 0;
    for (const SlotId id : train.slots_of(SlotKind::kParam)) {
        const Slot& param = train.slot(id);
        const std::uint64_t elements = element_count(param.dims);
        if (elements <= most) parts.push_back({parameter, param.name, param.dims, 0});
        for (std::uint64_t first = 0; elements > most && first < elements; first += most)
            parts.push_back({parameter,
                             part_name(parameter, first / most),
                             {static_cast<std::uint32_t>(std::min(most, elements - first))},
                             first});
        ++parameter;
    }
    return parts;
}

}  // namespace gym::program
