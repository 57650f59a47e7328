#pragma once

#include <functional>

#include "coordinator_process.hpp"
#include "gym/engine/unit.hpp"
#include "gym/execution/run.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/registry/units.hpp"

namespace gym::testing {

/// A worker of the test: its connection and the unit that it was given.
struct Peer {
    crypto::PrivateKey key = crypto::PrivateKey::generate();
    std::unique_ptr<rpc::Coordinator> coordinator;
    records::TrainTask task;
};

/// The result of a unit: the delta and the signed commitment to it.
struct PeerWork {
    Bytes delta;
    records::CommitmentSubmission submission;
};

/// Workers that the test plays by hand against the real program.
class PeersTest : public CoordinatorProcess {
  protected:
    /// So many workers more than there are, each with a unit.
    void start_with(std::uint32_t workers, std::uint32_t unit_ms = 600'000) {
        submit_job(std::max(workers, 1U), unit_ms);
        process_ = start();
        for (std::uint32_t i = 0; i < workers; ++i)
            peers_.emplace_back();
        for (Peer& peer : peers_)
            ASSERT_NO_FATAL_FAILURE(join(peer));
        for (Peer& peer : peers_)
            ASSERT_NO_FATAL_FAILURE(take_unit(peer));
    }
    void join(Peer& peer) {
        peer.coordinator = dial(peer.key);
        records::NodeProfile profile;
        profile.device = "cpu";
        ASSERT_TRUE(peer.coordinator->register_node(profile).ok());
        ASSERT_TRUE(peer.coordinator->heartbeat({}).ok());
    }
    void take_unit(Peer& peer) {
        const auto task = peer.coordinator->next_task(std::chrono::seconds(30));
        ASSERT_TRUE(task.ok()) << task.error().message;
        ASSERT_TRUE(task->has_value()) << text_of(folder() / "coordinator.log");
        peer.task = std::get<records::TrainTask>(**task);
    }
    void TearDown() override {
        peers_.clear();
        if (process_) {
            EXPECT_TRUE(process_->stop(10'000).ok());
        }
    }

    crypto::Eip712Domain domain(Peer& peer) { return peer.coordinator->network()->domain(); }

    /// Downloads the unit's inputs, computes it with the engine and signs what came out.
    PeerWork train(Peer& peer) {
        const auto path = folder() / ("cache-" + peer.key.address().hex());
        auto cache =
            rpc::BlobCache::open(path, *peer.coordinator, vault::StoreKey::of(peer.key)).value();
        node::InputLoader loader(cache);
        const protocol::SlotAssignment& terms = peer.task.record.assignment.value();
        const auto inputs = loader.load_train(peer.task.record, terms, peer.task.inputs);
        GYM_ASSERT(inputs.ok(), inputs.ok() ? "" : inputs.error().message);
        auto result = execution::run_train(peer.task.record, terms, *inputs).value().result;
        protocol::UnitCommitment commitment;
        commitment.round_record = protocol::hash(peer.task.record);
        commitment.slot = peer.task.unit.slot;
        commitment.attempt = peer.task.unit.attempt;
        commitment.records_root = result.records_root;
        commitment.final_state_root = result.final_state_root;
        commitment.delta_root = result.delta.root();
        commitment.steps = terms.steps;
        commitment.tokens = result.tokens;
        commitment.flops = result.flops;
        return {std::move(result.delta).take(),
                {protocol::sign(domain(peer), commitment, peer.key),
                 engine::encode_records(result.records)}};
    }
    /// `work` with something else committed to, properly signed by `signer`.
    PeerWork changed(PeerWork work, Peer& signer,
                     const std::function<void(protocol::UnitCommitment&)>& change) {
        auto& commitment = work.submission.commitment;
        change(commitment.commitment);
        commitment = protocol::sign(domain(signer), commitment.commitment, signer.key);
        return work;
    }
    static Status upload(Peer& peer, const PeerWork& work) {
        return peer.coordinator->put_blob(work.submission.commitment.commitment.delta_root,
                                          work.delta);
    }
    static ErrorCode refused(Peer& peer, const PeerWork& work) {
        const auto result = peer.coordinator->submit_commitment(work.submission);
        if (result.ok()) return ErrorCode::kInternal;
        EXPECT_GT(result.error().message.size(), 10U) << "an error tells what, where, what to do";
        return result.error().code;
    }
    registry::Unit unit(const Peer& peer) {
        const Digest id = protocol::unit_id(peer.task.unit);
        auto read = database_.owner().transact(
            [&](db::Transaction& tx) { return registry::get_unit(tx, id); }, {.read_only = true});
        GYM_ASSERT(read.ok(), read.ok() ? "" : read.error().message);
        return std::move(read).value();
    }
    /// Events of the feed that rewards credits: one "committed" is one credit.
    std::int64_t commitments(const Peer& peer) {
        const Digest id = protocol::unit_id(peer.task.unit);
        const auto row = database_.owner().transact(
            [&](db::Transaction& tx) {
                return tx.exec_one(
                    "SELECT count(*) AS n FROM registry.unit_event "
                    "WHERE unit_id = $1 AND to_state = 'committed'",
                    {id});
            },
            {.read_only = true});
        return row->get<std::int64_t>("n");
    }

    std::vector<Peer> peers_;
    std::optional<Subprocess> process_;
};

}  // namespace gym::testing
