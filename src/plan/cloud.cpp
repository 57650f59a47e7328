#include "gym/plan/cloud.hpp"

#include <array>

namespace gym::plan {
namespace {

// List prices without discounts, an eighth of the machine. They change: --cloud-price takes yours.
constexpr std::array<CloudPrice, 2> kPrices{{
    {"A100 80GB", "AWS p4de.24xlarge, $40.97 an hour for 8, us-east-1, on demand, 2024", 5.12,
     312e12},
    {"H100 80GB", "AWS p5.48xlarge, $98.32 an hour for 8, us-east-1, on demand, 2024", 12.29,
     989e12},
}};

}  // namespace

std::span<const CloudPrice> cloud_prices() {
    return kPrices;
}

CloudCost cloud_cost(const CloudPrice& price, double flops, std::optional<double> usd_per_hour) {
    CloudCost out;
    out.seconds = flops / (price.peak_flops_per_second * kCloudUtilisation);
    out.usd = out.seconds / 3600 * usd_per_hour.value_or(price.usd_per_hour);
    return out;
}

}  // namespace gym::plan
