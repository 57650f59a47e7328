#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fake_compute.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"
#include "held_background.hpp"
#include "manual_clock.hpp"
#include "postgres.hpp"

namespace gym::testing {

/// A chain of one process: what is posted is in the next block, mine() makes it. Can be
/// unreachable.
class FakeChain final : public coordinator::ChainPort {
  public:
    Status post_round(const coordinator::RoundPost& record) override;
    Status post_aggregate(const coordinator::AggregatePost& aggregate) override;
    Status post_epoch(const coordinator::EpochPost& epoch) override;
    Status tick() override;
    Result<bool> round_posted(const Digest& job_id, std::uint64_t round,
                              const Digest& hash) override;
    Result<std::optional<std::uint64_t>> aggregate_block(
        const coordinator::AggregatePost& aggregate) override;
    Result<std::optional<std::uint64_t>> epoch_block(const coordinator::EpochPost& epoch) override;
    Result<std::optional<std::uint64_t>> drand_round(const coordinator::EpochPost&) override {
        GYM_CHECK(reachable());
        return drand;
    }
    Result<std::optional<Digest>> randomness(std::uint64_t block) override;
    Result<std::optional<Digest>> drand_randomness(std::uint64_t round) override {
        GYM_CHECK(reachable());
        return drand == round ? drand_proven : std::nullopt;
    }
    Result<std::optional<coordinator::CommitmentNews>> commitments_since(
        const std::optional<std::uint64_t>& seen_block) override;
    std::optional<Address> dispute_game() const override { return games_contract; }
    Result<std::optional<std::uint64_t>> disputable_blocks() override {
        GYM_CHECK(reachable());
        return games_contract ? std::optional(window_blocks) : std::nullopt;
    }
    Result<std::optional<coordinator::GameNews>> games_since(
        const std::optional<std::uint64_t>& seen_block, const std::vector<Digest>& open) override;

    void mine(std::uint64_t blocks = 1) { head_ += blocks; }
    [[nodiscard]] std::uint64_t head() const { return head_; }
    /// Commitments to aggregates that are on chain, or in the next block.
    [[nodiscard]] std::size_t aggregates() const { return aggregates_.size(); }
    /// Publishes a commitment in the next block, whoever does.
    void publish(Bytes commitment) { published_.push_back({std::move(commitment), head_ + 1}); }
    /// Sets the contract's answer about a unit from the next block on.
    void play(const registry::DisputedUnit& unit);
    bool down = false;
    bool log_down = false;     ///< the log of published commitments alone
    bool takes_rounds = true;  ///< else their records stay on their way
    std::map<std::uint64_t, coordinator::EpochPost> epochs;
    std::optional<Digest> beacon;           ///< of every block; absent: each has its own
    std::optional<std::uint64_t> drand;     ///< draws every epoch; absent: blocks do
    std::optional<Digest> drand_proven;     ///< the randomness of that round, once it is there
    int posts = 0;                          ///< that were new
    std::optional<Address> games_contract;  ///< absent: it plays no games
    std::uint64_t window_blocks = 1'000;
    int game_looks = 0;  ///< that were asked for, with or without an answer

  private:
    [[nodiscard]] Status reachable() const;
    [[nodiscard]] Status check_origin(const coordinator::RoundPost& record) const;
    std::mutex mutex_;  // two coordinators may ask at once
    std::uint64_t head_ = 1;
    std::map<std::pair<Digest, std::uint64_t>, std::pair<Digest, std::uint64_t>> rounds_;
    /// Signed commitments, and their blocks.
    std::map<std::pair<Digest, std::uint64_t>, std::pair<Bytes, std::uint64_t>> aggregates_;
    std::map<std::pair<Digest, std::uint64_t>, Bytes> heads_;
    std::map<std::uint64_t, std::uint64_t> epoch_blocks_;
    std::vector<coordinator::CommitmentNews::Item> published_;
    std::map<Digest, std::pair<std::uint64_t, registry::DisputedUnit>> games_;  // since which block
};

/// The stake of each worker: `each` by default. Can be unreachable.
class FakeStake final : public coordinator::StakePort {
  public:
    Result<std::map<Address, Amount>> active_stakes(std::span<const Address> workers) override {
        if (down) return fail(ErrorCode::kUnavailable, "the chain does not answer");
        ++questions;
        std::map<Address, Amount> out;
        for (const Address& worker : workers) {
            const auto known = of.find(worker);
            out.emplace(worker, known == of.end() ? each : known->second);
        }
        return out;
    }
    bool down = false;
    int questions = 0;  ///< of many workers or of one
    Amount each;
    std::map<Address, Amount> of;
};

/// A node of the network: its key and what it says to the coordinator.
struct FakeNode {
    crypto::PrivateKey key = crypto::PrivateKey::generate();
    [[nodiscard]] const Address& address() const { return key.address(); }
};

/// The coordinator over a real database, with a fake chain, fake training and a clock moved by
/// hand.
class World {
  public:
    World();

