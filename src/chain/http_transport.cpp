#include "http_transport.hpp"

#include <chrono>
#include <thread>

#include "gym/http/connection.hpp"

namespace gym::chain {
namespace {

constexpr std::uint32_t kAttemptsMax = 10;
constexpr std::uint32_t kTimeoutMsMax = 600'000;
constexpr std::size_t kErrorBodyShown = 200;

bool worth_retrying(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

class RetryingTransport final : public HttpTransport {
  public:
    RetryingTransport(const http::Url& url, HttpOptions options)
        : url_(url),
          options_(options),
          connection_(http::Connection::create(url, {.peer = "node",
                                                     .timeout_ms = options.timeout_ms,
                                                     .reply_bytes_max = options.reply_bytes_max})) {
    }

    Result<std::string> post(const std::string& body) override {
        for (std::uint32_t attempt = 1;; ++attempt) {
            const bool reused = connection_->is_open();
            auto reply = exchange(body);
            if (reply.ok() || !worth_retrying(reply.error())) return reply;
            // The other side may have closed an idle connection: that says nothing about the node.
            if (reused && reply.error().code == ErrorCode::kUnavailable) {
                reply = exchange(body);
                if (reply.ok() || !worth_retrying(reply.error())) return reply;
            }
            if (attempt >= options_.attempts)
                return reply.error().in(std::to_string(attempt) + " attempt(s)");
            std::this_thread::sleep_for(std::chrono::milliseconds(options_.retry_delay_ms) *
                                        (1U << (attempt - 1)));
        }
    }

  private:
    Result<std::string> exchange(const std::string& body) {
        GYM_TRY(http::Reply reply,
                connection_->exchange({.method = "POST",
                                       .target = url_.target,
                                       .headers = {{"Content-Type", "application/json"}},
                                       .body = body}));
        if (reply.status == 200) return std::move(reply.body);
        const std::string message = "node at " + url_.host + ":" + url_.port + " answered HTTP " +
                                    std::to_string(reply.status) + ": " +
                                    reply.body.substr(0, kErrorBodyShown);
        const bool passing = reply.status == 429 || reply.status >= 500;
        return fail(passing ? ErrorCode::kUnavailable : ErrorCode::kInternal, message);
    }

    const http::Url url_;
    const HttpOptions options_;
    std::unique_ptr<http::Connection> connection_;
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
    const auto parsed = http::parse_url(url);
    if (!parsed.ok()) return parsed.error().in("the chain's node");
    return std::unique_ptr<HttpTransport>(std::make_unique<RetryingTransport>(*parsed, options));
}

}  // namespace gym::chain
