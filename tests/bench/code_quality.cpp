#include "code_quality.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench_must.hpp"
#include "gym/codec/encode.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "trial_code.hpp"

namespace gym::bench {
namespace {

/// What the rows of a tensor's elements (codec 1) decode to.
std::vector<float> through_rows(std::span<const float> x) {
    const kernels::Isa isa = kernels::detect_isa();
    const float zeros[kernels::kRowElements] = {};
    std::uint8_t row[kernels::kRowBytes];
    std::vector<float> values(x.size());
    for (std::size_t i = 0; i < x.size(); i += codec::kRowElements) {
        const auto count = static_cast<std::int32_t>(std::min(codec::kRowElements, x.size() - i));
        kernels::encode_dense_row(isa, x.data() + i, zeros, count, row);
        kernels::decode_dense_row(isa, row, count, values.data() + i);
    }
    return values;
}

/// What a receiver decodes of one tensor.
std::vector<float> received(const std::string& code, const codec::TensorGrid& grid,
                            std::vector<float> delta, std::uint64_t round) {
    if (const std::optional<TrialCode> trial = parse_trial_code(code))
        return send(*trial, round, delta);
    if (code == "1") return through_rows(delta);
    const Bytes bytes = codec::encode(grid, delta, codec::kNoBound, nullptr).code;
    return decoded(must(codec::SparseCode::decode(grid, bytes)));
}

/// Sums over pairs of elements.
struct Products {
    double aa = 0, ab = 0, bb = 0;
    void add(float a, float b) {
        aa += static_cast<double>(a) * static_cast<double>(a);
        ab += static_cast<double>(a) * static_cast<double>(b);
        bb += static_cast<double>(b) * static_cast<double>(b);
    }
    [[nodiscard]] double cosine() const { return ab / std::sqrt(aa * bb); }
};

}  // namespace

CodeQuality quality_of(const std::string& code, std::span<const codec::TensorGrid> grids,
                       std::span<const DeltaTensors> deltas, std::uint64_t round) {
    Products of_each, of_means;
    for (std::size_t t = 0; t < grids.size(); ++t) {
        std::vector<float> mean(grids[t].elements), kept_mean(grids[t].elements);
        for (const DeltaTensors& delta : deltas) {
            const std::vector<float> kept = received(code, grids[t], delta[t], round);
            for (std::size_t i = 0; i < mean.size(); ++i) {
                of_each.add(delta[t][i], kept[i]);
                mean[i] += delta[t][i];
                kept_mean[i] += kept[i];
            }
        }
        for (std::size_t i = 0; i < mean.size(); ++i)
            of_means.add(mean[i], kept_mean[i]);
    }
    return {(2 * of_each.ab - of_each.bb) / of_each.aa, of_means.cosine()};
}

std::vector<float> decoded(const codec::SparseCode& code) {
    std::vector<std::int64_t> levels(code.tensor().elements);
    code.add_to(levels, 1);
    std::vector<float> values(levels.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = kernels::f32::scale2(kernels::f32::from_i64(levels[i]), code.tensor().exponent);
    return values;
}

}  // namespace gym::bench
