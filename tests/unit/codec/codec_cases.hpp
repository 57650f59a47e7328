// Tensors on which codes are tested, and an encoder that is only the definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gym/codec/encode.hpp"
#include "gym/codec/reference.hpp"
#include "gym/codec/sparse_code.hpp"

namespace gym::codec {

struct Case {
    std::string name;
    std::vector<float> x;
};

inline std::vector<kernels::Isa> levels() {
    std::vector<kernels::Isa> all;
    for (int i = 0; i <= static_cast<int>(std::min(kernels::detect_isa(), kernels::Isa::kAvx512));
         ++i)
        all.push_back(static_cast<kernels::Isa>(i));
    return all;
}

/// Like the change of a weight in a round: most small, some large.
inline std::vector<float> random_delta(std::mt19937_64& random, std::size_t count,
                                       float scale = 1e-3F) {
    std::student_t_distribution<float> deviation(4);
    std::vector<float> x(count);
    for (float& value : x)
        value = scale * deviation(random);
    return x;
}

/// Any float at all.
inline std::vector<float> random_bits(std::mt19937_64& random, std::size_t count) {
    std::vector<float> x(count);
    for (float& value : x)
        value = kernels::f32::from_bits(static_cast<std::uint32_t>(random()));
    return x;
}

inline std::vector<Case> cases(std::mt19937_64& random) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<Case> all{{"one", {1e-3F}},
                          {"all zero", std::vector<float>(1024, 0.0F)},
                          {"minus zero", std::vector<float>(100, -0.0F)},
                          {"all equal", std::vector<float>(1024, 2e-3F)},
                          {"all equal but for the sign", std::vector<float>(2048, 2e-3F)},
                          {"subnormal", std::vector<float>(70, 1e-40F)},
                          {"infinite", std::vector<float>(1030, kInfinity)},
                          {"not a number", std::vector<float>(1500, std::nanf(""))},
                          {"ties", std::vector<float>(1024)},
                          {"specials in a delta", random_delta(random, 3000)}};
    for (std::size_t i = 1; i < all[4].x.size(); i += 2)
        all[4].x[i] = -all[4].x[i];
    for (std::size_t i = 0; i < all[8].x.size(); ++i)
        all[8].x[i] = 1e-3F * static_cast<float>(i % 7) * (i % 2 == 0 ? 1.0F : -1.0F);
    const float specials[] = {kInfinity,
                              -kInfinity,
                              std::nanf(""),
                              -std::nanf(""),
                              -0.0F,
                              1e-45F,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::lowest()};
    for (std::size_t i = 0; i < std::size(specials); ++i)
        all[9].x[i * 300] = specials[i];
    for (const std::size_t count :
         {2UL, 15UL, 16UL, 17UL, 63UL, 64UL, 65UL, 1023UL, 1024UL, 1025UL, 2111UL})
        all.push_back({std::to_string(count) + " elements", random_delta(random, count)});
    all.push_back({"any bits", random_bits(random, 5000)});
    return all;
}

/// Levels -127 .. 127 and scales that fit them.
inline Residual random_residual(std::mt19937_64& random, std::uint64_t elements) {
    Residual residual = Residual::zero(elements);
    for (auto& level : residual.levels)
        level = static_cast<std::uint8_t>(
            static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127));
    for (std::uint64_t b = 0; b < blocks_of(elements); ++b) {
        residual.levels[b * kBlock] = 100;
        residual.scales[b] = static_cast<std::uint8_t>(random() % 20);
    }
    return residual;
}

/// encode() by the definition of each element.
inline Encoding encode_by_definition(const TensorGrid& tensor, const std::vector<float>& x,
                                     std::uint64_t bound, const Residual* incoming) {
    Encoding out;
    std::vector<std::vector<std::int32_t>> blocks;
    std::vector<std::vector<std::int32_t>> values;
    out.code.resize(sparse_code_bytes(tensor.elements));
    for (std::uint64_t b = 0; b < blocks_of(tensor.elements); ++b) {
        std::vector<std::int32_t> y, d;
        for (std::uint64_t i = b * kBlock; i < b * kBlock + block_elements(tensor.elements, b); ++i)
            y.push_back(reference::fine_value(
                x[i], tensor.exponent,
                incoming != nullptr ? static_cast<std::int8_t>(incoming->levels[i]) : 0,
                incoming != nullptr ? incoming->scales[b] : 0));
        for (std::uint32_t i = 0; i < y.size(); ++i) {
            d.push_back(reference::sparse_value(y, i));
            out.squared_norm += static_cast<std::uint64_t>(std::int64_t{d.back()} * d.back());
        }
        const auto indices = reference::sparse_indices(y);
        for (std::uint32_t i = 0; i < kSparseBlockBytes; ++i)
            out.code[sparse_block_offset(b) + i] = reference::sparse_byte(y, indices, i);
        blocks.push_back(std::move(y));
        values.push_back(std::move(d));
    }
    out.weight = clip_weight(out.squared_norm, bound);
    if (incoming == nullptr) return out;
    out.residual = Residual::zero(tensor.elements);
    for (std::uint64_t b = 0; b < blocks.size(); ++b) {
        std::vector<std::int32_t> left;
        for (std::size_t i = 0; i < blocks[b].size(); ++i)
            left.push_back(blocks[b][i] - out.weight * values[b][i]);
        out.residual->scales[b] = reference::residual_scale(left);
        for (std::uint32_t i = 0; i < left.size(); ++i)
            out.residual->levels[b * kBlock + i] =
                static_cast<std::uint8_t>(reference::residual_level(left, i));
    }
    return out;
}

inline std::vector<std::int64_t> decoded(const TensorGrid& tensor, ByteView code) {
    std::vector<std::int64_t> values(tensor.elements);
    SparseCode::decode(tensor, code).value().add_to(values, 1);
    return values;
}

}  // namespace gym::codec
