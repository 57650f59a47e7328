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
constexpr std::uint64_t kBodyBytesMax = 4U << 20;

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

Result<http::response<http::string_body>> get(const Target& target, const std::string& path) {
    const std::string where = "gym-api at " + target.host + ":" + target.port;
    asio::io_context io;
    asio::ip::tcp::resolver resolver(io);
    beast::error_code code;
    const auto endpoints = resolver.resolve(target.host, target.port, code);
    if (code) return fail(ErrorCode::kUnavailable, where + ": " + code.message());
    beast::tcp_stream stream(io);
    stream.expires_after(kTimeout);
    GYM_CHECK(run(io, where, [&](auto done) { stream.async_connect(endpoints, done); }));
    http::request<http::empty_body> request(http::verb::get, path, 11);
    request.set(http::field::host, target.host);
    request.set(http::field::accept, "application/json");
    request.set(http::field::connection, "close");
    GYM_CHECK(run(io, where, [&](auto done) { http::async_write(stream, request, done); }));
    http::response_parser<http::string_body> parser;
    parser.body_limit(kBodyBytesMax);
    beast::flat_buffer buffer;
    GYM_CHECK(run(io, where, [&](auto done) { http::async_read(stream, buffer, parser, done); }));
    return parser.release();
}

}  // namespace

Result<boost::json::value> api_get(const std::string& url, const std::string& path) {
    GYM_TRY(const Target target, target_of(url));
    GYM_TRY(const auto response, get(target, path));
    boost::json::error_code code;
    boost::json::value body = boost::json::parse(response.body(), code);
    if (code) return fail(ErrorCode::kMalformed, "gym-api answered something that is no JSON");
    if (response.result() == http::status::ok) return body;
    const boost::json::value* title =
        body.is_object() ? body.get_object().if_contains("title") : nullptr;
    const std::string reason = title != nullptr && title->is_string()
                                   ? std::string(title->get_string())
                                   : "status " + std::to_string(response.result_int());
    return fail(
        response.result() == http::status::not_found ? ErrorCode::kNotFound : ErrorCode::kInternal,
        "gym-api: " + reason);
}

}  // namespace gym::app
