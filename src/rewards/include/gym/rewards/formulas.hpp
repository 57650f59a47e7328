#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/ppm.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/price_floor.hpp"

/// Formulas of rewards (docs/REWARDS.md). Pure integer functions; every division rounds down, so a
/// node that splits its work over several accounts never earns more, and the remainder stays with
/// the payer. Every function: @errors kOutOfRange when the result does not fit 256 bits.
namespace gym::rewards {

using protocol::kFlopsPerPflop;
inline constexpr std::uint32_t kUptimeBonusFromPpm = 950'000;  ///< 95 %: no bonus up to here

/// floor(flops * price / 10^15). FLOPs are counted from the program.
[[nodiscard]] Result<Amount> compute_credit(std::uint64_t flops, const Amount& price_wei_per_pflop);

/// floor(flops * price * premium / (10^15 * 10^6)): re-executing is paid at a premium, so that
/// verifying is worth as much as working. @param premium_ppm 1'100'000 pays 10 % more than the work
/// itself.
[[nodiscard]] Result<Amount> verification_credit(std::uint64_t flops,
                                                 const Amount& price_wei_per_pflop,
                                                 std::uint32_t premium_ppm);

/// floor(tokens * price * quality / (10^6 * 10^6)).
[[nodiscard]] Result<Amount> data_credit(std::uint64_t tokens, const Amount& price_wei_per_mtoken,
                                         std::uint32_t quality_ppm);

/// What a part of a mix weighs in the price of its tokens: part_tokens * price * quality.
[[nodiscard]] Result<Amount> data_weight(std::uint64_t part_tokens,
                                         const Amount& price_wei_per_mtoken,
                                         std::uint32_t quality_ppm);

/// A part's place in its mix.
struct DataShare {
    std::uint64_t part_tokens = 0;  ///< of the mix that are the part's
    std::uint64_t mix_tokens = 0;   ///< at least as many
    Amount weight_before;           ///< data_weight() of all parts before it, added up
};
/// What the provider of a part earns with `tokens` of the mix: with W(x) = floor(x * tokens /
/// (mix_tokens * 10^12)), W(weight_before + data_weight()) - W(weight_before). So the credits of
/// all parts add up to exactly W(all weights), the tokens at the mix's price rounded down once, and
/// each is its exact share to within one base unit.
/// @errors kInvalidArgument for a part of more than the mix.
[[nodiscard]] Result<Amount> data_share_credit(std::uint64_t tokens,
                                               const Amount& price_wei_per_mtoken,
                                               std::uint32_t quality_ppm, const DataShare& share);

/// Linear from 0 at 95 % to `bonus_max_ppm` at 100 %; more than 100 % counts as 100 %.
[[nodiscard]] std::uint32_t uptime_bonus_ppm(std::uint32_t uptime_ppm, std::uint32_t bonus_max_ppm);
/// floor(compute * uptime_bonus_ppm / 10^6): nothing without work.
[[nodiscard]] Result<Amount> uptime_bonus(const Amount& compute_wei, std::uint32_t uptime_ppm,
                                          std::uint32_t bonus_max_ppm);

/// The network's fee on the credits that a job paid: floor(charged * fee_ppm / 10^6), of which
/// `burned_ppm` is burned. Both parts are split by largest remainder, so they add up exactly.
struct Fee {
    Amount kept;
    Amount burned;
};
[[nodiscard]] Result<Fee> fee_of(const Amount& charged, std::uint32_t fee_ppm,
                                 std::uint32_t burned_ppm);

/// Emission to a worker with `compute` of a round's `compute_total`, out of the burned amount:
/// floor(floor(burned * emission_ppm / 10^6) * compute / compute_total). All shares of a round are
/// never more than it burned. @errors kInvalidArgument for emission_ppm above 10^6 (whoever is both
/// owner and worker would earn by it), or more compute than there is in all.
[[nodiscard]] Result<Amount> emission_share(const Amount& burned, std::uint32_t emission_ppm,
                                            const Amount& compute, const Amount& compute_total);

struct Share {
    std::string key;  ///< unique; breaks ties, so the order of the shares does not matter
    Amount weight;
};
/// Splits `total` in proportion to the weights by largest remainder: the parts, in the order of
/// `shares`, add up to exactly `total`. @errors kInvalidArgument for a repeated key, or no weight
/// above zero.
[[nodiscard]] Result<std::vector<Amount>> split(const Amount& total,
                                                const std::vector<Share>& shares);

}  // namespace gym::rewards
