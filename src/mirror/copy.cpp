#include "gym/mirror/copy.hpp"

#include "gym/commit/sha256.hpp"
#include "gym/http/connection.hpp"
#include "put_target.hpp"

namespace gym::mirror {
namespace {

constexpr std::uint32_t kOrderMs = 10'000;

ErrorCode refusal_of(unsigned status) {
    if (status == 503 || status == 507) return ErrorCode::kOutOfRange;
    return status == 422 ? ErrorCode::kMismatch : ErrorCode::kPermissionDenied;
}

}  // namespace

std::int64_t copy_ms_max(std::uint64_t size_bytes) {
    return put_ms_max(size_bytes);
}

Result<CopyState> order_copy(const std::string& url, const Digest& root, const std::string& source,
                             std::vector<std::pair<std::string, std::string>> headers,
                             const std::stop_token& stop) {
    GYM_TRY(const http::Url at, http::parse_url(url));
    http::Request request;
    request.method = "PUT";
    request.target = put_target(at, root);
    request.headers = std::move(headers);
    request.headers.emplace_back(kCopyFromHeader, source);
    request.timeout_ms = kOrderMs;
    request.stop = stop;
    const auto connection =
        http::Connection::create(at, {.peer = "mirror", .reply_bytes_max = kPutReplyBytesMax});
    GYM_TRY(const http::Reply reply, connection->exchange(request));
    if (is_ours(reply) && reply.status == 200) return CopyState::kHere;
    if (is_ours(reply) && reply.status == 202) return CopyState::kUnderWay;
    return fail(refusal_of(reply.status), detail_of(reply));
}

std::string trimmed_url(std::string url) {
    while (url.ends_with('/'))
        url.pop_back();
    return url;
}

Digest rank_of(const Digest& root, const std::string& url) {
    Bytes text(root.view().begin(), root.view().end());
    const ByteView name = as_bytes(url);
    text.insert(text.end(), name.begin(), name.end());
    return commit::sha256(text);
}

}  // namespace gym::mirror
