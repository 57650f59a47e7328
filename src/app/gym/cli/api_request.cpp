#include "cli/api_request.hpp"

#include <boost/json/parse.hpp>

#include "gym/common/printable.hpp"
#include "gym/http/connection.hpp"

namespace gym::app {
namespace {

using http::Reply;

constexpr std::uint64_t kReplyBytesMax = 256U << 20;  // an epoch file of a large network

Result<Reply> exchange(const std::string& url, http::Request request,
                       std::uint32_t timeout_ms = kApiTimeoutMs) {
    const auto parsed = http::parse_url(url);
    if (!parsed.ok()) return parsed.error().in("gym-api");
    request.headers.emplace_back("Accept", "application/json");
    request.headers.emplace_back("Connection", "close");
    auto reply = http::Connection::create(*parsed, {.peer = "gym-api",
                                                    .timeout_ms = timeout_ms,
                                                    .reply_bytes_max = kReplyBytesMax})
                     ->exchange(request);
    if (reply.ok()) return reply;
    Error error = reply.error();
    if (error.code == ErrorCode::kUnavailable)
        error.message += "; --api or GYM_API names another gym-api";
    return error;
}

http::Request get_request(const std::string& path, const std::string& api_key) {
    http::Request request{.target = path};
    if (!api_key.empty()) request.headers.emplace_back("Authorization", "Bearer " + api_key);
    return request;
}

ErrorCode code_of(unsigned status) {
    switch (status) {
        case 400:
        case 422:
            return ErrorCode::kInvalidArgument;
        case 401:
            return ErrorCode::kUnauthenticated;
        case 402:
            return ErrorCode::kInsufficientFunds;
        case 403:
            return ErrorCode::kPermissionDenied;
        case 404:
            return ErrorCode::kNotFound;
        case 409:
            return ErrorCode::kConflict;
        case 502:
        case 503:
        case 504:
            return ErrorCode::kUnavailable;
        default:
            return ErrorCode::kInternal;
    }
}

/// Whoever wrote a text that gym-api shows has no say in what the reader's terminal does.
void drop_controls(boost::json::value& value) {
    if (auto* text = value.if_string()) {
        if (!is_printable(*text)) *text = without_controls(*text);
    } else if (auto* list = value.if_array()) {
        for (boost::json::value& item : *list)
            drop_controls(item);
    } else if (auto* object = value.if_object()) {
        for (auto& member : *object)
            drop_controls(member.value());
    }
}

bool is_success(const Reply& reply) {
    return reply.status >= 200 && reply.status < 300;
}

/// Title and detail of a problem (RFC 9457).
Error problem_of(const Reply& reply) {
    boost::json::error_code code;
    const boost::json::value body = boost::json::parse(reply.body, code);
    std::string reason = "status " + std::to_string(reply.status);
    for (const char* field : {"title", "detail"}) {
        const auto* value = body.is_object() ? body.get_object().if_contains(field) : nullptr;
        if (value != nullptr && value->is_string())
            reason += ": " + without_controls(value->get_string());
    }
    return fail(code_of(reply.status), "gym-api: " + reason);
}

Result<boost::json::value> json_of(const Reply& reply) {
    if (!is_success(reply)) return problem_of(reply);
    boost::json::error_code code;
    boost::json::value body = boost::json::parse(reply.body, code);
    if (code) return fail(ErrorCode::kMalformed, "gym-api answered something that is no JSON");
    drop_controls(body);
    return body;
}

}  // namespace

Result<boost::json::value> api_get(const std::string& url, const std::string& path,
                                   const std::string& api_key) {
    GYM_TRY(const Reply reply, exchange(url, get_request(path, api_key)));
    return json_of(reply);
}

Result<std::string> api_get_text(const std::string& url, const std::string& path,
                                 const std::string& api_key) {
    GYM_TRY(Reply reply, exchange(url, get_request(path, api_key)));
    if (!is_success(reply)) return problem_of(reply);
    return std::move(reply.body);
}

Result<boost::json::value> api_post(const std::string& url, const ApiPost& post) {
    http::Request request{.method = "POST", .target = post.path, .body = post.body};
    request.headers = {{"Content-Type", post.content_type},
                       {"Authorization", "Bearer " + post.api_key}};
    if (!post.idempotency_key.empty())
        request.headers.emplace_back("Idempotency-Key", post.idempotency_key);
    GYM_TRY(const Reply reply, exchange(url, std::move(request), post.timeout_ms));
    return json_of(reply);
}

}  // namespace gym::app
