// Strangers, and crowds of nodes, that want all places of a coordinator: the others are served.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gym/rpc/call_auth.hpp"
#include "gym/rpc/client.hpp"
#include "gym/rpc/server.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "memory_handler.hpp"
#include "slow_line.hpp"
#include "stalled_downloads.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class StrangersTest : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = testing::test_key(1), stranger_ = testing::test_key(2);
    testing::MemoryHandler handler_;
    ServerConfig config_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<v1::NodeService::Stub> stub_;

    void start() {
        handler_.registered.insert(key_.address());
        config_.silence_ms_max = 60'000;  // nothing here ends because a peer is silent
        server_ = Server::start(config_, handler_, clock_).value();
        stub_ = stub(server_->port());
    }
    static std::unique_ptr<v1::NodeService::Stub> stub(int port) {
        grpc::ChannelArguments own_connection;
        static int connections = 0;
        own_connection.SetInt("gym.connection", ++connections);
        return v1::NodeService::NewStub(
            grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                      grpc::InsecureChannelCredentials(), own_connection));
    }
    std::unique_ptr<Coordinator> node() const { return node_at(server_->port()); }
    std::unique_ptr<Coordinator> node_at(int port) const {
        ClientConfig config;
        config.target = "127.0.0.1:" + std::to_string(port);
        config.attempts_max = 1;
        return connect(config, key_.clone(), clock_).value();
    }
    std::string header(std::string_view method, const google::protobuf::Message& request,
                       const crypto::PrivateKey& key) const {
        const std::string bytes = request.SerializeAsString();
        const Bytes auth = encode(sign_call(testing::MemoryHandler::network_info().domain(), method,
                                            as_bytes(bytes), key, clock_.now_ms()));
        return {auth.begin(), auth.end()};
    }
};

/// PutBlob calls that send nothing.
class SilentUploads {
  public:
    /// @param auth metadata of each; empty: none.
    SilentUploads(v1::NodeService::Stub& stub, int count, const std::string& auth) {
        for (int i = 0; i < count; ++i) {
            Call& call = *calls_.emplace_back(std::make_unique<Call>());
            if (!auth.empty()) call.context.AddMetadata(kAuthMetadataKey, auth);
            call.writer = stub.PutBlob(&call.context, &call.response);
        }
    }
    SilentUploads(const SilentUploads&) = delete;
    SilentUploads& operator=(const SilentUploads&) = delete;
    ~SilentUploads() {
        for (const auto& call : calls_)
            call->context.TryCancel();
        for (const auto& call : calls_)
            if (!call->ended) call->writer->Finish();
    }
    /// How the calls end, of which the server waits for nothing.
    std::vector<grpc::Status> ends() {
        std::vector<grpc::Status> out;
        for (const auto& call : calls_) {
            call->ended = true;
            out.push_back(call->writer->Finish());
        }
        return out;
    }

  private:
    struct Call {
        grpc::ClientContext context;
        v1::PutBlobResponse response;
        std::unique_ptr<grpc::ClientWriter<v1::PutBlobRequest>> writer;
        bool ended = false;
    };
    std::vector<std::unique_ptr<Call>> calls_;
};

TEST_F(StrangersTest, StreamsWithoutASignatureTakeNoPlace) {
    config_.calls_max = 8;
    start();
    SilentUploads silent(*stub_, 60, "");
    for (int i = 0; i < 20; ++i) {
        const auto beat = node()->heartbeat({});
        EXPECT_TRUE(beat.ok()) << beat.error().message;
    }
    for (const grpc::Status& end : silent.ends())
        EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED) << end.error_message();
}

TEST_F(StrangersTest, StreamsThatTheirCallersAreNotRegisteredForTakeNoPlace) {
    config_.calls_max = 8;
    start();
    v1::PutBlobRequest first;
    first.mutable_header()->set_size_bytes(1);
    const auto known = node();  // it has asked for the network's facts, as a stranger may
    ASSERT_TRUE(known->heartbeat({}).ok());
    SilentUploads silent(*stub_, 40, header("PutBlob", first, stranger_));
    EXPECT_TRUE(known->heartbeat({}).ok());
    for (const grpc::Status& end : silent.ends())
        EXPECT_TRUE(end.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                    end.error_code() == grpc::StatusCode::UNAVAILABLE)
            << end.error_message();
    // One refusal like the other: nothing is remembered of who may not call.
    for (int i = 0; i < 2; ++i) {
        const auto once = SilentUploads(*stub_, 1, header("PutBlob", first, stranger_)).ends();
        EXPECT_EQ(once[0].error_code(), grpc::StatusCode::PERMISSION_DENIED)
            << once[0].error_message();
    }
}

