#include "gym/protocol/job_cost.hpp"

#include <algorithm>

#include "gym/common/ppm.hpp"
#include "gym/protocol/price_floor.hpp"

namespace gym::protocol {
namespace {

constexpr std::uint64_t kMtoken = 1'000'000;
/// Each division of a bound drops less than one unit: six for training, two for reports.
constexpr std::uint64_t kTrainingDivisions = 6;
constexpr std::uint64_t kReportDivisions = 2;

Result<Amount> product(std::uint64_t a, std::uint64_t b) {
    return Amount(a).mul_div(Amount(b), Amount(1));
}

/// Compute with what comes on top of it, and the tokens that so many FLOPs consume.
Result<Amount> training_bound(const WorkPrice& price, const CostRates& rates, const Amount& flops) {
    GYM_TRY(const Amount compute, flops.mul_div(price.price_wei_per_pflop, Amount(kFlopsPerPflop)));
    GYM_TRY(const Amount paid, compute.mul_div(Amount(rates.cost_bound_ppm), Amount(kPpm)));
    const Amount flops_per_step(std::max<std::uint64_t>(price.flops_per_step, 1));
    GYM_TRY(const Amount tokens, flops.mul_div(Amount(price.tokens_per_step), flops_per_step));
    GYM_TRY(const Amount full, tokens.mul_div(price.data_price_wei_per_mtoken, Amount(kMtoken)));
    GYM_TRY(const Amount data, full.mul_div(Amount(price.data_quality_ppm), Amount(kPpm)));
    // The fee is on these credits, too.
    GYM_TRY(const Amount fee, data.mul_div(Amount(rates.fee_ppm), Amount(kPpm)));
    GYM_TRY(const Amount with_fee, data.plus(fee));
    GYM_TRY(const Amount bound, paid.plus(with_fee));
    return bound.plus(Amount(kTrainingDivisions));
}

/// Reports cost what comes on top of compute.
Result<Amount> report_bound(const WorkPrice& price, const CostRates& rates, const Amount& flops) {
    GYM_TRY(const Amount compute, flops.mul_div(price.price_wei_per_pflop, Amount(kFlopsPerPflop)));
    const std::uint64_t on_top_ppm = std::max<std::uint64_t>(rates.cost_bound_ppm, kPpm) - kPpm;
    GYM_TRY(const Amount paid, compute.mul_div(Amount(on_top_ppm), Amount(kPpm)));
    return paid.plus(Amount(kReportDivisions));
}

}  // namespace

Result<Amount> cost_bound(const WorkPrice& price, const CostRates& rates, const Work& work) {
    GYM_TRY(const Amount training, training_bound(price, rates, work.training_flops));
    GYM_TRY(const Amount reports, report_bound(price, rates, work.report_flops));
    return training.plus(reports);
}

Result<Amount> rounds_bound(const WorkPrice& price, const CostRates& rates, const RoundShape& shape,
                            std::uint64_t rounds) {
    GYM_TRY(const Amount unit, product(price.flops_per_step, shape.steps));
    GYM_TRY(const Amount round, unit.mul_div(Amount(shape.slots), Amount(1)));
    Work work;
    GYM_TRY(work.training_flops, round.mul_div(Amount(rounds), Amount(1)));
    GYM_TRY(work.report_flops, product(shape.own_flops, rounds));
    GYM_TRY(work.report_flops, work.report_flops.plus(Amount(shape.once_flops)));
    GYM_TRY(const Amount bound, cost_bound(price, rates, work));
    // A unit that is rejected moves from the first sum to the second, which costs less but for what
    // the divisions of both drop.
    return bound.plus(Amount(kTrainingDivisions + kReportDivisions));
}

Result<std::uint64_t> rounds_covered(const WorkPrice& price, const CostRates& rates,
                                     const RoundShape& shape, std::uint64_t rounds,
                                     const Amount& budget) {
    std::uint64_t low = 0;
    while (low < rounds) {
        const std::uint64_t middle = rounds - (rounds - low) / 2;
        GYM_TRY(const Amount bound, rounds_bound(price, rates, shape, middle));
        if (bound <= budget)
            low = middle;
        else
            rounds = middle - 1;
    }
    return low;
}

std::uint64_t cost_of_compute_ppm(std::uint32_t premium_ppm, std::uint32_t bonus_ppm,
                                  std::uint32_t fee_ppm) {
    const std::uint64_t paid = std::uint64_t{kPpm} + premium_ppm + bonus_ppm;
    return (paid * (std::uint64_t{kPpm} + fee_ppm) + kPpm - 1) / kPpm;
}

}  // namespace gym::protocol
