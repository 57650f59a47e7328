#pragma once

#include <cstdint>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"

/// Upper bound of a job's cost (docs/REWARDS.md): a coordinator begins a round, and a quote counts,
/// by the same function. Integers only; every bound is on the safe side of its roundings.
namespace gym::protocol {

/// Upper bounds of a network's rates for work worth 1.
struct CostRates {
    std::uint64_t cost_bound_ppm = 0;  ///< compute with verification, uptime bonus and the fee
    std::uint32_t fee_ppm = 0;         ///< on data
};

/// A job's prices.
struct WorkPrice {
    Amount price_wei_per_pflop;
    std::uint64_t flops_per_step = 0;   ///< of training, counted from the program
    std::uint64_t tokens_per_step = 0;  ///< that those FLOPs consume
    Amount data_price_wei_per_mtoken;
    std::uint32_t data_quality_ppm = 0;
};

struct Work {
    Amount training_flops;  ///< of units that count
    Amount report_flops;    ///< of units that earn nothing and whose reports are paid: aggregates,
                            ///< rejected units
};

/// An upper bound of all credits and fees for `work`. @errors kOutOfRange.
[[nodiscard]] Result<Amount> cost_bound(const WorkPrice& price, const CostRates& rates,
                                        const Work& work);

/// Upper bounds of the units of one round.
struct RoundShape {
    std::uint64_t slots = 0;
    std::uint64_t steps = 0;  ///< of a unit
    /// Of the coordinator's own units: the aggregate, over a delta of every slot, and the
    /// evaluation.
    std::uint64_t own_flops = 0;
    /// Once a job: where rounds overlap, the evaluation of the state that it begins from.
    std::uint64_t once_flops = 0;
};

/// An upper bound of what `rounds` rounds cost, whatever becomes of their units. A job with this
/// budget begins each of them. @errors kOutOfRange.
[[nodiscard]] Result<Amount> rounds_bound(const WorkPrice& price, const CostRates& rates,
                                          const RoundShape& shape, std::uint64_t rounds);

/// The most rounds, up to `rounds`, whose bound is within `budget`. @errors kOutOfRange.
[[nodiscard]] Result<std::uint64_t> rounds_covered(const WorkPrice& price, const CostRates& rates,
                                                   const RoundShape& shape, std::uint64_t rounds,
                                                   const Amount& budget);

/// Rates that cover compute with its premium, bonus and fee, rounded up.
/// @param premium_ppm of verification. @param bonus_ppm of uptime, at most.
[[nodiscard]] std::uint64_t cost_of_compute_ppm(std::uint32_t premium_ppm, std::uint32_t bonus_ppm,
                                                std::uint32_t fee_ppm);

}  // namespace gym::protocol
