#pragma once

#include <optional>
#include <span>

#include "gym/codec/clip.hpp"
#include "gym/codec/residual.hpp"
#include "gym/codec/tensor_grid.hpp"
#include "gym/common/bytes.hpp"
#include "gym/kernels/dispatch.hpp"

namespace gym::codec {

/// The form of a tensor's code, numbered as the commitment's delta codec.
enum class Form : std::uint8_t { kDense = 1, kSparse = 2 };

struct Encoding {
    Bytes code;
    std::uint64_t squared_norm = 0;           ///< of the decoded integers, before clipping
    std::int32_t weight = kernels::kClipOne;  ///< clip_weight(squared_norm, bound)
    /// y - weight * d in fine units, to 8 bits; nothing if no residual came in.
    std::optional<Residual> residual;
};

/// Encodes x (tensor.elements): y = fixed_point(x) + incoming residual; the code is that of y;
/// the outgoing residual is what the clipped code leaves of y. A total function: a NaN counts as 0,
/// an infinity and whatever is too large saturate, and what saturates stays in the residual as far
/// as that reaches.
/// @param incoming nullptr: a code without feedback. It must have passed check().
/// @pre check(tensor) succeeds, and the residual has the tensor's size.
[[nodiscard]] Encoding encode(Form form, const TensorGrid& tensor, std::span<const float> x,
                              std::uint64_t bound, const Residual* incoming,
                              kernels::Isa isa = kernels::detect_isa());

/// Bytes of the code of a tensor.
[[nodiscard]] std::uint64_t code_bytes(Form form, std::uint64_t elements);

}  // namespace gym::codec
