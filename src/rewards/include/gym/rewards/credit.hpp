#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

/// A credit, and the one list of its fields. The list drives SQL (INSERT, SELECT, rows), the epoch
/// file, REST answers and openapi.json: a new field is a member and a row of the list.
namespace gym::rewards {

/// In the order of the alternatives of CreditInputs.
enum class CreditKind {
    kCompute,
    kVerification,
    kUptime,
    kData,
    kFee,       ///< what the network keeps of what a job paid
    kBurn,      ///< the burned part of the fee
    kEmission,  ///< what the emission account adds to a round's compute
    kPrefix,    ///< the verified first steps of a unit that ended without a commitment
};
[[nodiscard]] std::string_view to_string(CreditKind kind) noexcept;
/// @errors kMalformed.
[[nodiscard]] Result<CreditKind> parse_credit_kind(std::string_view text);
/// True if a credit of this kind is for one unit, false if it is for a round.
[[nodiscard]] bool is_of_unit(CreditKind kind) noexcept;
/// "flops * price / 10^15", for people.
[[nodiscard]] std::string_view formula_text(CreditKind kind) noexcept;

// The inputs of each kind's formula (docs/REWARDS.md).

struct ComputeInputs {
    std::uint64_t flops = 0;
    Amount price;  ///< wei per PFLOP
    friend bool operator==(const ComputeInputs&, const ComputeInputs&) = default;
};
struct VerificationInputs {
    std::uint64_t flops = 0;
    Amount price;  ///< wei per PFLOP
    std::uint32_t premium_ppm = 0;
    friend bool operator==(const VerificationInputs&, const VerificationInputs&) = default;
};
struct UptimeInputs {
    Amount compute;  ///< the compute credits that the bonus is on
    std::uint32_t uptime_ppm = 0;
    std::uint32_t bonus_max_ppm = 0;
    std::uint64_t challenges = 0;  ///< uptime_ppm = answered / challenges; 0 in old files
    std::uint64_t answered = 0;
    friend bool operator==(const UptimeInputs&, const UptimeInputs&) = default;
};
struct DataInputs {
    std::uint64_t tokens = 0;
    Amount price;  ///< wei per million tokens
    std::uint32_t quality_ppm = 0;
    // Of a part of a mix, whose price and quality these are (data_share_credit()); 0 otherwise.
    std::uint64_t part_tokens = 0;
    std::uint64_t mix_tokens = 0;
    Amount weight_before;
    friend bool operator==(const DataInputs&, const DataInputs&) = default;
};
struct FeeInputs {
    Amount charged;  ///< the round's credits that the fee is on
    std::uint32_t fee_ppm = 0;
    std::uint32_t burned_ppm = 0;  ///< of the fee
    friend bool operator==(const FeeInputs&, const FeeInputs&) = default;
};
struct BurnInputs {
    Amount charged;
    std::uint32_t fee_ppm = 0;
    std::uint32_t burned_ppm = 0;
    friend bool operator==(const BurnInputs&, const BurnInputs&) = default;
};
struct EmissionInputs {
    Amount burned;  ///< the round's burn credit
    std::uint32_t emission_ppm = 0;
    Amount compute;        ///< of the node
    Amount compute_total;  ///< of all nodes in the round
    friend bool operator==(const EmissionInputs&, const EmissionInputs&) = default;
};

struct PrefixInputs {
    std::uint64_t flops = 0;  ///< of the verified steps
    Amount price;             ///< wei per PFLOP
    friend bool operator==(const PrefixInputs&, const PrefixInputs&) = default;
};

using CreditInputs = std::variant<ComputeInputs, VerificationInputs, UptimeInputs, DataInputs,
                                  FeeInputs, BurnInputs, EmissionInputs, PrefixInputs>;
[[nodiscard]] inline CreditKind kind_of(const CreditInputs& inputs) noexcept {
    return static_cast<CreditKind>(inputs.index());
}
/// Inputs of a kind, all zero.
[[nodiscard]] CreditInputs zero_inputs(CreditKind kind);
/// The kind's formula over its inputs: the only way in which an amount comes about.
/// @errors kOutOfRange, kInvalidArgument, as the formulas.
[[nodiscard]] Result<Amount> evaluate(const CreditInputs& inputs);

struct Credit {
    std::string id;  ///< of the ledger transfer, a UUID
    CreditInputs inputs;
    Address earner;
    Digest job_id;
    std::uint64_t round = 0;
    std::optional<Digest> unit;     ///< if is_of_unit(kind())
    std::optional<Digest> dataset;  ///< the part of a mix that a data credit is for
    std::optional<Address> node;    ///< which did the work; absent for fee and burn
    std::optional<Address> payer;   ///< of emission; the job pays all other kinds
    Amount amount;

