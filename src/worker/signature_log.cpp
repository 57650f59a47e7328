#include "gym/worker/signature_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::worker {
namespace {

constexpr std::size_t kChecksumBytes = 8;
// round, slot, attempt, round record, digest
constexpr std::size_t kBodyBytes = 8 + 4 + 4 + 32 + 32;
constexpr std::size_t kLineBytes = kBodyBytes + kChecksumBytes;
constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;  // 12 million units of one job

Digest checksum(const Digest& job_id, ByteView body) {
    commit::Encoder out;
    out.fixed(job_id).raw(body);
    return commit::sha256(out.view());
}

Bytes encode_line(const protocol::UnitKey& unit, const Signed& what) {
    commit::Encoder out;
    out.u64(unit.round).u32(unit.slot).u32(unit.attempt);
    out.fixed(what.round_record).fixed(what.digest);
    out.raw(checksum(unit.job_id, out.view()).view().first(kChecksumBytes));
    return out.take();
}

Result<std::pair<protocol::UnitKey, Signed>> decode_line(const Digest& job_id, ByteView line) {
    const ByteView body = line.first(kBodyBytes);
    const Digest expected = checksum(job_id, body);
    if (std::memcmp(expected.data.data(), line.data() + kBodyBytes, kChecksumBytes) != 0)
        return fail(ErrorCode::kMalformed, "a line does not have its checksum");
    commit::Decoder in(body);
    protocol::UnitKey unit;
    unit.job_id = job_id;
    Signed what;
    GYM_TRY(unit.round, in.u64());
    GYM_TRY(unit.slot, in.u32());
    GYM_TRY(unit.attempt, in.u32());
    GYM_TRY(what.round_record, in.digest());
    GYM_TRY(what.digest, in.digest());
    return std::pair(unit, what);
}

Error system_error(const std::filesystem::path& path) {
    return fail(ErrorCode::kIo,
                "cannot record signatures in " + path.string() + ": " + std::strerror(errno));
}

/// A line of zeros at the end is what a power failure leaves of one that was being written: it was
/// never synced, so never signed for.
bool is_unwritten(ByteView line) {
    return std::ranges::all_of(line, [](std::uint8_t byte) { return byte == 0; });
}

class File {
  public:
    File(const std::filesystem::path& path, int flags)
        : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    [[nodiscard]] bool sync() const { return descriptor_ >= 0 && ::fsync(descriptor_) == 0; }
    /// Drops what a crash or a full disk left after `offset`, and writes there.
    [[nodiscard]] bool write_at(std::size_t offset, ByteView bytes) const {
        const auto end = static_cast<off_t>(offset);
        return descriptor_ >= 0 && ::ftruncate(descriptor_, end) == 0 &&
               ::pwrite(descriptor_, bytes.data(), bytes.size(), end) ==
                   static_cast<ssize_t>(bytes.size());
    }

  private:
    int descriptor_;
};

Status append(const std::filesystem::path& path, std::size_t offset, ByteView line) {
    const File file(path, O_WRONLY | O_CREAT);
    if (!file.write_at(offset, line) || !file.sync()) return system_error(path);
    if (offset == 0 && !File(path.parent_path(), O_RDONLY | O_DIRECTORY).sync())
        return system_error(path);
    return {};
}

}  // namespace

Result<SignatureLog> SignatureLog::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    return SignatureLog(directory);
}

std::filesystem::path SignatureLog::path_of(const Digest& job_id) const {
    return directory_ / (to_hex(job_id.view()) + ".signed");
}

Result<SignatureLog::Slots*> SignatureLog::load(const Digest& job_id) {
    if (job_ == job_id) return &slots_;
    job_.reset();
    slots_.clear();  // one line each: the next one goes to slots_.size() * kLineBytes
    const std::filesystem::path path = path_of(job_id);
    const auto content = read_file(path, kFileBytesMax);
    if (!content.ok() && content.error().code != ErrorCode::kNotFound) return content.error();
    const ByteView lines = content.ok() ? ByteView(*content) : ByteView();
    for (std::size_t at = 0; at + kLineBytes <= lines.size(); at += kLineBytes) {
        const ByteView bytes = lines.subspan(at, kLineBytes);
        if (at + 2 * kLineBytes > lines.size() && is_unwritten(bytes)) break;
        const auto line = decode_line(job_id, bytes);
        if (!line.ok())
            return fail(ErrorCode::kMalformed,
                        path.string() + " is damaged (" + line.error().message +
                            "): this node's earlier signatures are unknown, and signing twice "
                            "would cost its stake; restore the file, or register a new key");
        slots_.insert(*line);
    }
    job_ = job_id;
    return &slots_;
}

Result<std::optional<Signed>> SignatureLog::find(const protocol::UnitKey& unit) {
    GYM_TRY(const Slots* slots, load(unit.job_id));
    const auto found = slots->find(unit);
    if (found == slots->end()) return std::optional<Signed>();
    return std::optional<Signed>(found->second);
}

Status SignatureLog::add(const protocol::UnitKey& unit, const Signed& what) {
    GYM_TRY(const auto known, find(unit));
    if (known && *known == what) return {};
    if (known)
        return fail(ErrorCode::kConflict,
                    "this node signed another commitment to " + protocol::name_unit(unit) +
                        " before (" + known->digest.hex() +
                        "): a second one would be a fault, so it is not signed");
    GYM_CHECK(append(path_of(unit.job_id), slots_.size() * kLineBytes, encode_line(unit, what)));
    slots_.emplace(unit, what);
    return {};
}

}  // namespace gym::worker
