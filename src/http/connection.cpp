#include "gym/http/connection.hpp"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/url.hpp>
#include <cctype>
#include <chrono>
#include <optional>

namespace gym::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using Deadline = std::chrono::steady_clock::time_point;

constexpr std::size_t kContentPartBytes = 256 << 10;

/// A completion handler that stores the operation's error.
auto note(beast::error_code& slot) {
    return [&slot](beast::error_code error, auto&&...) { slot = error; };
}

class BeastConnection final : public Connection {
  public:
    BeastConnection(Url url, Options options)
        : url_(std::move(url)), options_(std::move(options)) {}

    [[nodiscard]] bool is_open() const override { return plain_ || secure_; }

    Result<Reply> exchange(const Request& request) override {
        const std::uint64_t number = ++exchanges_;
        silence_ms_ = request.silence_ms;
        timeout_ms_ = request.timeout_ms != 0 ? request.timeout_ms : options_.timeout_ms;
        stopped_ = false;
        auto reply = [&] {
            // The handler may be queued when the exchange ends: it must not end a later one.
            const std::stop_callback on_stop(request.stop, [this, number] {
                asio::post(context_, [this, number] {
                    if (number == exchanges_) cancel();
                });
            });
            return try_exchange(request);
        }();
        if (!reply.ok()) close();
        if (!reply.ok() && stopped_) return describe_stop();
        return reply;
    }

