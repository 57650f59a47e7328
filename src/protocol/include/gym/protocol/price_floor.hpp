#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"

/// The least price of work that a network takes (docs/REWARDS.md, "The least price").
namespace gym::protocol {

/// Prices are for so many FLOPs.
inline constexpr std::uint64_t kFlopsPerPflop = 1'000'000'000'000'000;

/// GYM for 10^15 FLOPs, unless an operator says another one: what a machine's power costs, as a
/// share of what its rent does, of the price that quotes begin with.
inline constexpr std::string_view kPricePerPflopMinGym = "0.1";

/// Why a job at this price is not taken: one sentence. Empty if it is.
[[nodiscard]] std::string below_floor(const Amount& price_wei_per_pflop, const Amount& floor_wei);

}  // namespace gym::protocol
