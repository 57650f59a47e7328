#include "http_transport.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/url.hpp>
#include <chrono>
#include <optional>
#include <thread>

namespace gym::chain {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;

constexpr std::uint32_t kAttemptsMax = 10;
constexpr std::uint32_t kTimeoutMsMax = 600'000;
constexpr std::size_t kErrorBodyShown = 200;

bool worth_retrying(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

/// A completion handler that stores the operation's error.
auto note(beast::error_code& slot) {
    return [&slot](beast::error_code error, std::size_t) { slot = error; };
}

class BeastTransport final : public HttpTransport {
  public:
    BeastTransport(std::string host, std::string port, std::string target, HttpOptions options)
        : host_(std::move(host)),
          port_(std::move(port)),
          target_(std::move(target)),
          options_(options) {}

    Result<std::string> post(const std::string& body) override {
        for (std::uint32_t attempt = 1;; ++attempt) {
            const bool reused = stream_.has_value();
            auto reply = exchange(body);
            if (!reply.ok()) stream_.reset();
            if (reply.ok() || !worth_retrying(reply.error())) return reply;
            // The other side may have closed an idle connection: that says nothing about the node.
            if (reused && reply.error().code == ErrorCode::kUnavailable) {
                reply = exchange(body);
                if (reply.ok()) return reply;
                stream_.reset();
                if (!worth_retrying(reply.error())) return reply;
            }
            if (attempt >= options_.attempts)
                return reply.error().in(std::to_string(attempt) + " attempt(s)");
            std::this_thread::sleep_for(milliseconds(options_.retry_delay_ms) *
                                        (1U << (attempt - 1)));
        }
    }

  private:
    /// One request and its reply within timeout_ms.
    Result<std::string> exchange(const std::string& body) {
        const auto deadline = std::chrono::steady_clock::now() + milliseconds(options_.timeout_ms);
        if (!stream_) GYM_CHECK(connect(deadline));
        stream_->expires_at(deadline);
        http::request<http::string_body> request(http::verb::post, target_, 11);
        request.set(http::field::host, host_ + ":" + port_);
        request.set(http::field::content_type, "application/json");
        request.body() = body;
        request.prepare_payload();

        beast::error_code error;
        http::async_write(*stream_, request, note(error));
        run();
        if (error) return describe(error, "sending");

        http::response_parser<http::string_body> parser;
        parser.body_limit(options_.reply_bytes_max);
        http::async_read(*stream_, buffer_, parser, note(error));
        run();
        if (error) return describe(error, "receiving");
        if (!parser.get().keep_alive()) stream_.reset();
        return accept(parser.release());
    }

    Result<std::string> accept(http::response<http::string_body> reply) const {
        const unsigned status = reply.result_int();
        if (status == 200) return std::move(reply.body());
        const std::string message = "node at " + host_ + ":" + port_ + " answered HTTP " +
                                    std::to_string(status) + ": " +
                                    reply.body().substr(0, kErrorBodyShown);
        const bool passing = status == 429 || status >= 500;
        return fail(passing ? ErrorCode::kUnavailable : ErrorCode::kInternal, message);
    }

    Status connect(std::chrono::steady_clock::time_point deadline) {
        beast::error_code error;
        tcp::resolver resolver(context_);
        tcp::resolver::results_type endpoints;
        bool resolved = false;
        resolver.async_resolve(host_, port_, [&](beast::error_code e, auto results) {
            error = e;
            endpoints = std::move(results);
            resolved = true;
        });
        context_.restart();
        context_.run_until(deadline);
        if (!resolved) {  // the handler holds references to this frame: let it finish as cancelled
            resolver.cancel();
            run();
            return describe(beast::error::timeout, "resolving");
        }
        if (error) return describe(error, "resolving");
        stream_.emplace(context_);
        buffer_.clear();
        stream_->expires_at(deadline);
        stream_->async_connect(endpoints, [&](beast::error_code e, const auto&) { error = e; });
        run();
        if (error) {
            stream_.reset();
            return describe(error, "connecting");
        }
        stream_->socket().set_option(tcp::no_delay(true), error);
        return {};
    }

    void run() {
        context_.restart();
        context_.run();
    }

    Error describe(const beast::error_code& error, const char* doing) const {
        const std::string where = std::string(doing) + " (node at " + host_ + ":" + port_ + "): ";
        if (error == beast::error::timeout)
            return fail(ErrorCode::kTimeout,
                        where + "no answer within " + std::to_string(options_.timeout_ms) + " ms");
        if (error == http::error::body_limit)
            return fail(
                ErrorCode::kMalformed,
                where + "the reply exceeds " + std::to_string(options_.reply_bytes_max) + " bytes");
        if (error == http::error::partial_message || error == http::error::end_of_stream)
            return fail(ErrorCode::kUnavailable,
                        where + "the connection was closed within the reply");
        if (error.category() == http::make_error_code(http::error::bad_version).category())
            return fail(ErrorCode::kMalformed, where + "not HTTP: " + error.message());
        return fail(ErrorCode::kUnavailable, where + error.message());
    }

    const std::string host_;
    const std::string port_;
    const std::string target_;
    const HttpOptions options_;
    asio::io_context context_;
    std::optional<beast::tcp_stream> stream_;
    beast::flat_buffer buffer_;
};

Status check_options(const HttpOptions& options) {
    if (options.attempts < 1 || options.attempts > kAttemptsMax || options.timeout_ms == 0 ||
        options.timeout_ms > kTimeoutMsMax || options.retry_delay_ms > kTimeoutMsMax ||
        options.reply_bytes_max == 0)
        return fail(ErrorCode::kInvalidArgument, "HTTP options out of bounds (attempts 1..10)");
    return {};
}

}  // namespace

Result<std::unique_ptr<HttpTransport>> HttpTransport::create(const std::string& url,
                                                             const HttpOptions& options) {
    GYM_CHECK(check_options(options));
    const auto parsed = boost::urls::parse_uri(url);
    if (!parsed || parsed->scheme() != "http" || parsed->host().empty() || parsed->has_userinfo())
        return fail(ErrorCode::kInvalidArgument,
                    "the node's URL must have the form http://host:port/path");
    std::string target(parsed->encoded_path());
    if (target.empty()) target = "/";
    if (parsed->has_query()) target += "?" + std::string(parsed->encoded_query());
    const std::string port = parsed->has_port() ? std::string(parsed->port()) : "80";
    return std::unique_ptr<HttpTransport>(
        std::make_unique<BeastTransport>(parsed->host_address(), port, target, options));
}

}  // namespace gym::chain
