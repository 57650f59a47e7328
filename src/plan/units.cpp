#include "gym/plan/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "gym/common/memory.hpp"

namespace gym::plan {
namespace {

constexpr std::size_t kShownMax = 40;
constexpr double kDurationSecondsMax = 10.0 * 365 * 86'400;

struct Suffix {
    std::string_view text;
    double factor;
};

/// A number with one of the suffixes, or none; NaN for other text.
template <std::size_t N>
double number_with(std::string_view text, const std::array<Suffix, N>& suffixes, double bare) {
    std::string digits;
    for (const char c : text)
        if (c != '_') digits += c;
    double number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || !std::isfinite(number)) return NAN;
    const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
    if (rest.empty()) return number * bare;
    for (const Suffix& suffix : suffixes)
        if (rest == suffix.text) return number * suffix.factor;
    return NAN;
}

}  // namespace

Result<std::uint64_t> parse_count(std::string_view text) {
    constexpr std::array<Suffix, 8> kSuffixes{{{"K", 1e3},
                                               {"k", 1e3},
                                               {"M", 1e6},
                                               {"m", 1e6},
                                               {"B", 1e9},
                                               {"G", 1e9},
                                               {"b", 1e9},
                                               {"T", 1e12}}};
    const double value = number_with(text, kSuffixes, 1);
    if (value >= 1 && value <= static_cast<double>(kCountMax) && value == std::floor(value))
        return static_cast<std::uint64_t>(value);
    return fail(ErrorCode::kInvalidArgument,
                "'" + std::string(text.substr(0, kShownMax)) +
                    "' is not a whole number of at least 1 and at most 1e18, like 1e9, 300M or "
                    "1000000");
}

Result<std::uint64_t> parse_duration_s(std::string_view text) {
    constexpr std::array<Suffix, 5> kSuffixes{
        {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3'600}, {"d", 86'400}}};
    const double value = number_with(text, kSuffixes, NAN);
    if (value >= 1 && value <= kDurationSecondsMax) return static_cast<std::uint64_t>(value);
    return fail(ErrorCode::kInvalidArgument, "'" + std::string(text.substr(0, kShownMax)) +
                                                 "' is not a time like 90s, 45min, 6h or 2d");
}

std::string count_text(std::uint64_t count) {
    constexpr std::uint64_t kGroupedBelow = 10'000'000;
    if (count >= kGroupedBelow) {
        std::string text = fmt::format("{:.1e}", static_cast<double>(count));
        const std::size_t exponent = text.find("e+");
        text.erase(exponent + 1, text[exponent + 2] == '0' ? 2 : 1);  // e+09 -> e9
        return text;
    }
    std::string out = std::to_string(count);
    for (std::size_t at = out.size(); at > 3;) {
        at -= 3;
        out.insert(at, ",");
    }
    return out;
}

std::string count_option(std::uint64_t count) {
    constexpr std::uint64_t kPlainBelow = 100'000;
    std::uint64_t unit = 1;
    int exponent = 0;
    for (; count / unit >= 100; unit *= 10)
        ++exponent;
    const std::uint64_t digits = count / unit;  // two
    if (digits * unit < kPlainBelow) return std::to_string(digits * unit);
    return fmt::format("{}.{}e{}", digits / 10, digits % 10, exponent + 1);
}

Amount rounded_money(const Amount& amount, Rounding rounding) {
    constexpr std::size_t kDigits = 6;
    constexpr std::size_t kDroppedMax = 12;  // of 18 decimals
    const std::size_t length = amount.to_string().size();
    std::uint64_t unit = 1;
    for (std::size_t i = kDigits; i < std::min(length, kDigits + kDroppedMax); ++i)
        unit *= 10;
    const auto rest = amount.mul_mod(Amount(1), Amount(unit));
    if (!rest.ok() || rest->is_zero()) return amount;
    const bool up =
        rounding == Rounding::kUp || (rounding == Rounding::kNearest && *rest >= Amount(unit / 2));
    const auto down = amount.minus(*rest);
    const auto out = up && down.ok() ? down->plus(Amount(unit)) : down;
    return out.ok() ? *out : amount;
}

std::string money_number(const Amount& amount, Rounding rounding) {
    return rounded_money(amount, rounding).to_tokens();
}

std::string money_text(const Amount& amount, Rounding rounding) {
    return money_number(amount, rounding) + " " + kMoneyUnit;
}

std::string need_text(const registry::WorkerMemory& memory) {
    return memory_text(memory.cpu_bytes) + " of memory, on a GPU " + memory_text(memory.on_gpu());
}

std::string share_text(std::uint64_t ppm) {
    return fmt::format("{:.1f} %", static_cast<double>(ppm) / 1e4);
}

}  // namespace gym::plan
