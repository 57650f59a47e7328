#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

/// Programs within texts: a job file holds the model that its owner imported, so that the owner's
/// signature covers it and nobody needs more than the job. Part of gym::program_yaml.
namespace gym::program {

/// Of a program that a text may hold: its file, and that file compressed and in base64.
inline constexpr std::size_t kTextProgramBytesMax = std::size_t{1} << 24;
inline constexpr std::size_t kProgramTextBytesMax = std::size_t{768} << 10;

/// The program's file, compressed (zlib, RFC 1950) and in base64 (RFC 4648).
/// @errors kOutOfRange for one that is too large, saying by how much and what is large in it.
[[nodiscard]] Result<std::string> program_text(const Program& program);

/// @errors kMalformed for a text that program_text() did not write; kOutOfRange; the errors of
/// decode().
[[nodiscard]] Result<Program> parse_program_text(std::string_view text);

}  // namespace gym::program
