#include "gym/verifier/trace.hpp"

#include "gym/commit/codec.hpp"

namespace gym::verifier {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::uint32_t kEntriesMax = 1U << 16;
constexpr std::uint32_t kOpcodeBytesMax = 64;

}  // namespace

Bytes encode(const StepTrace& trace) {
    commit::Encoder out;
    out.u16(kFormat).fixed(trace.unit).u64(trace.step);
    out.u32(static_cast<std::uint32_t>(trace.entries.size()));
    for (const engine::TraceEntry& entry : trace.entries)
        out.u32(entry.op).string(entry.opcode).fixed(entry.output_root);
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
    GYM_TRY(const std::uint32_t count, in.count(kEntriesMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        engine::TraceEntry entry;
        GYM_TRY(entry.op, in.u32());
        GYM_TRY(entry.opcode, in.string(kOpcodeBytesMax));
        GYM_TRY(entry.output_root, in.digest());
        trace.entries.push_back(std::move(entry));
    }
    GYM_CHECK(in.expect_end());
    return trace;
}

}  // namespace gym::verifier
