#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gym/common/result.hpp"
#include "gym/http_server/handler.hpp"

namespace gym::http_server {

/// Bodies of up to this size are bounded by connections_max alone.
inline constexpr std::uint64_t kSmallBodyBytes = 1 << 20;

/// Every bound of the HTTP server. A peer that connects and says nothing, sends a byte a second, or
/// announces a gigabyte costs one connection slot for a bounded time and bounded memory.
struct ServerOptions {
    std::string name = "gym-api";  ///< in the header Server
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;               ///< 0: any free one, see Server::port()
    std::uint32_t threads = 4;            ///< that run handlers; one more thread does the sockets
    std::uint32_t connections_max = 256;  ///< more are answered 503 and closed
    /// The same of one peer (party_of()). 0: no bound but that of all, as behind a proxy, whose
    /// address all peers have.
    std::uint32_t peer_connections_max = 0;
    std::uint32_t header_bytes_max = 16 << 10;
    std::uint32_t header_timeout_ms = 10'000;  ///< also how long a connection may idle
    std::uint32_t body_timeout_ms = 60'000;
    /// A body that is streamed to a sink has body_timeout_ms, and the time that this rate takes.
    std::uint32_t body_bytes_per_s_min = 32 << 10;
    /// The same body: the peer may take no longer for 256 KiB. 0: no bound but that of the whole.
    std::uint32_t body_silence_ms = 0;
    /// Of bodies above kSmallBodyBytes that are in memory, together; more are refused with 503. One
    /// alone is always taken.
    std::uint64_t bodies_bytes_max = std::uint64_t{1} << 30;
    /// The same of those that came with one owner's key; more are refused with 429. One alone is
    /// always taken.
    std::uint64_t owner_bodies_bytes_max = std::uint64_t{256} << 20;
    /// Of an answer; of each piece of one that is read while it is sent.
    std::uint32_t write_timeout_ms = 30'000;
    /// Answers that are read while they are sent, at one time; more are refused with 503.
    std::uint32_t streams_max = 64;
    std::uint32_t requests_per_connection_max = 1'000;
};

/// An HTTP/1.1 server on one port. Not thread-safe, except that requests run in parallel.
class Server {
  public:
    /// Binds and serves until stop(). `handler` must outlive the server.
    /// @errors kInvalidArgument for the address, kIo if it cannot be bound (naming it).
    static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler& handler);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Accepts nothing more, closes idle connections, lets running requests end for at most
    /// `grace_ms`, then closes them too.
    void stop(std::uint32_t grace_ms = 10'000);

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::http_server
