#include "gym/codec/residual.hpp"

#include <algorithm>
#include <string>

namespace gym::codec {
namespace {

constexpr int kSmallestTop = 64;  // a scale above 0 is the smallest that holds its block

Error malformed(std::uint64_t block, const std::string& what) {
    return fail(ErrorCode::kMalformed,
                "block " + std::to_string(block) + " of a residual: " + what);
}

Status check_block(ByteView levels, std::uint64_t block, unsigned scale) {
    int top = 0;
    for (const std::uint8_t byte : levels) {
        const auto level = static_cast<std::int8_t>(byte);
        if (level < -kernels::kResidualLevelMax) return malformed(block, "a level is -128");
        top = std::max(top, level < 0 ? -level : level);
    }
    if (scale > kernels::kResidualScaleMax)
        return malformed(block, "its scale is " + std::to_string(scale) + "; the largest is 19");
    if (scale > 0 && top < kSmallestTop)
        return malformed(block, "its scale is " + std::to_string(scale) +
                                    ", but its largest level is " + std::to_string(top));
    return {};
}

}  // namespace

Residual Residual::zero(std::uint64_t elements) {
    return {Bytes(elements), Bytes(blocks_of(elements))};
}

kernels::ResidualBlock Residual::block(std::uint64_t block) const {
    GYM_ASSERT(block < scales.size(), "a block of the tensor");
    return {reinterpret_cast<const std::int8_t*>(levels.data()) + block * kBlock, scales[block]};
}

Status check(const TensorGrid& tensor, const Residual& residual) {
    GYM_CHECK(check(tensor));
    if (residual.levels.size() != tensor.elements ||
        residual.scales.size() != blocks_of(tensor.elements))
        return fail(ErrorCode::kMalformed,
                    "the residual of " + std::to_string(tensor.elements) + " elements has " +
                        std::to_string(tensor.elements) + " levels and " +
                        std::to_string(blocks_of(tensor.elements)) + " scales, not " +
                        std::to_string(residual.levels.size()) + " and " +
                        std::to_string(residual.scales.size()));
    for (std::uint64_t b = 0; b < residual.scales.size(); ++b)
        GYM_CHECK(check_block(
            ByteView(residual.levels).subspan(b * kBlock, block_elements(tensor.elements, b)), b,
            residual.scales[b]));
    return {};
}

}  // namespace gym::codec
