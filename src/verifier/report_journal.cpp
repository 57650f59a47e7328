#include "gym/verifier/report_journal.hpp"

#include <system_error>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/common/file.hpp"

namespace gym::verifier {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::uint32_t kRecordsBytesMax = 256U << 20;

}  // namespace

Bytes encode(const PendingReport& pending) {
    const protocol::Report& report = pending.report;
    commit::Encoder out;
    out.u16(kFormat).fixed(pending.beacon).fixed(report.unit).u32(report.draw);
    out.fixed(report.verifier).fixed(report.records_root).fixed(report.final_state_root);
    out.fixed(report.delta_root).fixed(report.trace).fixed(report.challenge_signature);
    out.fixed(report.salt).bytes(pending.records);
    return out.take();
}

Result<PendingReport> decode_pending_report(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "report format " + std::to_string(format));
    PendingReport pending;
    protocol::Report& report = pending.report;
    GYM_TRY(pending.beacon, in.digest());
    GYM_TRY(report.unit, in.digest());
    GYM_TRY(report.draw, in.u32());
    GYM_TRY(report.verifier, in.address());
    GYM_TRY(report.records_root, in.digest());
    GYM_TRY(report.final_state_root, in.digest());
    GYM_TRY(report.delta_root, in.digest());
    GYM_TRY(report.trace, in.digest());
    GYM_TRY(report.challenge_signature, in.fixed<crypto::Signature>());
    GYM_TRY(report.salt, in.digest());
    GYM_TRY(const ByteView records, in.bytes(kRecordsBytesMax));
    pending.records.assign(records.begin(), records.end());
    GYM_CHECK(in.expect_end());
    return pending;
}

Result<ReportJournal> ReportJournal::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    return ReportJournal(directory);
}

std::filesystem::path ReportJournal::path_of(const Digest& unit, std::uint32_t draw) const {
    return directory_ / (to_hex(unit.view()) + "-" + std::to_string(draw) + ".report");
}

Result<std::optional<PendingReport>> ReportJournal::find(const Digest& unit,
                                                         std::uint32_t draw) const {
    const auto bytes = read_file(path_of(unit, draw));
    if (!bytes.ok()) {
        if (bytes.error().code == ErrorCode::kNotFound) return std::optional<PendingReport>();
        return bytes.error();
    }
    auto pending = decode_pending_report(*bytes);
    if (!pending.ok()) return pending.error().in(path_of(unit, draw).string());
    return std::optional<PendingReport>(std::move(*pending));
}

Status ReportJournal::save(const PendingReport& pending) {
    return write_file_atomic(path_of(pending.report.unit, pending.report.draw), encode(pending),
                             0600);
}

Status ReportJournal::remove(const Digest& unit, std::uint32_t draw) {
    std::error_code code;
    std::filesystem::remove(path_of(unit, draw), code);
    if (code) return fail(ErrorCode::kIo, path_of(unit, draw).string() + ": " + code.message());
    return {};
}

}  // namespace gym::verifier
