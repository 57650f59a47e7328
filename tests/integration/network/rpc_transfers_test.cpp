// Transfers of nodes that want all of the coordinator's memory or calls, over real sockets.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gym/rpc/call_auth.hpp"
#include "gym/rpc/client.hpp"
#include "gym/rpc/server.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "memory_handler.hpp"
#include "stalled_downloads.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class RpcTransfersTest : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = testing::test_key(1), greedy_ = testing::test_key(2);
    testing::MemoryHandler handler_;
    ServerConfig config_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<v1::NodeService::Stub> stub_;

    void SetUp() override {
        handler_.registered.insert(key_.address());
        handler_.registered.insert(greedy_.address());
        config_.blob_bytes_max = 8 * kMiB;
        config_.upload_bytes_max = 16 * kMiB;
        config_.silence_ms_max = 30'000;
    }
    void start() {
        server_ = Server::start(config_, handler_, clock_).value();
        stub_ = v1::NodeService::NewStub(
            grpc::CreateChannel(target(), grpc::InsecureChannelCredentials()));
    }
    [[nodiscard]] std::string target() const {
        return "127.0.0.1:" + std::to_string(server_->port());
    }
    /// Another node.
    std::unique_ptr<Coordinator> dial() const {
        ClientConfig config;
        config.target = target();
        config.attempts_max = 1;
        return connect(config, key_.clone(), clock_).value();
    }
    int calls(const std::string& name) {
        const std::scoped_lock lock(handler_.mutex);
        return static_cast<int>(std::ranges::count(handler_.calls, name));
    }
    /// Metadata for a call of the greedy node, as an honest client makes it.
    std::string header(std::string_view method, const google::protobuf::Message& request) const {
        const std::string bytes = request.SerializeAsString();
        const Bytes auth = encode(sign_call(testing::MemoryHandler::network_info().domain(), method,
                                            as_bytes(bytes), greedy_, clock_.now_ms()));
        return {auth.begin(), auth.end()};
    }
};

TEST_F(RpcTransfersTest, ADownloadIsReadAsItsPeerTakesIt) {
    start();
    constexpr std::size_t kSize = 48 * kMiB;
    const Digest root = handler_.blobs.put(Bytes(kSize, 9)).value();
    const testing::StalledDownloads one(*stub_, root, 1, [&](const v1::GetBlobRequest& request) {
        return header("GetBlob", request);
    });
    ASSERT_EQ(one.open(), 1U);
    std::this_thread::sleep_for(milliseconds(500));
    // What is on the way: the buffers of two sockets and of HTTP/2.
    EXPECT_LT(handler_.blob_bytes_read, kSize / 2);
    EXPECT_GT(handler_.blob_bytes_read, 0U);
}

TEST_F(RpcTransfersTest, OneNodeCannotTakeAllCallsByTransfers) {
    constexpr int kOfNode = 16;
    config_.calls_max = kOfNode + 8;  // a refused call is in flight until it has ended
    start();
    const Digest root = handler_.blobs.put(Bytes(48 * kMiB, 9)).value();
    const auto signed_by_greedy = [&](const v1::GetBlobRequest& request) {
        return header("GetBlob", request);
    };
    {
        const testing::StalledDownloads many(*stub_, root, kOfNode + 4, signed_by_greedy);
        EXPECT_EQ(many.open(), std::size_t{kOfNode});
        for (const grpc::Status& refused : many.refused()) {
            EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
            EXPECT_NE(refused.error_message().find("has 16 transfers of blobs"), std::string::npos)
                << refused.error_message();
        }
        EXPECT_TRUE(dial()->heartbeat({}).ok()) << "there is room for others";
    }
    for (int i = 0;
         i < 1'000 && testing::StalledDownloads(*stub_, root, 1, signed_by_greedy).open() == 0; ++i)
        std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(testing::StalledDownloads(*stub_, root, 1, signed_by_greedy).open(), 1U)
        << "transfers that ended do not count";
}

/// A PutBlob call that announces `size` bytes and sends them in pieces when it is told to.
class SlowUpload {
  public:
    SlowUpload(v1::NodeService::Stub& stub, std::uint64_t size,
               const std::function<std::string(const v1::PutBlobRequest&)>& header) {
        v1::PutBlobRequest first;
        first.mutable_header()->set_root(std::string(Digest::kSize, 'r'));
        first.mutable_header()->set_size_bytes(size);
        context_.AddMetadata(kAuthMetadataKey, header(first));
        writer_ = stub.PutBlob(&context_, &response_);
        open_ = writer_->Write(first);
    }
    SlowUpload(const SlowUpload&) = delete;
    SlowUpload& operator=(const SlowUpload&) = delete;
    ~SlowUpload() {
        if (ended_) return;
        context_.TryCancel();
        writer_->Finish();
    }
    /// @return whether the call is open still, as far as is known.
    bool send(std::size_t bytes) {
        v1::PutBlobRequest data;
        data.set_data(std::string(bytes, 'x'));
        return open_ = open_ && writer_->Write(data);
    }
    grpc::Status finish() {
        ended_ = true;
        return writer_->Finish();
    }

  private:
    grpc::ClientContext context_;
    v1::PutBlobResponse response_;
    std::unique_ptr<grpc::ClientWriter<v1::PutBlobRequest>> writer_;
    bool open_ = false, ended_ = false;
};

TEST_F(RpcTransfersTest, OneNodeCannotHoldTheMemoryOfAllUploads) {
    start();
    const auto header = [&](const v1::PutBlobRequest& request) {
        return this->header("PutBlob", request);
    };
    SlowUpload first(*stub_, 8 * kMiB, header);
    while (calls("allow_upload") == 0)
        std::this_thread::sleep_for(milliseconds(5));
    SlowUpload second(*stub_, 8 * kMiB, header);
    const grpc::Status refused = second.finish();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_NE(refused.error_message().find("too many uploads of"), std::string::npos)
        << refused.error_message();
    const Bytes delta(7 * kMiB, 3);
    const Status sent = dial()->put_blob(blob::blob_root(delta), delta);
    EXPECT_TRUE(sent.ok()) << sent.error().message;
}

TEST_F(RpcTransfersTest, AnUploadThatTricklesEnds) {
    config_.upload_ms_max = 700;
    start();
    SlowUpload slow(*stub_, kMiB,
                    [&](const v1::PutBlobRequest& request) { return header("PutBlob", request); });
    const auto begin = std::chrono::steady_clock::now();
    const auto waited = [&] { return std::chrono::steady_clock::now() - begin; };
    while (slow.send(1) && waited() < std::chrono::seconds(20))
        std::this_thread::sleep_for(milliseconds(50));
    EXPECT_GT(waited(), milliseconds(600));
    EXPECT_LT(waited(), std::chrono::seconds(10));
    EXPECT_FALSE(slow.finish().ok());
}

}  // namespace
}  // namespace gym::rpc
