#include "gym/rewards/formulas.hpp"

#include <algorithm>
#include <numeric>

namespace gym::rewards {

Result<Amount> compute_credit(std::uint64_t flops, const Amount& price_wei_per_pflop) {
    return price_wei_per_pflop.mul_div(Amount(flops), Amount(kFlopsPerPflop));
}

Result<Amount> verification_credit(std::uint64_t flops, const Amount& price_wei_per_pflop,
                                   std::uint32_t premium_ppm) {
    // One division, so that nothing is rounded twice.
    GYM_TRY(const Amount paid_flops_ppm, Amount(flops).mul_div(Amount(premium_ppm), Amount(1)));
    GYM_TRY(const Amount divisor, Amount(kFlopsPerPflop).mul_div(Amount(kPpm), Amount(1)));
    return price_wei_per_pflop.mul_div(paid_flops_ppm, divisor);
}

Result<Amount> data_credit(std::uint64_t tokens, const Amount& price_wei_per_mtoken,
                           std::uint32_t quality_ppm) {
    GYM_TRY(const Amount weighted_tokens, Amount(tokens).mul_div(Amount(quality_ppm), Amount(1)));
    return price_wei_per_mtoken.mul_div(weighted_tokens, Amount(std::uint64_t{kPpm} * kPpm));
}

Result<Amount> data_weight(std::uint64_t part_tokens, const Amount& price_wei_per_mtoken,
                           std::uint32_t quality_ppm) {
    GYM_TRY(const Amount weighted, Amount(part_tokens).mul_div(Amount(quality_ppm), Amount(1)));
    return price_wei_per_mtoken.mul_div(weighted, Amount(1));
}

Result<Amount> data_share_credit(std::uint64_t tokens, const Amount& price_wei_per_mtoken,
                                 std::uint32_t quality_ppm, const DataShare& share) {
    if (share.part_tokens > share.mix_tokens || share.mix_tokens == 0)
        return fail(ErrorCode::kInvalidArgument, "a part of more than the whole mix");
    GYM_TRY(const Amount weight, data_weight(share.part_tokens, price_wei_per_mtoken, quality_ppm));
    GYM_TRY(const Amount through, share.weight_before.plus(weight));
    GYM_TRY(const Amount divisor,
            Amount(share.mix_tokens).mul_div(Amount(std::uint64_t{kPpm} * kPpm), Amount(1)));
    GYM_TRY(const Amount paid_before, share.weight_before.mul_div(Amount(tokens), divisor));
    GYM_TRY(const Amount paid_through, through.mul_div(Amount(tokens), divisor));
    return paid_through.minus(paid_before);
}

std::uint32_t uptime_bonus_ppm(std::uint32_t uptime_ppm, std::uint32_t bonus_max_ppm) {
    const std::uint64_t counted = std::min(uptime_ppm, kPpm);
    if (counted <= kUptimeBonusFromPpm) return 0;
    return static_cast<std::uint32_t>(bonus_max_ppm * (counted - kUptimeBonusFromPpm) /
                                      (kPpm - kUptimeBonusFromPpm));
}

Result<Amount> uptime_bonus(const Amount& compute_wei, std::uint32_t uptime_ppm,
                            std::uint32_t bonus_max_ppm) {
    return compute_wei.mul_div(Amount(uptime_bonus_ppm(uptime_ppm, bonus_max_ppm)), Amount(kPpm));
}

Result<Fee> fee_of(const Amount& charged, std::uint32_t fee_ppm, std::uint32_t burned_ppm) {
    if (burned_ppm > kPpm)
        return fail(ErrorCode::kInvalidArgument, "more than the whole fee cannot be burned");
    GYM_TRY(const Amount whole, charged.mul_div(Amount(fee_ppm), Amount(kPpm)));
    GYM_TRY(const auto parts,
            split(whole, {{"burned", Amount(burned_ppm)}, {"kept", Amount(kPpm - burned_ppm)}}));
    return Fee{parts[1], parts[0]};
}

Result<Amount> emission_share(const Amount& burned, std::uint32_t emission_ppm,
                              const Amount& compute, const Amount& compute_total) {
    if (emission_ppm > kPpm)
        return fail(ErrorCode::kInvalidArgument, "emission never exceeds the burned amount");
    if (compute > compute_total)
        return fail(ErrorCode::kInvalidArgument, "a share of more than the whole round's compute");
    if (compute_total.is_zero()) return Amount();
    GYM_TRY(const Amount whole, burned.mul_div(Amount(emission_ppm), Amount(kPpm)));
    return whole.mul_div(compute, compute_total);
}

Result<std::vector<Amount>> split(const Amount& total, const std::vector<Share>& shares) {
    Amount weight_sum;
    for (const Share& share : shares) {
        GYM_TRY(weight_sum, weight_sum.plus(share.weight));
    }
    if (weight_sum.is_zero())
        return fail(ErrorCode::kInvalidArgument, "a split needs a weight above zero");

    std::vector<Amount> parts;
    std::vector<Amount> remainders;
    Amount left = total;
    for (const Share& share : shares) {
        GYM_TRY(Amount part, total.mul_div(share.weight, weight_sum));
        GYM_TRY(Amount remainder, total.mul_mod(share.weight, weight_sum));
        GYM_TRY(left, left.minus(part));
        parts.push_back(part);
        remainders.push_back(remainder);
    }

    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (remainders[a] != remainders[b]) return remainders[a] > remainders[b];
        return shares[a].key < shares[b].key;
    });
    const auto same_key = [&](std::size_t a, std::size_t b) {
        return shares[a].key == shares[b].key;
    };
    std::vector<std::size_t> by_key = order;
    std::sort(by_key.begin(), by_key.end(),
              [&](std::size_t a, std::size_t b) { return shares[a].key < shares[b].key; });
    if (std::adjacent_find(by_key.begin(), by_key.end(), same_key) != by_key.end())
        return fail(ErrorCode::kInvalidArgument, "two shares of a split have the same key");

    // Rounding leaves less than one unit per share with a remainder.
    GYM_TRY(const std::uint64_t units_left, left.to_u64());
    GYM_ASSERT(units_left < shares.size() || units_left == 0,
               "less than one unit per share is left");
    for (std::uint64_t i = 0; i < units_left; ++i) {
        GYM_TRY(parts[order[i]], parts[order[i]].plus(Amount(1)));
    }
    return parts;
}

}  // namespace gym::rewards
