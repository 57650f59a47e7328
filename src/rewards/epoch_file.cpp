#include "gym/rewards/epoch_file.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <type_traits>

#include "gym/blob/blob_store.hpp"
#include "gym/common/json_fields.hpp"

namespace gym::rewards {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kVersion = 1;
constexpr std::array<std::string_view, 4> kEpochStates = {"closed", "released", "submitted",
                                                          "disabled"};

/// An object of canonical JSON: members in the order of their names, no spaces.
class CanonicalObject {
  public:
    void add(std::string_view name, std::uint64_t value) { put(name, std::to_string(value)); }
    void add(std::string_view name, std::string_view text) {
        // Hexadecimal, decimal or a fixed word: nothing to escape.
        put(name, '"' + std::string(text) + '"');
    }
    void add(std::string_view name, const std::string& text) { add(name, std::string_view(text)); }
    void add(std::string_view name, const Amount& amount) { add(name, amount.to_string()); }
    template <std::size_t N, class Tag>
    void add(std::string_view name, const FixedBytes<N, Tag>& bytes) {
        add(name, bytes.hex());
    }
    /// Absent if null.
    template <class T>
    void add(std::string_view name, const std::optional<T>& value) {
        if (value) add(name, *value);
    }
    void add(std::string_view name, const CanonicalObject& object) { put(name, object.text()); }
    /// A list of write(element), each a CanonicalObject.
    template <class Range, class F>
    void add_list(std::string_view name, const Range& range, F&& write) {
        std::string out = "[";
        for (const auto& element : range) {
            if (out.size() > 1) out += ',';
            out += write(element).text();
        }
        put(name, std::move(out) + ']');
    }

    [[nodiscard]] std::string text() const {
        std::string out = "{";
        for (const auto& [name, value] : members_) {
            if (out.size() > 1) out += ',';
            out.append("\"").append(name).append("\":").append(value);
        }
        return std::move(out) + '}';
    }

  private:
    void put(std::string_view name, std::string value) {
        const bool is_new = members_.emplace(name, std::move(value)).second;
        GYM_ASSERT(is_new, "members of an object have different names");
    }
    std::map<std::string_view, std::string> members_;
};

/// Inputs that some credits of a kind do not have: all of them are there, or none.
bool is_optional(std::string_view name) {
    constexpr std::array<std::string_view, 5> kNames = {"challenges", "answered", "part_tokens",
                                                        "mix_tokens", "weight_before"};
    return std::ranges::find(kNames, name) != kNames.end();
}

/// Files from before there were challenges name none; a dataset that is no mix has no parts.
template <class Inputs>
bool is_in_file(const Inputs& inputs, std::string_view name) {
    if constexpr (std::is_same_v<Inputs, UptimeInputs>)
        return inputs.challenges != 0 || !is_optional(name);
    else if constexpr (std::is_same_v<Inputs, DataInputs>)
        return inputs.mix_tokens != 0 || !is_optional(name);
    return true;
}

CanonicalObject write_inputs(const CreditInputs& inputs) {
    CanonicalObject object;
    std::visit(
        [&](const auto& kind) {
            for_each_field(kInputFields, [&](const auto& field) {
                const auto* const value = field.in(kind);
                if (value && is_in_file(kind, field.name)) object.add(field.name, *value);
            });
        },
        inputs);
    return object;
}

CanonicalObject write_credit(const Credit& credit) {
    CanonicalObject object;
    for_each_value(kCreditFields, credit, [&](const auto& field, const auto& value) {
        if constexpr (std::is_same_v<decltype(value), const CreditInputs&>)
            object.add(field.member, to_string(kind_of(value)));
        else
            object.add(field.member, value);
    });
    object.add("inputs", write_inputs(credit.inputs));
    return object;
}

CanonicalObject write_round(const FileRound& round) {
    CanonicalObject object;
    object.add("commitments_root", round.commitments_root);
    object.add("epoch", round.epoch);
    object.add("job", round.job_id);
    object.add("round", round.round);
    if (round.uptime) {
        object.add("uptime_from_ms", static_cast<std::uint64_t>(round.uptime->from_ms));
        object.add("uptime_to_ms", static_cast<std::uint64_t>(round.uptime->to_ms));
    }
    return object;
}

CanonicalObject write_payout(const Payout& payout) {
    CanonicalObject object;
    object.add("cumulative", payout.cumulative);
    object.add("earner", payout.earner);
    return object;
}

CanonicalObject write_release(const FileRelease& release) {
    CanonicalObject object;
    object.add("amount", release.amount);
    object.add("owner", release.owner);
    return object;
}

CanonicalObject write_seal(const ledger::SealHead& seal) {
    CanonicalObject object;
    object.add("hash", seal.hash);
    object.add("number", seal.number);
    return object;
}

// Reading: what throws is caught by parse_epoch_file().

using json_fields::amount_of;
using json_fields::fixed_of;
using json_fields::number_of;
using json_fields::take;
using json_fields::text_of;
using json_fields::view_of;

template <class T>
void read_value(const json::object& object, std::string_view name, T& out) {
    if constexpr (std::is_same_v<T, Amount>)
        out = amount_of(object, name);
    else if constexpr (std::is_integral_v<T>)
        out = number_of<T>(object, name);
    else if constexpr (std::is_same_v<T, std::string>)
        out = text_of(object, name);
    else if constexpr (std::is_same_v<T, CreditInputs>)
        out = zero_inputs(take(parse_credit_kind(view_of(object, name))));
    else
        out = fixed_of<T>(object, name);
}
template <class T>
void read_value(const json::object& object, std::string_view name, std::optional<T>& out) {
    if (object.contains(name)) read_value(object, name, out.emplace());
}

void read_inputs(const json::object& object, CreditInputs& inputs) {
    // All or none: parse_epoch_file() refuses what would be written otherwise.
    const auto is_absent = [&](std::string_view name) {
        return is_optional(name) && !object.contains(name);
    };
    for_each_input(inputs, [&](const auto& field, auto* value) {
        if (value && !is_absent(field.name)) read_value(object, field.name, *value);
    });
}

Credit read_credit(const json::value& value) {
    const json::object& object = value.as_object();
    Credit credit;
    for_each_value(kCreditFields, credit,
                   [&](const auto& field, auto& out) { read_value(object, field.member, out); });
    read_inputs(object.at("inputs").as_object(), credit.inputs);
    return credit;
}

FileRound read_round(const json::value& value) {
    const json::object& object = value.as_object();
    FileRound round{fixed_of<Digest>(object, "job"),
                    number_of(object, "round"),
                    number_of(object, "epoch"),
                    {}};
    if (object.contains("commitments_root"))
        round.commitments_root = fixed_of<Digest>(object, "commitments_root");
    if (object.contains("uptime_from_ms"))
        round.uptime = {number_of<UnixMs>(object, "uptime_from_ms"),
                        number_of<UnixMs>(object, "uptime_to_ms")};
    return round;
}

EpochFile read_file_object(const json::object& object) {
    if (number_of(object, "version") != kVersion) throw std::runtime_error("unknown version");
    EpochFile file;
    file.epoch = number_of(object, "epoch");
    if (object.contains("previous")) file.previous = fixed_of<Digest>(object, "previous");
    file.domain = {number_of(object, "chain_id"), fixed_of<Address>(object, "distributor"),
                   fixed_of<Address>(object, "token")};
    for (const json::value& value : object.at("rounds").as_array())
        file.rounds.push_back(read_round(value));
    for (const json::value& value : object.at("credits").as_array())
        file.credits.push_back(read_credit(value));
    for (const json::value& value : object.at("releases").as_array())
        file.releases.push_back({fixed_of<Address>(value.as_object(), "owner"),
                                 amount_of(value.as_object(), "amount")});
    for (const json::value& value : object.at("payouts").as_array())
        file.payouts.push_back({fixed_of<Address>(value.as_object(), "earner"),
                                amount_of(value.as_object(), "cumulative")});
    file.total_cumulative = amount_of(object, "total_cumulative");
    file.payout_root = fixed_of<Digest>(object, "payout_root");
    if (object.contains("ledger_seal")) {
        const json::object& seal = object.at("ledger_seal").as_object();
        file.ledger_seal =
            ledger::SealHead{number_of(seal, "number"), fixed_of<Digest>(seal, "hash")};
    }
    return file;
}

}  // namespace

