#include "gym/program/expand.hpp"

#include "macro.hpp"

namespace gym::program {
Expansion expand(std::span<const Slot> slots, const Op& op, SlotId first_temp) {
    if (!info(op.code).macro) return {first_temp, {}, {op}};
    Expander expander(slots, first_temp);
    macro_of(op.code).expand(expander, op);
    return expander.take();
}

Result<Program> expand(const Program& program) {
    ProgramParts parts = program.parts();
    parts.ops.clear();
    for (const Op& op : program.ops()) {
        Expansion expansion = expand(program.slots(), op, static_cast<SlotId>(parts.slots.size()));
        for (Slot& temp : expansion.temps)
            parts.slots.push_back(std::move(temp));
        for (Op& primitive : expansion.ops)
            parts.ops.push_back(std::move(primitive));
    }
    return Program::create(std::move(parts));
}

}  // namespace gym::program
