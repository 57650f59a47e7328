#include "gym/engine/saved_run.hpp"

#include <algorithm>
#include <utility>

#include "gym/blob/verified_blob.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"

namespace gym::engine {
namespace {

constexpr std::string_view kMagic = "GYMRUN01";
constexpr std::uint32_t kHeaderBytesMax = 512U << 20;
constexpr std::uint32_t kRecordsBytesMax = 256U << 20;
constexpr std::uint32_t kValidationsMax = 1U << 20;

struct Header {
    SavedRun run;  ///< without its state
    Digest state_blob;
};

Bytes encode_header(const SavedRun& run, const Digest& state_blob) {
    commit::Encoder out;
    const RunOrigin& origin = run.origin;
    out.fixed(origin.program_root).fixed(origin.dataset_root).fixed(origin.seed);
    out.fixed(origin.start_root).u64(origin.first_step);
    out.u64(run.steps_wanted).u32(run.checkpoint_every).fixed(state_blob);
    out.bytes(encode_records(run.records));
    out.u32(static_cast<std::uint32_t>(run.validation.size()));
    for (const ValidationLoss& loss : run.validation)
        out.u64(loss.steps_done).u32(loss.loss_bits);
    return out.take();
}

Result<Header> decode_header(ByteView bytes) {
    commit::Decoder in(bytes);
    Header out;
    RunOrigin& origin = out.run.origin;
    GYM_TRY(origin.program_root, in.digest());
    GYM_TRY(origin.dataset_root, in.digest());
    GYM_TRY(origin.seed, in.digest());
    GYM_TRY(origin.start_root, in.digest());
    GYM_TRY(origin.first_step, in.u64());
    GYM_TRY(out.run.steps_wanted, in.u64());
    GYM_TRY(out.run.checkpoint_every, in.u32());
    GYM_TRY(out.state_blob, in.digest());
    GYM_TRY(const ByteView records, in.bytes(kRecordsBytesMax));
    GYM_TRY(out.run.records, decode_records(records));
    GYM_TRY(const std::uint32_t validations, in.count(kValidationsMax));
    for (std::uint32_t i = 0; i < validations; ++i) {
        ValidationLoss loss;
        GYM_TRY(loss.steps_done, in.u64());
        GYM_TRY(loss.loss_bits, in.u32());
        out.run.validation.push_back(loss);
    }
    GYM_CHECK(in.expect_end());
    if (origin.first_step > out.run.steps_wanted ||
        out.run.records.size() > out.run.steps_wanted - origin.first_step)
        return fail(ErrorCode::kMalformed, "a run of more steps than were wanted");
    return out;
}

}  // namespace

SavedRunParts encode_saved_run(const SavedRun& run, const State& state, unsigned threads) {
    SavedRunParts out;
    out.state = encode_state(state);
    const Bytes header = encode_header(run, blob::blob_root(out.state, threads));
    commit::Encoder file;
    file.raw(as_bytes(kMagic)).bytes(header).fixed(commit::sha256(header));
    out.header = file.take();
    return out;
}

bool is_saved_run(ByteView file) {
    const ByteView magic = as_bytes(kMagic);
    return file.size() >= magic.size() && std::ranges::equal(file.first(magic.size()), magic);
}

Result<SavedRun> decode_saved_run(ByteView file, unsigned threads) {
    if (!is_saved_run(file)) return fail(ErrorCode::kMalformed, "not a saved run");
    commit::Decoder in(file);
    GYM_CHECK(in.raw(kMagic.size()));
    GYM_TRY(const ByteView header_bytes, in.bytes(kHeaderBytesMax));
    GYM_TRY(const Digest checksum, in.digest());
    if (commit::sha256(header_bytes) != checksum)
        return fail(ErrorCode::kMalformed, "the header of the run was altered");
    GYM_TRY(Header header, decode_header(header_bytes));
    const ByteView state = file.subspan(in.offset());
    const Digest actual = blob::blob_root(state, threads);
    if (actual != header.state_blob)
        return fail(ErrorCode::kMismatch, "its state hashes to " + actual.hex() + ", " +
                                              header.state_blob.hex() + " was saved");
    GYM_TRY(header.run.state, decode_state(state));
    return std::move(header.run);
}

}  // namespace gym::engine
