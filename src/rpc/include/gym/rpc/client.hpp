#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::rpc {

struct ClientConfig {
    std::string target;  ///< host:port
    /// PEM file, or PEM text itself; "system" for the system's roots; empty: plaintext.
    std::string tls_ca_file;
    bool allow_plaintext = false;  ///< also to another machine: anyone between may read and alter
    std::uint64_t chain_id = 0;    ///< refuse another network; 0 accepts what the server says
    std::int64_t call_ms_max = 10'000;
    std::int64_t transfer_ms_max = 600'000;  ///< one blob; of more bytes, what 1 MB/s takes
    /// A transfer that brings nothing is broken off; while the server reads or stores a blob, later
    /// by what 100 MB/s takes.
    std::int64_t silence_ms_max = 20'000;
    std::int64_t keepalive_ms = 20'000;  ///< a connection without traffic is pinged after this time
    std::int64_t keepalive_timeout_ms = 10'000;  ///< and given up without one
    unsigned attempts_max = 5;                   ///< of one call, while the server is unavailable
    std::int64_t backoff_ms = 200;               ///< doubled after every attempt, with jitter
    std::int64_t backoff_ms_max = 5'000;
    std::uint32_t message_bytes_max = 8U << 20;
    std::stop_token stop;  ///< cancels running calls and pauses (kCancelled)
};

/// Dials a coordinator. Nothing is sent before the first call; the network's facts are asked once.
/// Thread-safe. @errors kInvalidArgument for a target that is not host:port, for plaintext to
/// another machine unless allowed, for a CA file without a certificate; kNotFound, kIo for the CA
/// file.
[[nodiscard]] Result<std::unique_ptr<Coordinator>> connect(const ClientConfig& config,
                                                           crypto::PrivateKey key,
                                                           const Clock& clock);

}  // namespace gym::rpc
