#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "gym/program/autodiff.hpp"
#include "model.hpp"
#include "schedule.hpp"

namespace gym::program {
namespace {

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
    GYM_CHECK(
        require(o.guard.loss_factor == 0 || (o.guard.loss_factor > 1 && o.guard.loss_factor <= 1e6),
                "guard loss_factor must be 0 or above 1 and at most 1e6"));
    GYM_CHECK(require(o.guard.loss_decay >= 0 && o.guard.loss_decay < 1,
                      "guard loss_decay must be 0 to below 1"));
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
        GYM_CHECK(write_passes());
        const SlotId loss = mean_loss();
        const std::vector<SlotId> grads = summed_gradients();
        const SlotId norm = gradient_norm(grads);
        const SlotId room =
            b_.div(b_.scalar(static_cast<float>(config_.optimizer.clip_norm)), norm);
        const SlotId clip = b_.min(room, b_.scalar(1.0F));
        const SlotId rate = learning_rate();
        if (config_.optimizer.guard.enabled) keep_ = guard(loss, norm);
        update(grads, rate, clip);
        b_.constant(std::string(kOuterLearningRate), {1},
                    {static_cast<float>(config_.outer.learning_rate)});
        b_.constant(std::string(kOuterMomentum), {1}, {static_cast<float>(config_.outer.momentum)});
        if (config_.compression != DeltaCodec::kFloat)
            b_.constant(std::string(kDeltaCodec), {1}, {static_cast<float>(config_.compression)});
        if (config_.update != UpdateCodec::kNone)
            b_.constant(std::string(kUpdateCodec), {1}, {static_cast<float>(config_.update)});
        b_.output(std::string(kLossOutput), loss);
        b_.output(std::string(kGradNormOutput), norm);
        b_.output(std::string(kLogitsOutput), logits_);
        for (std::size_t i = 0; i < grads.size(); ++i)
            b_.output(std::string(kGradientPrefix) + model_.params[i].name, grads[i]);
        if (keep_ != kNoSlot)
            b_.output(std::string(kSkippedOutput), b_.sub(b_.scalar(1.0F), keep_));
        return b_.build();
    }

  private:
    /// Forward and backward over each micro-batch.
    Status write_passes() {
        const std::uint32_t parts = config_.micro_batches;
        const SlotId batch = batch_input(b_, config_.model, config_.batch);
        const SlotId random = is_random(config_.model)
                                  ? b_.input(std::string(kRandomInput), DType::kI32, {kRandomWords})
                                  : kNoSlot;
        for (std::uint32_t part = 0; part < parts; ++part) {
            model_ = write_model(b_, config_.model, windows_of(batch, part),
                                 {model_.params, random, model_.dropouts});
            if (part == 0) logits_ = model_.logits;
            const SlotId loss = loss_of(b_, model_);
            losses_.push_back(loss);
            const SlotId share =
                parts == 1 ? loss : b_.div(loss, b_.scalar(static_cast<float>(parts)));
            std::vector<SlotId> wrt;
            wrt.reserve(model_.params.size());
            for (const ModelParam& param : model_.params)
                wrt.push_back(param.slot);
            GYM_TRY(std::vector<SlotId> grads, gradients(b_, share, wrt));
            gradients_.push_back(std::move(grads));
        }
        return {};
    }
    SlotId windows_of(SlotId batch, std::uint32_t part) {
        if (config_.micro_batches == 1) return batch;
        const std::uint32_t windows = config_.batch / config_.micro_batches;
        const std::uint64_t row = std::uint64_t{config_.model.context} + 1;
        const std::uint64_t first = std::uint64_t{part} * windows;
        return b_.strided_copy(batch, {windows, config_.model.context + 1}, first * row, {row, 1});
    }
    SlotId mean_loss() {
        if (losses_.size() == 1) return losses_.front();
        // One op a statement, here and below: compilers order a call's arguments as they like, and
        // the order of ops is hashed into the program's root.
        const SlotId count = b_.scalar(static_cast<float>(losses_.size()));
        return b_.div(b_.sum_tensors(losses_), count);
    }
    std::vector<SlotId> summed_gradients() {
        if (gradients_.size() == 1) return gradients_.front();
        std::vector<SlotId> sums;
        for (std::size_t i = 0; i < gradients_.front().size(); ++i) {
            std::vector<SlotId> parts;
            parts.reserve(gradients_.size());
            for (const std::vector<SlotId>& grads : gradients_)
                parts.push_back(grads[i]);
            sums.push_back(b_.sum_tensors(parts));
        }
        return sums;
    }

