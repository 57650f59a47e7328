#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "fake_chain_view.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/node/delta_loader.hpp"
#include "gym/program/train_program.hpp"
#include "gym/verifier/round_watch.hpp"
#include "gym/verifier/shown_deltas.hpp"
#include "gym/verifier/verifier.hpp"
#include "local_coordinator.hpp"
#include "manual_timer.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

/// A round of three workers with its aggregate, and a verifier that gets the aggregate as its task.
namespace gym::verifier {

using player::Subject;
using protocol::UnitState;

inline constexpr std::uint64_t kEpoch = 5;
inline constexpr std::uint64_t kRootBlock = 100;
inline constexpr std::uint32_t kDelayBlocks = 2;
inline constexpr std::uint32_t kWorkers = 3;

class AggregateTest : public ::testing::Test {
  protected:
    const crypto::PrivateKey coordinator_key_ = testing::test_key(99);
    const crypto::PrivateKey key_ = testing::test_key(7);
    const crypto::Eip712Domain domain_ = testing::MemoryHandler::network_info().domain();
    testing::MemoryHandler handler_;
    testing::TinyJob job_ = testing::make_tiny_job(workers(), handler_.blobs);
    testing::LocalCoordinator coordinator_{handler_, key_.address()};
    testing::FakeChainView chain_;
    testing::ManualTimer timer_;
    testing::TemporaryFolder dir_;
    Address report_game_;  ///< where the next verifier's reports are defended; zero: nowhere
    std::unique_ptr<player::ClaimStore> claims_ =
        player::ClaimStore::open(dir_.path() / "disputes").value();
    std::vector<VerifierEvent> events_;
    std::function<void()> while_running_;  ///< a unit
    std::uint64_t epoch_ = kEpoch;         ///< of the round that is shown
    std::vector<engine::UnitResult> units_;
    std::optional<engine::AggregateResult> right_;
    records::VerifyTask task_;
    std::unique_ptr<Verifier> verifier_;

    static std::vector<Address> workers() {
        std::vector<Address> out;
        for (std::uint8_t i = 1; i <= kWorkers; ++i)
            out.push_back(testing::test_key(i).address());
        return out;
    }

