// Bad peers and bad luck against the real coordinator: the process, its sockets, PostgreSQL, a
// chain and the engine. Each ends in a clear error or a clean retry, and changes nothing that it
// should not.
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <future>

#include "coordinator_peers.hpp"
#include "gym/v1/node_service.grpc.pb.h"
#include "raw_socket.hpp"

namespace gym::testing {
namespace {

using protocol::UnitState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Work = PeerWork;

class WireFaults : public PeersTest {};

TEST_F(WireFaults, commitments_that_lie_are_refused_and_the_honest_one_still_counts) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    Peer &honest = peers_[0], &other = peers_[1];
    const Work good = train(honest);
    using C = protocol::UnitCommitment;

    EXPECT_EQ(refused(honest, good), ErrorCode::kNotFound) << "the delta is not there yet";
    ASSERT_TRUE(upload(honest, good).ok());

    Work forged = good;
    forged.submission.commitment.signature.data[10] ^= 1;
    EXPECT_EQ(refused(honest, forged), ErrorCode::kUnauthenticated) << "wrong signature";
    EXPECT_EQ(refused(other, good), ErrorCode::kUnauthenticated) << "somebody else's commitment";
    EXPECT_EQ(refused(honest, changed(good, honest, [&](C& c) { c.slot = other.task.unit.slot; })),
              ErrorCode::kPermissionDenied)
        << "another worker's slot";
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.slot = 999; })),
              ErrorCode::kNotFound);
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.round_record.data[0] ^= 1; })),
              ErrorCode::kNotFound)
        << "another round";
    EXPECT_EQ(refused(honest, changed(good, honest, [](C& c) { c.flops += 1; })),
              ErrorCode::kMismatch)
        << "more work than the program has";
    Work cut = good;
    cut.submission.records.pop_back();
    EXPECT_EQ(refused(honest, cut), ErrorCode::kMalformed) << "truncated records";

    EXPECT_EQ(unit(honest).status.state, UnitState::kAssigned);
    EXPECT_EQ(commitments(honest), 0);
    const auto accepted = honest.coordinator->submit_commitment(good.submission);
    ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    EXPECT_EQ(unit(honest).status.state, UnitState::kCommitted);
}

TEST_F(WireFaults, a_replayed_commitment_gets_its_receipt_again_and_counts_once) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    Peer& peer = peers_[0];
    const Work work = train(peer);
    ASSERT_TRUE(upload(peer, work).ok());
    ASSERT_TRUE(upload(peer, work).ok()) << "a blob may come twice";
    const auto first = peer.coordinator->submit_commitment(work.submission);
    const auto again = peer.coordinator->submit_commitment(work.submission);
    ASSERT_TRUE(first.ok() && again.ok());
    EXPECT_EQ(first->leaf, again->leaf);
    EXPECT_EQ(first->accepted_ms, again->accepted_ms);
    EXPECT_EQ(commitments(peer), 1);
}

TEST_F(WireFaults, two_commitments_for_one_slot_end_the_worker) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    Peer& peer = peers_[0];
    const Work work = train(peer);
    ASSERT_TRUE(upload(peer, work).ok());
    ASSERT_TRUE(peer.coordinator->submit_commitment(work.submission).ok());
    EXPECT_EQ(refused(peer, changed(work, peer,
                                    [](protocol::UnitCommitment& c) {
                                        c.final_state_root.data[0] ^= 1;
                                    })),
              ErrorCode::kConflict);
    EXPECT_EQ(unit(peer).status.state, UnitState::kRejected);
    EXPECT_EQ(unit(peer).reason_code, "equivocation");
    const auto status = peers_[1].coordinator->node_status(peer.key.address());
    ASSERT_TRUE(status.ok());
    EXPECT_FALSE(status->excluded_because.empty());
}

TEST_F(WireFaults, deltas_that_are_altered_or_truncated_are_refused) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    Peer& peer = peers_[0];
    const Work work = train(peer);
    const Digest& root = work.submission.commitment.commitment.delta_root;
    Bytes altered = work.delta;
    altered[altered.size() / 2] ^= 1;
    EXPECT_EQ(peer.coordinator->put_blob(root, altered).error().code, ErrorCode::kMismatch);
    Bytes truncated = work.delta;
    truncated.resize(truncated.size() / 2);
    EXPECT_EQ(peer.coordinator->put_blob(root, truncated).error().code, ErrorCode::kMismatch);

    // Named by its own root it is a blob like any other, but no delta of this program.
    Work shorter = changed(work, peer, [&](protocol::UnitCommitment& c) {
        c.delta_root = blob::blob_root(truncated);
    });
    shorter.delta = truncated;
    ASSERT_TRUE(upload(peer, shorter).ok());
    EXPECT_EQ(refused(peer, shorter), ErrorCode::kMalformed);
    EXPECT_EQ(unit(peer).status.state, UnitState::kAssigned);
    ASSERT_TRUE(upload(peer, work).ok());
    EXPECT_TRUE(peer.coordinator->submit_commitment(work.submission).ok());
}

