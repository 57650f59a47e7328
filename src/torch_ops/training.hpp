#pragma once

// The parts of a training step around the gradients, and roots to compare; schemas in library.cpp.

#include <ATen/ATen.h>
#include <c10/util/string_view.h>

#include <cstdint>
#include <string>
#include <tuple>

namespace gym::torch_ops {

using at::Tensor;

/// One step of AdamW in place (docs/MACROS.md, adamw). p, m, v, g of equal dims; rate, clip, r1,
/// r2 of one element each. What is left of a beta to one is taken after beta became an f32.
void adamw_(Tensor p, Tensor m, Tensor v, const Tensor& g, const Tensor& rate, const Tensor& clip,
            const Tensor& r1, const Tensor& r2, double beta1, double beta2, double epsilon,
            double weight_decay);
/// power (1) becomes power * beta; returns 1 / (1 - power). power begins at 1.
Tensor bias_correction_(Tensor power, double beta);
/// {sqrt of the exact sum of squares of all elements, min(clip_norm / norm, 1)}.
std::tuple<Tensor, Tensor> clip_factor(at::TensorList gradients, double clip_norm);
/// Fills x with the initial values that parameter slot `slot` of a program has under `seed` (64
/// hexadecimal digits, or any text), with the given deviation.
Tensor normal_(Tensor x, c10::string_view seed, std::int64_t slot, double deviation);
/// The Merkle root of a tensor (f32, i32, i64, u8), as 0x and 64 hexadecimal digits.
std::string tensor_root(const Tensor& x);
/// The root of a state that holds these tensors in this order.
std::string state_root(at::TensorList tensors);

}  // namespace gym::torch_ops
