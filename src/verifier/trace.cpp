#include "gym/verifier/trace.hpp"

#include <utility>

#include "gym/commit/codec.hpp"

namespace gym::verifier {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::uint32_t kOutputsMax = 1U << 18;
constexpr std::uint32_t kOpcodeBytesMax = 64;

}  // namespace

Bytes encode(const StepTrace& trace) {
    commit::Encoder out;
    out.u16(kFormat).fixed(trace.unit).u64(trace.step);
    out.u32(static_cast<std::uint32_t>(trace.outputs.size()));
    for (const TracedOutput& output : trace.outputs) {
        out.u32(output.op).u32(output.output_index);
        out.string(output.opcode).fixed(output.output_root);
    }
    return out.take();
}

Result<StepTrace> decode_step_trace(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "trace format " + std::to_string(format));
    StepTrace trace;
    GYM_TRY(trace.unit, in.digest());
    GYM_TRY(trace.step, in.u64());
    GYM_TRY(const std::uint32_t count, in.count(kOutputsMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        TracedOutput output;
        GYM_TRY(output.op, in.u32());
        GYM_TRY(output.output_index, in.u32());
        GYM_TRY(output.opcode, in.string(kOpcodeBytesMax));
        GYM_TRY(output.output_root, in.digest());
        trace.outputs.push_back(std::move(output));
    }
    GYM_CHECK(in.expect_end());
    return trace;
}

}  // namespace gym::verifier
