#include <algorithm>
#include <system_error>
#include <thread>

#include "exchange.hpp"
#include "gym/common/file.hpp"
#include "read_records.hpp"

namespace gym::client {
namespace {

constexpr std::size_t kUploadPartBytes = std::size_t{8} << 20;
constexpr std::uint64_t kCheckedBytesPerMs = 50'000;  // 50 MB/s at least
constexpr std::uint64_t kDayMs = 86'400'000;
constexpr std::chrono::milliseconds kUploadPause{100};

}  // namespace

// Uploads. Each part is a request of its own, so that neither side holds more than one in memory.

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

Result<std::optional<Answer<Upload>>> ApiClient::upload(const Digest& root) const {
    auto answer = get("/v1/blobs/" + root.hex(), with_json(read_upload));
    if (answer.ok()) return std::optional(*std::move(answer));
    if (answer.error().code == ErrorCode::kNotFound) return std::optional<Answer<Upload>>();
    return answer.error();
}

/// The part from `offset`; without bytes if gym-api has them all and is to check them.
Result<Answer<Upload>> ApiClient::put_part(const Digest& root, const BlobSource& source,
                                           std::uint64_t offset) const {
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(kUploadPartBytes, source.size_bytes - offset));
    const std::string total = "/" + std::to_string(source.size_bytes);
    http::Request request{.method = "PUT", .target = "/v1/blobs/" + root.hex(), .body = {}};
    request.headers = {{"Content-Type", "application/octet-stream"},
                       {"Authorization", "Bearer " + options_.key}};
    if (size == 0) {
        request.headers.emplace_back("Content-Range", "bytes */" + total.substr(1));
    } else {
        GYM_TRY(const Bytes part, source.read(offset, size));
        request.body.assign(part.begin(), part.end());
        request.headers.emplace_back(
            "Content-Range",
            "bytes " + std::to_string(offset) + "-" + std::to_string(offset + size - 1) + total);
    }
    // With the last part gym-api reads the whole blob once.
    const bool last = offset + size == source.size_bytes;
    const std::uint64_t timeout_ms =
        kUploadTimeoutMs + (last ? source.size_bytes / kCheckedBytesPerMs : 0);
    GYM_TRY(const std::string body,
            exchange(options_.url, request,
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(timeout_ms, kDayMs))));
    return read_body("PUT " + options_.url + request.target, body, with_json(read_upload));
}

/// Whether a part may be sent again. One that does not continue what gym-api has is answered with a
/// conflict, and a cut one not at all: both times gym-api says where to continue.
namespace {
bool is_passing(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout ||
           code == ErrorCode::kConflict;
}
/// gym-api keeps what it has of a blob.
Error cut_off(const Error& error, std::uint64_t sent_bytes, std::uint64_t size_bytes) {
    if (!is_passing(error.code)) return error;
    return fail(error.code, "the upload stopped after " + std::to_string(sent_bytes) + " of " +
                                std::to_string(size_bytes) +
                                " bytes, which gym-api keeps: the same command continues it (" +
                                error.message + ")");
}
}  // namespace

Result<Answer<Upload>> ApiClient::upload_blob(const Digest& root, const BlobSource& source,
                                              const UploadProgress& progress) const {
    using Clock = std::chrono::steady_clock;
    GYM_CHECK(check_confidential(registry::Visibility::kPrivate));
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
            auto asked = upload(root);
            if (!asked.ok()) return cut_off(asked.error(), at, source.size_bytes);
            known = *std::move(asked);
            if (known && (*known)->complete) return *std::move(known);
            at = known ? (*known)->received_bytes : 0;
        }
        if (progress) progress(at, source.size_bytes);
        if (answer.ok() && (*answer)->complete) return answer;
        if (at > most) {
            most = at;
            progress_at = Clock::now();
        } else if (Clock::now() - progress_at >= options_.retry_for) {
            if (!answer.ok()) return cut_off(answer.error(), at, source.size_bytes);
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
