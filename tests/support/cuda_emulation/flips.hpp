// Bits that flip while a program runs, as those of a card without error correction do: in a word of
// device or shared memory as a kernel reads it (it stays flipped until somebody writes it) or right
// after a kernel wrote it, in what a tensor core computed or lanes exchanged; in the bytes of an
// upload, download, copy or clear; in the arguments of a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "checked_memory.hpp"

namespace gym::emulation {

/// Where bits flip, each with a count of its own.
enum class FlipKind : std::uint8_t {
    kAccess,     ///< loads and stores of kernels, results of tensor cores and of shuffles
    kTransfer,   ///< bytes that an upload, download, copy or clear has just written
    kArguments,  ///< of a kernel, as its launch copied them
};
inline constexpr int kFlipKinds = 3;

/// Those of a kind since count_accesses() or plan_flip().
std::uint64_t counted_accesses(FlipKind kind = FlipKind::kAccess);
/// From now on; no bit flips.
void count_accesses();
/// A bit of what comes `access` of its kind from now flips, once. @param bit taken modulo the size.
void plan_flip(FlipKind kind, std::uint64_t access, std::uint64_t bit);
/// A bit of the arguments of the next launch of a kernel that has `kernel` in its name.
void plan_argument_flip(const std::string& kernel, std::uint64_t bit);
/// How many bytes the bit was one of; 0: none flipped.
std::size_t flipped_bytes();
/// Whether it came to that.
bool has_flipped();

/// Whether the arguments of a launch are wrong. Its kernel and those after it may then do anything
/// that a device lets them: what the checks of the emulation find is no finding.
bool is_astray();
/// Whether it has made more accesses than any kernel of the tests; to be asked once for each.
bool strays_for_ever();
/// A kernel that is astray came to an address that no allocation has: as with the error of a
/// device, no kernel runs any more.
void lose_context();
/// Until the next count_accesses() or plan_flip().
bool is_context_lost();

/// For the emulation: an access to memory that can flip.
void pass_access(Access access, void* address, std::size_t bytes);
/// What was written is in memory now.
void end_accesses();
/// These bytes have just moved.
void pass_transfer(void* bytes, std::size_t count);
void pass_arguments(const std::string& kernel, void* arguments, std::size_t bytes);

}  // namespace gym::emulation
