#pragma once

// Random programs of many ops: what one op hands to the next, memory that is used again, gradients,
// updates.

#include <set>

#include "gym/program/autodiff.hpp"
#include "gym/program/builder.hpp"
#include "random_tensors.hpp"

namespace gym::engine::testing {

/// Grows a program from an embedding or from plain input, op by op; about half of the programs end
/// in a loss, its gradients and an update of the parameters.
class RandomGraph {
  public:
    explicit RandomGraph(Rng& rng) : rng_(rng) {}

    Result<program::Program> make() {
        trains_ = chance(2);
        start();
        for (std::uint32_t i = pick(2, 12); i > 0; --i)
            grow();
        if (trains_) GYM_CHECK(learn());
        // Some values are watched to the end; the others' memory may be used again.
        for (std::size_t i = 0; i < values_.size(); ++i)
            if (i + 1 == values_.size() || chance(4))
                builder_.output("value" + std::to_string(i), values_[i]);
        return builder_.build();
    }

  private:
    using SlotId = program::SlotId;
    using Opcode = program::Opcode;
    using Dims = program::Dims;

    std::uint32_t pick(std::uint32_t min, std::uint32_t max) { return between(rng_, min, max); }
    bool chance(std::uint32_t one_in) { return pick(1, one_in) == 1; }
    std::uint32_t width() { return chance(50) ? pick(1020, 1030) : pick(1, 28); }

    SlotId param(Dims dims) {
        const program::Init init{program::Init::Kind::kNormal, std::bit_cast<std::uint32_t>(0.3F)};
        params_.push_back(
            builder_.param("p" + std::to_string(params_.size()), std::move(dims), init));
        return params_.back();
    }
    SlotId tokens() {
        return builder_.input("tokens" + std::to_string(inputs_++), program::DType::kI32, {rows()});
    }
    [[nodiscard]] std::uint32_t rows() const { return windows_ * context_; }
    [[nodiscard]] std::uint32_t width_of(SlotId id) const { return builder_.slot(id).dims[1]; }
    /// One of the matrices so far, mostly a late one.
    SlotId any() {
        const auto count = static_cast<std::uint32_t>(values_.size());
        return values_[count - pick(1, std::min(count, chance(3) ? count : 2))];
    }
    void add(SlotId value) { values_.push_back(value); }

    void start() {
        windows_ = pick(1, 2);
        context_ = chance(80) ? pick(500, 530) : pick(1, 16);
        if (chance(2))
            add(builder_.gather_rows(param({pick(1, 100), width()}), tokens()));
        else
            add(builder_.input("x", program::DType::kF32, {rows(), width()}));
    }

    void grow() {
        switch (pick(0, trains_ ? 7 : 11)) {
            case 0:
                return add(builder_.unary(unary_[pick(0, trains_ ? 1 : 5)], any()));
            case 1:
                return combine();
            case 2:
            case 3:
                return product();
            case 4: {
                const SlotId x = any();
                if (chance(2)) return add(builder_.rmsnorm(x, param({width_of(x)}), 1e-5F));
                return add(
                    builder_.layernorm(x, param({width_of(x)}), param({width_of(x)}), 1e-5F));
            }
            case 5:
            case 6:
                return attend();
            case 7: {
                const SlotId x = any();
                return add(builder_.swiglu(x, any_like(x)));
            }
            case 8: {
                const SlotId x = any();
                return add(builder_.mul(x, builder_.row_sum(x)));
            }
            case 9: {
                const SlotId x = any();
                return add(builder_.sub(x, builder_.column_sum(x, {width_of(x)})));
            }
            case 10:
                return rearrange();
            default: {
                const SlotId x = any();
                return add(builder_.fma(x, builder_.scalar(-0.5F), any_like(x)));
            }
        }
    }
    SlotId any_like(SlotId x) {
        const SlotId other = any();
        return builder_.slot(other).dims == builder_.slot(x).dims ? other : x;
    }
    void combine() {
        const SlotId x = any();
        if (chance(3)) return add(builder_.sum_tensors({x, any_like(x), any_like(x)}));
        const SlotId y = chance(2) ? any_like(x) : param({width_of(x)});
        const Opcode codes[] = {Opcode::kAdd, Opcode::kMul, Opcode::kSub, Opcode::kDiv,
                                Opcode::kMin};
        add(builder_.elementwise(codes[pick(0, trains_ ? 1 : 4)], {x, y}));
    }
    void product() {
        const SlotId x = any();
        const bool transposed = chance(2);
        const std::uint32_t out = width();
        const SlotId w = param(transposed ? Dims{width_of(x), out} : Dims{out, width_of(x)});
        add(builder_.matmul(x, w, false, transposed));
    }
    void attend() {
        if (chance(2)) return attend_in_groups();
        const std::uint32_t heads = pick(1, 3), head = pick(1, 12);
        const SlotId w = param({3 * heads * head, width_of(values_.back())});
        const SlotId qkv = builder_.matmul(values_.back(), w);
        if (chance(3)) return add(builder_.attention_documents(qkv, documents(), context_, heads));
        add(builder_.attention(qkv, context_, heads));
    }
    /// Numbers that begin anew in every window, or fall within one.
    SlotId documents() {
        std::vector<float> numbers(rows());
        for (std::size_t i = 1; i < numbers.size(); ++i)
            numbers[i] = i % context_ == 0 ? 0.0F : numbers[i - 1] + (chance(4) ? 1.0F : 0.0F);
        if (chance(4)) numbers[numbers.size() / 2] = -1.0F;
        return builder_.constant("documents" + std::to_string(builder_.slots().size()), {rows(), 1},
                                 numbers);
    }
    void attend_in_groups() {
        const std::uint32_t kv = pick(1, 2), heads = kv * pick(1, 3), half = pick(1, 6);
        const SlotId w = param({(heads + 2 * kv) * 2 * half, width_of(values_.back())});
        SlotId qkv = builder_.matmul(values_.back(), w);
        std::vector<float> angles(std::size_t{context_} * half);
        for (float& angle : angles)
            angle = static_cast<float>(pick(0, 2000)) * 1e-3F - 1.0F;
        const SlotId table = builder_.constant("table" + std::to_string(builder_.slots().size()),
                                               {context_, half}, angles);
        qkv = builder_.rope(qkv, table, table, heads + kv);
        add(builder_.attention(builder_.repeat_heads(qkv, heads, kv), context_, heads));
    }
    void rearrange() {
        const SlotId x = any();
        if (chance(2)) return add(builder_.concat({x, any(), x}));
        const std::uint32_t columns = pick(1, width_of(x));  // the last ones of every row
        add(builder_.strided_copy(x, {rows(), columns}, width_of(x) - columns, {width_of(x), 1}));
    }