// An assigned worker may upload: its delta, and not what fills the disk.
TEST_F(WireFaults, uploads_are_as_long_as_a_delta_and_few) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    Peer& peer = peers_[0];
    const Work work = train(peer);
    const Bytes large(work.delta.size() + 1024);
    EXPECT_EQ(peer.coordinator->put_blob(blob::blob_root(large), large).error().code,
              ErrorCode::kOutOfRange);
    int taken = 0;
    for (std::uint8_t i = 0; i < 20; ++i) {
        const Bytes junk(64, i);
        taken += peer.coordinator->put_blob(blob::blob_root(junk), junk).ok() ? 1 : 0;
    }
    EXPECT_EQ(taken, 8);
}

TEST_F(WireFaults, a_late_commitment_is_refused_and_earns_nothing) {
    ASSERT_NO_FATAL_FAILURE(start_with(1, 1'500));
    Peer& peer = peers_[0];
    const Work work = train(peer);
    ASSERT_TRUE(upload(peer, work).ok());
    std::this_thread::sleep_for(milliseconds(1'600));
    const ErrorCode code = refused(peer, work);
    EXPECT_TRUE(code == ErrorCode::kTimeout || code == ErrorCode::kConflict)
        << static_cast<int>(code);
    EXPECT_TRUE(eventually([&] { return unit(peer).status.state == UnitState::kExpired; }));
    EXPECT_EQ(refused(peer, work), ErrorCode::kConflict);
    EXPECT_EQ(commitments(peer), 0);
}

TEST_F(WireFaults, peers_that_say_nothing_or_a_gigabyte_disturb_nobody) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    std::vector<std::unique_ptr<RawSocket>> silent;
    for (int i = 0; i < 64; ++i)
        silent.push_back(std::make_unique<RawSocket>(port()));
    EXPECT_TRUE(silent.front()->send("GET / HTTP/1.1\r\n\r\n"));

    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    const auto stub = v1::NodeService::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(port()), grpc::InsecureChannelCredentials(), arguments));
    v1::SubmitCommitmentRequest request;
    request.mutable_records()->resize(std::size_t{1} << 30);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(60));
    v1::SubmitCommitmentResponse response;
    EXPECT_EQ(stub->SubmitCommitment(&context, request, &response).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);

    Peer& peer = peers_[0];
    const Work work = train(peer);
    ASSERT_TRUE(upload(peer, work).ok());
    EXPECT_TRUE(peer.coordinator->submit_commitment(work.submission).ok());
}

TEST_F(WireFaults, postgresql_that_crashes_between_task_and_commitment_loses_nothing) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    Peer &first = peers_[0], &second = peers_[1];
    const Work one = train(first), two = train(second);
    ASSERT_TRUE(upload(first, one).ok());
    ASSERT_TRUE(first.coordinator->submit_commitment(one.submission).ok());

    ASSERT_TRUE(postgres().stop(db::StopMode::kImmediate).ok());
    // The call is tried again until the database is back.
    auto meanwhile =
        std::async(std::launch::async, [&] { return second.coordinator->heartbeat({}); });
    std::this_thread::sleep_for(milliseconds(1'000));
    ASSERT_TRUE(postgres().start().ok());
    const auto heartbeat = meanwhile.get();
    EXPECT_TRUE(heartbeat.ok()) << heartbeat.error().message;

    EXPECT_EQ(unit(first).status.state, UnitState::kCommitted) << "what was acknowledged is kept";
    ASSERT_TRUE(eventually([&] { return second.coordinator->heartbeat({}).ok(); }));
    ASSERT_TRUE(upload(second, two).ok());
    const auto accepted = second.coordinator->submit_commitment(two.submission);
    ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    EXPECT_EQ(commitments(first), 1);
    EXPECT_EQ(commitments(second), 1);
}

TEST_F(WireFaults, a_killed_coordinator_goes_on_where_it_was) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    Peer& peer = peers_[0];
    const Work work = train(peer);
    ASSERT_TRUE(upload(peer, work).ok());
    process_->signal(SIGKILL);
    ASSERT_TRUE(process_->wait(10'000).ok());
    EXPECT_EQ(refused(peer, work), ErrorCode::kUnavailable);
    std::filesystem::remove(folder() / "port");
    process_ = start();
    peer.coordinator = dial(peer.key);
    const auto task = peer.coordinator->next_task(seconds(20));
    ASSERT_TRUE(task.ok() && *task);
    EXPECT_EQ(std::get<records::TrainTask>(**task).unit, peer.task.unit);
    const auto accepted = peer.coordinator->submit_commitment(work.submission);
    ASSERT_TRUE(accepted.ok()) << "the delta was kept: " << accepted.error().message;
    EXPECT_EQ(commitments(peer), 1);
}

}  // namespace
}  // namespace gym::testing
