#pragma once

#include <cstdint>

#include "rules_common.hpp"

/// Shared by the rules about aggregates: what proofs at a column bring.
namespace gym::game::rules {

/// That the column was posted of this element and these are its values. @errors of expect(),
/// check_frame().
Status enter_column(const Cursor& c, const OpFrame& op, const OuterFrame& outer,
                    const Bytes& values);
/// The values of a column. @errors kOutOfRange: too many, or its groups are not legal.
Result<std::vector<float>> floats_of(const Bytes& values, std::uint32_t held);
/// A tensor in a list of tensors.
struct ListedTensor {
    const Digest& root;  ///< over the list
    std::uint64_t number = 0;
    std::uint64_t count = 0;
};
/// The element of a tensor that has the shape of the disputed one. @errors of merkle_verify() and
/// check_chunks(); kOutOfRange.
Result<float> element_under(const ListedTensor& tensor, const OpFrame& op, std::uint64_t element,
                            const dispute::ChunksOpening& opening);

}  // namespace gym::game::rules