  private:
    Result<Reply> try_exchange(const Request& request) {
        const Deadline deadline =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms_);
        if (!is_open()) GYM_CHECK(connect(deadline));
        lowest().expires_at(deadline);
        if (request.content)
            return secure_ ? upload(*secure_, request, deadline)
                           : upload(*plain_, request, deadline);
        bhttp::request<bhttp::string_body> message(bhttp::string_to_verb(request.method),
                                                   request.target, 11);
        set_head(message, request);
        message.body() = request.body;
        message.prepare_payload();
        return secure_ ? transfer(*secure_, message, deadline)
                       : transfer(*plain_, message, deadline);
    }

    template <class Stream>
    Result<Reply> transfer(Stream& stream, const bhttp::request<bhttp::string_body>& message,
                           Deadline deadline) {
        beast::error_code error;
        bhttp::async_write(stream, message, note(error));
        run();
        if (error) return describe(error, "sending");
        return receive(stream, deadline);
    }

    void set_head(bhttp::request_header<>& message, const Request& request) const {
        const bool v6 = url_.host.find(':') != std::string::npos;
        message.set(bhttp::field::host, (v6 ? "[" + url_.host + "]" : url_.host) + ":" + url_.port);
        for (const auto& [name, value] : request.headers)
            message.set(name, value);
    }

    /// Whatever moves next has silence_ms_, and no more than what is left.
    void expect_progress(Deadline deadline) {
        if (silence_ms_ == 0) return;
        lowest().expires_at(std::min(
            deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(silence_ms_)));
    }

    /// Sends the head, and the content once the server asks for it.
    template <class Stream>
    Result<Reply> upload(Stream& stream, const Request& request, Deadline deadline) {
        bhttp::request<bhttp::buffer_body> message(bhttp::string_to_verb(request.method),
                                                   request.target, 11);
        set_head(message, request);
        message.set(bhttp::field::expect, "100-continue");
        message.content_length(request.content->size());
        message.body().data = nullptr;
        message.body().more = true;
        bhttp::request_serializer<bhttp::buffer_body> serializer(message);
        beast::error_code error;
        expect_progress(deadline);
        bhttp::async_write_header(stream, serializer, note(error));
        run();
        if (error) return describe(error, "sending");
        GYM_TRY(Reply reply, receive(stream, deadline));
        if (reply.status != 100) {
            close();  // the content was announced and not sent: nothing may follow
            return reply;
        }
        const Status sent =
            send_content(stream, serializer, message.body(), *request.content, deadline);
        // A server that refuses midway says why before it closes.
        auto answer = stopped_ ? Result<Reply>(describe_stop()) : receive(stream, deadline);
        if (!sent.ok() && !answer.ok()) return sent.error();
        if (!sent.ok()) close();
        return answer;
    }

    template <class Stream>
    Status send_content(Stream& stream, bhttp::request_serializer<bhttp::buffer_body>& serializer,
                        bhttp::buffer_body::value_type& body, std::string_view content,
                        Deadline deadline) {
        while (!content.empty()) {
            const std::string_view part = content.substr(0, kContentPartBytes);
            content.remove_prefix(part.size());
            // Beast reads it; its buffer_body is not const because it receives into it as well.
            body.data = const_cast<char*>(part.data());
            body.size = part.size();
            body.more = !content.empty();
            beast::error_code error;
            expect_progress(deadline);
            bhttp::async_write(stream, serializer, note(error));
            run();
            if (error == bhttp::error::need_buffer) error = {};
            if (error) return describe(error, "sending");
        }
        return {};
    }

    template <class Stream>
    Result<Reply> receive(Stream& stream, Deadline deadline) {
        beast::error_code error;
        bhttp::response_parser<bhttp::string_body> parser;
        parser.body_limit(options_.reply_bytes_max);
        while (!parser.is_done()) {
            expect_progress(deadline);
            bhttp::async_read_some(stream, buffer_, parser, note(error));
            run();
            if (error) return describe(error, "receiving");
        }
        Reply reply{parser.get().result_int(), std::move(parser.get().body()), {}};
        for (const auto& field : parser.get()) {
            std::string name(field.name_string());
            for (char& c : name)
                c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            reply.headers.emplace_back(std::move(name), field.value());
        }
        if (!parser.get().keep_alive()) close();
        return reply;
    }

    Status connect(Deadline deadline) {
        GYM_TRY(const tcp::resolver::results_type endpoints, resolve(deadline));
        if (stopped_) return describe_stop();  // there was nothing yet that could be closed
        beast::tcp_stream stream(context_);
        buffer_.clear();
        stream.expires_at(deadline);
        beast::error_code error;
        dialling_ = &stream;
        stream.async_connect(endpoints, note(error));
        run();
        dialling_ = nullptr;
        if (error) return describe(error, "connecting");
        stream.socket().set_option(tcp::no_delay(true), error);
        if (url_.tls) return shake_hands(std::move(stream));
        plain_.emplace(std::move(stream));
        return {};
    }

    Result<tcp::resolver::results_type> resolve(Deadline deadline) {
        beast::error_code error;
        tcp::resolver resolver(context_);
        tcp::resolver::results_type endpoints;
        bool resolved = false;
        resolver.async_resolve(url_.host, url_.port, [&](beast::error_code e, auto results) {
            error = e;
            endpoints = std::move(results);
            resolved = true;
        });
        context_.restart();
        while (!resolved && !stopped_ && context_.run_one_until(deadline) > 0) {
        }
        if (!resolved) {  // the handler holds references to this frame: let it finish as cancelled
            resolver.cancel();
            run();
            return describe(beast::error::timeout, "resolving");
        }
        if (error) return describe(error, "resolving");
        return endpoints;
    }

    Status shake_hands(beast::tcp_stream stream) {
        if (!tls_) {
            tls_.emplace(ssl::context::tls_client);
            beast::error_code error;
            tls_->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                                  ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                                  ssl::context::no_tlsv1_1,
                              error);
            tls_->set_default_verify_paths(error);
            tls_->set_verify_mode(ssl::verify_peer, error);
            if (error) return describe(error, "preparing TLS");
        }
        secure_.emplace(std::move(stream), *tls_);
        // The name is sent so that a server of many names picks its certificate; the check is ours.
        SSL_set_tlsext_host_name(secure_->native_handle(), url_.host.c_str());
        secure_->set_verify_callback(ssl::host_name_verification(url_.host));
        beast::error_code error;
        secure_->async_handshake(ssl::stream_base::client, note(error));
        run();
        if (!error) return {};
        Error described = describe(error, "making a TLS connection");
        const long verdict = SSL_get_verify_result(secure_->native_handle());
        if (verdict != X509_V_OK)
            described.message += ": " + std::string(X509_verify_cert_error_string(verdict));
        return described;
    }

    beast::tcp_stream& lowest() { return secure_ ? beast::get_lowest_layer(*secure_) : *plain_; }

    void close() {
        plain_.reset();
        secure_.reset();
    }

    /// On the context: what is under way ends with an error.
    void cancel() {
        stopped_ = true;
        if (dialling_ != nullptr)
            dialling_->close();
        else if (is_open())
            lowest().close();
    }

    Error describe_stop() const {
        return fail(ErrorCode::kCancelled, "the exchange with " + options_.peer + " was stopped");
    }

    void run() {
        context_.restart();
        context_.run();
    }

    Error describe(const beast::error_code& error, const char* doing) const {
        const std::string where = std::string(doing) + " (" + options_.peer + " at " + url_.host +
                                  ":" + url_.port + "): ";
        if (error == beast::error::timeout)
            return fail(ErrorCode::kTimeout,
                        where + "no answer within " +
                            std::to_string(silence_ms_ != 0 ? std::min(silence_ms_, timeout_ms_)
                                                            : timeout_ms_) +
                            " ms");
        if (error == bhttp::error::body_limit)
            return fail(
                ErrorCode::kMalformed,
                where + "the reply exceeds " + std::to_string(options_.reply_bytes_max) + " bytes");
        if (error == bhttp::error::partial_message || error == bhttp::error::end_of_stream ||
            error == ssl::error::stream_truncated)
            return fail(ErrorCode::kUnavailable,
                        where + "the connection was closed within the reply");
        if (error.category() == bhttp::make_error_code(bhttp::error::bad_version).category())
            return fail(ErrorCode::kMalformed, where + "not HTTP: " + error.message());
        return fail(ErrorCode::kUnavailable, where + error.message());
    }

    const Url url_;
    const Options options_;
    asio::io_context context_;
    std::optional<ssl::context> tls_;
    std::optional<beast::tcp_stream> plain_;
    std::optional<beast::ssl_stream<beast::tcp_stream>> secure_;
    beast::flat_buffer buffer_;
    beast::tcp_stream* dialling_ = nullptr;  // before it is plain_ or secure_
    std::uint64_t exchanges_ = 0;
    std::uint32_t silence_ms_ = 0;
    std::uint32_t timeout_ms_ = 0;  // of the exchange under way
    bool stopped_ = false;
};

}  // namespace

