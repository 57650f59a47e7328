#include "gym/rewards/credit.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "gym/rewards/formulas.hpp"

namespace gym::rewards {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {
    "compute", "verification", "uptime", "data", "fee", "burn", "emission", "prefix"};
constexpr std::array<std::string_view, 4> kStates = {"pending", "posted", "void", "unfunded"};

template <CreditKind kind, class Inputs>
constexpr bool kIsAt =
    std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(kind), CreditInputs>,
                   Inputs>;
static_assert(std::variant_size_v<CreditInputs> == kKinds.size());
static_assert(kIsAt<CreditKind::kCompute, ComputeInputs> &&
              kIsAt<CreditKind::kVerification, VerificationInputs> &&
              kIsAt<CreditKind::kUptime, UptimeInputs> && kIsAt<CreditKind::kData, DataInputs> &&
              kIsAt<CreditKind::kFee, FeeInputs> && kIsAt<CreditKind::kBurn, BurnInputs> &&
              kIsAt<CreditKind::kEmission, EmissionInputs> &&
              kIsAt<CreditKind::kPrefix, PrefixInputs>);

template <class Enum, std::size_t N>
Result<Enum> parse(const std::array<std::string_view, N>& names, std::string_view text,
                   const char* what) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        return fail(ErrorCode::kMalformed,
                    std::string("no credit ") + what + " " + std::string(text.substr(0, 64)));
    return static_cast<Enum>(found - names.begin());
}

// The formulas.
Result<Amount> value_of(const ComputeInputs& in) {
    return compute_credit(in.flops, in.price);
}
Result<Amount> value_of(const VerificationInputs& in) {
    return verification_credit(in.flops, in.price, in.premium_ppm);
}
Result<Amount> value_of(const UptimeInputs& in) {
    return uptime_bonus(in.compute, in.uptime_ppm, in.bonus_max_ppm);
}
Result<Amount> value_of(const DataInputs& in) {
    if (in.mix_tokens == 0) return data_credit(in.tokens, in.price, in.quality_ppm);
    return data_share_credit(in.tokens, in.price, in.quality_ppm,
                             {in.part_tokens, in.mix_tokens, in.weight_before});
}
Result<Amount> value_of(const FeeInputs& in) {
    GYM_TRY(const Fee fee, fee_of(in.charged, in.fee_ppm, in.burned_ppm));
    return fee.kept;
}
Result<Amount> value_of(const BurnInputs& in) {
    GYM_TRY(const Fee fee, fee_of(in.charged, in.fee_ppm, in.burned_ppm));
    return fee.burned;
}
Result<Amount> value_of(const EmissionInputs& in) {
    return emission_share(in.burned, in.emission_ppm, in.compute, in.compute_total);
}

Result<Amount> value_of(const PrefixInputs& in) {
    return compute_credit(in.flops, in.price);
}

template <std::size_t... I>
CreditInputs zero_of(std::size_t index, std::index_sequence<I...>) {
    CreditInputs out;
    ((index == I ? static_cast<void>(out.emplace<I>()) : void()), ...);
    return out;
}

}  // namespace

std::string_view to_string(CreditKind kind) noexcept {
    return kKinds[static_cast<std::size_t>(kind)];
}

Result<CreditKind> parse_credit_kind(std::string_view text) {
    return parse<CreditKind>(kKinds, text, "kind");
}

bool is_of_unit(CreditKind kind) noexcept {
    return kind == CreditKind::kCompute || kind == CreditKind::kVerification ||
           kind == CreditKind::kData || kind == CreditKind::kPrefix;
}

std::string_view formula_text(CreditKind kind) noexcept {
    constexpr std::array<std::string_view, kKinds.size()> kTexts = {
        "flops * price / 10^15",
        "flops * price * premium_ppm / (10^15 * 10^6)",
        "compute * bonus_max_ppm * (uptime_ppm - 950000) / 50000 / 10^6",
        "tokens * price * quality_ppm / (10^6 * 10^6); of a part of a mix times part_tokens / "
        "mix_tokens, rounded together with the parts before it",
        "charged * fee_ppm / 10^6, without the burned_ppm of it",
        "burned_ppm of charged * fee_ppm / 10^6",
        "burned * emission_ppm / 10^6 * compute / compute_total",
        "flops * price / 10^15, of the verified first steps of an interrupted unit"};
    return kTexts[static_cast<std::size_t>(kind)];
}

CreditInputs zero_inputs(CreditKind kind) {
    return zero_of(static_cast<std::size_t>(kind), std::make_index_sequence<kKinds.size()>());
}

Result<Amount> evaluate(const CreditInputs& inputs) {
    return std::visit([](const auto& in) { return value_of(in); }, inputs);
}

std::string_view to_string(CreditState state) noexcept {
    return kStates[static_cast<std::size_t>(state)];
}

Result<CreditState> parse_credit_state(std::string_view text) {
    return parse<CreditState>(kStates, text, "state");
}

}  // namespace gym::rewards