TEST_F(StrangersTest, ANodesAddressWithoutItsSignatureIsRefusedUnread) {
    start();
    v1::PutBlobRequest first;
    first.mutable_header()->set_size_bytes(1);
    std::string stolen = header("PutBlob", first, key_);
    stolen.back() ^= 1;
    for (const grpc::Status& end : SilentUploads(*stub_, 4, stolen).ends())
        EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED) << end.error_message();
}

TEST_F(StrangersTest, ANodeIsLookedUpOnceAndOneOfTheStartNever) {
    start();
    const auto known = node();
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(known->heartbeat({}).ok());
    EXPECT_EQ(handler_.looked_up, 0) << "the server read it at its start";
    handler_.registered.insert(stranger_.address());  // by another coordinator
    ClientConfig config;
    config.target = "127.0.0.1:" + std::to_string(server_->port());
    const auto fresh = connect(config, stranger_.clone(), clock_).value();
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(fresh->heartbeat({}).ok());
    EXPECT_EQ(handler_.looked_up, 1);
}

TEST_F(StrangersTest, NodesThatTransferTakeNoPlaceOfHeartbeatsAndCommitments) {
    config_.calls_max = 4;
    start();
    const Digest root = handler_.blobs.put(Bytes(std::size_t{48} << 20, 9)).value();
    const testing::StalledDownloads downloads(
        *stub_, root, 6,
        [&](const v1::GetBlobRequest& request) { return header("GetBlob", request, key_); });
    EXPECT_EQ(downloads.open(), 4U);
    ASSERT_EQ(downloads.refused().size(), 2U);
    EXPECT_NE(downloads.refused()[0].error_message().find("busy"), std::string::npos);
    EXPECT_TRUE(node()->heartbeat({}).ok());
    EXPECT_TRUE(node()->defend_unit({}).ok());
}

TEST_F(StrangersTest, CallsThatWaitInTheHandlerTakeNoPlaceOfDefences) {
    config_.calls_max = 1;
    config_.threads = 1;
    start();
    ASSERT_TRUE(node()->heartbeat({}).ok());
    const auto urgent = node();
    ASSERT_TRUE(urgent->defend_unit({}).ok());
    std::jthread stuck, defence;
    {
        const std::scoped_lock lock(handler_.mutex);  // calls stay in the handler
        stuck = std::jthread([&] { EXPECT_TRUE(node()->leave().ok()); });
        std::this_thread::sleep_for(milliseconds(300));
        defence = std::jthread([&] { EXPECT_TRUE(urgent->defend_unit({}).ok()); });
        std::this_thread::sleep_for(milliseconds(300));
    }
}

TEST_F(StrangersTest, OneAddressCannotTakeAllPlaces) {
    config_.calls_of_address_max = 3;
    start();
    const Digest root = handler_.blobs.put(Bytes(std::size_t{48} << 20, 9)).value();
    const auto by_key = [&](const v1::GetBlobRequest& request) {
        return header("GetBlob", request, key_);
    };
    const testing::StalledDownloads here(*stub_, root, 5, by_key);
    EXPECT_EQ(here.open(), 3U);
    ASSERT_EQ(here.refused().size(), 2U);
    EXPECT_NE(here.refused()[0].error_message().find("your IP address, 127.0.0.1, has 3"),
              std::string::npos)
        << here.refused()[0].error_message();
    testing::SlowLine elsewhere(static_cast<std::uint16_t>(server_->port()), 1U << 30, "127.0.0.2");
    const auto theirs = stub(elsewhere.port());
    EXPECT_EQ(testing::StalledDownloads(*theirs, root, 2, by_key).open(), 2U);
}

TEST_F(StrangersTest, AnAddressRegistersOnlySoManyNodes) {
    start();
    int refused = 0;
    for (std::uint8_t i = 0; i < 110; ++i) {
        v1::RegisterRequest request;
        request.mutable_profile()->set_role(v1::NODE_ROLE_WORKER);
        request.mutable_profile()->set_device("cpu");
        request.mutable_profile()->set_software_version("v");
        grpc::ClientContext context;
        context.AddMetadata(kAuthMetadataKey,
                            header("Register", request, crypto::PrivateKey::generate()));
        v1::RegisterResponse response;
        const grpc::Status status = stub_->Register(&context, request, &response);
        if (status.error_code() != grpc::StatusCode::UNAVAILABLE) continue;
        ++refused;
        EXPECT_NE(status.error_message().find("too many nodes register from 127.0.0.1"),
                  std::string::npos)
            << status.error_message();
    }
    EXPECT_GT(refused, 0);
    EXPECT_LE(refused, 10) << "a hundred may come at once";
    EXPECT_TRUE(node()->register_node({records::NodeRole::kWorker, "cpu", 1, 1, "v"}).ok())
        << "a node that is registered is not among them";
}

}  // namespace
}  // namespace gym::rpc
