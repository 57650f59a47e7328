#pragma once

#include <cstdint>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

/// How a round publishes what moved its base (docs/PROTOCOL.md, "Aggregation").
enum class UpdateCodec : std::uint16_t {
    kNone = 0,   ///< not at all: a round publishes its base, 4 bytes a parameter
    kDense = 1,  ///< as rows of codec 1 with a residual, 0.517 bytes a parameter
};

/// Constant of a train program, f32 (1): the codec's number; a program without an update has none.
inline constexpr std::string_view kUpdateCodec = "update.codec";

/// @errors kInvalidArgument: the program's constant names no codec of this version, or the
/// program's deltas are not of codec 1.
[[nodiscard]] Result<UpdateCodec> update_codec(const Program& train);

/// "none" or "dense-4bit": what `update` says in files.
[[nodiscard]] std::string_view name_of(UpdateCodec codec);
/// @errors kInvalidArgument naming the choices.
[[nodiscard]] Result<UpdateCodec> update_codec_named(std::string_view name);

}  // namespace gym::program
