#include "macro.hpp"

namespace gym::program {

std::uint64_t block_count(std::uint64_t n) {
    return (n + kBlockElements - 1) / kBlockElements;
}

std::optional<Broadcast> broadcast(const Dims& operand, const Dims& output) {
    const std::uint64_t count = element_count(operand), total = element_count(output);
    if (count == 0 || total == 0) return std::nullopt;  // a dim that overflowed: build() names it
    if (count == total) return Broadcast{1, count};
    if (count == 1) return Broadcast{1, 1};
    if (operand == with_last(output, 1)) return Broadcast{output.back(), count};
    if (operand.back() == output.back() && total % count == 0) return Broadcast{1, count};
    return std::nullopt;
}

Status check_op(std::span<const Slot> slots, const Op& op) {
    Check check(slots, op);
    if (info(op.code).macro)
        macro_of(op.code).check(check);
    else
        check_primitive(check, op.code);
    return check.status();
}

}  // namespace gym::program
