#pragma once

#include <grpcpp/support/status.h>

#include "gym/common/result.hpp"

namespace gym::rpc {

/// Our error on the wire: the nearest gRPC code, our message, and our code's name as details, so
/// that the other side gets back exactly the error that was sent.
[[nodiscard]] grpc::Status to_grpc(const Error& error);
[[nodiscard]] grpc::Status to_grpc(const Status& status);
/// The error of a failed call, `where` in front ("SubmitCommitment: ...").
[[nodiscard]] Error from_grpc(const grpc::Status& status, std::string_view where);

}  // namespace gym::rpc
