#pragma once

#include <optional>
#include <span>

#include "gym/codec/clip.hpp"
#include "gym/codec/residual.hpp"
#include "gym/codec/tensor_grid.hpp"
#include "gym/common/bytes.hpp"
#include "gym/kernels/dispatch.hpp"

namespace gym::codec {

struct Encoding {
    Bytes code;
    std::uint64_t squared_norm = 0;           ///< of the decoded integers, before clipping
    std::int32_t weight = kernels::kClipOne;  ///< clip_weight(squared_norm, bound)
    /// y - weight * d in fine units, to 8 bits; nothing if no residual came in.
    std::optional<Residual> residual;
};

/// Encodes x (tensor.elements) in codec 2: y = fixed_point(x) + incoming residual; the code is the
/// sparse one of y; the outgoing residual is what the clipped code leaves of y. A total function: a
/// NaN counts as 0, an infinity and whatever is too large saturate, and what saturates stays in the
/// residual as far as that reaches.
/// @param incoming nullptr: a code without feedback. It must have passed check().
/// @pre check(tensor) succeeds, and the residual has the tensor's size.
[[nodiscard]] Encoding encode(const TensorGrid& tensor, std::span<const float> x,
                              std::uint64_t bound, const Residual* incoming,
                              kernels::Isa isa = kernels::detect_isa());

}  // namespace gym::codec
