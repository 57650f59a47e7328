// The transport over real sockets: every bad peer gets a clear error or is dropped, and honest ones
// go on.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "gym/rpc/blob_cache.hpp"
#include "gym/rpc/call_auth.hpp"
#include "gym/rpc/client.hpp"
#include "gym/rpc/server.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "gym/worker/worker.hpp"
#include "memory_handler.hpp"
#include "raw_socket.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

using std::chrono::milliseconds;

class RpcServerTest : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    ServerConfig server_config_ = quick();
    std::unique_ptr<Server> server_ = start();
    std::unique_ptr<Coordinator> client_ = dial();

    void SetUp() override { handler_.registered.insert(key_.address()); }

    static ServerConfig quick() {
        ServerConfig config;
        config.message_bytes_max = 1U << 20;
        config.blob_bytes_max = 8U << 20;
        config.ask_every_ms = 50;
        config.silence_ms_max = 1'000;
        return config;
    }
    std::unique_ptr<Server> start() {
        return Server::start(server_config_, handler_, clock_).value();
    }
    ClientConfig client_config() const {
        ClientConfig config;
        config.target = "127.0.0.1:" + std::to_string(server_->port());
        config.attempts_max = 1;
        config.backoff_ms = 50;
        return config;
    }
    std::unique_ptr<Coordinator> dial() const {
        return connect(client_config(), key_.clone(), clock_).value();
    }
    std::unique_ptr<v1::NodeService::Stub> stub() const {
        grpc::ChannelArguments arguments;
        arguments.SetMaxSendMessageSize(-1);
        return v1::NodeService::NewStub(grpc::CreateCustomChannel(
            client_config().target, grpc::InsecureChannelCredentials(), arguments));
    }
    /// Metadata for a call, as an honest client makes it.
    std::string header(std::string_view method, const google::protobuf::Message& request,
                       const crypto::PrivateKey& key) const {
        const std::string bytes = request.SerializeAsString();
        const Bytes auth = encode(sign_call(testing::MemoryHandler::network_info().domain(), method,
                                            as_bytes(bytes), key, clock_.now_ms()));
        return {auth.begin(), auth.end()};
    }
    int calls(const std::string& name) {
        const std::scoped_lock lock(handler_.mutex);
        return static_cast<int>(std::count(handler_.calls.begin(), handler_.calls.end(), name));
    }
    void wait_for_calls(const std::string& name, int count) {
        while (calls(name) < count)
            std::this_thread::sleep_for(milliseconds(5));
    }
    static grpc::Status heartbeat(v1::NodeService::Stub& stub, const std::string& auth,
                                  const v1::HeartbeatRequest& request) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
        if (!auth.empty()) context.AddMetadata(kAuthMetadataKey, auth);
        v1::HeartbeatResponse response;
        return stub.Heartbeat(&context, request, &response);
    }
};

TEST_F(RpcServerTest, AChallengeAndItsAnswerCrossTheNetwork) {
    protocol::UptimeChallenge challenge{{}, 1'700'000'000'000, 1'700'000'020'000};
    challenge.nonce.data.fill(7);
    handler_.challenges = {challenge};
    handler_.answer_refused = "too late";
    const auto asked = client_->heartbeat({});
    ASSERT_TRUE(asked.ok()) << asked.error().message;
    EXPECT_EQ(asked->challenge, challenge);
    EXPECT_EQ(asked->answer_refused, "");
    records::Heartbeat beat;
    beat.answer =
        protocol::answer_uptime(testing::MemoryHandler::network_info().domain(), key_, challenge);
    const auto told = client_->heartbeat(beat);
    ASSERT_TRUE(told.ok()) << told.error().message;
    EXPECT_EQ(told->answer_refused, "too late");
    EXPECT_FALSE(told->challenge);
    EXPECT_EQ(handler_.answers, std::vector{*beat.answer});
}

TEST_F(RpcServerTest, AnAnswerWithoutTheRightBytesIsRefused) {
    const auto raw = stub();
    v1::HeartbeatRequest request;
    request.mutable_answer()->set_nonce(std::string(31, 'n'));
    request.mutable_answer()->set_signature(std::string(65, 's'));
    const auto status = heartbeat(*raw, header("Heartbeat", request, key_), request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("answer.nonce"), std::string::npos)
        << status.error_message();
    EXPECT_TRUE(handler_.answers.empty());
}