std::string_view Reply::header(std::string_view lower_case_name) const {
    const auto found =
        std::ranges::find(headers, lower_case_name, &std::pair<std::string, std::string>::first);
    return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

Result<Url> parse_url(const std::string& text) {
    const auto parsed = boost::urls::parse_uri(text);
    const bool known = parsed && (parsed->scheme() == "http" || parsed->scheme() == "https");
    // Boost's parser takes letters for a port; as a number they are 0.
    const bool bad_port = known && parsed->has_port() && parsed->port_number() == 0;
    if (!known || bad_port || parsed->host().empty() || parsed->has_userinfo())
        return fail(ErrorCode::kInvalidArgument,
                    "the URL must have the form http(s)://host:port/path");
    Url out;
    out.tls = parsed->scheme() == "https";
    out.host = parsed->host_address();
    out.port = parsed->has_port() ? std::string(parsed->port()) : out.tls ? "443" : "80";
    out.target = std::string(parsed->encoded_path());
    if (out.target.empty()) out.target = "/";
    if (parsed->has_query()) out.target += "?" + std::string(parsed->encoded_query());
    return out;
}

bool is_loopback(const std::string& host) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return host == "localhost" || (!error && address.is_loopback());
}

std::unique_ptr<Connection> Connection::create(const Url& url, Options options) {
    return std::make_unique<BeastConnection>(url, std::move(options));
}

}  // namespace gym::http
