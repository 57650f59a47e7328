#include "gym/rewards/epoch_file.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "gym/blob/blob_store.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/rewards/formulas.hpp"

namespace gym::rewards {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 7> kKinds = {"compute", "verification", "uptime",  "data",
                                                    "fee",     "burn",         "emission"};
constexpr std::int64_t kVersion = 1;

/// An object whose members are written in the order of their keys; null members are left out.
class ObjectWriter {
  public:
    explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
    ~ObjectWriter() { out_ += '}'; }
    ObjectWriter(const ObjectWriter&) = delete;
    ObjectWriter& operator=(const ObjectWriter&) = delete;

    std::string& key(std::string_view name) {
        GYM_ASSERT(last_ < name, "keys of canonical JSON ascend");
        if (!last_.empty()) out_ += ',';
        last_ = name;
        out_ += '"';
        out_ += name;
        out_ += "\":";
        return out_;
    }
    void number(std::string_view name, std::uint64_t value) { key(name) += std::to_string(value); }
    void text(std::string_view name, std::string_view value) {
        key(name) += '"';
        out_ += value;  // hexadecimal, decimal or a fixed word: nothing to escape
        out_ += '"';
    }

  private:
    std::string& out_;
    std::string last_;
};

template <class Range, class F>
void write_array(std::string& out, const Range& range, F&& write) {
    out += '[';
    bool first = true;
    for (const auto& element : range) {
        if (!first) out += ',';
        first = false;
        write(out, element);
    }
    out += ']';
}

void write_inputs(std::string& out, CreditKind kind, const CreditInputs& inputs) {
    ObjectWriter object(out);
    switch (kind) {
        case CreditKind::kCompute:
            object.number("flops", inputs.flops);
            object.text("price", inputs.price.to_string());
            return;
        case CreditKind::kVerification:
            object.number("flops", inputs.flops);
            object.number("premium_ppm", inputs.premium_ppm);
            object.text("price", inputs.price.to_string());
            return;
        case CreditKind::kUptime:
            // Absent in files from before there were challenges.
            if (inputs.challenges != 0) object.number("answered", inputs.answered);
            object.number("bonus_max_ppm", inputs.bonus_max_ppm);
            if (inputs.challenges != 0) object.number("challenges", inputs.challenges);
            object.text("compute", inputs.compute.to_string());
            object.number("uptime_ppm", inputs.uptime_ppm);
            return;
        case CreditKind::kData:
            object.text("price", inputs.price.to_string());
            object.number("quality_ppm", inputs.quality_ppm);
            object.number("tokens", inputs.tokens);
            return;
        case CreditKind::kFee:
        case CreditKind::kBurn:
            object.number("burned_ppm", inputs.burned_ppm);
            object.text("charged", inputs.charged.to_string());
            object.number("fee_ppm", inputs.fee_ppm);
            return;
        case CreditKind::kEmission:
            object.text("burned", inputs.burned.to_string());
            object.text("compute", inputs.compute.to_string());
            object.text("compute_total", inputs.compute_total.to_string());
            object.number("emission_ppm", inputs.emission_ppm);
            return;
    }
}

void write_credit(std::string& out, const FileCredit& credit) {
    ObjectWriter object(out);
    object.text("amount", credit.amount.to_string());
    object.text("earner", credit.earner.hex());
    object.text("id", credit.id);
    write_inputs(object.key("inputs"), credit.kind, credit.inputs);
    object.text("job", credit.job_id.hex());
    object.text("kind", to_string(credit.kind));
    if (credit.node) object.text("node", credit.node->hex());
    if (credit.payer) object.text("payer", credit.payer->hex());
    object.number("round", credit.round);
    if (credit.unit) object.text("unit", credit.unit->hex());
}

void write_round(std::string& out, const FileRound& round) {
    ObjectWriter object(out);
    if (round.commitments_root) object.text("commitments_root", round.commitments_root->hex());
    object.number("epoch", round.epoch);
    object.text("job", round.job_id.hex());
    object.number("round", round.round);
    if (round.uptime) {
        object.number("uptime_from_ms", static_cast<std::uint64_t>(round.uptime->from_ms));
        object.number("uptime_to_ms", static_cast<std::uint64_t>(round.uptime->to_ms));
    }
}

// Reading: what throws is caught by parse_epoch_file().

using json_fields::amount_of;
using json_fields::fixed_of;
using json_fields::number_of;
using json_fields::take;
using json_fields::view_of;

CreditInputs read_inputs(CreditKind kind, const json::object& object) {
    CreditInputs inputs;
    if (kind == CreditKind::kCompute || kind == CreditKind::kVerification)
        inputs.flops = number_of(object, "flops");
    if (is_of_unit(kind)) inputs.price = amount_of(object, "price");
    if (kind == CreditKind::kVerification)
        inputs.premium_ppm = number_of<std::uint32_t>(object, "premium_ppm");
    if (kind == CreditKind::kData) {
        inputs.tokens = number_of(object, "tokens");
        inputs.quality_ppm = number_of<std::uint32_t>(object, "quality_ppm");
    }
    if (kind == CreditKind::kUptime || kind == CreditKind::kEmission)
        inputs.compute = amount_of(object, "compute");
    if (kind == CreditKind::kUptime) {
        inputs.uptime_ppm = number_of<std::uint32_t>(object, "uptime_ppm");
        inputs.bonus_max_ppm = number_of<std::uint32_t>(object, "bonus_max_ppm");
        if (object.contains("challenges")) inputs.challenges = number_of(object, "challenges");
        if (object.contains("answered")) inputs.answered = number_of(object, "answered");
    }
    if (kind == CreditKind::kFee || kind == CreditKind::kBurn) {
        inputs.charged = amount_of(object, "charged");
        inputs.fee_ppm = number_of<std::uint32_t>(object, "fee_ppm");
        inputs.burned_ppm = number_of<std::uint32_t>(object, "burned_ppm");
    }
    if (kind == CreditKind::kEmission) {
        inputs.burned = amount_of(object, "burned");
        inputs.emission_ppm = number_of<std::uint32_t>(object, "emission_ppm");
        inputs.compute_total = amount_of(object, "compute_total");
    }
    return inputs;
}

FileCredit read_credit(const json::value& value) {
    const json::object& object = value.as_object();
    FileCredit credit;
    credit.id = view_of(object, "id");
    credit.kind = take(parse_credit_kind(view_of(object, "kind")));
    credit.earner = fixed_of<Address>(object, "earner");
    credit.job_id = fixed_of<Digest>(object, "job");
    credit.round = number_of(object, "round");
    if (object.contains("unit")) credit.unit = fixed_of<Digest>(object, "unit");
    if (object.contains("node")) credit.node = fixed_of<Address>(object, "node");
    if (object.contains("payer")) credit.payer = fixed_of<Address>(object, "payer");
    credit.inputs = read_inputs(credit.kind, object.at("inputs").as_object());
    credit.amount = amount_of(object, "amount");
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
    if (number_of<std::int64_t>(object, "version") != kVersion)
        throw std::runtime_error("unknown version");
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

std::string_view to_string(CreditKind kind) noexcept {
    return kKinds[static_cast<std::size_t>(kind)];
}

Result<CreditKind> parse_credit_kind(std::string_view text) {
    const auto found = std::find(kKinds.begin(), kKinds.end(), text);
    if (found == kKinds.end())
        return fail(ErrorCode::kMalformed, "no credit kind " + std::string(text.substr(0, 64)));
    return static_cast<CreditKind>(found - kKinds.begin());
}

bool is_of_unit(CreditKind kind) noexcept {
    return kind == CreditKind::kCompute || kind == CreditKind::kVerification ||
           kind == CreditKind::kData;
}

Result<Amount> evaluate(CreditKind kind, const CreditInputs& inputs) {
    switch (kind) {
        case CreditKind::kCompute:
            return compute_credit(inputs.flops, inputs.price);
        case CreditKind::kVerification:
            return verification_credit(inputs.flops, inputs.price, inputs.premium_ppm);
        case CreditKind::kUptime:
            return uptime_bonus(inputs.compute, inputs.uptime_ppm, inputs.bonus_max_ppm);
        case CreditKind::kFee: {
            GYM_TRY(const Fee fee, fee_of(inputs.charged, inputs.fee_ppm, inputs.burned_ppm));
            return fee.kept;
        }
        case CreditKind::kBurn: {
            GYM_TRY(const Fee fee, fee_of(inputs.charged, inputs.fee_ppm, inputs.burned_ppm));
            return fee.burned;
        }
        case CreditKind::kEmission:
            return emission_share(inputs.burned, inputs.emission_ppm, inputs.compute,
                                  inputs.compute_total);
        case CreditKind::kData:
            break;
    }
    return data_credit(inputs.tokens, inputs.price, inputs.quality_ppm);
}

std::string_view formula_text(CreditKind kind) noexcept {
    constexpr std::array<std::string_view, 7> kTexts = {
        "flops * price / 10^15",
        "flops * price * premium_ppm / (10^15 * 10^6)",
        "compute * bonus_max_ppm * (uptime_ppm - 950000) / 50000 / 10^6",
        "tokens * price * quality_ppm / (10^6 * 10^6)",
        "charged * fee_ppm / 10^6, without the burned_ppm of it",
        "burned_ppm of charged * fee_ppm / 10^6",
        "burned * emission_ppm / 10^6 * compute / compute_total"};
    return kTexts[static_cast<std::size_t>(kind)];
}

std::string encode_epoch_file(const EpochFile& file) {
    std::string out;
    {
        ObjectWriter object(out);
        object.number("chain_id", file.domain.chain_id);
        write_array(object.key("credits"), file.credits, write_credit);
        object.text("distributor", file.domain.distributor.hex());
        object.number("epoch", file.epoch);
        if (file.ledger_seal) {
            ObjectWriter inner(object.key("ledger_seal"));
            inner.text("hash", file.ledger_seal->hash.hex());
            inner.number("number", file.ledger_seal->number);
        }
        object.text("payout_root", file.payout_root.hex());
        write_array(object.key("payouts"), file.payouts, [](std::string& to, const Payout& payout) {
            ObjectWriter inner(to);
            inner.text("cumulative", payout.cumulative.to_string());
            inner.text("earner", payout.earner.hex());
        });
        if (file.previous) object.text("previous", file.previous->hex());
        write_array(object.key("releases"), file.releases,
                    [](std::string& to, const FileRelease& release) {
                        ObjectWriter inner(to);
                        inner.text("amount", release.amount.to_string());
                        inner.text("owner", release.owner.hex());
                    });
        write_array(object.key("rounds"), file.rounds, write_round);
        object.text("token", file.domain.token.hex());
        object.text("total_cumulative", file.total_cumulative.to_string());
        object.number("version", kVersion);
    }
    return out;
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
