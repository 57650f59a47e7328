#pragma once

#include <optional>
#include <span>
#include <string_view>

/// What the same training takes on a rented accelerator: an assumption to compare with, no offer.
namespace gym::plan {

struct CloudPrice {
    std::string_view accelerator;
    std::string_view source;           ///< provider, machine, region and date of the list price
    double usd_per_hour = 0;           ///< of one accelerator
    double peak_flops_per_second = 0;  ///< dense BF16, by its maker's data sheet
};
/// The first one is the default.
[[nodiscard]] std::span<const CloudPrice> cloud_prices();

/// Share of the peak that training reaches.
inline constexpr double kCloudUtilisation = 0.4;

struct CloudCost {
    double seconds = 0;  ///< on one accelerator
    double usd = 0;
};
/// @param usd_per_hour in the place of the list price.
[[nodiscard]] CloudCost cloud_cost(const CloudPrice& price, double flops,
                                   std::optional<double> usd_per_hour);

}  // namespace gym::plan
