// A peer that is connected and says nothing any more: nobody waits for it for ever.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "gym/node/backoff.hpp"
#include "gym/rpc/blob_cache.hpp"
#include "gym/rpc/client.hpp"
#include "gym/rpc/server.hpp"
#include "memory_handler.hpp"
#include "stalling_proxy.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

class SilenceTest : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = testing::test_key(1);
    testing::MemoryHandler handler_;
    std::unique_ptr<Server> server_ = Server::start({.ask_every_ms = 50}, handler_, clock_).value();
    testing::StallingProxy wire_{server_->port()};
    testing::TemporaryFolder dir_;
    const Bytes content_ = pattern(3'000'000);
    const Digest root_ = handler_.blobs.put(content_).value();
    std::unique_ptr<Coordinator> client_ = dial(config());

    void SetUp() override {
        handler_.registered.insert(key_.address());
        ASSERT_TRUE(client_->heartbeat({}).ok());  // connected, the network's facts are known
    }
    static Bytes pattern(std::size_t size) {
        Bytes out(size);
        for (std::size_t i = 0; i < size; ++i)
            out[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
        return out;
    }
    ClientConfig config() const {
        ClientConfig out;
        out.target = "127.0.0.1:" + std::to_string(wire_.port());
        out.silence_ms_max = 400;
        out.call_ms_max = 600;
        out.keepalive_ms = 300;
        out.keepalive_timeout_ms = 300;
        out.attempts_max = 2;
        out.backoff_ms = 50;
        return out;
    }
    std::unique_ptr<Coordinator> dial(const ClientConfig& config) const {
        return connect(config, key_.clone(), clock_).value();
    }
    /// Runs `call`, which must end with an error that a node takes as "try again later".
    template <class F>
    void expect_given_up(F&& call, milliseconds at_most) {
        const auto start = SteadyClock::now();
        const Status status = call();
        EXPECT_LT(SteadyClock::now() - start, at_most);
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << status.error().message;
        EXPECT_TRUE(node::is_transient(status.error().code));
    }
};

TEST_F(SilenceTest, ADownloadThatGoesDeadIsBrokenOff) {
    wire_.stall_after_down(500'000);
    std::uint64_t received = 0;
    expect_given_up(
        [&] {
            return client_->get_blob(root_, 0, [&](ByteView chunk, std::uint64_t) -> Status {
                received += chunk.size();
                return {};
            });
        },
        seconds(8));
    EXPECT_LT(received, content_.size());
}

TEST_F(SilenceTest, ADownloadGoesOnWhereItWentDead) {
    ClientConfig patient = config();
    patient.attempts_max = 20;
    const auto client = dial(patient);
    BlobCache cache = BlobCache::open(dir_.path(), *client, vault::StoreKey::random()).value();
    wire_.stall_after_down(1'000'000);
    std::jthread healer([this] {
        std::this_thread::sleep_for(milliseconds(1'200));
        wire_.heal();
    });
    std::uint64_t last = 0;
    bool went_back = false;
    const auto fetched = cache.fetch(root_, [&](std::uint64_t received, std::uint64_t) {
        went_back = went_back || received < last;
        last = received;
    });
    ASSERT_TRUE(fetched.ok()) << fetched.error().message;
    EXPECT_EQ(blob::VerifiedBlob(*fetched).take(), content_);
    EXPECT_FALSE(went_back) << "what had arrived was not asked for again";
}

TEST_F(SilenceTest, AnUploadThatGoesDeadIsBrokenOffAndCanBeRepeated) {
    const Bytes content = pattern(3'000'001);
    const Digest root = blob::blob_root(content);
    wire_.stall_after_up(500'000);
    expect_given_up([&] { return client_->put_blob(root, content); }, seconds(8));
    EXPECT_FALSE(handler_.blobs.has(root).value());
    wire_.heal();
    const auto fresh = dial(config());
    EXPECT_TRUE(fresh->put_blob(root, content).ok());
    EXPECT_TRUE(handler_.blobs.has(root).value());
}

TEST_F(SilenceTest, ACallAndALongPollEndAtTheirDeadlines) {
    wire_.stall_after_down(0);
    expect_given_up([&] { return Status(client_->heartbeat({}).error()); }, seconds(4));
    expect_given_up([&] { return Status(client_->next_task(milliseconds(500)).error()); },
                    seconds(5));
}

TEST_F(SilenceTest, KeepaliveNoticesADeadWireBeforeALongPollEnds) {
    wire_.stall_after_down(0);
    expect_given_up([&] { return Status(client_->next_task(seconds(30)).error()); }, seconds(10));
}

TEST_F(SilenceTest, AfterTheWireHealsTheSameClientGoesOn) {
    wire_.stall_after_down(0);
    EXPECT_FALSE(client_->heartbeat({}).ok());
    wire_.heal();
    bool recovered = false;
    for (int i = 0; i < 20 && !recovered; ++i)
        recovered = client_->heartbeat({}).ok();
    EXPECT_TRUE(recovered);
}

TEST_F(SilenceTest, ACoordinatorFarAwayMayTakeSecondsToConnect) {
    testing::StallingProxy far(server_->port());
    far.stall_after_down(0);
    ClientConfig patient;
    patient.target = "127.0.0.1:" + std::to_string(far.port());
    patient.attempts_max = 1;
    const auto client = dial(patient);
    const std::jthread answers([&] {
        std::this_thread::sleep_for(milliseconds(2'000));
        far.heal();
    });
    const auto begun = client->heartbeat({});
    EXPECT_TRUE(begun.ok()) << begun.error().message;
    EXPECT_EQ(far.connections(), 1U);
}

}  // namespace
}  // namespace gym::rpc
