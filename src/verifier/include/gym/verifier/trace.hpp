#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::verifier {

struct TracedOutput {
    std::uint32_t op = 0;            ///< index of the macro op in the program
    std::uint32_t output_index = 0;  ///< an op may have several outputs
    std::string opcode;
    Digest output_root;  ///< tensor root

    friend bool operator==(const TracedOutput&, const TracedOutput&) = default;
};

/// One step of a unit, macro op by macro op, as this verifier computed it: where a dispute descends
/// from a step to the first op that differs.
struct StepTrace {
    Digest unit;
    std::uint64_t step = 0;
    std::vector<TracedOutput> outputs;

    friend bool operator==(const StepTrace&, const StepTrace&) = default;
};

[[nodiscard]] Bytes encode(const StepTrace& trace);
/// @errors kMalformed.
[[nodiscard]] Result<StepTrace> decode_step_trace(ByteView bytes);

}  // namespace gym::verifier
