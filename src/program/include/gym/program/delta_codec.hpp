#pragma once

#include <cstdint>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

/// How the delta of a unit is written (docs/PROTOCOL.md, "States, deltas, datasets"), numbered as
/// in round records and commitments.
enum class DeltaCodec : std::uint16_t {
    kFloat = 0,  ///< f32, 4 bytes a parameter
    kDense = 1,  ///< 4 bits and scales, 0.517 bytes a parameter
};

/// Constant of a train program, f32 (1): the codec's number; a program of codec 0 has none.
inline constexpr std::string_view kDeltaCodec = "delta.codec";

/// @errors kInvalidArgument: the program's constant names no codec of this version.
[[nodiscard]] Result<DeltaCodec> delta_codec(const Program& train);

/// "none" or "dense-4bit": what `compression` says in files.
[[nodiscard]] std::string_view name_of(DeltaCodec codec);
/// @errors kInvalidArgument naming the choices.
[[nodiscard]] Result<DeltaCodec> delta_codec_named(std::string_view name);

}  // namespace gym::program
