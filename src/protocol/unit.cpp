#include "gym/protocol/unit.hpp"

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::protocol {

std::string_view to_string(UnitKind kind) noexcept {
    switch (kind) {
        case UnitKind::kTrain:
            return "train";
        case UnitKind::kAggregate:
            return "aggregate";
        case UnitKind::kEvaluate:
            return "evaluate";
    }
    return "unknown";
}

Result<UnitKind> parse_unit_kind(std::string_view name) {
    for (const UnitKind kind : {UnitKind::kTrain, UnitKind::kAggregate, UnitKind::kEvaluate})
        if (name == to_string(kind)) return kind;
    return fail(ErrorCode::kMalformed, "no kind of unit is called '" + std::string(name) + "'");
}

Result<UnitKind> unit_kind_from_number(std::uint8_t value) {
    if (value < 1 || value > 3)
        return fail(ErrorCode::kMalformed, "no kind of unit has number " + std::to_string(value));
    return static_cast<UnitKind>(value);
}

Digest unit_id(const UnitKey& key) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.unit.v1")).fixed(key.job_id).u64(key.round).u32(key.slot);
    encoder.u32(key.attempt);
    return commit::sha256(encoder.view());
}

}  // namespace gym::protocol
