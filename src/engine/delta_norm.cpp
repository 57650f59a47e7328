#include "delta_norm.hpp"

#include <algorithm>
#include <span>

#include "gym/codec/row_layout.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/rows.h"
#include "gym/kernels/vector_ops.hpp"

namespace gym::engine {
namespace {

using program::DeltaCodec;

/// Squares that are in memory at a time.
constexpr std::uint64_t kBlock = 4096;

template <class Take>
void each_square(const DeltaLayout& layout, const DeltaBytes& piece, const Take& take) {
    const kernels::Isa isa = kernels::detect_isa();
    std::array<float, kBlock> squares;
    for (const ParameterPart& part : layout.parts_in({piece.begin, piece.bytes.size()})) {
        for (std::uint64_t done = 0; done < part.count; done += kBlock) {
            const std::span<float> block(squares.data(), std::min(kBlock, part.count - done));
            const auto count = static_cast<std::int64_t>(block.size());
            layout.read(piece, part.parameter, part.first + done, block);
            kernels::map_binary(isa, kernels::BinaryOp::kMul, block.data(), block.data(),
                                block.data(), count);
            take(isa, std::span<const float>(block));
        }
    }
}

float square_of(int level, int scale) {
    const float value = kernels::row_value(level, scale);
    return kernels::f32::mul(value, value);
}

std::uint32_t root_bits(std::int64_t terms, std::int32_t exponent) {
    return kernels::f32::to_bits(kernels::f32::sqrt(kernels::sum_finish(terms, exponent)));
}

}  // namespace

bool DeltaNorm::needs_terms(DeltaCodec codec) {
    return codec == DeltaCodec::kFloat;
}

void DeltaNorm::measure(const DeltaLayout& layout, const DeltaBytes& piece) {
    if (layout.codec() == DeltaCodec::kDense) {
        for (const ParameterPart& part : layout.parts_in({piece.begin, piece.bytes.size()}))
            count_levels(layout, piece, part);
        return;
    }
    each_square(layout, piece, [&](kernels::Isa isa, std::span<const float> squares) {
        const auto count = static_cast<std::int64_t>(squares.size());
        largest_ = std::max(largest_, kernels::row_magnitude_bits(isa, squares.data(), count));
    });
}

void DeltaNorm::count_levels(const DeltaLayout& layout, const DeltaBytes& piece,
                             const ParameterPart& part) {
    const kernels::Isa isa = kernels::detect_isa();
    for (std::uint64_t i = 0; i < part.count; i += codec::kRowElements) {
        const std::uint8_t* const row =
            layout.dense_row(piece, part.parameter, (part.first + i) / codec::kRowElements);
        if (row[0] == 0) continue;
        const kernels::RowLevels levels = kernels::dense_row_levels(isa, row);
        for (std::size_t k = 1; k <= kernels::kRowLevelMax; ++k)
            levels_[row[0]][k] += levels.of[k];
    }
}

void DeltaNorm::add_terms(const DeltaLayout& layout, const DeltaBytes& piece) {
    const std::int32_t exponent = kernels::row_exponent_from_bits(largest_);
    each_square(layout, piece, [&](kernels::Isa, std::span<const float> squares) {
        for (const float square : squares)
            terms_ += kernels::sum_term(square, exponent);
    });
}

void DeltaNorm::add(const DeltaNorm& other) {
    for (std::size_t scale = 0; scale < levels_.size(); ++scale)
        for (std::size_t k = 0; k < levels_[scale].size(); ++k)
            levels_[scale][k] += other.levels_[scale][k];
    largest_ = std::max(largest_, other.largest_);
    terms_ += other.terms_;
}

std::uint32_t DeltaNorm::bits(DeltaCodec codec) const {
    if (codec == DeltaCodec::kDense) return bits_of_levels();
    return root_bits(terms_, kernels::row_exponent_from_bits(largest_));
}

std::uint32_t DeltaNorm::bits_of_levels() const {
    const auto each = [&](const auto& take) {
        for (int scale = 0; scale < static_cast<int>(levels_.size()); ++scale)
            for (int k = 1; k <= kernels::kRowLevelMax; ++k) {
                const std::uint64_t count =
                    levels_[static_cast<std::size_t>(scale)][static_cast<std::size_t>(k)];
                if (count > 0) take(square_of(k, scale), static_cast<std::int64_t>(count));
            }
    };
    std::uint32_t largest = 0;
    each([&](float square, std::int64_t) {
        largest = std::max(largest, kernels::magnitude_bits(square));
    });
    const std::int32_t exponent = kernels::row_exponent_from_bits(largest);
    std::int64_t terms = 0;
    each([&](float square, std::int64_t count) {
        terms += count * kernels::sum_term(square, exponent);
    });
    return root_bits(terms, exponent);
}

}  // namespace gym::engine
