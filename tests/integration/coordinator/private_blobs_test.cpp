// Private text and weights over the real program's gRPC: for the node that holds a task, and for no
// other that is registered.
#include <algorithm>

#include "coordinator_peers.hpp"
#include "gym/common/file.hpp"

namespace gym::testing {
namespace {

class PrivateBlobs : public PeersTest {
  protected:
    Result<Bytes> fetch(Peer& peer, const Digest& root) {
        Bytes out;
        const Status done =
            peer.coordinator->get_blob(root, 0, [&](ByteView part, std::uint64_t) -> Status {
                out.insert(out.end(), part.begin(), part.end());
                return {};
            });
        if (!done.ok()) return done.error();
        return out;
    }
    void set_visibility(const std::string& what, const std::string& visibility) {
        const auto done = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(tx.exec("UPDATE registry." + what + " SET visibility = $1", {visibility}));
            return {};
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    std::uint64_t refused_to(const Peer& peer) {
        return database_.owner()
            .transact([&](db::Transaction& tx) {
                return tx.exec_one("SELECT refused_blobs FROM registry.node WHERE address = $1",
                                   {peer.key.address()});
            })
            ->get<std::uint64_t>(0);
    }
};

TEST_F(PrivateBlobs, NoDiskShowsTheText) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    (void)train(peers_[0]);  // fills the worker's cache
    const Bytes text = blob::Dataset::build_from_text(Bytes(64, std::uint8_t{'a'}))->encode();
    const ByteView tokens = ByteView(text).last(2 * 64);
    for (const auto& place :
         {folder() / "blobs", folder() / ("cache-" + peers_[0].key.address().hex())}) {
        std::size_t files = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
            if (!entry.is_regular_file()) continue;
            if (entry.path().filename() == ".lock" && entry.file_size() == 0) continue;
            ++files;
            EXPECT_EQ(entry.path().extension(), ".sealed") << entry.path();
            const Bytes stored = read_file(entry.path()).value();
            EXPECT_TRUE(std::ranges::search(stored, tokens).empty()) << entry.path();
        }
        EXPECT_GE(files, 3U) << "text, program and base state in " << place;
    }
}

TEST_F(PrivateBlobs, TheNodeWithTheTaskGetsThemAndNoOther) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    set_visibility("dataset", "private");  // the model is, unless its owner says another
    Peer& worker = peers_[0];
    Peer idle;
    ASSERT_NO_FATAL_FAILURE(join(idle));
    const records::UnitInputs& inputs = worker.task.inputs;
    for (const Digest& root : {*inputs.dataset_blob, inputs.base_state_blob, inputs.program_blob}) {
        const auto mine = fetch(worker, root);
        ASSERT_TRUE(mine.ok()) << mine.error().message;
        EXPECT_EQ(blob::blob_root(*mine), root);
        const auto theirs = fetch(idle, root);
        ASSERT_FALSE(theirs.ok());
        EXPECT_EQ(theirs.error().code, ErrorCode::kNotFound);
        std::string message = theirs.error().message;
        const Digest absent = blob::blob_root(as_bytes("nobody's"));
        message.replace(message.find(root.hex()), absent.hex().size(), absent.hex());
        EXPECT_EQ(message, fetch(idle, absent).error().message) << "as if it did not exist";
    }
    EXPECT_EQ(refused_to(idle), 6U);
    EXPECT_EQ(refused_to(worker), 0U);
    EXPECT_NE(text_of(folder() / "coordinator.log").find("refused blob"), std::string::npos);

    const PeerWork work = train(worker);  // the whole task runs on what it may fetch
    ASSERT_TRUE(upload(worker, work).ok());
    ASSERT_TRUE(worker.coordinator->submit_commitment(work.submission).ok());
    EXPECT_TRUE(fetch(worker, *inputs.dataset_blob).ok()) << "it may have to defend the unit";
    EXPECT_FALSE(fetch(idle, work.submission.commitment.commitment.delta_root).ok());

    set_visibility("dataset", "public");
    set_visibility("job", "public");
    EXPECT_TRUE(fetch(idle, *inputs.dataset_blob).ok());
    EXPECT_TRUE(fetch(idle, inputs.base_state_blob).ok());
}

// The delta would be one of both jobs then, and with it the nodes of the second could fetch it.
TEST_F(PrivateBlobs, AKnownRootOfAnotherWorkersDeltaIsNoDeltaOfOnesOwn) {
    ASSERT_NO_FATAL_FAILURE(start_with(2));
    Peer &victim = peers_[0], &thief = peers_[1];
    const PeerWork work = train(victim), own = train(thief);
    ASSERT_TRUE(upload(victim, work).ok());
    ASSERT_TRUE(victim.coordinator->submit_commitment(work.submission).ok());
    const Digest& stolen = work.submission.commitment.commitment.delta_root;
    const PeerWork claim =
        changed(own, thief, [&](protocol::UnitCommitment& c) { c.delta_root = stolen; });
    EXPECT_EQ(refused(thief, claim), ErrorCode::kNotFound);
    const PeerWork guess =
        changed(own, thief, [](protocol::UnitCommitment& c) { c.delta_root.data[0] ^= 1; });
    EXPECT_EQ(refused(thief, guess), ErrorCode::kNotFound) << "as one that nobody stored";
    EXPECT_EQ(unit(thief).status.state, protocol::UnitState::kAssigned);
    ASSERT_TRUE(upload(thief, own).ok());
    EXPECT_TRUE(thief.coordinator->submit_commitment(own.submission).ok());
}

TEST_F(PrivateBlobs, AnUploadDoesNotTellWhatOthersHaveStored) {
    ASSERT_NO_FATAL_FAILURE(start_with(1));
    set_visibility("dataset", "private");
    const Bytes text = fetch(peers_[0], *peers_[0].task.inputs.dataset_blob).value();
    const Bytes other(text.size(), 1);
    Peer idle;
    ASSERT_NO_FATAL_FAILURE(join(idle));
    const auto sent = [&](const Bytes& blob) {
        return idle.coordinator->put_blob(blob::blob_root(blob), blob);
    };
    const Status stored = sent(text), unknown = sent(other);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(stored.error().message, unknown.error().message);
    // A node that announces what everybody may have would hold memory for it.
    set_visibility("dataset", "public");
    ASSERT_TRUE(fetch(idle, *peers_[0].task.inputs.dataset_blob).ok());
    const Status again = sent(text);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, ErrorCode::kPermissionDenied);
}

}  // namespace
}  // namespace gym::testing
