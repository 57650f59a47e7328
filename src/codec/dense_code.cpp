#include "gym/codec/dense_code.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace gym::codec {
namespace {

constexpr std::uint64_t kSpan = kernels::kDenseScaleSpan;
constexpr int kSmallestTop = 4;  // a scale above 0 is the smallest that holds its span

int low_half(std::uint8_t byte) {
    return static_cast<std::int8_t>(static_cast<std::uint8_t>(byte << 4)) >> 4;
}
int high_half(std::uint8_t byte) {
    return static_cast<std::int8_t>(byte) >> 4;
}
int level_at(const std::uint8_t* levels, std::uint64_t element) {
    return element % 2 == 0 ? low_half(levels[element / 2]) : high_half(levels[element / 2]);
}

std::uint64_t spans_of(std::uint64_t elements) {
    return (elements + kSpan - 1) / kSpan;
}

DenseBlock read(const std::uint8_t* from, std::uint64_t elements) {
    DenseBlock block{};
    const std::uint64_t level_bytes = (elements + 1) / 2;
    std::memcpy(block.levels, from, level_bytes);
    for (std::uint64_t span = 0; span < spans_of(elements); ++span)
        block.scales[span] = (from[level_bytes + span / 2] >> (4 * (span % 2))) & 15;
    return block;
}

Error malformed(std::uint64_t block, const std::string& what) {
    return fail(ErrorCode::kMalformed,
                "block " + std::to_string(block) + " of a dense code: " + what);
}

Status check_span(const DenseBlock& block, std::uint64_t b, std::uint64_t span,
                  std::uint64_t elements) {
    int top = 0;
    for (std::uint64_t i = span * kSpan; i < std::min((span + 1) * kSpan, elements); ++i) {
        const int level = level_at(block.levels, i);
        if (level < -kernels::kDenseLevelMax)
            return malformed(b, "element " + std::to_string(i) + " has level -8");
        top = std::max(top, level < 0 ? -level : level);
    }
    const int scale = block.scales[span];
    if (scale > kernels::kDeltaScaleMax)
        return malformed(b, "span " + std::to_string(span) + " has scale " + std::to_string(scale) +
                                "; the largest is 14");
    if (scale > 0 && top < kSmallestTop)
        return malformed(b, "span " + std::to_string(span) + " has scale " + std::to_string(scale) +
                                ", but its largest level is " + std::to_string(top));
    return {};
}

Status check_block(const std::uint8_t* from, std::uint64_t b, std::uint64_t elements) {
    const std::uint64_t level_bytes = (elements + 1) / 2;
    if (elements % 2 != 0 && from[level_bytes - 1] >> 4 != 0)
        return malformed(b, "the half byte behind its last element is not 0");
    if (spans_of(elements) % 2 != 0 && from[dense_block_bytes(elements) - 1] >> 4 != 0)
        return malformed(b, "the half byte behind its last scale is not 0");
    const DenseBlock block = read(from, elements);
    for (std::uint64_t span = 0; span < spans_of(elements); ++span)
        GYM_CHECK(check_span(block, b, span, elements));
    return {};
}

}  // namespace

void write_dense_block(const DenseBlock& block, std::uint64_t elements, std::uint8_t* to) {
    const std::uint64_t level_bytes = (elements + 1) / 2;
    std::memcpy(to, block.levels, level_bytes);
    for (std::uint64_t span = 0; span < spans_of(elements); span += 2) {
        const unsigned second = span + 1 < spans_of(elements) ? block.scales[span + 1] : 0;
        to[level_bytes + span / 2] = static_cast<std::uint8_t>(block.scales[span] | second << 4);
    }
}

Result<DenseCode> DenseCode::decode(const TensorGrid& tensor, ByteView bytes) {
    GYM_CHECK(check(tensor));
    const std::uint64_t expected = dense_code_bytes(tensor.elements);
    if (bytes.size() != expected)
        return fail(ErrorCode::kMalformed, "a dense code of " + std::to_string(tensor.elements) +
                                               " elements has " + std::to_string(expected) +
                                               " bytes, not " + std::to_string(bytes.size()));
    for (std::uint64_t b = 0; b < blocks_of(tensor.elements); ++b)
        GYM_CHECK(check_block(bytes.data() + b * kDenseBlockBytes, b,
                              block_elements(tensor.elements, b)));
    return DenseCode(tensor, bytes);
}

DenseBlock DenseCode::block(std::uint64_t block) const {
    GYM_ASSERT(block < blocks_of(tensor_.elements), "a block of the tensor");
    return read(bytes_.data() + block * kDenseBlockBytes, block_elements(tensor_.elements, block));
}

std::uint64_t DenseCode::squared_norm() const {
    std::uint64_t sum = 0;
    for (std::uint64_t b = 0; b < blocks_of(tensor_.elements); ++b) {
        const DenseBlock from = block(b);
        for (std::uint64_t span = 0; span < kDenseScales; ++span) {
            std::uint64_t squares = 0;
            for (std::uint64_t i = span * kSpan / 2; i < (span + 1) * kSpan / 2; ++i) {
                const int low = low_half(from.levels[i]), high = high_half(from.levels[i]);
                squares += static_cast<std::uint64_t>(low * low + high * high);
            }
            sum += squares << (2 * from.scales[span]);
        }
    }
    return sum;
}

void DenseCode::add_to(std::span<std::int64_t> sums, std::int64_t weight, std::uint64_t first,
                       kernels::Isa isa) const {
    const std::uint64_t end = first + blocks_of(sums.size());
    GYM_ASSERT(end <= blocks_of(tensor_.elements) &&
                   (sums.size() % kBlock == 0 || first * kBlock + sums.size() == tensor_.elements),
               "sums are whole blocks of the tensor");
    for (std::uint64_t b = first; b < end; ++b) {
        const DenseBlock from = block(b);
        kernels::add_dense(isa, from.levels, from.scales, weight,
                           static_cast<std::int64_t>(block_elements(tensor_.elements, b)),
                           sums.data() + (b - first) * kBlock);
    }
}

}  // namespace gym::codec
