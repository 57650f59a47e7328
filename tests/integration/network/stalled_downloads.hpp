#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/rpc/call_auth.hpp"
#include "gym/v1/node_service.grpc.pb.h"

namespace gym::testing {

/// GetBlob calls of one node that take the first part and then nothing.
class StalledDownloads {
  public:
    /// @param header signs a request.
    StalledDownloads(v1::NodeService::Stub& stub, const Digest& root, int count,
                     const std::function<std::string(const v1::GetBlobRequest&)>& header) {
        v1::GetBlobRequest request;
        request.set_root(std::string(root.data.begin(), root.data.end()));
        for (int i = 0; i < count; ++i) {
            auto& context = *contexts_.emplace_back(std::make_unique<grpc::ClientContext>());
            context.AddMetadata(rpc::kAuthMetadataKey, header(request));
            auto reader = stub.GetBlob(&context, request);
            v1::BlobChunk first;
            if (reader->Read(&first)) {
                open_.push_back(std::move(reader));
            } else {
                refused_.push_back(reader->Finish());
            }
        }
    }
    StalledDownloads(const StalledDownloads&) = delete;
    StalledDownloads& operator=(const StalledDownloads&) = delete;
    ~StalledDownloads() {
        for (const auto& context : contexts_)
            context->TryCancel();
        for (const auto& reader : open_)
            reader->Finish();
    }
    [[nodiscard]] std::size_t open() const { return open_.size(); }
    [[nodiscard]] const std::vector<grpc::Status>& refused() const { return refused_; }

  private:
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
    std::vector<std::unique_ptr<grpc::ClientReader<v1::BlobChunk>>> open_;
    std::vector<grpc::Status> refused_;
};

}  // namespace gym::testing
