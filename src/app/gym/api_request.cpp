#include "api_request.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>
#include <boost/url/parse.hpp>
#include <chrono>

namespace gym::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::chrono::seconds kTimeout{10};
constexpr std::uint64_t kBodyBytesMax = 256U << 20;  // an epoch file of a large network

struct Target {
    std::string host;
    std::string port;
};

Result<Target> target_of(const std::string& url) {
    const auto parsed = boost::urls::parse_uri(url);
    if (!parsed || parsed->scheme() != "http" || parsed->host().empty())
        return fail(ErrorCode::kInvalidArgument, "'" + url + "' is not http://host:port");
    return Target{parsed->host_name().empty() ? std::string(parsed->host_address())
                                              : std::string(parsed->host_name()),
                  parsed->has_port() ? std::string(parsed->port()) : "80"};
}

/// One asynchronous step run to its end, so that the stream's timeout applies to it.
template <class Start>
Status run(asio::io_context& io, const std::string& where, Start&& start) {
    beast::error_code code;
    start([&code](beast::error_code result, auto&&...) { code = result; });
    io.restart();
    io.run();
    if (code) return fail(ErrorCode::kUnavailable, where + ": " + code.message());
    return {};
}

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Result<Response> exchange(const std::string& url, Request request) {
    GYM_TRY(const Target target, target_of(url));
    const std::string where = "gym-api at " + target.host + ":" + target.port;
    asio::io_context io;
    asio::ip::tcp::resolver resolver(io);
    beast::error_code code;
    const auto endpoints = resolver.resolve(target.host, target.port, code);
    if (code) return fail(ErrorCode::kUnavailable, where + ": " + code.message());
    beast::tcp_stream stream(io);
    stream.expires_after(kTimeout);
    GYM_CHECK(run(io, where, [&](auto done) { stream.async_connect(endpoints, done); }));
    request.set(http::field::host, target.host);
    request.set(http::field::accept, "application/json");
    request.set(http::field::connection, "close");
    request.prepare_payload();
    GYM_CHECK(run(io, where, [&](auto done) { http::async_write(stream, request, done); }));
    http::response_parser<http::string_body> parser;
    parser.body_limit(kBodyBytesMax);
    beast::flat_buffer buffer;
    GYM_CHECK(run(io, where, [&](auto done) { http::async_read(stream, buffer, parser, done); }));
    return parser.release();
}

ErrorCode code_of(http::status status) {
    switch (status) {
        case http::status::bad_request:
        case http::status::unprocessable_entity:
            return ErrorCode::kInvalidArgument;
        case http::status::unauthorized:
            return ErrorCode::kUnauthenticated;
        case http::status::payment_required:
            return ErrorCode::kInsufficientFunds;
        case http::status::forbidden:
            return ErrorCode::kPermissionDenied;
        case http::status::not_found:
            return ErrorCode::kNotFound;
        case http::status::conflict:
            return ErrorCode::kConflict;
        case http::status::service_unavailable:
            return ErrorCode::kUnavailable;
        default:
            return ErrorCode::kInternal;
    }
}

bool is_success(const Response& response) {
    return http::to_status_class(response.result()) == http::status_class::successful;
}

/// Title and detail of a problem (RFC 9457).
Error problem_of(const Response& response) {
    boost::json::error_code code;
    const boost::json::value body = boost::json::parse(response.body(), code);
    std::string reason = "status " + std::to_string(response.result_int());
    for (const char* field : {"title", "detail"}) {
        const auto* value = body.is_object() ? body.get_object().if_contains(field) : nullptr;
        if (value != nullptr && value->is_string())
            reason += ": " + std::string(value->get_string());
    }
    return fail(code_of(response.result()), "gym-api: " + reason);
}

Result<boost::json::value> json_of(const Response& response) {
    if (!is_success(response)) return problem_of(response);
    boost::json::error_code code;
    boost::json::value body = boost::json::parse(response.body(), code);
    if (code) return fail(ErrorCode::kMalformed, "gym-api answered something that is no JSON");
    return body;
}

}  // namespace

Result<boost::json::value> api_get(const std::string& url, const std::string& path) {
    GYM_TRY(const Response response, exchange(url, Request(http::verb::get, path, 11)));
    return json_of(response);
}

Result<std::string> api_get_text(const std::string& url, const std::string& path) {
    GYM_TRY(Response response, exchange(url, Request(http::verb::get, path, 11)));
    if (!is_success(response)) return problem_of(response);
    return std::move(response.body());
}

Result<boost::json::value> api_post(const std::string& url, const ApiPost& post) {
    Request request(http::verb::post, post.path, 11);
    request.set(http::field::content_type, post.content_type);
    request.set(http::field::authorization, "Bearer " + post.api_key);
    if (!post.idempotency_key.empty()) request.set("Idempotency-Key", post.idempotency_key);
    request.body() = post.body;
    GYM_TRY(const Response response, exchange(url, std::move(request)));
    return json_of(response);
}

}  // namespace gym::app