    /// 1 if the step is to be made, else 0.
    SlotId guard(SlotId loss, SlotId norm) {
        const GuardConfig& g = config_.optimizer.guard;
        const auto less_equal = [&](SlotId a, SlotId bound) {
            return b_.elementwise(Opcode::kLessEqual, {a, bound});
        };
        const auto select = [&](SlotId c, SlotId yes, SlotId no) {
            return b_.elementwise(Opcode::kSelect, {c, yes, no});
        };
        const SlotId largest = b_.scalar(std::numeric_limits<float>::max());
        const SlotId norm_finite = less_equal(norm, largest);
        const SlotId finite = b_.mul(less_equal(loss, largest), norm_finite);
        if (g.loss_factor == 0) return finite;
        const Init zero{Init::Kind::kConstant, 0};
        const SlotId mean = b_.state("guard.loss_mean", {1}, zero);
        const SlotId seen = b_.state("guard.loss_seen", {1}, zero);
        const SlotId limit = b_.mul(mean, b_.scalar(static_cast<float>(g.loss_factor)));
        const SlotId keep = b_.mul(finite, less_equal(loss, select(seen, limit, largest)));
        const Decay decay(g.loss_decay);
        // A spike counts as what was just allowed: the mean follows losses that stay higher.
        const SlotId rest = b_.scalar(decay.rest);
        const SlotId fresh = b_.mul(b_.min(loss, limit), rest);
        const SlotId moved = b_.fma(mean, b_.scalar(decay.beta), fresh);
        b_.set_next(mean, select(finite, select(seen, moved, loss), mean));
        b_.set_next(seen, select(finite, b_.scalar(1.0F), seen));
        return keep;
    }

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
        return b_.unary(Opcode::kSqrt, b_.row_sum(squares.front()));
    }

    SlotId learning_rate() {
        const SlotId clock = b_.input(std::string(kClockInput), DType::kI32, {2});
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
        const SlotId power = b_.state(name, {1}, {Init::Kind::kConstant, 0x3F800000});
        const SlotId next = b_.mul(power, b_.scalar(decay.beta));
        b_.set_next(
            power, keep_ == kNoSlot ? next : b_.elementwise(Opcode::kSelect, {keep_, next, power}));
        const SlotId one = b_.scalar(1.0F);
        return b_.div(one, b_.sub(one, next));
    }

    [[nodiscard]] bool decays(ParamGroup group) const {
        switch (group) {
            case ParamGroup::kLinear:
                return true;
            case ParamGroup::kEmbedding:
                return config_.optimizer.decay_embeddings;
            case ParamGroup::kNorm:
                return config_.optimizer.decay_norms;
            case ParamGroup::kBias:
                return config_.optimizer.decay_biases;
        }
        return false;
    }

    void update(const std::vector<SlotId>& grads, SlotId rate, SlotId clip) {
        const OptimizerConfig& o = config_.optimizer;
        const SlotId r1 = bias_correction("beta1_power", beta1_);
        const SlotId r2 = bias_correction("beta2_power", beta2_);
        for (std::size_t i = 0; i < grads.size(); ++i) {
            const ModelParam& param = model_.params[i];
            const Dims dims = b_.slot(param.slot).dims;
            const Init zero{Init::Kind::kConstant, 0};
            const SlotId m = b_.state("m." + param.name, dims, zero);
            const SlotId v = b_.state("v." + param.name, dims, zero);
            const SlotId next_p = b_.temp(DType::kF32, dims);
            const SlotId next_m = b_.temp(DType::kF32, dims);
            const SlotId next_v = b_.temp(DType::kF32, dims);
            const float weight_decay =
                decays(param.group) ? static_cast<float>(o.weight_decay) : 0.0F;
            Op step{Opcode::kAdamw,
                    {param.slot, m, v, grads[i], rate, clip, r1, r2},
                    {next_p, next_m, next_v},
                    {f32_bits(beta1_.beta), f32_bits(beta1_.rest), f32_bits(beta2_.beta),
                     f32_bits(beta2_.rest), f32_bits(static_cast<float>(o.epsilon)),
                     f32_bits(weight_decay)}};
            if (keep_ != kNoSlot) {
                step.code = Opcode::kAdamwGuarded;
                step.inputs.push_back(keep_);
            }
            b_.append(std::move(step));
            b_.set_next(param.slot, next_p);
            b_.set_next(m, next_m);
            b_.set_next(v, next_v);
        }
    }

    const TrainConfig& config_;
    Decay beta1_, beta2_;
    Builder b_;
    Model model_;  // of the latest micro-batch
    SlotId logits_ = kNoSlot;
    SlotId keep_ = kNoSlot;  // 1 to make the step; kNoSlot: always
    std::vector<SlotId> losses_;
    std::vector<std::vector<SlotId>> gradients_;  // by micro-batch, then parameter
};

}  // namespace

Result<Program> train_program(const TrainConfig& config) {
    GYM_CHECK(check_model(config.model));
    GYM_CHECK(check_optimizer(config.optimizer));
    GYM_CHECK(check_outer(config.outer));
    GYM_CHECK(
        require(config.update == UpdateCodec::kNone || config.compression == DeltaCodec::kDense,
                "update: dense-4bit needs compression: dense-4bit, too"));
    GYM_CHECK(require(config.batch >= 1 && config.batch <= kBatchMax, "batch must be 1 to 65536"));
    GYM_CHECK(require(config.micro_batches >= 1 && config.micro_batches <= kMicroBatchesMax &&
                          config.batch % config.micro_batches == 0,
                      "micro_batches must be 1 to 12 and divide batch"));
    GYM_CHECK(check_windows(config.model, config.batch));
    const bool contrasts = config.model.architecture == Architecture::kEncoder &&
                           config.model.task == Task::kEmbed && config.model.passages == 1;
    GYM_CHECK(require(!contrasts || config.batch / config.micro_batches >= 2,
                      "batch must be at least 2 (times micro_batches): a query is compared with "
                      "the passages of the other rows"));
    if (config.model.architecture == Architecture::kImported)
        GYM_CHECK(check_imported(config.model, config.batch / config.micro_batches));
    return TrainWriter(config).write();
}

}  // namespace gym::program
