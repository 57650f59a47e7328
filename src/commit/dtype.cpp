#include "gym/commit/dtype.hpp"

#include <array>
#include <string>

namespace gym::commit {
namespace {

struct Row {
    DType dtype;
    std::string_view name;
    std::size_t size_bytes;
};

constexpr std::array<Row, 7> kRows{{{DType::kF32, "f32", 4},
                                    {DType::kI32, "i32", 4},
                                    {DType::kI64, "i64", 8},
                                    {DType::kI16, "i16", 2},
                                    {DType::kU8, "u8", 1},
                                    {DType::kU16, "u16", 2},
                                    {DType::kU32, "u32", 4}}};

const Row& row_of(DType dtype) {
    const auto index = static_cast<std::size_t>(dtype) - 1;
    GYM_ASSERT(index < kRows.size() && kRows[index].dtype == dtype, "no such dtype");
    return kRows[index];
}

}  // namespace

std::size_t size_bytes(DType dtype) {
    return row_of(dtype).size_bytes;
}

std::string_view to_string(DType dtype) {
    return row_of(dtype).name;
}

Result<DType> dtype_from(std::uint8_t code) {
    for (const Row& row : kRows)
        if (static_cast<std::uint8_t>(row.dtype) == code) return row.dtype;
    return fail(ErrorCode::kMalformed, "no dtype has code " + std::to_string(code));
}

Result<DType> dtype_from(std::string_view name) {
    for (const Row& row : kRows)
        if (row.name == name) return row.dtype;
    return fail(ErrorCode::kMalformed, "no dtype is named '" + std::string(name) + "'");
}

}  // namespace gym::commit
