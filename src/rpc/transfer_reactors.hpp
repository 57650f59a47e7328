#pragma once

#include <grpcpp/support/server_callback.h>

#include "gym/v1/node_service.pb.h"
#include "server_core.hpp"

namespace gym::rpc {

/// Serve one GetBlob and one PutBlob call; they own themselves and end with the call.
[[nodiscard]] grpc::ServerWriteReactor<v1::BlobChunk>* serve_get_blob(
    ServerCore& core, grpc::CallbackServerContext& context, const v1::GetBlobRequest& request);
[[nodiscard]] grpc::ServerReadReactor<v1::PutBlobRequest>* serve_put_blob(
    ServerCore& core, grpc::CallbackServerContext& context);

}  // namespace gym::rpc
