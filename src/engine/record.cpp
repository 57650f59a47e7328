#include "gym/engine/record.hpp"

#include <algorithm>
#include <array>

#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::engine {
namespace {

constexpr std::uint32_t kRecordsMax = 1U << 20;
// Flags of a record.
constexpr unsigned kHasGradientRoot = 1;
constexpr unsigned kSkipped = 2;
constexpr std::string_view kRecordsMagic = "GYMRECS1";

void encode_record(commit::Encoder& encoder, const StepRecord& record) {
    encoder.u64(record.step).fixed(record.batch_root);
    encoder.u32(record.loss_bits).u32(record.grad_norm_bits);
    encoder.u8(static_cast<std::uint8_t>((record.gradient_root ? kHasGradientRoot : 0) |
                                         (record.skipped ? kSkipped : 0)));
    if (record.gradient_root) encoder.fixed(*record.gradient_root);
    encoder.boolean(record.state_root.has_value());
    if (record.state_root) encoder.fixed(*record.state_root);
}

Result<std::optional<Digest>> decode_optional_digest(commit::Decoder& decoder) {
    GYM_TRY(const bool present, decoder.boolean());
    if (!present) return std::optional<Digest>{};
    GYM_TRY(const Digest digest, decoder.digest());
    return std::optional<Digest>{digest};
}

Result<StepRecord> decode_record(commit::Decoder& decoder) {
    StepRecord record;
    GYM_TRY(record.step, decoder.u64());
    GYM_TRY(record.batch_root, decoder.digest());
    GYM_TRY(record.loss_bits, decoder.u32());
    GYM_TRY(record.grad_norm_bits, decoder.u32());
    GYM_TRY(const std::uint8_t flags, decoder.u8());
    if ((flags & ~(kHasGradientRoot | kSkipped)) != 0)
        return fail(ErrorCode::kMalformed, "a record with unknown flags");
    record.skipped = (flags & kSkipped) != 0;
    if ((flags & kHasGradientRoot) != 0) {
        GYM_TRY(record.gradient_root, decoder.digest());
    }
    GYM_TRY(record.state_root, decode_optional_digest(decoder));
    return record;
}

std::string bits_hex(std::uint32_t bits) {
    const std::array<std::uint8_t, 4> bytes{
        static_cast<std::uint8_t>(bits >> 24), static_cast<std::uint8_t>(bits >> 16),
        static_cast<std::uint8_t>(bits >> 8), static_cast<std::uint8_t>(bits)};
    return to_hex0x(bytes);
}

std::string root_hex(const std::optional<Digest>& root) {
    return root ? root->hex() : "none";
}

std::optional<RecordDifference> compare(const StepRecord& expected, const StepRecord& found) {
    struct Field {
        const char* name;
        std::string expected, found;
    };
    const auto yes_or_no = [](bool value) { return std::string(value ? "yes" : "no"); };
    const std::array<Field, 7> fields{{
        {"step", std::to_string(expected.step), std::to_string(found.step)},
        {"batch_root", expected.batch_root.hex(), found.batch_root.hex()},
        {"loss", bits_hex(expected.loss_bits), bits_hex(found.loss_bits)},
        {"grad_norm", bits_hex(expected.grad_norm_bits), bits_hex(found.grad_norm_bits)},
        {"skipped", yes_or_no(expected.skipped), yes_or_no(found.skipped)},
        {"gradient_root", root_hex(expected.gradient_root), root_hex(found.gradient_root)},
        {"state_root", root_hex(expected.state_root), root_hex(found.state_root)},
    }};
    for (const Field& field : fields) {
        if (field.expected != field.found)
            return RecordDifference{expected.step, field.name, field.expected, field.found};
    }
    return std::nullopt;
}

}  // namespace

Bytes encode_step_record(const StepRecord& record) {
    commit::Encoder encoder;
    encode_record(encoder, record);
    return encoder.take();
}

Result<StepRecord> decode_step_record(ByteView bytes) {
    commit::Decoder decoder(bytes);
    GYM_TRY(StepRecord record, decode_record(decoder));
    GYM_CHECK(decoder.expect_end());
    return record;
}

Digest record_hash(const Digest& prev, const StepRecord& record) {
    commit::Encoder encoder;
    encoder.fixed(prev);
    encode_record(encoder, record);
    return commit::sha256(encoder.view());
}

std::vector<Digest> record_chain(std::span<const StepRecord> records) {
    std::vector<Digest> chain;
    chain.reserve(records.size());
    Digest prev;
    for (const StepRecord& record : records) {
        prev = record_hash(prev, record);
        chain.push_back(prev);
    }
    return chain;
}

Digest records_root(std::span<const StepRecord> records) {
    return commit::merkle_root(record_chain(records));
}

Digest included_root(std::size_t count, const program::DeltaGroups& groups,
                     const Digest& deltas_root) {
    commit::Encoder out;
    out.raw(as_bytes("gym.included.v2"))
        .u32(static_cast<std::uint32_t>(count))
        .u32(program::packed(groups))
        .fixed(deltas_root);
    return commit::sha256(out.view());
}

Bytes encode_records(std::span<const StepRecord> records) {
    GYM_ASSERT(records.size() <= kRecordsMax, "record count");
    commit::Encoder encoder;
    encoder.raw(as_bytes(kRecordsMagic)).u32(static_cast<std::uint32_t>(records.size()));
    for (const StepRecord& record : records)
        encode_record(encoder, record);
    return encoder.take();
}

Result<std::vector<StepRecord>> decode_records(ByteView bytes) {
    commit::Decoder decoder(bytes);
    GYM_TRY(const ByteView magic, decoder.raw(kRecordsMagic.size()));
    if (!std::ranges::equal(magic, as_bytes(kRecordsMagic)))
        return fail(ErrorCode::kMalformed, "these bytes are not a record list");
    GYM_TRY(const std::uint32_t count, decoder.count(kRecordsMax));
    std::vector<StepRecord> records;
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(const StepRecord record, decode_record(decoder));
        records.push_back(record);
    }
    GYM_CHECK(decoder.expect_end());
    return records;
}

std::optional<RecordDifference> find_first_difference(std::span<const StepRecord> expected,
                                                      std::span<const StepRecord> found) {
    const std::size_t common = std::min(expected.size(), found.size());
    for (std::size_t i = 0; i < common; ++i) {
        if (auto difference = compare(expected[i], found[i])) return difference;
    }
    if (expected.size() == found.size()) return std::nullopt;
    return RecordDifference{common, "missing", std::to_string(expected.size()) + " records",
                            std::to_string(found.size()) + " records"};
}

}  // namespace gym::engine