std::string_view to_string(EpochState state) noexcept {
    return kEpochStates[static_cast<std::size_t>(state)];
}

Result<EpochState> parse_epoch_state(std::string_view text) {
    const auto found = std::find(kEpochStates.begin(), kEpochStates.end(), text);
    if (found == kEpochStates.end())
        return fail(ErrorCode::kMalformed, "no epoch state " + std::string(text.substr(0, 64)));
    return static_cast<EpochState>(found - kEpochStates.begin());
}

std::string encode_epoch_file(const EpochFile& file) {
    CanonicalObject object;
    object.add("chain_id", file.domain.chain_id);
    object.add_list("credits", file.credits, write_credit);
    object.add("distributor", file.domain.distributor);
    object.add("epoch", file.epoch);
    if (file.ledger_seal) object.add("ledger_seal", write_seal(*file.ledger_seal));
    object.add("payout_root", file.payout_root);
    object.add_list("payouts", file.payouts, write_payout);
    object.add("previous", file.previous);
    object.add_list("releases", file.releases, write_release);
    object.add_list("rounds", file.rounds, write_round);
    object.add("token", file.domain.token);
    object.add("total_cumulative", file.total_cumulative);
    object.add("version", kVersion);
    return object.text();
}

Result<EpochFile> parse_epoch_file(std::string_view text) {
    try {
        EpochFile file =
            read_file_object(json::parse(json::string_view(text.data(), text.size())).as_object());
        if (encode_epoch_file(file) != text)
            return fail(ErrorCode::kMalformed, "epoch file: not in canonical form");
        return file;
    } catch (const boost::system::system_error& e) {  // its what() names lines of Boost
        return fail(ErrorCode::kMalformed, "epoch file: " + e.code().message());
    } catch (const std::exception& e) {
        return fail(ErrorCode::kMalformed, std::string("epoch file: ") + e.what());
    }
}

Digest epoch_file_root(std::string_view text) {
    return blob::blob_root(as_bytes(text));
}

}  // namespace gym::rewards
