#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/registry/worker_memory.hpp"

/// Numbers as people write and read them. Pure functions.
namespace gym::plan {

inline constexpr std::uint64_t kCountMax = 1'000'000'000'000'000'000;  ///< of tokens: 10^18

/// "1e9", "2.5e8", "1000000", "1_000_000", "300M", "1.5B", "2T" (thousands K, millions, billions,
/// trillions). @errors kInvalidArgument for other text, a fraction, 0, or more than kCountMax.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text);

/// "90s", "45min", "6h", "2d". @return seconds. @errors kInvalidArgument; at most 10 years.
[[nodiscard]] Result<std::uint64_t> parse_duration_s(std::string_view text);

/// "8,192"; from 10^7 on with two digits and an exponent: "1.0e9".
[[nodiscard]] std::string count_text(std::uint64_t count);
/// "--tokens" of about `count`: "400", "12000", "1.2e9". At most `count`, to two digits, and what
/// parse_count() reads.
[[nodiscard]] std::string count_option(std::uint64_t count);

// Money is counted in GYM, the network's token; "tokens" are those of a text.

inline constexpr const char* kMoneyUnit = "GYM";
enum class Rounding { kDown, kNearest, kUp };
/// To 6 decimals; amounts below 1 GYM to 6 significant digits.
[[nodiscard]] Amount rounded_money(const Amount& amount, Rounding rounding = Rounding::kNearest);
/// "12.345679": rounded_money() as an option takes it.
[[nodiscard]] std::string money_number(const Amount& amount,
                                       Rounding rounding = Rounding::kNearest);
/// "12.345679 GYM".
[[nodiscard]] std::string money_text(const Amount& amount, Rounding rounding = Rounding::kNearest);

/// "3.0 GiB of memory, on a GPU 4.1 GiB".
[[nodiscard]] std::string need_text(const registry::WorkerMemory& memory);

/// "5.6 %".
[[nodiscard]] std::string share_text(std::uint64_t ppm);

}  // namespace gym::plan
