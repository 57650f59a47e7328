#pragma once

#include <string_view>

#include <grpcpp/support/status.h>

#include "gym/common/result.hpp"
#include "gym/rpc/client.hpp"

namespace gym::rpc {

/// The error that a person reads when `method` failed for good: the coordinator's own message, or
/// why there is no answer.
[[nodiscard]] Error call_error(const grpc::Status& status, std::string_view method,
                               const ClientConfig& config);

/// The same for the first call to a coordinator, with the reason: dials once more to find out.
/// @errors kUnauthenticated for a coordinator that TLS does not accept.
[[nodiscard]] Error first_call_error(const Error& error, const ClientConfig& config);

/// gRPC's own log lines go to our log at debug level; idempotent.
void quiet_grpc_log();

}  // namespace gym::rpc
