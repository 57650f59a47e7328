#pragma once

#include <cstdint>

#include "gym/chain/rlp.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// The way back from gym/chain/rlp.hpp: the product only encodes.
namespace gym::testing {

/// Lists nest at most this deep.
inline constexpr unsigned kRlpDepthMax = 16;

/// Strict: one item, the shortest length form, nothing after it. @errors kMalformed.
[[nodiscard]] Result<chain::RlpItem> rlp_decode(ByteView encoded);

/// @errors kMalformed for a list, leading zeros, or more than 8 (32) bytes.
[[nodiscard]] Result<std::uint64_t> to_u64(const chain::RlpItem& item);
[[nodiscard]] Result<Amount> to_amount(const chain::RlpItem& item);

}  // namespace gym::testing