    /// An honest round: all units are accepted, and its aggregate is made from all deltas.
    void SetUp() override {
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot)
            units_.push_back(job_.run(slot));
        show_units();
        task_.unit = job_.unit(protocol::kAggregateSlot);
        set_record(task_, job_.record);
        task_.inputs = job_.inputs;
        task_.inputs.momentum_blob =
            handler_.blobs.put(engine::encode_state(engine::zero_momentum(job_.base))).value();
        task_.committer = coordinator_key_.address();
        task_.beacon = commit::sha256(as_bytes("beacon"));
        chain_.post(job_.record, kEpoch);
        chain_.beacons[kRootBlock + kDelayBlocks] = task_.beacon;
        include({0, 1, 2});
        open();
    }
    static void set_record(records::VerifyTask& task, const protocol::RoundRecord& record) {
        task.record = protocol::unit_record(record, protocol::kAggregateSlot);
        task.round = record;
    }
    /// The aggregate is of this record, which is on chain.
    void post_task(const protocol::RoundRecord& record) {
        set_record(task_, record);
        chain_.post(record, epoch_);
        task_.commitment.commitment.round_record = protocol::hash(record);
        task_.commitment = protocol::sign(domain_, task_.commitment.commitment, coordinator_key_);
    }
    void open() {
        VerifierOptions options;
        options.data_dir = dir_.path();
        options.chain = &chain_;
        options.claims = claims_.get();
        options.report_game = report_game_;
        options.timer = &timer_;
        options.on_event = [this](const VerifierEvent& event) { events_.push_back(event); };
        options.on_progress = [this](const engine::UnitProgress&) {
            if (while_running_) while_running_();
        };
        verifier_.reset();
        verifier_ = Verifier::open(coordinator_, key_, options).value();
    }
    records::UnitReceipt& view(std::uint32_t slot) {
        return handler_.units[protocol::unit_id(job_.unit(slot))];
    }
    void show_units() {
        std::vector<Digest> leaves;
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot) {
            records::UnitReceipt& unit = view(slot);
            unit.key = job_.unit(slot);
            unit.worker = job_.record.slots[slot].worker;
            unit.status.state = slot == 0 ? UnitState::kVerified : UnitState::kFinal;
            unit.commitment =
                protocol::sign(domain_, job_.commitment(slot, units_[slot]),
                               testing::test_key(static_cast<std::uint8_t>(1 + slot)));
            leaves.push_back(protocol::commitment_leaf(*unit.commitment));
            ASSERT_TRUE(handler_.blobs.put(units_[slot].delta).ok());
        }
        chain_.epochs[epoch_] = {commit::merkle_root(leaves), kWorkers, kRootBlock};
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot)
            view(slot).inclusion =
                records::InclusionReceipt{epoch_, chain_.epochs[epoch_].commitments_root, slot,
                                          kWorkers, commit::merkle_prove(leaves, slot).value()};
    }
    /// The coordinator makes the aggregate from these.
    void include(const std::vector<std::uint32_t>& slots) {
        std::vector<engine::Delta> deltas;
        task_.deltas.clear();
        for (const std::uint32_t slot : slots) {
            task_.deltas.push_back(
                {slot, protocol::unit_id(job_.unit(slot)), units_[slot].delta.root()});
            deltas.push_back(engine::Delta::decode(job_.program, units_[slot].delta).value());
        }
        right_ =
            engine::run_aggregate(job_.program, job_.base, engine::zero_momentum(job_.base), deltas)
                .value();
        sign(right_->base_root);
    }
    void sign(const Digest& base_root) {
        protocol::UnitCommitment commitment;
        commitment.kind = protocol::UnitKind::kAggregate;
        commitment.round_record = protocol::hash(job_.record);
        commitment.slot = protocol::kAggregateSlot;
        commitment.records_root = right_->records_root;
        commitment.final_state_root = base_root;
        commitment.delta_root = right_->momentum_root;
        commitment.steps = 1;
        task_.commitment = protocol::sign(domain_, commitment, coordinator_key_);
    }
    /// Wrong in all of its results, made from the deltas that are shown.
    void sign_other_record() {
        right_->records[0].state_root = commit::sha256(as_bytes("another state"));
        right_->records_root = engine::records_root(right_->records);
        sign(commit::sha256(as_bytes("another base")));
    }
    /// The verifier gets the task, once more, as a new process.
    void verify_anew() {
        open();
        verify();
    }
    /// The verifier gets the task, once more.
    void verify() {
        const Digest id = protocol::unit_id(task_.unit);
        handler_.report_commits.clear();
        handler_.commitments[id] = {task_.commitment, engine::encode_records(right_->records)};
        handler_.tasks[key_.address()] = task_;
        const auto ran = verifier_->run_once({});
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        ASSERT_TRUE(*ran);
    }
    void look() { ASSERT_FALSE(verifier_->run_once({}).value()) << "there is no task"; }

    std::vector<std::string> told(std::string_view name) const {
        std::vector<std::string> out;
        for (const VerifierEvent& event : events_)
            if (event.name == name) out.push_back(event.detail);
        return out;
    }
    std::ptrdiff_t contradictions(const std::string& part) const {
        return std::ranges::count_if(told("contradiction"), [&](const std::string& detail) {
            return detail.find(part) != std::string::npos;
        });
    }
    void expect_contradiction(const std::string& part) {
        const auto all = told("contradiction");
        ASSERT_EQ(all.size(), 1u);
        EXPECT_NE(all[0].find(part), std::string::npos) << all[0];
        events_.clear();
    }
    /// The verifier's report is what the right deltas give.
    void expect_right() {
        const protocol::Report& report = handler_.reveals.at(protocol::unit_id(task_.unit)).report;
        EXPECT_EQ(report.records_root, right_->records_root);
        EXPECT_EQ(report.final_state_root, right_->base_root);
        EXPECT_EQ(report.delta_root, right_->momentum_root);
        EXPECT_EQ(told("verified").size(), 1u);
        EXPECT_TRUE(told("contradiction").empty());
    }
    protocol::RoundRecord next_record() const {
        protocol::RoundRecord next = job_.record;
        next.round = 2;
        next.previous_record = protocol::hash(job_.record);
        next.base_state_root = right_->base_root;
        next.momentum_root = right_->momentum_root;
        next.included = task_.deltas;
        return next;
    }
    void post(const protocol::RoundRecord& next) {
        handler_.records = {next};
        chain_.post(next, 0);
    }
    bool is_stored(const Digest& blob) const {
        return std::filesystem::exists(dir_.path() / "blobs") &&
               std::ranges::any_of(
                   std::filesystem::recursive_directory_iterator(dir_.path() / "blobs"),
                   [&](const auto& file) {
                       return file.path().filename().string().find(to_hex(blob.view()).substr(2)) !=
                              std::string::npos;
                   });
    }
};

}  // namespace gym::verifier
