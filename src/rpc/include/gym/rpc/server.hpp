#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/rpc/handler.hpp"

namespace gym::rpc {

struct ServerConfig {
    std::string listen = "127.0.0.1:0";  ///< host:port; port 0 takes a free one
    std::string tls_certificate_file;    ///< PEM; with tls_key_file. Both empty: loopback only
    std::string tls_key_file;
    unsigned threads = 8;  ///< handler threads (they wait for the database)
    /// In flight; more are refused at once. As many transfers of blobs, and as many commitments,
    /// reports and defences, are counted apart; of callers that are not known a quarter, at
    /// least 16.
    std::uint32_t calls_max = 1024;
    /// Of these of one IP address (of IPv6: of one /64); 0: no bound, as behind a proxy.
    std::uint32_t calls_of_address_max = 256;
    /// New nodes of one IP address; 100 times as many at once. 0: no bound.
    std::uint32_t registrations_per_s_of_address = 1;
    std::uint32_t polls_max = 16'384;  ///< NextTask calls that wait, counted apart
    std::uint32_t message_bytes_max = 8U << 20;
    std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
    std::uint64_t upload_bytes_max = std::uint64_t{2} << 30;  ///< held by all uploads together
    /// How often all waiting NextTask calls ask again although nobody woke them; 0: never.
    std::int64_t ask_every_ms = 0;
    std::int64_t poll_wait_ms_max = 30'000;
    std::int64_t silence_ms_max = 10'000;  ///< a peer or upload that sends nothing is dropped
    /// For an upload that moves; larger ones have a millisecond for each 1,000 bytes.
    std::int64_t upload_ms_max = 600'000;
    std::int64_t connection_idle_ms_max = 300'000;
};

/// Serves a NodeHandler over gRPC until destroyed or stopped. Thread-safe.
class Server {
  public:
    /// @errors kInvalidArgument for an address that is not loopback without TLS, kIo if the address
    /// cannot be bound or a TLS file read.
    static Result<std::unique_ptr<Server>> start(const ServerConfig& config, NodeHandler& handler,
                                                 const Clock& clock);
    virtual ~Server() = default;
    /// The port in use.
    [[nodiscard]] virtual int port() const = 0;
    /// Of the messages of all calls, both ways, with their signatures and without the blobs.
    [[nodiscard]] virtual std::uint64_t message_bytes() const = 0;
    /// Lets the waiting NextTask calls of these nodes ask now.
    virtual void wake(std::span<const Address> nodes) = 0;
    virtual void wake_all() = 0;
    /// Refuses new calls, gives running ones `grace_ms`, then cancels them. Idempotent.
    virtual void stop(std::int64_t grace_ms = 2'000) = 0;
};

}  // namespace gym::rpc
