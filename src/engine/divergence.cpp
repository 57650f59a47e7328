#include "gym/engine/divergence.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace gym::engine {
namespace {

bool is_finite(std::uint32_t bits) {
    return std::isfinite(std::bit_cast<float>(bits));
}

}  // namespace

std::optional<std::string> divergence(const StepRecord& record) {
    if (record.skipped || is_finite(record.loss_bits)) return std::nullopt;
    return "the training diverged: the loss of step " + std::to_string(record.step) +
           " is not finite. Try a lower learning_rate, a smaller clip_norm or more warmup_steps; "
           "`guard: {}` below `optimizer` skips such steps; check the data and the first weights";
}

bool spoils_state(const StepRecord& record) {
    return !record.skipped && !(is_finite(record.loss_bits) && is_finite(record.grad_norm_bits));
}

}  // namespace gym::engine
