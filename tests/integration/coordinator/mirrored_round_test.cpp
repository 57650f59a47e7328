// A round of a public job through a mirror: the real coordinator is its origin, and sends the
// workers and the verifier nothing themselves.
#include <iostream>
#include <set>

#include "mirrored_fixture.hpp"

namespace gym::testing {
namespace {

TEST_F(MirroredRound, TheCoordinatorSendsTheMirrorEachByteOnceAndTheNodesNone) {
    ASSERT_NO_FATAL_FAILURE(start_with(4));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    start_mirror();
    std::vector<PeerWork> done;
    for (Peer& peer : peers_) {
        done.push_back(train(peer));
        ASSERT_TRUE(upload(peer, done.back()).ok());
        const auto accepted = peer.coordinator->submit_commitment(done.back().submission);
        ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    }
    Peer verifier;
    ASSERT_NO_FATAL_FAILURE(join(verifier));
    for (const PeerWork& work : done) {
        rpc::BlobCache::Traffic traffic;
        const Digest& root = work.submission.commitment.commitment.delta_root;
        const auto delta = fetch(verifier, root, &traffic);
        ASSERT_TRUE(delta.ok()) << delta.error().message;
        EXPECT_EQ(*delta, work.delta);
        EXPECT_EQ(traffic.mirror_bytes, work.delta.size());
    }
    EXPECT_EQ(metric("gym_blob_grpc_bytes_total"), 0U);
    const std::uint64_t by_coordinator = metric("gym_blob_http_bytes_total");
    EXPECT_GT(by_coordinator, 0U);
    EXPECT_EQ(pull_->counters().not_kept, 0U);
    // Four workers fetch the same program, text and base; their deltas differ.
    EXPECT_GT(handler_->bytes_sent(), 2 * by_coordinator);
}

TEST_F(MirroredRound, WhatIsPrivateGoesToTheTasksHolderByTheCoordinatorAlone) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    set_visibility("dataset", "private");
    start_mirror();
    (void)train(peers_[0]);
    EXPECT_GT(metric("gym_blob_grpc_bytes_total"), 0U);
    EXPECT_EQ(metric("gym_blob_http_bytes_total"), 0U);
    const records::UnitInputs& inputs = peers_[0].task.inputs;
    for (const Digest& root : {*inputs.dataset_blob, inputs.base_state_blob, inputs.program_blob})
        for (const std::string& from : {blob_url(), mirror_url()})
            for (const char* suffix : {"", ".pieces"})
                EXPECT_EQ(get(from + "/b/" + to_hex(root.view()) + suffix).status, 404U);
}

TEST_F(MirroredRound, AMirrorThatIsAwayDelaysNobody) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    const auto begin = std::chrono::steady_clock::now();
    (void)train(peers_[0]);  // nothing listens on the mirror's port
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_GT(metric("gym_blob_grpc_bytes_total"), 0U);
}

TEST_F(MirrorPrograms, TwoOfThemCarryMostBytesOfAJob) {
    constexpr std::uint32_t kWorkers = 8, kVerifiers = 3;
    ASSERT_NO_FATAL_FAILURE(start_with(kWorkers));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    ASSERT_NO_FATAL_FAILURE(start_mirrors());
    std::vector<PeerWork> done;
    std::set<Digest> deltas;
    for (Peer& peer : peers_) {
        done.push_back(train(peer));
        ASSERT_TRUE(upload(peer, done.back()).ok());
        const auto accepted = peer.coordinator->submit_commitment(done.back().submission);
        ASSERT_TRUE(accepted.ok()) << accepted.error().message;
        deltas.insert(done.back().submission.commitment.commitment.delta_root);
    }
    ASSERT_EQ(deltas.size(), kWorkers);
    const double inputs = share_of_coordinator();
    // Each of two mirrors fetches each blob once at most, and eight workers fetch it: 2 of 10.
    EXPECT_LE(inputs, 0.2);
    std::vector<Peer> verifiers(kVerifiers);
    for (Peer& verifier : verifiers) {
        ASSERT_NO_FATAL_FAILURE(join(verifier));
        for (const PeerWork& work : done)
            ASSERT_TRUE(
                fetch(verifier, work.submission.commitment.commitment.delta_root, nullptr).ok());
    }
    const double all = share_of_coordinator();
    // Of a delta that three verifiers fetch: 2 of 5 at most.
    EXPECT_LE(all, 0.4);
    EXPECT_EQ(metric("gym_blob_grpc_bytes_total"), 0U);
    std::cout << "the coordinator sent " << 100 * inputs << " % of the bytes to " << kWorkers
              << " workers, and " << 100 * all << " % with the deltas to " << kVerifiers
              << " verifiers\n";
}

TEST_F(MirrorPrograms, AWorkerTrainsOnWhenAMirrorIsKilled) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    ASSERT_NO_FATAL_FAILURE(start_mirrors());
    (void)train(peers_[0]);
    kill_mirror(0);
    (void)train(peers_[1]);
    EXPECT_EQ(metric("gym_blob_grpc_bytes_total"), 0U) << "the other mirror has it";
}

}  // namespace
}  // namespace gym::testing
