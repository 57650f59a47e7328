#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gym/chain/client.hpp"

// Checks whether a chain's prevrandao (EIP-4399) may decide which work is checked.
namespace gym::chain {

/// Newest blocks that are looked at.
inline constexpr std::uint32_t kPrevrandaoBlocks = 32;

/// The reason why prevrandao of a chain, known by its number, is not random: "Arbitrum One,
/// where it is always the same". Absent: nothing is known against it.
[[nodiscard]] std::optional<std::string> weak_prevrandao(std::uint64_t chain_id);

/// Refuses chains that are known for it, and those whose newest blocks show it: a value twice, or
/// one whose first 16 or last 16 bytes are zero, as random ones are not in 2^120 years. A chain
/// that has fewer than two blocks behind its first passes: it shows nothing.
/// @errors kInvalidArgument, saying what to configure in its place; those of the client.
[[nodiscard]] Status check_prevrandao(ChainClient& client);

}  // namespace gym::chain
