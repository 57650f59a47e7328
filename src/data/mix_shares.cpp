#include "mix_shares.hpp"

#include <algorithm>
#include <numeric>

namespace gym::data {
namespace {

__extension__ using Wide = unsigned __int128;

Wide sum(std::span<const std::uint64_t> values) {
    return std::accumulate(values.begin(), values.end(), Wide{0});
}

}  // namespace

std::vector<std::uint64_t> apportion(std::span<const std::uint64_t> weights, std::uint64_t total) {
    const Wide all = sum(weights);
    std::vector<std::uint64_t> out;
    std::vector<Wide> remainders;
    out.reserve(weights.size());
    remainders.reserve(weights.size());
    std::uint64_t left = total;
    for (const std::uint64_t weight : weights) {
        const Wide exact = Wide{total} * weight;  // in units of 1 / all
        out.push_back(static_cast<std::uint64_t>(exact / all));
        remainders.push_back(exact % all);
        left -= out.back();
    }
    for (; left > 0; --left) {  // fewer times than there are weights
        const auto largest = std::ranges::max_element(remainders);
        ++out[static_cast<std::size_t>(largest - remainders.begin())];
        *largest = 0;
    }
    return out;
}

std::uint64_t most_in_shares(std::span<const std::uint64_t> weights,
                             std::span<const std::uint64_t> available) {
    const Wide all = sum(weights);
    Wide out = ~Wide{0};
    for (std::size_t i = 0; i < weights.size(); ++i)
        out = std::min(out, Wide{available[i]} * all / weights[i]);
    return static_cast<std::uint64_t>(std::min(out, sum(available)));
}

std::vector<std::uint64_t> quotas(std::span<const std::uint64_t> weights,
                                  std::span<const std::uint64_t> available, std::uint64_t total) {
    total = static_cast<std::uint64_t>(std::min(Wide{total}, sum(available)));
    std::vector<std::uint64_t> open(weights.begin(), weights.end());  // 0: gives all that it has
    std::uint64_t left = total;
    // Each time another input is found to be too short.
    for (std::size_t times = 0; times <= weights.size() && sum(open) > 0; ++times) {
        const auto wanted = apportion(open, left);
        bool all_have_it = true;
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (open[i] == 0 || wanted[i] <= available[i]) continue;
            open[i] = 0;
            left -= available[i];
            all_have_it = false;
        }
        if (all_have_it) break;
    }
    std::vector<std::uint64_t> out(available.begin(), available.end());
    if (sum(open) == 0) return out;
    const auto wanted = apportion(open, left);
    for (std::size_t i = 0; i < open.size(); ++i)
        if (open[i] > 0) out[i] = wanted[i];
    return out;
}

}  // namespace gym::data
