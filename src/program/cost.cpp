#include "gym/program/cost.hpp"

#include <algorithm>

#include "gym/program/expand.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {
namespace {

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? ~std::uint64_t{0} : product;
}

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

}  // namespace

std::uint64_t flops_per_step(const Program& program) {
    std::uint64_t total = 0;
    const auto first_temp = static_cast<SlotId>(program.slots().size());
    for (const Op& op : program.ops()) {
        const Expansion expansion = expand(program.slots(), op, first_temp);
        const auto dims = [&](SlotId id) -> const Dims& {
            return id < first_temp ? program.slots()[id].dims
                                   : expansion.temps[id - first_temp].dims;
        };
        for (const Op& primitive : expansion.ops) {
            const bool dot = primitive.code == Opcode::kBlockDot;
            // Terms of a product: M * N * K, where K is split over the output's blocks.
            const Dims& out = dims(primitive.outputs[0]);
            const std::uint64_t units = dot ? saturating_multiply(element_count(out) / out.back(),
                                                                  dims(primitive.inputs[0]).back())
                                            : element_count(out);
            total = saturating_add(total, saturating_multiply(units, info(primitive.code).flops));
        }
    }
    return total;
}

std::uint64_t parameter_count(const Program& program) {
    std::uint64_t count = 0;
    for (const SlotId id : program.slots_of(SlotKind::kParam))
        count += element_count(program.slot(id).dims);
    return count;
}

std::uint64_t state_bytes(const Program& program) {
    std::uint64_t bytes = 0;
    for (const Slot& slot : program.slots())
        if (slot.kind == SlotKind::kParam || slot.kind == SlotKind::kState)
            bytes += size_bytes(slot);
    return bytes;
}

Result<std::uint64_t> evaluation_flops(const Program& train, std::uint32_t windows) {
    GYM_TRY(const Program evaluation, evaluation_program(train));
    const SlotId batch = evaluation.find_slot(kBatchInput);
    if (batch == kNoSlot || evaluation.slot(batch).dims.empty())
        return fail(ErrorCode::kInvalidArgument, "the program has no batch of windows");
    const std::uint64_t windows_a_batch = evaluation.slot(batch).dims[0];
    return saturating_multiply(std::max<std::uint64_t>(1, windows / windows_a_batch),
                               flops_per_step(evaluation));
}

std::uint64_t OwnFlops::sum() const {
    return saturating_add(aggregate, evaluation);
}

Result<OwnFlops> own_flops(const Program& train, std::uint32_t deltas, const DeltaGroups& groups,
                           std::uint32_t windows) {
    OwnFlops out;
    GYM_TRY(const Program aggregate, aggregate_program(train, deltas, groups));
    out.aggregate = flops_per_step(aggregate);
    GYM_TRY(out.evaluation, evaluation_flops(train, windows));
    return out;
}

}  // namespace gym::program
