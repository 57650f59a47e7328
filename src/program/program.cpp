#include "gym/program/program.hpp"

#include <algorithm>

#include "gym/program/validate.hpp"

namespace gym::program {

std::uint64_t element_count(const Dims& dims) {
    std::uint64_t count = 1;
    for (const std::uint32_t dim : dims) {
        // Saturates, so that absurd dims compare as too large instead of wrapping around.
        if (dim != 0 && count > ~std::uint64_t{0} / dim) return ~std::uint64_t{0};
        count *= dim;
    }
    return count;
}

std::uint64_t size_bytes(const Slot& slot) {
    return element_count(slot.dims) * commit::size_bytes(slot.dtype);
}

std::string to_string(const Dims& dims) {
    std::string text = "[";
    for (const std::uint32_t dim : dims)
        text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
    return text + "]";
}

Result<Program> Program::create(ProgramParts parts) {
    GYM_CHECK(validate(parts));
    return Program(std::move(parts));
}

SlotId Program::find_slot(std::string_view name) const noexcept {
    const auto found = std::find_if(slots().begin(), slots().end(), [&](const Slot& slot) {
        return slot.kind != SlotKind::kTemp && slot.name == name;
    });
    return found == slots().end() ? kNoSlot : static_cast<SlotId>(found - slots().begin());
}

SlotId Program::find_output(std::string_view name) const noexcept {
    const auto found = std::find_if(outputs().begin(), outputs().end(),
                                    [&](const Output& output) { return output.name == name; });
    return found == outputs().end() ? kNoSlot : found->slot;
}

std::vector<SlotId> Program::slots_of(SlotKind kind) const {
    std::vector<SlotId> ids;
    for (SlotId id = 0; id < slots().size(); ++id)
        if (slots()[id].kind == kind) ids.push_back(id);
    return ids;
}

}  // namespace gym::program
