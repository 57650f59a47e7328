#include "execute.hpp"

#include "fused.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/opcode.hpp"

namespace gym::engine {

using program::Opcode;

namespace {

using Fused = bool (*)(const OpCall&);

/// The fast version of an op, nullptr if there is none. A fast version may decline a case (false).
Fused fused_kernel(Opcode code) {
    switch (code) {
        default:
            return nullptr;
    }
}

}  // namespace

bool has_fused_kernel(Opcode code) {
    return fused_kernel(code) != nullptr;
}

void execute(const OpCall& call) {
    if (const Fused fused = fused_kernel(call.op.code); fused != nullptr && fused(call)) return;
    if (!program::info(call.op.code).macro) {
        run_primitive(SlotTable(call.program.slots()), call.op, call.memory);
        return;
    }
    const auto first_temp = static_cast<program::SlotId>(call.program.slots().size());
    run_primitives(call.program.slots(), program::expand(call.program.slots(), call.op, first_temp),
                   call.memory);
}

}  // namespace gym::engine
