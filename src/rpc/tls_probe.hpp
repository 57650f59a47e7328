#pragma once

#include <string>

namespace gym::rpc {

/// Why a connection to `target` (host:port) does not come about, as far as TLS is the reason: one
/// sentence, or empty. Dials once more, at most a few seconds; nothing is sent but the handshake.
/// @param ca_file as ClientConfig::tls_ca_file.
[[nodiscard]] std::string explain_tls(const std::string& target, const std::string& ca_file);

}  // namespace gym::rpc
