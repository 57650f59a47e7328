#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "gym/common/result.hpp"

namespace gym::rpc {

/// Whether "host:port" names this machine itself (127.0.0.0/8, ::1, localhost).
[[nodiscard]] bool is_loopback(const std::string& endpoint);

/// Whether a `ca_file` is certificates themselves (PEM), not the name of a file with them.
[[nodiscard]] bool is_pem_text(const std::string& text);

/// Credentials of a server: TLS when both files are named, plain only on loopback.
/// @errors kInvalidArgument, kIo.
[[nodiscard]] Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(
    const std::string& listen, const std::string& certificate_file, const std::string& key_file);

/// Credentials of a client: TLS with the roots of `ca_file` ("system": the system's); plain without
/// one, on loopback or where it is allowed. @errors as connect().
[[nodiscard]] Result<std::shared_ptr<grpc::ChannelCredentials>> channel_credentials(
    const std::string& target, const std::string& ca_file, bool allow_plaintext);

}  // namespace gym::rpc
