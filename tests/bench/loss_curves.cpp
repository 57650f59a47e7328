#include "loss_curves.hpp"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <numeric>

namespace gym::bench {

double LossCurve::mean_before(std::size_t step, std::size_t count) const {
    const std::size_t end = step + 1, begin = end > count ? end - count : 0;
    const auto from = training.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = training.begin() + static_cast<std::ptrdiff_t>(end);
    return std::accumulate(from, to, 0.0) / static_cast<double>(end - begin);
}

LongestGap find_longest_gap(const LossCurve& ours, const LossCurve& peer, std::size_t mean_steps) {
    LongestGap longest, current;
    double sum = 0;
    bool above = false;
    for (std::size_t step = 0; step < ours.training.size(); ++step) {
        const double expected = peer.mean_before(step, mean_steps);
        const double gap = (ours.mean_before(step, mean_steps) - expected) / expected;
        if (current.steps == 0 || (gap > 0) != above) {
            current = {.first_step = step, .steps = 0, .mean_relative = 0};
            sum = 0;
            above = gap > 0;
        }
        ++current.steps;
        sum += gap;
        current.mean_relative = sum / static_cast<double>(current.steps);
        if (current.steps > longest.steps) longest = current;
    }
    return longest;
}

bool write_csv(const std::string& path, const std::vector<LossCurve>& curves,
               const std::vector<std::size_t>& validated_steps, std::size_t mean_steps) {
    std::ofstream csv(path);
    csv << "step";
    for (const char* suffix : {"", "_mean", "_validation"}) {
        for (const LossCurve& curve : curves)
            csv << ',' << curve.name << suffix;
    }
    csv << '\n' << std::setprecision(9);
    for (std::size_t step = 0; step < curves.front().training.size(); ++step) {
        csv << step;
        for (const LossCurve& curve : curves)
            csv << ',' << curve.training[step];
        for (const LossCurve& curve : curves)
            csv << ',' << curve.mean_before(step, mean_steps);
        const auto validated = std::ranges::find(validated_steps, step);
        const auto index = static_cast<std::size_t>(validated - validated_steps.begin());
        for (const LossCurve& curve : curves) {
            csv << ',';
            if (index < curve.validation.size()) csv << curve.validation[index];
        }
        csv << '\n';
    }
    return csv.flush().good();
}

}  // namespace gym::bench