    /// A fresh coordinator over the same stores, as after a crash.
    void restart();
    /// Another coordinator over the same stores, but with claims of its own.
    std::unique_ptr<coordinator::Coordinator> beside(player::ClaimStore* own_claims);
    coordinator::Coordinator& core() { return *core_; }
    /// Ticks, mining a block after each, until nothing moves any more.
    void settle();
    coordinator::TickSummary tick();

    /// A job of terms() with so many rounds.
    Digest submit_rounds(std::uint64_t rounds) {
        registry::JobTerms wanted = terms();
        wanted.rounds = rounds;
        return submit_job(wanted);
    }
    Digest submit_job(const registry::JobTerms& terms, std::uint64_t budget_wei = 1'000'000'000,
                      const std::optional<registry::StateRef>& init = {});
    FakeNode add_node(records::NodeRole role, std::uint64_t memory_bytes = 0,
                      std::uint64_t flops_per_second = 0, const std::string& device = "");
    void beat(const std::vector<const FakeNode*>& nodes);
    /// Moves the clock past every deadline of the default terms but a unit's, with `nodes` still
    /// there.
    void pass_deadline(const std::vector<const FakeNode*>& nodes) {
        clock.advance_ms(60'001);
        beat(nodes);
        settle();
    }

    /// The commitment that `worker` would make honestly for its assignment; its delta is uploaded.
    struct Work {
        records::TrainTask assignment;
        protocol::SignedCommitment commitment;
        Bytes records;
    };
    Work work(const FakeNode& worker);
    /// The same with one step record changed, and the delta that follows from it.
    Work cheat(const FakeNode& worker, std::size_t step);
    Result<records::CommitmentAck> commit(const FakeNode& worker, const Work& work);
    /// Takes the verifier's next task and reports honestly, or that `lie` of the records differs.
    /// @return whether there was a task.
    bool verify(const FakeNode& verifier, bool lie = false);
    /// Reports on the next task without running anything: the roots are the commitment's, the
    /// records those that the coordinator discloses for the digest. @return the unit, if any.
    std::optional<Digest> copy(const FakeNode& verifier);
    /// The verifier's signature on which it stakes, where the network wants one.
    std::optional<crypto::Signature> claim_signature(const FakeNode& verifier,
                                                     const records::VerifyTask& task,
                                                     const protocol::Report& report) const;
    protocol::Report report(const FakeNode& verifier, const records::VerifyTask& task, bool lie,
                            Bytes& records);

    /// A record that is worth many units of any job: from now on it is drawn at the floor.
    void trust(const FakeNode& worker);
    /// What so many of the job's units count in a worker's record.
    Amount value_of_units(const Digest& job, std::uint64_t units);

    /// Ends a unit as if its inputs were lost, whatever is under way about it.
    void void_unit(const Digest& id);

    registry::Unit unit(const Digest& id);
    registry::Node node(const Address& address);
    registry::Job job(const Digest& id);
    std::vector<registry::Round> rounds(const Digest& id);
    db::Database& database() { return *database_; }
    db::Database& owner() { return test_database_.owner(); }

    /// Terms with ten minutes for a unit, one for everything else, and the rest at its simplest.
    static registry::JobTerms terms();

    testing::ManualClock clock{1'700'000'000'000};
    FakeChain chain;
    FakeCompute compute;
    FakeStake stake;
    FakeStake verifier_stake;
    HeldBackground background;                   ///< runs at once unless a test holds it
    bool has_own_background = false;             ///< a thread instead, from the next restart() on
    std::unique_ptr<player::ClaimStore> claims;  ///< absent: it plays no games
    blob::MemoryStore blobs;
    crypto::PrivateKey key = crypto::PrivateKey::generate();
    coordinator::Options options;

  private:
    Work make_work(const FakeNode& worker, const FakeCompute::Trained& trained,
                   const records::TrainTask& assignment);
    TestDatabase test_database_;
    std::unique_ptr<db::Database> database_;
    std::unique_ptr<coordinator::Coordinator> core_;
    Digest dataset_root_;
};

}  // namespace gym::testing
