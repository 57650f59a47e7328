#pragma once

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

inline constexpr std::size_t kProgramBytesMax = std::size_t{1} << 27;
inline constexpr std::size_t kSlotRecordBytes = 128;
inline constexpr std::size_t kOpRecordBytes = 128;
inline constexpr std::size_t kOutputRecordBytes = 64;

/// The program's only encoding (the bytes of a .gym file; docs/PROGRAMS.md, "File and root").
[[nodiscard]] Bytes encode(const Program& program);

/// @errors kMalformed for truncated, over-long, non-canonical or altered bytes; kOutOfRange beyond
/// the bounds; the errors of Program::create().
[[nodiscard]] Result<Program> decode(ByteView bytes);

/// The parts that a job fixes: the fixed-width records of slots (with the roots of constants), ops
/// and outputs, each as a u8 tensor whose chunks can be opened alone, under one header.
[[nodiscard]] Digest program_root(const Program& program);

}  // namespace gym::program
