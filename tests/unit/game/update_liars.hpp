#pragma once

#include <functional>

#include "gym/codec/row_layout.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "outer_liars.hpp"

/// Coordinators whose aggregate has another update than the outer step gives.
namespace gym::game::testing {

inline float float_at(ByteView bytes, std::uint64_t element) {
    float value = 0;
    std::memcpy(&value, bytes.data() + element * sizeof value, sizeof value);
    return value;
}
inline void put_float(Bytes& bytes, std::uint64_t element, float value) {
    std::memcpy(bytes.data() + element * sizeof value, &value, sizeof value);
}

/// What an aggregate with an update publishes and keeps, to be changed and put into a liar.
class UpdateLie {
  public:
    UpdateLie(OuterWork& work, const SampleOuter& sample) : work_(&work), sample_(&sample) {
        (void)must(work_->run(work_->included()));
        for (std::uint32_t i = 0; i < parameters(); ++i) {
            base.push_back(copy(OuterTree::kBase, i));
            momentum.push_back(copy(OuterTree::kMomentum, i));
            residual.push_back(copy(OuterTree::kMomentum, parameters() + i));
        }
        update = copy(OuterTree::kMomentum, 2 * parameters());
    }

    [[nodiscard]] const dispute::TraceHeader& program() const { return work_->trace().header; }
    [[nodiscard]] std::uint32_t parameters() const { return program().parameters; }
    [[nodiscard]] std::uint64_t elements(std::uint32_t parameter) const {
        return base.at(parameter).size() / sizeof(float);
    }
    /// Rows of a parameter.
    [[nodiscard]] std::uint64_t rows(std::uint32_t parameter) const {
        return codec::rows_of(elements(parameter));
    }
    /// A row of the update.
    [[nodiscard]] std::span<std::uint8_t> row(std::uint32_t parameter, std::uint64_t row) {
        const auto span = dispute::delta_span(program().delta_codec, record(parameter),
                                              row * codec::kRowElements);
        return std::span(update).subspan(span.begin, span.length);
    }
    /// The element of the update as it is now.
    [[nodiscard]] float change(std::uint32_t parameter, std::uint64_t element) {
        const auto bytes = row(parameter, element / codec::kRowElements);
        return kernels::f32::from_bits(
            dispute::delta_element(program().delta_codec, element, bytes));
    }
    /// What the step made of the element: of the honest run.
    [[nodiscard]] float step(std::uint32_t parameter, std::uint64_t element) {
        const float left = float_at(residual[parameter], element);
        const float moved = change(parameter, element);
        return moved == 0 ? left : kernels::f32::add(moved, left);
    }
    /// Of every row: what the step is said to have made of its elements; row, residuals and base
    /// follow.
    void publish(const std::function<float(std::uint32_t, std::uint64_t, float)>& said) {
        const kernels::ExactFloatEnvironment environment;
        constexpr std::array<float, codec::kRowElements> kZeros{};
        for (std::uint32_t p = 0; p < parameters(); ++p)
            for (std::uint64_t first = 0; first < elements(p); first += codec::kRowElements) {
                const std::uint64_t count = std::min(codec::kRowElements, elements(p) - first);
                std::array<float, codec::kRowElements> steps{};
                for (std::uint64_t i = 0; i < count; ++i)
                    steps[i] = said(p, first + i, step(p, first + i));
                kernels::encode_dense_row(kernels::Isa::kScalar, steps.data(), kZeros.data(),
                                          static_cast<std::int32_t>(count),
                                          row(p, first / codec::kRowElements).data());
                for (std::uint64_t i = 0; i < count; ++i)
                    follow(p, first + i, steps[i]);
            }
    }
    /// Makes the residuals and the base fit the update's rows and the right step: of one parameter.
    void follow(std::uint32_t parameter) {
        const kernels::ExactFloatEnvironment environment;
        UpdateLie steps(*work_, *sample_);
        for (std::uint64_t i = 0; i < elements(parameter); ++i)
            follow(parameter, i, steps.step(parameter, i));
    }
    void follow(std::uint32_t parameter, std::uint64_t element, float step) {
        const float moved = change(parameter, element);
        put_float(residual[parameter], element, kernels::f32::sub(step, moved));
        put_float(
            base[parameter], element,
            kernels::f32::add(float_at(sample_->base.tensors[parameter].bytes, element), moved));
    }
    /// Commits the liar to all of it.
    void put_into(OuterLiar& liar) const {
        for (std::uint32_t i = 0; i < parameters(); ++i) {
            liar.put(OuterTree::kBase, i, base[i]);
            liar.put(OuterTree::kMomentum, i, momentum[i]);
            liar.put(OuterTree::kMomentum, parameters() + i, residual[i]);
        }
        liar.put(OuterTree::kMomentum, 2 * parameters(), update);
    }

    std::vector<Bytes> base, momentum, residual;  ///< by parameter
    Bytes update;

  private:
    Bytes copy(OuterTree tree, std::uint32_t number) {
        const ByteView bytes = must(work_->tensor(tree, number))->bytes();
        return {bytes.begin(), bytes.end()};
    }
    [[nodiscard]] const dispute::StateRecord& record(std::uint32_t parameter) const {
        return *std::ranges::find_if(work_->trace().state, [&](const dispute::StateRecord& one) {
            return one.delta_offset != 0 && one.parameter == parameter;
        });
    }
    OuterWork* work_;
    const SampleOuter* sample_;
};

}  // namespace gym::game::testing
