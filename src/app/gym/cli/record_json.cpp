#include "cli/record_json.hpp"

#include <array>
#include <bit>
#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "gym/common/bytes.hpp"
#include "gym/common/float_bits.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

json::value optional_root(const std::optional<Digest>& root) {
    return root ? json::value(root->hex()) : json::value(nullptr);
}

Error malformed(std::string_view key, std::string_view expected) {
    return fail(ErrorCode::kMalformed,
                "member '" + std::string(key) + "' must be " + std::string(expected));
}

Result<std::string> text_of(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_string()) return malformed(key, "a string");
    return std::string(value->as_string());
}

Result<std::uint64_t> number_of(const json::object& object, std::string_view key,
                                std::uint64_t max = ~std::uint64_t{0}) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr) return malformed(key, "a whole number");
    boost::system::error_code error;
    const auto number = value->to_number<std::uint64_t>(error);
    if (error || number > max) return malformed(key, "a whole number in range");
    return number;
}

Result<Digest> digest_of(const json::object& object, std::string_view key) {
    GYM_TRY(const std::string text, text_of(object, key));
    auto digest = Digest::parse(text);
    if (!digest.ok()) return malformed(key, "32 bytes of hexadecimal");
    return digest;
}

Result<std::optional<Digest>> optional_digest_of(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr) return malformed(key, "a root or null");
    if (value->is_null()) return std::optional<Digest>{};
    GYM_TRY(const Digest digest, digest_of(object, key));
    return std::optional<Digest>{digest};
}

Result<std::uint32_t> bits_of(const json::object& object, std::string_view key) {
    GYM_TRY(const std::string text, text_of(object, key));
    const auto bytes = from_hex(text);
    if (!bytes.ok() || bytes->size() != 4) return malformed(key, "4 bytes of hexadecimal");
    std::uint32_t bits = 0;
    for (const std::uint8_t byte : *bytes)
        bits = bits << 8 | byte;
    return bits;
}

json::object spec_json(const engine::UnitSpec& spec) {
    return {{"job_seed", spec.job_seed.hex()},
            {"round", spec.round},
            {"slot", spec.slot},
            {"steps", spec.steps},
            {"checkpoint_every", spec.checkpoint_every},
            {"program_root", spec.program_root.hex()},
            {"dataset_root", spec.dataset_root.hex()},
            {"base_state_root", spec.base_state_root.hex()}};
}

Result<engine::UnitSpec> spec_from_json(const json::object& object) {
    constexpr std::uint64_t kWord = 0xFFFFFFFF;
    engine::UnitSpec spec;
    GYM_TRY(spec.job_seed, digest_of(object, "job_seed"));
    GYM_TRY(spec.round, number_of(object, "round"));
    GYM_TRY(const std::uint64_t slot, number_of(object, "slot", kWord));
    GYM_TRY(const std::uint64_t steps, number_of(object, "steps", kWord));
    GYM_TRY(const std::uint64_t every, number_of(object, "checkpoint_every", kWord));
    spec.slot = static_cast<std::uint32_t>(slot);
    spec.steps = static_cast<std::uint32_t>(steps);
    spec.checkpoint_every = static_cast<std::uint32_t>(every);
    GYM_TRY(spec.program_root, digest_of(object, "program_root"));
    GYM_TRY(spec.dataset_root, digest_of(object, "dataset_root"));
    GYM_TRY(spec.base_state_root, digest_of(object, "base_state_root"));
    return spec;
}

}  // namespace

/// JSON has no NaN.
json::value number_of_bits(std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

std::string loss_text(std::uint32_t bits) {
    std::array<char, 64> out{};
    std::snprintf(out.data(), out.size(), "%.6f (%s)",
                  static_cast<double>(std::bit_cast<float>(bits)), bits_text(bits).c_str());
    return out.data();
}

json::object to_json(const engine::StepRecord& record) {
    return {{"step", record.step},
            {"batch_root", record.batch_root.hex()},
            {"loss_bits", bits_text(record.loss_bits)},
            {"loss", number_of_bits(record.loss_bits)},
            {"grad_norm_bits", bits_text(record.grad_norm_bits)},
            {"grad_norm", number_of_bits(record.grad_norm_bits)},
            {"skipped", record.skipped},
            {"gradient_root", optional_root(record.gradient_root)},
            {"state_root", optional_root(record.state_root)}};
}

Result<engine::StepRecord> record_from_json(const json::value& value) {
    if (!value.is_object()) return fail(ErrorCode::kMalformed, "a record must be an object");
    const json::object& object = value.as_object();
    engine::StepRecord record;
    GYM_TRY(record.step, number_of(object, "step"));
    GYM_TRY(record.batch_root, digest_of(object, "batch_root"));
    GYM_TRY(record.loss_bits, bits_of(object, "loss_bits"));
    GYM_TRY(record.grad_norm_bits, bits_of(object, "grad_norm_bits"));
    const json::value* const skipped = object.if_contains("skipped");  // older files have none
    if (skipped != nullptr && !skipped->is_bool())
        return fail(ErrorCode::kMalformed, "'skipped' must be true or false");
    record.skipped = skipped != nullptr && skipped->as_bool();
    GYM_TRY(record.gradient_root, optional_digest_of(object, "gradient_root"));
    GYM_TRY(record.state_root, optional_digest_of(object, "state_root"));
    return record;
}

json::object to_json(const UnitFile& unit) {
    json::array records;
    for (const auto& record : unit.records)
        records.push_back(to_json(record));
    return {{"spec", spec_json(unit.spec)},
            {"records", std::move(records)},
            {"records_root", unit.records_root.hex()},
            {"final_state_root", unit.final_state_root.hex()},
            {"delta_root", unit.delta_root.hex()},
            {"tokens", unit.tokens},
            {"flops", unit.flops}};
}

Result<UnitFile> unit_from_json(const json::value& value) {
    if (!value.is_object()) return fail(ErrorCode::kMalformed, "a unit must be an object");
    const json::object& object = value.as_object();
    const json::value* spec = object.if_contains("spec");
    if (spec == nullptr || !spec->is_object()) return malformed("spec", "an object");
    const json::value* records = object.if_contains("records");
    if (records == nullptr || !records->is_array()) return malformed("records", "a list");
    UnitFile unit;
    GYM_TRY(unit.spec, spec_from_json(spec->as_object()));
    for (const json::value& item : records->as_array()) {
        GYM_TRY(const engine::StepRecord record, record_from_json(item));
        unit.records.push_back(record);
    }
    GYM_TRY(unit.records_root, digest_of(object, "records_root"));
    GYM_TRY(unit.final_state_root, digest_of(object, "final_state_root"));
    GYM_TRY(unit.delta_root, digest_of(object, "delta_root"));
    GYM_TRY(unit.tokens, number_of(object, "tokens"));
    GYM_TRY(unit.flops, number_of(object, "flops"));
    return unit;
}

}  // namespace gym::app
