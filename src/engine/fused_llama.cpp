#include "fused.hpp"
#include "gym/kernels/macros.hpp"
#include "slot_shape.hpp"

namespace gym::engine {
namespace {

/// `many` is the slot in which every query head has its own keys and values.
kernels::HeadGroups head_groups(const OpCall& call, const program::Slot& many) {
    const auto heads = static_cast<std::int64_t>(call.op.attributes[0]);
    return {many.dims[0], heads, static_cast<std::int64_t>(call.op.attributes[1]),
            many.dims[1] / (3 * heads)};
}

}  // namespace

bool fused_rmsnorm(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_rmsnorm(call.context, {.rows = x.count,
                                          .width = x.length,
                                          .epsilon = call.op.f32(0),
                                          .x = call.input(0),
                                          .gamma = call.input(1),
                                          .y = call.output(0),
                                          .rstd = call.output(1)});
    return true;
}

bool fused_rmsnorm_grad(const OpCall& call) {
    const Rows x = rows_of(call.input_slot(0));
    kernels::macro_rmsnorm_grad(call.context, call.scratch,
                                {.rows = x.count,
                                 .width = x.length,
                                 .x = call.input(0),
                                 .gamma = call.input(1),
                                 .rstd = call.input(2),
                                 .dy = call.input(3),
                                 .dx = call.output(0),
                                 .dgamma = call.output(1)});
    return true;
}

bool fused_rope(const OpCall& call) {
    const auto& x = call.input_slot(0).dims;
    const auto& table = call.input_slot(1).dims;
    kernels::macro_rope(call.context, {.rows = x[0],
                                       .columns = x[1],
                                       .context = table[0],
                                       .heads = static_cast<std::int64_t>(call.op.attributes[0]),
                                       .half = table[1],
                                       .inverse = call.op.attributes[1] == 1,
                                       .x = call.input(0),
                                       .cosine = call.input(1),
                                       .sine = call.input(2),
                                       .y = call.output(0)});
    return true;
}

bool fused_repeat_heads(const OpCall& call) {
    kernels::macro_repeat_heads(call.context, head_groups(call, call.output_slot(0)), call.input(0),
                                call.output(0));
    return true;
}

bool fused_repeat_heads_grad(const OpCall& call) {
    kernels::macro_repeat_heads_grad(call.context, head_groups(call, call.input_slot(0)),
                                     call.input(0), call.output(0));
    return true;
}

bool fused_swiglu(const OpCall& call) {
    kernels::macro_swiglu(call.context, call.input(0), call.input(1), call.output(0),
                          elements(call.output_slot(0)));
    return true;
}

bool fused_swiglu_grad(const OpCall& call) {
    kernels::macro_swiglu_grad(call.context, {.count = elements(call.output_slot(0)),
                                              .gate = call.input(0),
                                              .up = call.input(1),
                                              .dy = call.input(2),
                                              .d_gate = call.output(0),
                                              .d_up = call.output(1)});
    return true;
}

}  // namespace gym::engine
