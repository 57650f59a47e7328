#include "gym/codec/tensor_grid.hpp"

#include <string>

namespace gym::codec {

Status check(const TensorGrid& tensor) {
    if (tensor.elements == 0 || tensor.elements > kElementsMax)
        return fail(ErrorCode::kOutOfRange, "a compressed tensor has 1 to 2^30 elements, not " +
                                                std::to_string(tensor.elements));
    if (tensor.exponent < kernels::kDeltaGridMin || tensor.exponent > kernels::kDeltaGridMax)
        return fail(ErrorCode::kOutOfRange,
                    "a grid exponent is -100 to 27, not " + std::to_string(tensor.exponent));
    return {};
}

}  // namespace gym::codec
