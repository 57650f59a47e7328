#include "training.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "bridge.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/positions.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/philox.h"
#include "gym/program/program.hpp"

namespace gym::torch_ops {
namespace {

/// A tensor that an op overwrites, outside autograd.
void require_writable(const char* op, const char* name, const Tensor& tensor) {
    require_f32(op, name, tensor);
    TORCH_CHECK(!(tensor.requires_grad() && at::GradMode::is_enabled()), "gym::", op, ": ", name,
                " requires a gradient and is changed in place; call it under torch.no_grad()");
}

void require_one_element(const char* op, const char* name, const Tensor& tensor) {
    require_f32(op, name, tensor);
    TORCH_CHECK(tensor.numel() == 1, "gym::", op, ": ", name, " ", tensor.sizes(),
                " must have one element");
}

/// For autograd, which refuses to use a saved tensor that has changed since.
void mark_changed(const Tensor& tensor) {
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
}

/// A beta as an f32, and what is left to one of that f32.
struct Decay {
    float beta;
    float rest;
    Decay(const char* op, double value)
        : beta(static_cast<float>(value)), rest(static_cast<float>(1.0 - double{beta})) {
        TORCH_CHECK(value >= 0 && value < 1, "gym::", op, ": a beta of ", value,
                    " is not at least 0 and below 1");
    }
};

Tensor binary(const char* op, Opcode code, const Tensor& a, const Tensor& b) {
    const Tensor out = empty_f32({1});
    run(op, code, {a, b}, {out});
    return out;
}

Digest seed_digest(c10::string_view seed) {
    const std::string text(seed.data(), seed.size());
    if (const auto digest = Digest::parse(text); digest.ok()) return *digest;
    return commit::sha256(as_bytes(text));
}

commit::DType committed_dtype(const char* op, const Tensor& x) {
    switch (x.scalar_type()) {
        case at::kFloat:
            return commit::DType::kF32;
        case at::kInt:
            return commit::DType::kI32;
        case at::kLong:
            return commit::DType::kI64;
        case at::kByte:
            return commit::DType::kU8;
        default:
            TORCH_CHECK(false, "gym::", op, ": tensors of ", x.scalar_type(),
                        " have no root; float32, int32, int64 and uint8 have");
    }
}

Digest root_of(const char* op, const Tensor& x) {
    TORCH_CHECK(x.device().is_cpu() && x.is_contiguous(), "gym::", op,
                ": a tensor must be contiguous and on the CPU; pass .cpu().contiguous()");
    TORCH_CHECK(x.dim() <= std::int64_t{commit::kRankMax}, "gym::", op, ": a tensor has ", x.dim(),
                " dims, at most ", commit::kRankMax, " are allowed");
    std::vector<std::uint64_t> dims(x.sizes().begin(), x.sizes().end());
    return commit::tensor_root(committed_dtype(op, x), dims,
                               {static_cast<const std::uint8_t*>(x.data_ptr()), x.nbytes()});
}

}  // namespace

void adamw_(Tensor p, Tensor m, Tensor v, const Tensor& g, const Tensor& rate, const Tensor& clip,
            const Tensor& r1, const Tensor& r2, double beta1, double beta2, double epsilon,
            double weight_decay) {
    require_writable("adamw_", "p", p);
    require_writable("adamw_", "m", m);
    require_writable("adamw_", "v", v);
    require_f32("adamw_", "g", g);
    require_one_element("adamw_", "rate", rate);
    require_one_element("adamw_", "clip", clip);
    require_one_element("adamw_", "r1", r1);
    require_one_element("adamw_", "r2", r2);
    const Decay first("adamw_", beta1), second("adamw_", beta2);
    const std::uint64_t attributes[] = {f32_attribute(first.beta),
                                        f32_attribute(first.rest),
                                        f32_attribute(second.beta),
                                        f32_attribute(second.rest),
                                        f32_attribute(static_cast<float>(epsilon)),
                                        f32_attribute(static_cast<float>(weight_decay))};
    run("adamw_", Opcode::kAdamw, {p, m, v, g, rate, clip, r1, r2}, {p, m, v}, attributes);
    for (const Tensor* changed : {&p, &m, &v})
        mark_changed(*changed);
}

Tensor bias_correction_(Tensor power, double beta) {
    require_writable("bias_correction_", "power", power);
    require_one_element("bias_correction_", "power", power);
    const Decay decay("bias_correction_", beta);
    const Tensor next =
        binary("bias_correction_", Opcode::kMul, power.view({1}), scalar_f32(decay.beta));
    power.view({1}).copy_(next);
    const Tensor one = scalar_f32(1.0F);
    return binary("bias_correction_", Opcode::kDiv, one,
                  binary("bias_correction_", Opcode::kSub, one, next));
}

std::tuple<Tensor, Tensor> clip_factor(at::TensorList gradients, double clip_norm) {
    TORCH_CHECK(!gradients.empty(), "gym::clip_factor: no gradients");
    TORCH_CHECK(clip_norm > 0, "gym::clip_factor: clip_norm must be above 0, not ", clip_norm);
    const at::NoGradGuard no_grad;
    std::vector<Tensor> squares;
    for (const Tensor& gradient : gradients) {
        require_f32("clip_factor", "a gradient", gradient);
        squares.push_back(empty_f32({1}));
        run("clip_factor", Opcode::kSumSquares, {gradient}, {squares.back()});
    }
    const Tensor total = empty_f32({1}), norm = empty_f32({1});
    run("clip_factor", Opcode::kRowSum, {at::cat(squares)}, {total});
    run("clip_factor", Opcode::kSqrt, {total}, {norm});
    const Tensor room =
        binary("clip_factor", Opcode::kDiv, scalar_f32(static_cast<float>(clip_norm)), norm);
    return {norm, binary("clip_factor", Opcode::kMin, room, scalar_f32(1.0F))};
}

Tensor normal_(Tensor x, c10::string_view seed, std::int64_t slot, double deviation) {
    require_writable("normal_", "x", x);
    TORCH_CHECK(slot >= 0 && slot < std::int64_t{program::kSlotsMax}, "gym::normal_: slot ", slot,
                " is not 0 to ", program::kSlotsMax - 1);
    const kernels::ExactFloatEnvironment environment;
    const auto key = kernels::philox_key(seed_digest(seed).data.data());
    const auto scale = static_cast<float>(deviation);
    const kernels::RandomPosition position{
        0, 0, 0, engine::kRandomOpInitialFirst + static_cast<std::uint32_t>(slot)};
    float* values = x.data_ptr<float>();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        const auto block = kernels::random_block(key, position, static_cast<std::uint64_t>(i));
        values[i] = kernels::f32::mul(kernels::unit_variance(block), scale);
    }
    mark_changed(x);
    return x;
}

std::string tensor_root(const Tensor& x) {
    return root_of("tensor_root", x).hex();
}

std::string state_root(at::TensorList tensors) {
    std::vector<Digest> roots;
    for (const Tensor& tensor : tensors)
        roots.push_back(root_of("state_root", tensor));
    return commit::merkle_root(roots).hex();
}

}  // namespace gym::torch_ops
