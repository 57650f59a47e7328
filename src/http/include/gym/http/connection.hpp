#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/common/result.hpp"

namespace gym::http {

/// Where a server is. With https its certificate must be valid for `host` by the authorities of the
/// system ($SSL_CERT_FILE or $SSL_CERT_DIR name others); TLS 1.2 at least.
struct Url {
    bool tls = false;
    std::string host;  ///< name or address, without brackets
    std::string port;
    std::string target;  ///< path and query, "/" at least
};
/// @errors kInvalidArgument unless `text` is http(s)://host[:port][/path][?query] without user and
/// password. The message does not repeat the text, which may hold a key.
[[nodiscard]] Result<Url> parse_url(const std::string& text);

/// Whether a name or address is that of this machine itself: localhost, 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback(const std::string& host);

struct Options {
    std::string peer = "server";        ///< who it is, in error messages
    std::uint32_t timeout_ms = 10'000;  ///< of an exchange: connect, send, receive
    std::uint64_t reply_bytes_max = 32 << 20;
};

struct Request {
    std::string method = "GET";
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body = {};
    /// In the place of `body`: sent in parts, after the server has read the head and wants it
    /// (Expect: 100-continue), so that a refusal costs no upload. Must outlive the exchange.
    std::optional<std::string_view> content = {};
    std::uint32_t timeout_ms = 0;  ///< of this exchange; 0: the connection's
    /// Neither the reply nor the taking of `content` may pause for longer; 0: no bound of its own.
    std::uint32_t silence_ms = 0;
    std::stop_token stop = {};  ///< ends the exchange (kCancelled)
};

struct Reply {
    unsigned status = 0;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};  ///< names in lower case

    /// The first value of a header; empty without one.
    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

/// An HTTP/1.1 connection to one server, opened on use and kept alive. No request is sent twice.
/// The only place that knows Beast's client side. Not thread-safe.
class Connection {
  public:
    static std::unique_ptr<Connection> create(const Url& url, Options options);
    virtual ~Connection() = default;

    /// Whether an earlier exchange left the connection open.
    [[nodiscard]] virtual bool is_open() const = 0;
    /// The reply of whatever status; after an error the connection is closed.
    /// @errors kUnavailable (refused, closed early, a certificate that is not valid), kTimeout,
    /// kCancelled, kMalformed (no HTTP, reply too long). Messages name host and port, never the
    /// target.
    virtual Result<Reply> exchange(const Request& request) = 0;
};

}  // namespace gym::http
