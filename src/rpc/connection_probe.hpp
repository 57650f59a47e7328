#pragma once

#include <string>

namespace gym::rpc {

/// Why `target` (host:port) cannot be reached: "Connection refused", "no answer", "its name
/// is not known"; empty if a connection comes about. Takes at most a few seconds.
[[nodiscard]] std::string explain_connection(const std::string& target);

/// Why a connection does not become a conversation, as far as TLS is the reason: one sentence, or
/// empty. Nothing is sent but the handshake. Takes at most a few seconds.
/// @param ca_file as ClientConfig::tls_ca_file, which may be PEM text.
[[nodiscard]] std::string explain_tls(const std::string& target, const std::string& ca_file);

}  // namespace gym::rpc
