#pragma once

#include <cstdint>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"

namespace gym::verifier {

/// One step of a unit, macro op by macro op, as this verifier computed it: where a dispute descends
/// from a step to the first op that differs.
struct StepTrace {
    Digest unit;
    std::uint64_t step = 0;
    std::vector<engine::TraceEntry> entries;

    friend bool operator==(const StepTrace&, const StepTrace&) = default;
};

[[nodiscard]] Bytes encode(const StepTrace& trace);
/// @errors kMalformed.
[[nodiscard]] Result<StepTrace> decode_step_trace(ByteView bytes);

}  // namespace gym::verifier
