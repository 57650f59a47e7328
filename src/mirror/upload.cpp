#include "gym/mirror/upload.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "gym/http/connection.hpp"
#include "put_target.hpp"

namespace gym::mirror {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t kSilenceMs = 20'000;
constexpr std::chrono::minutes kFailedFor{2};
/// A unit has a deadline: not every mirror of a list is waited for.
constexpr std::size_t kFailuresMax = 3;

Status put(const std::string& url, const Digest& root, ByteView content,
           const Uploader::MakeHeaders& headers, const std::stop_token& stop) {
    GYM_TRY(const http::Url at, http::parse_url(url));
    http::Request request;
    request.method = "PUT";
    request.target = put_target(at, root);
    GYM_TRY(request.headers, headers());
    request.content =
        std::string_view(reinterpret_cast<const char*>(content.data()), content.size());
    request.timeout_ms = put_ms_max(content.size());
    request.silence_ms = kSilenceMs;
    request.stop = stop;
    const auto connection =
        http::Connection::create(at, {.peer = "mirror", .reply_bytes_max = kPutReplyBytesMax});
    GYM_TRY(const http::Reply reply, connection->exchange(request));
    // 200: it has the blob.
    if ((reply.status == 200 || reply.status == 201) && is_ours(reply)) return {};
    return fail(ErrorCode::kUnavailable, detail_of(reply));
}

}  // namespace

std::vector<std::string> Uploader::in_order(const std::vector<std::string>& urls) {
    const auto now = steady_clock::now();
    const std::scoped_lock lock(mutex_);
    std::erase_if(failed_, [&](const auto& failed) { return failed.second <= now; });
    std::vector<std::string> out = urls;
    std::ranges::stable_partition(out,
                                  [&](const std::string& url) { return !failed_.contains(url); });
    return out;
}

void Uploader::note(const std::string& url, const Status& sent) {
    const std::scoped_lock lock(mutex_);
    if (sent.ok())
        failed_.erase(url);
    else
        failed_[url] = steady_clock::now() + kFailedFor;
}

Result<std::vector<std::string>> Uploader::place(const std::vector<std::string>& urls,
                                                 const Digest& root, ByteView content,
                                                 std::size_t copies, const MakeHeaders& headers,
                                                 const std::stop_token& stop) {
    std::vector<std::string> placed;
    std::size_t failures = 0;
    for (const std::string& url : in_order(urls)) {
        if (placed.size() == copies || failures == kFailuresMax) break;
        const Status sent = put(url, root, content, headers, stop);
        if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "the upload was stopped");
        note(url, sent);
        if (sent.ok()) {
            placed.push_back(url);
            continue;
        }
        ++failures;
        spdlog::warn("mirror {} does not take blob {}: {}", url, root.hex(), sent.error().message);
    }
    return placed;
}

}  // namespace gym::mirror