TEST_F(RpcServerTest, HonestCallsGoThrough) {
    EXPECT_EQ(client_->network()->chain_id, testing::MemoryHandler::kChainId);
    EXPECT_FALSE(client_->register_node({records::NodeRole::kWorker, "cpu", 1, 1, "v"}).value());
    EXPECT_TRUE(client_->heartbeat({}).ok());
    EXPECT_FALSE(client_->next_task(milliseconds(0))->has_value());
    EXPECT_EQ(client_->node_status(std::nullopt)->address, key_.address());
    EXPECT_TRUE(client_->leave().ok());
    EXPECT_EQ(client_->unit({}).error().code, ErrorCode::kNotFound);
}

TEST_F(RpcServerTest, ABadSignatureIsRefused) {
    const auto raw = stub();
    v1::HeartbeatRequest request;
    request.set_phase("idle");
    std::string auth = header("Heartbeat", request, key_);
    auth.back() ^= 1;
    EXPECT_EQ(heartbeat(*raw, auth, request).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    // Signed for another method, and for another request.
    EXPECT_EQ(heartbeat(*raw, header("Leave", request, key_), request).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
    v1::HeartbeatRequest other;
    EXPECT_EQ(heartbeat(*raw, header("Heartbeat", request, key_), other).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(heartbeat(*raw, "", request).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(heartbeat(*raw, "short", request).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_TRUE(handler_.calls.empty()) << "none of them reached the coordinator";
}

TEST_F(RpcServerTest, AReplayedRequestIsRefused) {
    const auto raw = stub();
    const v1::HeartbeatRequest request;
    const std::string auth = header("Heartbeat", request, key_);
    EXPECT_TRUE(heartbeat(*raw, auth, request).ok());
    const grpc::Status again = heartbeat(*raw, auth, request);
    EXPECT_EQ(again.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_NE(again.error_message().find("replayed"), std::string::npos);
    EXPECT_EQ(handler_.calls.size(), 1u);
}

TEST_F(RpcServerTest, WhoIsNotRegisteredMayOnlyRegister) {
    handler_.registered.clear();
    const auto status = client_->heartbeat({});
    EXPECT_EQ(status.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(status.error().message.find("gym node register"), std::string::npos);
    EXPECT_TRUE(client_->register_node({records::NodeRole::kWorker, "cpu", 1, 1, "v"}).value());
    EXPECT_TRUE(client_->heartbeat({}).ok());
}

TEST_F(RpcServerTest, AMessageOfOneGigabyteIsRefusedAndTheServerGoesOn) {
    const auto raw = stub();
    v1::SubmitCommitmentRequest request;
    request.mutable_records()->resize(std::size_t{1} << 30);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::SubmitCommitmentResponse response;
    const grpc::Status status = raw->SubmitCommitment(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_TRUE(client_->heartbeat({}).ok());
}

TEST_F(RpcServerTest, APeerThatConnectsAndSaysNothingIsDropped) {
    const testing::RawSocket silent(server_->port());
    const testing::RawSocket nonsense(server_->port());
    ASSERT_TRUE(nonsense.send("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_TRUE(client_->heartbeat({}).ok()) << "others are served meanwhile";
    EXPECT_TRUE(nonsense.closed_within(milliseconds(5'000)));
    EXPECT_TRUE(silent.closed_within(milliseconds(5'000)));
}

TEST_F(RpcServerTest, AnUploadThatStopsIsDropped) {
    const auto raw = stub();
    v1::PutBlobRequest first;
    first.mutable_header()->set_root(std::string(32, 'r'));
    first.mutable_header()->set_size_bytes(1'000);
    grpc::ClientContext context;
    context.AddMetadata(kAuthMetadataKey, header("PutBlob", first, key_));
    v1::PutBlobResponse response;
    const auto writer = raw->PutBlob(&context, &response);
    ASSERT_TRUE(writer->Write(first));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(writer->Finish().ok());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST_F(RpcServerTest, AlteredTruncatedOverlongAndOversizedUploadsAreRefused) {
    const Bytes content(600'000, 7);
    const Digest root = blob::blob_root(content);
    Bytes altered = content;
    altered[400'000] ^= 1;
    EXPECT_EQ(client_->put_blob(root, altered).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(client_->put_blob(root, ByteView(content).first(599'999)).error().code,
              ErrorCode::kMismatch);
    EXPECT_EQ(client_->put_blob(root, Bytes(9U << 20)).error().code, ErrorCode::kOutOfRange);
    EXPECT_FALSE(handler_.blobs.has(root).value());
    EXPECT_TRUE(client_->put_blob(root, content).ok());
    EXPECT_EQ(handler_.blobs.get(root).value(), content);

    const auto send = [&](std::uint64_t announced) {
        const auto raw = stub();
        v1::PutBlobRequest first;
        first.mutable_header()->set_root(std::string(root.data.begin(), root.data.end()));
        first.mutable_header()->set_size_bytes(announced);
        grpc::ClientContext context;
        context.AddMetadata(kAuthMetadataKey, header("PutBlob", first, key_));
        v1::PutBlobResponse response;
        const auto writer = raw->PutBlob(&context, &response);
        v1::PutBlobRequest data;
        data.set_data(content.data(), 1'000);
        if (writer->Write(first) && writer->Write(data)) writer->WritesDone();
        return writer->Finish();
    };
    EXPECT_NE(send(2'000).error_message().find("truncated upload"), std::string::npos);
    EXPECT_NE(send(500).error_message().find("longer than"), std::string::npos);
}

TEST_F(RpcServerTest, BlobsComeWholeAndFromAnyOffset) {
    Bytes content(1'000'003);
    for (std::size_t i = 0; i < content.size(); ++i)
        content[i] = static_cast<std::uint8_t>(i * 11);
    const Digest root = handler_.blobs.put(content).value();
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{777'777}}) {
        Bytes received;
        const auto sink = [&](ByteView chunk, std::uint64_t size) -> Status {
            EXPECT_EQ(size, content.size());
            received.insert(received.end(), chunk.begin(), chunk.end());
            return {};
        };
        ASSERT_TRUE(client_->get_blob(root, offset, sink).ok());
        EXPECT_TRUE(std::ranges::equal(received, ByteView(content).subspan(offset)));
    }
    const auto nothing = [](ByteView, std::uint64_t) -> Status { return {}; };
    EXPECT_EQ(client_->get_blob(root, content.size() + 1, nothing).error().code,
              ErrorCode::kOutOfRange);
    EXPECT_EQ(client_->get_blob({}, 0, nothing).error().code, ErrorCode::kNotFound);
    const auto full = [](ByteView, std::uint64_t) -> Status {
        return fail(ErrorCode::kIo, "disk");
    };
    EXPECT_EQ(client_->get_blob(root, 0, full).error().code, ErrorCode::kIo);
}

TEST_F(RpcServerTest, AnAlteredDatasetFromTheServerIsNoticed) {
    const testing::TemporaryFolder dir;
    const Bytes content(100'000, 3);
    const Digest root = handler_.blobs.put(content).value();
    BlobCache cache = BlobCache::open(dir.path(), *client_, vault::StoreKey::random()).value();
    handler_.lies[root] = Bytes(100'000, 4);
    EXPECT_EQ(cache.fetch(root).error().code, ErrorCode::kMismatch);
    handler_.lies[root] = Bytes(99'999, 3);
    EXPECT_EQ(cache.fetch(root).error().code, ErrorCode::kMismatch);
    handler_.lies.clear();
    EXPECT_EQ(cache.fetch(root).value().take(), content);
}

TEST_F(RpcServerTest, ALongPollEndsWithTheTaskOrWithTheWait) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(client_->next_task(milliseconds(300))->has_value());
    EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(300));
    const testing::TinyJob job = testing::make_tiny_job({key_.address()}, handler_.blobs);
    std::jthread later([&] {
        const std::scoped_lock lock(handler_.mutex);
        handler_.tasks[key_.address()] = job.task(0);
    });
    const auto task = client_->next_task(milliseconds(10'000));
    ASSERT_TRUE(task.ok() && task->has_value());
    EXPECT_EQ(std::get<records::TrainTask>(**task), job.task(0));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(9));
}

TEST_F(RpcServerTest, TooManyCallsAtOnceAreRefusedNotQueued) {
    server_->stop(0);
    server_config_.calls_max = 1;
    server_ = start();
    const auto stuck = dial();
    const auto other = dial();
    ASSERT_TRUE(stuck->heartbeat({}).ok() && other->heartbeat({}).ok());
    std::jthread call;
    {
        const std::scoped_lock lock(handler_.mutex);  // the next call stays in the handler
        call = std::jthread([&] { EXPECT_TRUE(stuck->leave().ok()); });
        std::this_thread::sleep_for(milliseconds(300));
        const auto refused = other->heartbeat({});
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
        EXPECT_NE(refused.error().message.find("busy"), std::string::npos);
    }
    call.join();
    EXPECT_TRUE(other->heartbeat({}).ok());
}

TEST_F(RpcServerTest, CallsThatWaitForATaskTakeNoPlaceOfOthers) {
    server_->stop(0);
    server_config_.calls_max = 1;
    server_config_.polls_max = 1;
    server_config_.ask_every_ms = 0;
    server_ = start();
    const crypto::PrivateKey second = testing::test_key(2);
    handler_.registered.insert(second.address());
    const auto polling = dial();
    const auto other = connect(client_config(), second.clone(), clock_).value();
    ASSERT_TRUE(polling->heartbeat({}).ok() && other->heartbeat({}).ok());
    std::jthread poll([&] { EXPECT_TRUE(polling->next_task(milliseconds(1'000)).ok()); });
    wait_for_calls("next_task", 1);
    EXPECT_TRUE(other->heartbeat({}).ok());
    const auto refused = other->next_task(milliseconds(100));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().message.find("1 nodes wait"), std::string::npos);
    poll.join();
    EXPECT_TRUE(other->next_task(milliseconds(10)).ok()) << "its place is free again";
}

TEST_F(RpcServerTest, ACallThatWaitsAsksOnlyWhenItsNodeIsWoken) {
    server_->stop(0);
    server_config_.ask_every_ms = 0;
    server_ = start();
    client_ = dial();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(client_->next_task(milliseconds(400))->has_value());
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_GE(took, milliseconds(400));
    EXPECT_LT(took, milliseconds(900));
    EXPECT_EQ(calls("next_task"), 1) << "asked when it came, and not again";

    const testing::TinyJob job = testing::make_tiny_job({key_.address()}, handler_.blobs);
    std::jthread later([&] {
        wait_for_calls("next_task", 2);
        {
            const std::scoped_lock lock(handler_.mutex);
            handler_.tasks[key_.address()] = job.task(0);
        }
        const Address stranger = testing::test_key(3).address();
        server_->wake({&stranger, 1});
        std::this_thread::sleep_for(milliseconds(200));
        EXPECT_EQ(calls("next_task"), 2) << "another node's wake is nothing to it";
        server_->wake({&key_.address(), 1});
    });
    const auto task = client_->next_task(milliseconds(20'000));
    ASSERT_TRUE(task.ok() && task->has_value());
    EXPECT_EQ(std::get<records::TrainTask>(**task), job.task(0));
}

TEST_F(RpcServerTest, CallsThatWaitEndWithTheServerWithoutAQuestion) {
    server_->stop(0);
    server_config_.ask_every_ms = 0;
    server_ = start();
    client_ = dial();
    const auto start = std::chrono::steady_clock::now();
    std::jthread poll([&] {
        const auto task = client_->next_task(milliseconds(20'000));
        ASSERT_TRUE(task.ok()) << task.error().message;
        EXPECT_FALSE(task->has_value());
    });
    wait_for_calls("next_task", 1);
    std::this_thread::sleep_for(milliseconds(100));
    server_->stop();
    poll.join();
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5'000));
    EXPECT_EQ(calls("next_task"), 1) << "the database may be gone already";
}

TEST_F(RpcServerTest, AHeartbeatHasArrivedBeforeItsTurn) {
    ASSERT_TRUE(client_->heartbeat({}).ok());  // connected
    UnixMs released_ms = 0;
    std::jthread call;
    {
        const std::scoped_lock lock(handler_.mutex);  // nobody is looked up meanwhile
        call = std::jthread([&] { EXPECT_TRUE(client_->heartbeat({}).ok()); });
        std::this_thread::sleep_for(milliseconds(500));
        released_ms = clock_.now_ms();
    }
    call.join();
    ASSERT_EQ(handler_.arrived_ms.size(), 2U);
    EXPECT_LT(handler_.arrived_ms[1], released_ms - 250);
}

TEST_F(RpcServerTest, CallsThatNobodyWaitsForAnyMoreCostNothing) {
    constexpr int kCalls = 12;
    const auto raw = stub();
    {
        const std::scoped_lock lock(handler_.mutex);  // the first calls are stuck, the others wait
        std::vector<std::jthread> callers;
        for (int i = 0; i < kCalls; ++i)
            callers.emplace_back([&] {
                const v1::HeartbeatRequest request;
                grpc::ClientContext context;
                context.set_deadline(std::chrono::system_clock::now() + milliseconds(300));
                context.AddMetadata(kAuthMetadataKey, header("Heartbeat", request, key_));
                v1::HeartbeatResponse response;
                EXPECT_EQ(raw->Heartbeat(&context, request, &response).error_code(),
                          grpc::StatusCode::DEADLINE_EXCEEDED);
            });
        callers.clear();  // joins
        std::this_thread::sleep_for(milliseconds(200));
    }
    EXPECT_TRUE(client_->heartbeat({}).ok());
    EXPECT_LT(calls("heartbeat"), kCalls / 2);
}

TEST_F(RpcServerTest, OneNodeCannotTakeAllCallsByPolling) {
    server_->stop(0);
    server_config_.calls_max = 8;
    server_ = start();
    const crypto::PrivateKey greedy = testing::test_key(2);
    handler_.registered.insert(greedy.address());
    std::atomic<int> refused = 0;
    {
        std::vector<std::jthread> polls;
        for (int i = 0; i < 8; ++i)
            polls.emplace_back([&] {
                const auto client = connect(client_config(), greedy.clone(), clock_).value();
                const auto task = client->next_task(milliseconds(2'000));
                if (!task.ok() && task.error().code == ErrorCode::kUnavailable) ++refused;
            });
        while (refused < 4)
            std::this_thread::sleep_for(milliseconds(5));
        EXPECT_TRUE(dial()->heartbeat({}).ok()) << "there is room for others";
    }
    EXPECT_EQ(refused, 4);
    EXPECT_TRUE(
        connect(client_config(), greedy.clone(), clock_).value()->next_task(milliseconds(10)).ok())
        << "polls that ended do not count";
}

TEST_F(RpcServerTest, AStopRequestEndsARunningPoll) {
    std::stop_source stop;
    ClientConfig config = client_config();
    config.stop = stop.get_token();
    const auto client = connect(config, key_.clone(), clock_).value();
    std::jthread stopper([&] {
        std::this_thread::sleep_for(milliseconds(200));
        stop.request_stop();
    });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(client->next_task(milliseconds(20'000)).error().code, ErrorCode::kCancelled);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(RpcServerTest, AnotherChainThanTheNodesIsRefused) {
    ClientConfig config = client_config();
    config.chain_id = 1;
    const auto client = connect(config, key_.clone(), clock_).value();
    EXPECT_EQ(client->heartbeat({}).error().code, ErrorCode::kConflict);
}

TEST_F(RpcServerTest, APortInUseIsAnError) {
    ServerConfig config = quick();
    config.listen = "127.0.0.1:" + std::to_string(server_->port());
    EXPECT_EQ(Server::start(config, handler_, clock_).error().code, ErrorCode::kIo);
}

/// The server goes away while a worker runs and comes back on its port: the unit is committed once.
TEST_F(RpcServerTest, AWorkerSurvivesARestartOfTheServer) {
    const testing::TemporaryFolder dir;
    const testing::TinyJob job = testing::make_tiny_job({key_.address()}, handler_.blobs);
    const Digest unit = protocol::unit_id(job.unit(0));
    handler_.tasks[key_.address()] = job.task(0);
    handler_.units[unit] = {};
    handler_.units[unit].key = job.unit(0);
    handler_.units[unit].worker = key_.address();
    ClientConfig config = client_config();
    config.attempts_max = 20;
    const auto client = connect(config, key_.clone(), clock_).value();
    worker::WorkerOptions options;
    options.data_dir = dir.path();
    options.on_event = [&](const worker::WorkerEvent& event) {
        if (event.name != "committed") return;
        // Signed, not yet sent: now the server dies.
        const std::string address = client_config().target;
        server_->stop(0);
        server_config_.listen = address;
        server_ = start();
    };
    const auto worker = worker::Worker::open(*client, key_, clock_, options).value();
    const auto ran = worker->run_once({});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(handler_.commitments.size(), 1u);
    EXPECT_TRUE(worker->journal().entries()[0].leaf.has_value());
}

}  // namespace
}  // namespace gym::rpc