    Status learn() {
        const SlotId last = values_.back();
        const SlotId loss = builder_.cross_entropy(last, tokens());
        builder_.output("loss", loss);
        if (params_.empty()) return {};
        GYM_TRY(const auto gradients, program::gradients(builder_, loss, used_params()));
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            update(used_[i], gradients[i]);
            builder_.output("norm" + std::to_string(i), builder_.sum_squares(gradients[i]));
        }
        return {};
    }
    /// Those that `loss` depends on: a parameter of a value that nothing went on from has no
    /// gradient.
    std::vector<SlotId> used_params() {
        std::set<SlotId> reached{values_.back()};
        const auto& ops = builder_.ops();
        for (auto op = ops.rbegin(); op != ops.rend(); ++op)
            for (const SlotId out : op->outputs)
                if (reached.contains(out)) reached.insert(op->inputs.begin(), op->inputs.end());
        for (const SlotId id : params_)
            if (reached.contains(id)) used_.push_back(id);
        return used_;
    }
    void update(SlotId p, SlotId gradient) {
        if (chance(2)) {
            builder_.set_next(p, builder_.sub(p, builder_.mul(gradient, builder_.scalar(0.01F))));
            return;
        }
        const Dims dims = builder_.slot(p).dims;
        const std::string name = "s" + std::to_string(p);
        const program::Init zero{program::Init::Kind::kConstant, 0};
        const SlotId m = builder_.state(name + ".m", dims, zero);
        const SlotId v = builder_.state(name + ".v", dims, zero);
        const SlotId one = builder_.scalar(1.0F);
        program::Op op{
            Opcode::kAdamw, {p, gradient, m, v, builder_.scalar(0.01F), one, one, one}, {}, {}};
        if (chance(2)) {
            op.code = Opcode::kAdamwGuarded;
            op.inputs.push_back(builder_.scalar(chance(2) ? 1.0F : 0.0F));
        }
        for (int i = 0; i < 3; ++i)
            op.outputs.push_back(builder_.temp(program::DType::kF32, dims));
        const float constants[] = {0.9F, 0.1F, 0.95F, 0.05F, 1e-8F, 0.1F};
        for (std::size_t i = 0; i < std::size(constants); ++i)
            op.attributes[i] = std::bit_cast<std::uint32_t>(constants[i]);
        builder_.append(op);
        builder_.set_next(p, op.outputs[0]);
        builder_.set_next(m, op.outputs[1]);
        builder_.set_next(v, op.outputs[2]);
    }

    static constexpr Opcode unary_[] = {Opcode::kGelu, Opcode::kGelu,    Opcode::kExp,
                                        Opcode::kSqrt, Opcode::kSigmoid, Opcode::kLog};
    Rng& rng_;
    program::Builder builder_;
    bool trains_ = false;
    std::uint32_t windows_ = 1, context_ = 1;
    std::uint32_t inputs_ = 0;
    std::vector<SlotId> values_;
    std::vector<SlotId> params_;
    std::vector<SlotId> used_;
};

}  // namespace gym::engine::testing
