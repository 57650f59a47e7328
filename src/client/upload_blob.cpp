// Uploads of blobs in parts that continue where an earlier one was cut.
#include <chrono>
#include <system_error>
#include <thread>

#include "access.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/file.hpp"

namespace gym::client {
namespace {

constexpr std::chrono::milliseconds kUploadPause{100};

/// Whether a part may be sent again. One that does not continue what gym-api has is answered with a
/// conflict, and a cut one not at all: both times gym-api says where to continue.
bool is_passing(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout ||
           code == ErrorCode::kConflict;
}

}  // namespace

BlobSource source_of(ByteView bytes) {
    return {bytes.size(), [bytes](std::uint64_t offset, std::size_t size) -> Result<Bytes> {
                const ByteView part = bytes.subspan(offset, size);
                return Bytes(part.begin(), part.end());
            }};
}

Result<BlobSource> source_of(const std::filesystem::path& file) {
    std::error_code code;
    const std::uint64_t size = std::filesystem::file_size(file, code);
    if (code) return fail(ErrorCode::kNotFound, file.string() + ": " + code.message());
    return BlobSource{size, [file](std::uint64_t offset, std::size_t part) -> Result<Bytes> {
                          GYM_TRY(Bytes bytes, read_range(file, offset, part));
                          if (bytes.size() == part) return bytes;
                          return fail(ErrorCode::kIo, file.string() + " became shorter");
                      }};
}

Result<Answer<Upload>> ApiClient::upload_blob(const Digest& root, const BlobSource& source,
                                              const UploadProgress& progress) const {
    using Clock = std::chrono::steady_clock;
    GYM_CHECK(check_confidential(options_.url, registry::Visibility::kPrivate));
    GYM_TRY(auto known, upload(root));
    if (known && (*known)->complete) return *std::move(known);
    std::uint64_t at = known ? (*known)->received_bytes : 0, most = at;
    auto progress_at = Clock::now();
    while (at <= source.size_bytes) {
        auto answer = put_part(root, source, at);
        if (!answer.ok() && !is_passing(answer.error().code)) return answer;
        if (answer.ok()) {
            at = (*answer)->received_bytes;
        } else {
            GYM_TRY(known, upload(root));
            if (known && (*known)->complete) return *std::move(known);
            at = known ? (*known)->received_bytes : 0;
        }
        if (progress) progress(at, source.size_bytes);
        if (answer.ok() && (*answer)->complete) return answer;
        if (at > most) {
            most = at;
            progress_at = Clock::now();
        } else if (Clock::now() - progress_at >= options_.retry_for) {
            if (!answer.ok()) return answer;
            return fail(ErrorCode::kMalformed, "gym-api takes no more of blob " + root.hex());
        } else {
            std::this_thread::sleep_for(kUploadPause);
        }
    }
    return fail(ErrorCode::kMalformed, "gym-api has " + std::to_string(at) + " bytes of blob " +
                                           root.hex() + ", which has " +
                                           std::to_string(source.size_bytes));
}

}  // namespace gym::client
