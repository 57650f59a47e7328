#include <bit>
#include <cmath>
#include <string>

#include "gym/program/autodiff.hpp"
#include "model.hpp"
#include "schedule.hpp"

namespace gym::program {
namespace {

constexpr std::uint32_t kBatchMax = 65536;

std::uint64_t f32_bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

Status require(bool condition, const std::string& rule) {
    if (condition) return {};
    return fail(ErrorCode::kInvalidArgument, rule);
}

Status check_optimizer(const OptimizerConfig& o) {
    GYM_CHECK(require(o.learning_rate > 0 && o.learning_rate <= 100,
                      "learning_rate must be above 0 and at most 100"));
    GYM_CHECK(require(o.learning_rate_min >= 0 && o.learning_rate_min <= o.learning_rate,
                      "learning_rate_min must be 0 to learning_rate"));
    GYM_CHECK(require(o.total_steps >= 1 && o.total_steps <= kScheduleStepsMax,
                      "total_steps must be 1 to 1000000"));
    GYM_CHECK(require(o.warmup_steps <= o.total_steps, "warmup_steps must be at most total_steps"));
    GYM_CHECK(require(o.inner_warmup_steps <= kScheduleStepsMax,
                      "inner_warmup_steps must be at most 1000000"));
    GYM_CHECK(require(o.beta1 >= 0 && o.beta1 < 1, "beta1 must be at least 0 and below 1"));
    GYM_CHECK(require(o.beta2 >= 0 && o.beta2 < 1, "beta2 must be at least 0 and below 1"));
    GYM_CHECK(require(o.epsilon > 0 && o.epsilon <= 1, "epsilon must be above 0 and at most 1"));
    GYM_CHECK(
        require(o.weight_decay >= 0 && o.weight_decay <= 100, "weight_decay must be 0 to 100"));
    return require(o.clip_norm > 0 && o.clip_norm <= 1e30,
                   "clip_norm must be above 0 and at most 1e30");
}

Status check_outer(const OuterConfig& o) {
    GYM_CHECK(require(o.learning_rate > 0 && o.learning_rate <= 100,
                      "outer learning_rate must be above 0 and at most 100"));
    return require(o.momentum >= 0 && o.momentum < 1, "outer momentum must be 0 to below 1");
}

/// A beta and what is left to one, so that they add up whatever the rounding of beta.
struct Decay {
    float beta;
    float rest;
    explicit Decay(double value)
        : beta(static_cast<float>(value)), rest(static_cast<float>(1.0 - double{beta})) {}
};

class TrainWriter {
  public:
    explicit TrainWriter(const TrainConfig& config)
        : config_(config), beta1_(config.optimizer.beta1), beta2_(config.optimizer.beta2) {}

    Result<Program> write() {
        model_ = write_model(b_, config_.model, batch_input(b_, config_.model, config_.batch));
        const SlotId loss = b_.cross_entropy(model_.logits, model_.targets);
        std::vector<SlotId> wrt;
        wrt.reserve(model_.params.size());
        for (const ModelParam& param : model_.params)
            wrt.push_back(param.slot);
        GYM_TRY(const std::vector<SlotId> grads, gradients(b_, loss, wrt));
        const SlotId norm = gradient_norm(grads);
        const SlotId room =
            b_.div(b_.scalar(static_cast<float>(config_.optimizer.clip_norm)), norm);
        const SlotId clip = b_.min(room, b_.scalar(1.0F));
        update(grads, learning_rate(), clip);
        b_.constant(std::string(kOuterLearningRate), {1},
                    {static_cast<float>(config_.outer.learning_rate)});
        b_.constant(std::string(kOuterMomentum), {1}, {static_cast<float>(config_.outer.momentum)});
        b_.output(std::string(kLossOutput), loss);
        b_.output(std::string(kGradNormOutput), norm);
        b_.output(std::string(kLogitsOutput), model_.logits);
        for (std::size_t i = 0; i < grads.size(); ++i)
            b_.output(std::string(kGradientPrefix) + model_.params[i].name, grads[i]);
        return b_.build();
    }