    [[nodiscard]] CreditKind kind() const noexcept { return kind_of(inputs); }
    friend bool operator==(const Credit&, const Credit&) = default;
};

enum class CreditState {
    kPending,   ///< reserved in the job's escrow; the unit is not final yet
    kPosted,    ///< earned
    kVoid,      ///< the unit did not become final
    kUnfunded,  ///< the job's escrow could not cover it; paid as soon as it can
};
[[nodiscard]] std::string_view to_string(CreditState state) noexcept;
/// @errors kMalformed.
[[nodiscard]] Result<CreditState> parse_credit_state(std::string_view text);

/// A credit and what became of it: a row of rewards.credit.
struct Receipt {
    Credit credit;
    CreditState state = CreditState::kPending;
    std::string reason;                  ///< why it is void or unfunded; else empty
    std::optional<std::string> posting;  ///< id of the transfer that decided it (post or void)
    std::optional<std::uint64_t> payout_epoch;  ///< whose root includes it
    UnixMs created_at = 0;
    UnixMs changed_at = 0;
};

/// A field of a credit or a receipt, by its name in each place; empty where it is absent.
template <class Record, class T>
struct CreditField {
    using Owner = Record;
    std::string_view column;  ///< of rewards.credit
    std::string_view member;  ///< of a credit in the epoch file
    std::string_view view;    ///< of a receipt in REST answers
    std::string_view type;    ///< in openapi.json; "?" at its end: may be null
    std::string_view about;
    T Record::*at;
};
template <class Record, class T>
CreditField(std::string_view, std::string_view, std::string_view, std::string_view,
            std::string_view, T Record::*) -> CreditField<Record, T>;

/// Kind of the credit. It selects the alternative of `inputs` and is read before them.
inline constexpr std::tuple kCreditFields{
    CreditField{"id", "id", "id", "text", "of the ledger's transfer, a UUID", &Credit::id},
    CreditField{"kind", "kind", "kind", "text",
                "compute, verification, uptime, data, fee, burn, emission or prefix",
                &Credit::inputs},
    CreditField{"state", "", "state", "text", "pending, posted, void or unfunded", &Receipt::state},
    CreditField{"amount", "amount", "amount_wei", "wei", "", &Credit::amount},
    CreditField{"earner", "earner", "earner", "address", "", &Credit::earner},
    CreditField{"node", "node", "node", "address?", "the node that did the work", &Credit::node},
    CreditField{"payer", "payer", "payer", "address?", "of emission; the job pays all other kinds",
                &Credit::payer},
    CreditField{"job_id", "job", "job_id", "hash", "", &Credit::job_id},
    CreditField{"round", "round", "round", "count", "", &Credit::round},
    CreditField{"unit_id", "unit", "unit", "hash?", "", &Credit::unit},
    CreditField{"dataset", "dataset", "dataset", "hash?", "the part of a mix that it is for",
                &Credit::dataset}};

/// State of the credit.
inline constexpr std::tuple kBookingFields{
    CreditField{"reason", "", "reason", "text?", "why it is void or unfunded", &Receipt::reason},
    CreditField{"posting", "", "posting", "text?", "the transfer that decided it",
                &Receipt::posting},
    CreditField{"epoch", "", "payout_epoch", "count?", "whose root includes it",
                &Receipt::payout_epoch},
    CreditField{"created_at_ms", "", "created_at_ms", "time", "", &Receipt::created_at},
    CreditField{"changed_at_ms", "", "changed_at_ms", "time", "", &Receipt::changed_at}};

/// An input of the kinds that have it. Its name is that of the SQL column and of the epoch file's
/// member.
template <class T, class... Kinds>
struct InputField {
    using Value = T;
    static constexpr bool kIsAmount = std::is_same_v<T, Amount>;
    std::string_view name;
    std::tuple<T Kinds::*...> at;

