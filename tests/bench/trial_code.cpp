#include "trial_code.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace gym::bench {
namespace {

constexpr std::size_t kBlock = 1024, kSpan = 64;
constexpr double kTopBits = 12, kScaleBits = 8;

/// Calls part(first element, its elements) for every `size` elements; the last may be fewer.
template <class Part>
void each_part(std::span<float> y, std::size_t size, const Part& part) {
    for (std::size_t first = 0; first < y.size(); first += size)
        part(first, y.subspan(first, std::min(size, y.size() - first)));
}

void send_top(std::size_t kept, std::span<float> block, float* sent) {
    std::vector<std::size_t> order(block.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return std::fabs(block[a]) > std::fabs(block[b]);
    });
    order.resize(std::min(kept, order.size()));
    for (const std::size_t i : order)
        sent[i] = std::exchange(block[i], 0.0F);
}

void send_signs(std::span<float> part, float* sent) {
    double total = 0;
    for (const float value : part)
        total += std::fabs(static_cast<double>(value));
    const auto mean = static_cast<float>(total / static_cast<double>(part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) {
        sent[i] = std::copysign(mean, part[i]);
        part[i] -= sent[i];
    }
}

}  // namespace

std::string TrialCode::text() const {
    return (form == Form::kTop ? "top-" : "sign-") + std::to_string(number);
}

double TrialCode::bits() const {
    if (form == Form::kTop) return kTopBits * number / static_cast<double>(kBlock);
    return (1 + kScaleBits / static_cast<double>(kSpan)) / number;
}

std::optional<TrialCode> parse_trial_code(const std::string& text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos) return std::nullopt;
    const std::string form = text.substr(0, dash);
    TrialCode code;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + dash + 1, end, code.number);
    if (error != std::errc{} || stop != end || code.number == 0 || code.number > kBlock)
        return std::nullopt;
    if (form != "top" && form != "sign") return std::nullopt;
    code.form = form == "top" ? TrialCode::Form::kTop : TrialCode::Form::kSign;
    return code;
}

std::vector<float> send(const TrialCode& code, std::uint64_t round, std::span<float> y) {
    std::vector<float> sent(y.size());
    if (code.form == TrialCode::Form::kTop) {
        each_part(y, kBlock, [&](std::size_t first, std::span<float> block) {
            send_top(code.number, block, sent.data() + first);
        });
        return sent;
    }
    each_part(y, kSpan, [&](std::size_t first, std::span<float> part) {
        if ((first / kSpan + round) % code.number == 0) send_signs(part, sent.data() + first);
    });
    return sent;
}

}  // namespace gym::bench
