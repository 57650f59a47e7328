// Which instruction set a kernel may use. The choice changes speed only: every level gives equal
// bits.
#pragma once

#include <optional>
#include <string_view>

namespace gym::kernels {

/// Ascending: a level may use everything below it.
///   kScalar  no vector instruction in any kernel
///   kAvx2    AVX2 and FMA
///   kAvx512  AVX-512 F, BW, DQ, VL and VNNI
///   kAmx     kAvx512 and AMX int8 tiles, reached through oneDNN
enum class Isa { kScalar = 0, kAvx2 = 1, kAvx512 = 2, kAmx = 3 };

inline constexpr int kIsaCount = 4;

/// The highest level that this CPU and operating system run. Constant in a process.
[[nodiscard]] Isa detect_isa();

/// "scalar", "avx2", "avx512", "amx".
[[nodiscard]] std::string_view isa_name(Isa isa);
[[nodiscard]] std::optional<Isa> parse_isa(std::string_view name);

/// Bounds what oneDNN may use in this process. oneDNN takes the bound once, before its first use,
/// so call it at the start of a program; without a call the first use bounds it to detect_isa().
/// @return whether the bound holds now: false if an earlier call or use fixed another one.
/// @threads safe.
bool set_process_isa_max(Isa isa);

/// The bound in force. @threads safe.
[[nodiscard]] Isa process_isa_max();

}  // namespace gym::kernels
