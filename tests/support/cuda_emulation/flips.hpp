// Bits that flip while kernels run, as those of a card without error correction do: in a word of
// device or shared memory as a kernel reads it (it stays flipped until somebody writes it) or right
// after a kernel wrote it, or in what a tensor core computed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checked_memory.hpp"

namespace gym::emulation {

/// Loads, stores and results of tensor cores since count_accesses() or plan_flip().
std::uint64_t counted_accesses();
/// From now on; no bit flips.
void count_accesses();
/// A bit of what is accessed `access` accesses from now flips, once. @param bit taken modulo the
/// size.
void plan_flip(std::uint64_t access, unsigned bit);
/// Whether it came to that.
bool has_flipped();

/// For the emulation: an access to memory that can flip.
void pass_access(Access access, void* address, std::size_t bytes);
/// What was written is in memory now.
void end_accesses();

}  // namespace gym::emulation