    /// The member of REST answers; its type in openapi.json is "wei" or "count".
    [[nodiscard]] std::string view() const { return std::string(name) + (kIsAmount ? "_wei" : ""); }
    /// Null if inputs of this kind do not have the field.
    template <class Inputs>
    [[nodiscard]] constexpr auto* in(Inputs& inputs) const {
        using Kind = std::remove_const_t<Inputs>;
        using Pointer = std::conditional_t<std::is_const_v<Inputs>, const T*, T*>;
        if constexpr ((std::is_same_v<Kind, Kinds> || ...))
            return Pointer(&(inputs.*std::get<T Kind::*>(at)));
        else
            return Pointer(nullptr);
    }
};
template <class T, class... Kinds>
constexpr InputField<T, Kinds...> input_field(std::string_view name, T Kinds::*... at) {
    return {name, std::tuple(at...)};
}

inline constexpr std::tuple kInputFields{
    input_field("flops", &ComputeInputs::flops, &VerificationInputs::flops, &PrefixInputs::flops),
    input_field("price", &ComputeInputs::price, &VerificationInputs::price, &DataInputs::price,
                &PrefixInputs::price),
    input_field("premium_ppm", &VerificationInputs::premium_ppm),
    input_field("tokens", &DataInputs::tokens),
    input_field("quality_ppm", &DataInputs::quality_ppm),
    input_field("part_tokens", &DataInputs::part_tokens),
    input_field("mix_tokens", &DataInputs::mix_tokens),
    input_field("weight_before", &DataInputs::weight_before),
    input_field("compute", &UptimeInputs::compute, &EmissionInputs::compute),
    input_field("uptime_ppm", &UptimeInputs::uptime_ppm),
    input_field("bonus_max_ppm", &UptimeInputs::bonus_max_ppm),
    input_field("challenges", &UptimeInputs::challenges),
    input_field("answered", &UptimeInputs::answered),
    input_field("charged", &FeeInputs::charged, &BurnInputs::charged),
    input_field("fee_ppm", &FeeInputs::fee_ppm, &BurnInputs::fee_ppm),
    input_field("burned_ppm", &FeeInputs::burned_ppm, &BurnInputs::burned_ppm),
    input_field("burned", &EmissionInputs::burned),
    input_field("emission_ppm", &EmissionInputs::emission_ppm),
    input_field("compute_total", &EmissionInputs::compute_total)};

namespace detail {
/// The receipt or its credit, whichever is an Owner.
template <class Owner, class Record>
auto& part_of(Record& record) {
    if constexpr (std::is_same_v<Owner, std::remove_const_t<Record>>)
        return record;
    else
        return record.credit;
}
}  // namespace detail

/// Calls f(field) for each field of a list, in the list's order.
template <class Fields, class F>
void for_each_field(const Fields& fields, F&& f) {
    std::apply([&](const auto&... field) { (f(field), ...); }, fields);
}

/// Calls f(field, value) for each field of a list that `record`, a Credit or a Receipt, has.
template <class Fields, class Record, class F>
void for_each_value(const Fields& fields, Record& record, F&& f) {
    for_each_field(fields, [&](const auto& field) {
        using Owner = typename std::remove_cvref_t<decltype(field)>::Owner;
        if constexpr (std::is_same_v<Owner, std::remove_const_t<Record>> ||
                      std::is_same_v<Owner, Credit>)
            f(field, detail::part_of<Owner>(record).*field.at);
    });
}

/// Calls f(field, pointer) for every input field; the pointer is null if the kind lacks it.
template <class Inputs, class F>
void for_each_input(Inputs& inputs, F&& f) {
    std::visit(
        [&](auto& kind) {
            for_each_field(kInputFields, [&](const auto& field) { f(field, field.in(kind)); });
        },
        inputs);
}

}  // namespace gym::rewards