  private:
    SlotId gradient_norm(const std::vector<SlotId>& grads) {
        std::vector<SlotId> squares;
        squares.reserve(grads.size());
        for (const SlotId grad : grads)
            squares.push_back(b_.sum_squares(grad));
        // concat takes a bounded number of operands: join groups until one is left.
        while (squares.size() > 1) {
            std::vector<SlotId> joined;
            joined.reserve(squares.size() / kOpInputsMax + 1);
            for (std::size_t i = 0; i < squares.size(); i += kOpInputsMax) {
                const std::size_t end = std::min(i + kOpInputsMax, squares.size());
                joined.push_back(b_.concat({squares.begin() + static_cast<std::ptrdiff_t>(i),
                                            squares.begin() + static_cast<std::ptrdiff_t>(end)}));
            }
            squares = std::move(joined);
        }
        return b_.unary(Opcode::sqrt, b_.row_sum(squares.front()));
    }

    SlotId learning_rate() {
        const SlotId clock = b_.input(std::string(kClockInput), DType::i32, {2});
        const std::vector<float> schedule = learning_rate_table(config_.optimizer);
        const std::vector<float> warmup = warmup_table(config_.optimizer.inner_warmup_steps);
        const SlotId schedule_table =
            b_.constant("schedule", {static_cast<std::uint32_t>(schedule.size()), 1}, schedule);
        const SlotId warmup_table =
            b_.constant("inner_warmup", {static_cast<std::uint32_t>(warmup.size()), 1}, warmup);
        const SlotId peak = b_.gather_rows(schedule_table, b_.strided_copy(clock, {1}, 0, {1}));
        const SlotId factor = b_.gather_rows(warmup_table, b_.strided_copy(clock, {1}, 1, {1}));
        return b_.mul(peak, factor);
    }

    /// beta^t carried in the state, and 1 / (1 - beta^t).
    SlotId bias_correction(const std::string& name, const Decay& decay) {
        const SlotId power = b_.state(name, {1}, {Init::Kind::constant, 0x3F800000});
        const SlotId next = b_.mul(power, b_.scalar(decay.beta));
        b_.set_next(power, next);
        const SlotId one = b_.scalar(1.0F);
        return b_.div(one, b_.sub(one, next));
    }

    [[nodiscard]] static bool decays(ParamGroup group) { return group == ParamGroup::linear; }

    void update(const std::vector<SlotId>& grads, SlotId rate, SlotId clip) {
        const OptimizerConfig& o = config_.optimizer;
        const SlotId r1 = bias_correction("beta1_power", beta1_);
        const SlotId r2 = bias_correction("beta2_power", beta2_);
        for (std::size_t i = 0; i < grads.size(); ++i) {
            const ModelParam& param = model_.params[i];
            const Dims dims = b_.slot(param.slot).dims;
            const Init zero{Init::Kind::constant, 0};
            const SlotId m = b_.state("m." + param.name, dims, zero);
            const SlotId v = b_.state("v." + param.name, dims, zero);
            const SlotId next_p = b_.temp(DType::f32, dims);
            const SlotId next_m = b_.temp(DType::f32, dims);
            const SlotId next_v = b_.temp(DType::f32, dims);
            const float weight_decay =
                decays(param.group) ? static_cast<float>(o.weight_decay) : 0.0F;
            b_.append({Opcode::adamw,
                       {param.slot, m, v, grads[i], rate, clip, r1, r2},
                       {next_p, next_m, next_v},
                       {f32_bits(beta1_.beta), f32_bits(beta1_.rest), f32_bits(beta2_.beta),
                        f32_bits(beta2_.rest), f32_bits(static_cast<float>(o.epsilon)),
                        f32_bits(weight_decay)}});
            b_.set_next(param.slot, next_p);
            b_.set_next(m, next_m);
            b_.set_next(v, next_v);
        }
    }

    const TrainConfig& config_;
    Decay beta1_, beta2_;
    Builder b_;
    Model model_;
};

}  // namespace

Result<Program> train_program(const TrainConfig& config) {
    GYM_CHECK(check_model(config.model));
    GYM_CHECK(check_optimizer(config.optimizer));
    GYM_CHECK(check_outer(config.outer));
    GYM_CHECK(require(config.batch >= 1 && config.batch <= kBatchMax, "batch must be 1 to 65536"));
    if (config.model.architecture == Architecture::imported)
        GYM_CHECK(check_imported(config.model, config.batch));
    return TrainWriter(config).write();
}

}  // namespace gym::program
