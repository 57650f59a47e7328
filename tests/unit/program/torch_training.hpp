#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gym/program/train_program.hpp"
#include "program_samples.hpp"
#include "reference_runner.hpp"
#include "torch_compare.hpp"

namespace gym::program::testing {

/// Our train program beside the same model and optimizer in FP64.
template <class TorchModel>
class Both {
  public:
    explicit Both(const TrainConfig& config)
        : config_(config),
          program_(make(config)),
          runner_(program_.parts()),
          torch_(config.model, {}),
          rng_(test_seed()) {
        std::map<std::string, torch::Tensor> params;
        for (const Slot& slot : program_.slots()) {
            if (slot.kind != SlotKind::kParam && slot.kind != SlotKind::kState) continue;
            const std::vector<float> values = first_values(slot);
            runner_.set(program_.find_slot(slot.name), values);
            torch::Tensor tensor = to_torch(values, slot.dims);
            if (slot.kind == SlotKind::kParam) params[slot.name] = tensor.requires_grad_(true);
        }
        torch_ = TorchModel(config.model, params);
        for (const auto& [name, param] : params) {
            m_[name] = torch::zeros_like(param);
            v_[name] = torch::zeros_like(param);
        }
    }

    /// Forward and backward on a random batch, on both sides.
    void run(std::int32_t step) {
        const SlotId batch = program_.find_slot(kBatchInput);
        const Dims& dims = program_.slot(batch).dims;
        std::vector<std::int32_t> tokens(element_count(dims));
        for (std::int32_t& token : tokens)
            token = static_cast<std::int32_t>(rng_() % config_.model.vocabulary);
        runner_.set(batch, tokens);
        runner_.set(program_.find_slot(kClockInput), std::vector<std::int32_t>{step, step});
        runner_.run();
        for (const auto& [name, param] : torch_.params())
            param.mutable_grad() = torch::zeros_like(param);
        loss_ = torch_.loss(to_torch(tokens, dims));
        loss_.backward();
    }
    /// Carries `next` values over, and makes the same AdamW step in FP64.
    void update(std::int32_t step) {
        for (SlotId id = 0; id < program_.slots().size(); ++id)
            if (const SlotId next = program_.slot(id).next; next != kNoSlot)
                runner_.set(id, runner_.get<float>(next));
        const torch::NoGradGuard guard;
        const OptimizerConfig& o = config_.optimizer;
        const double clip = std::min(1.0, o.clip_norm / gradient_norm());
        const double rate = learning_rate(step);
        for (const auto& [name, param] : torch_.params()) {
            const torch::Tensor g = param.grad() * clip;
            m_[name] = o.beta1 * m_[name] + (1 - o.beta1) * g;
            v_[name] = o.beta2 * v_[name] + (1 - o.beta2) * g * g;
            const torch::Tensor m = m_[name] / (1 - std::pow(o.beta1, step + 1));
            const torch::Tensor v = v_[name] / (1 - std::pow(o.beta2, step + 1));
            const bool linear = name.ends_with(".weight") || name == "head" ||
                                (o.decay_embeddings && name.ends_with("_embedding")) ||
                                (o.decay_norms && name.find("norm") != std::string::npos) ||
                                (o.decay_biases && name.ends_with(".bias"));
            torch::Tensor into = param;
            into -= rate * ((linear ? o.weight_decay : 0.0) * param + m / (v.sqrt() + o.epsilon));
        }
    }
    [[nodiscard]] double gradient_norm() const {
        double total = 0;
        for (const auto& [name, param] : torch_.params())
            total += param.grad().square().sum().template item<double>();
        return std::sqrt(total);
    }
    [[nodiscard]] std::vector<float> ours(std::string_view output) const {
        return runner_.get<float>(program_.find_output(output));
    }
    [[nodiscard]] std::vector<float> param(const std::string& name) const {
        return runner_.get<float>(program_.find_slot(name));
    }
    [[nodiscard]] const TorchModel& torch_model() const { return torch_; }
    [[nodiscard]] const torch::Tensor& torch_loss() const { return loss_; }

  private:
    static Program make(const TrainConfig& config) {
        auto program = train_program(config);
        GYM_ASSERT(program.ok(), "the test's own configuration");
        return *std::move(program);
    }
    std::vector<float> first_values(const Slot& slot) {
        const float value = std::bit_cast<float>(slot.init.bits);
        if (slot.init.kind == Init::Kind::kNormal)
            return normal_values(rng_, element_count(slot.dims), value);
        return std::vector<float>(element_count(slot.dims), value);
    }
    [[nodiscard]] double learning_rate(std::int32_t step) const {
        const OptimizerConfig& o = config_.optimizer;
        const double inner = std::min(1.0, (step + 1.0) / o.inner_warmup_steps);
        if (step < static_cast<std::int32_t>(o.warmup_steps))
            return inner * o.learning_rate * (step + 1) / o.warmup_steps;
        const double turn = (step - double{1} * o.warmup_steps) / (o.total_steps - o.warmup_steps);
        if (o.schedule == Schedule::kConstant) return inner * o.learning_rate;
        if (o.schedule == Schedule::kLinear)
            return inner * (o.learning_rate + (o.learning_rate_min - o.learning_rate) * turn);
        return inner * (o.learning_rate_min + (o.learning_rate - o.learning_rate_min) * 0.5 *
                                                  (1 + std::cos(M_PI * turn)));
    }

    TrainConfig config_;
    Program program_;
    ReferenceRunner runner_;
    TorchModel torch_;
    std::mt19937_64 rng_;
    torch::Tensor loss_;
    std::map<std::string, torch::Tensor> m_, v_;
};

template <class TorchModel>
void expect_equal_gradients(Both<TorchModel>& both) {
    expect_close(both.ours(kLossOutput), both.torch_loss(), 1e-4, "loss");
    for (const auto& [name, param] : both.torch_model().params())
        expect_close(both.ours(std::string(kGradientPrefix) + name), param.grad(), 3e-3, name);
    EXPECT_NEAR(both.ours(kGradNormOutput)[0] / both.gradient_norm(), 1.0, 1e-3);
}

/// Twelve optimizer steps: clipping, schedule, warm-up, bias correction and decay agree as well.
/// @param free ends the names of parameters that have no gradient but rounding, so that each side
/// moves them as it likes.
template <class TorchModel>
void expect_equal_training(const TrainConfig& config, std::string_view free = "-") {
    Both<TorchModel> both(config);
    for (std::int32_t step = 0; step < 12; ++step) {
        both.run(step);
        expect_close(both.ours(kLossOutput), both.torch_loss(), 1e-3,
                     "loss of step " + std::to_string(step));
        both.update(step);
    }
    for (const auto& [name, param] : both.torch_model().params())
        if (!name.ends_with(free)) expect_close(both.param(name), param, 1e-2, name);
}

}  // namespace gym::program::testing
