#include "exchange.hpp"

#include <cctype>

#include "gym/common/printable.hpp"

namespace gym::client {

namespace json = boost::json;
using http::Reply;

namespace {

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

/// Title and detail of a problem (RFC 9457).
Error problem_of(const Reply& reply) {
    json::error_code code;
    const json::value body = json::parse(reply.body, code);
    std::string reason = "status " + std::to_string(reply.status);
    for (const char* field : {"title", "detail"}) {
        const auto* value = body.is_object() ? body.get_object().if_contains(field) : nullptr;
        if (value != nullptr && value->is_string())
            reason += ": " + without_controls(value->get_string());
    }
    if (reply.status == 401)
        reason +=
            "; name your API key with --api-key-file or GYM_API_KEY (`gym-api keys create` "
            "makes one)";
    return fail(code_of(reply.status), "gym-api: " + reason);
}

}  // namespace

void drop_controls(json::value& value) {
    if (auto* text = value.if_string()) {
        if (!is_printable(*text)) *text = without_controls(*text);
    } else if (auto* list = value.if_array()) {
        for (json::value& item : *list)
            drop_controls(item);
    } else if (auto* object = value.if_object()) {
        for (auto& member : *object)
            drop_controls(member.value());
    }
}

Result<http::Reply> exchange_reply(const std::string& url, http::Request request,
                                   std::uint32_t timeout_ms, std::uint64_t bytes_max) {
    const auto parsed = http::parse_url(url);
    if (!parsed.ok()) return parsed.error().in("gym-api");
    request.headers.emplace_back("Accept", "application/json");
    request.headers.emplace_back("Connection", "close");
    auto reply =
        http::Connection::create(
            *parsed, {.peer = "gym-api", .timeout_ms = timeout_ms, .reply_bytes_max = bytes_max})
            ->exchange(request);
    if (!reply.ok()) {
        Error error = reply.error();
        if (error.code == ErrorCode::kUnavailable)
            error.message +=
                "; name a gym-api that runs by --api or GYM_API, or add its network: `gym network "
                "add NAME URL --operator 0xADDRESS`";
        return error;
    }
    if (reply->status < 200 || reply->status >= 300) return problem_of(*reply);
    return reply;
}

Result<std::string> exchange(const std::string& url, http::Request request,
                             std::uint32_t timeout_ms, std::uint64_t bytes_max) {
    GYM_TRY(Reply reply, exchange_reply(url, std::move(request), timeout_ms, bytes_max));
    return std::move(reply.body);
}

std::string encode_query(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool plain =
            std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
        const auto byte = static_cast<std::uint8_t>(c);
        out += plain ? std::string(1, c) : "%" + to_hex(ByteView(&byte, 1));
    }
    return out;
}

std::string query_of(const ListPage& page) {
    return "?limit=" + std::to_string(page.limit) +
           (page.offset == 0 ? "" : "&offset=" + std::to_string(page.offset)) +
           (page.owner.empty() ? "" : "&owner=" + encode_query(page.owner));
}

Result<std::string> ApiClient::get_text(const std::string& path, std::uint64_t bytes_max) const {
    http::Request request{.target = path};
    if (!options_.key.empty())
        request.headers.emplace_back("Authorization", "Bearer " + options_.key);
    return db::with_retry([&] { return exchange(options_.url, request, kTimeoutMs, bytes_max); },
                          options_.retry_for);
}

}  // namespace gym::client
