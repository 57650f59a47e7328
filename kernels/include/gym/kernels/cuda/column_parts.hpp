// How the rows of a matrix are divided for sums of its columns on a device. Host code.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gym::kernels::cuda {

/// A part of the rows is a block in a grid's y, of which there are at most so many.
inline constexpr int64_t kColumnPartsMax = 65535;
inline constexpr int64_t kColumnPartRowsMin = 256;

/// Rows of a part; the last one may have fewer. @param rows at least 1.
inline int64_t column_part_rows(int64_t rows) {
    return std::max((rows + kColumnPartsMax - 1) / kColumnPartsMax, kColumnPartRowsMin);
}

}  // namespace gym::kernels::cuda
