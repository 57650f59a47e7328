#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_fixture.hpp"
#include "gym/dispute/round_roots.hpp"

namespace gym::verifier {

inline constexpr std::uint32_t kHeld = 2;  ///< slot of round 1 whose delta went in one round later

/// Round 2 of a job whose first aggregate was made without the delta of a slot.
class HeldDeltaTest : public AggregateTest {
  protected:
    std::optional<testing::TinyJob> first_;
    std::vector<engine::UnitResult> first_units_;
    engine::State momentum_;

    void SetUp() override {
        AggregateTest::SetUp();
        include({0, 1});
        first_ = job_;
        first_units_ = std::move(units_);
        momentum_ = right_->momentum;
        begin_second(next_record());
        task_.earlier = {first_->record, first_->inputs};
        task_.hold_drawn = true;
        include_held({0, 1, 2}, {kHeld});
        open();
    }
    void begin_second(protocol::RoundRecord record) {
        job_.base = right_->base;
        const auto roots = dispute::round_roots(job_.program, job_.base).value();
        record.initial_state_root = roots.initial_state_root;
        job_.record = record;
        job_.inputs.base_state_blob = handler_.blobs.put(engine::encode_state(job_.base)).value();
        units_.clear();
        for (std::uint32_t slot = 0; slot < kWorkers; ++slot)
            units_.push_back(job_.run(slot));
        epoch_ = kEpoch + 1;
        show_units();
        chain_.post(job_.record, epoch_);
        task_.unit = job_.unit(protocol::kAggregateSlot);
        set_record(task_, job_.record);
        task_.inputs = job_.inputs;
        task_.inputs.momentum_blob = handler_.blobs.put(engine::encode_state(momentum_)).value();
    }
    void include_held(const std::vector<std::uint32_t>& timely,
                      const std::vector<std::uint32_t>& held) {
        std::vector<engine::Delta> deltas;
        task_.deltas.clear();
        const auto add = [&](const testing::TinyJob& job, const engine::UnitResult& unit,
                             std::uint32_t slot, bool is_held) {
            task_.deltas.push_back(
                {slot, protocol::unit_id(job.unit(slot)), unit.delta.root(), is_held});
            deltas.push_back(engine::Delta::decode(job.program, unit.delta).value());
        };
        for (const std::uint32_t slot : timely)
            add(job_, units_[slot], slot, false);
        for (const std::uint32_t slot : held)
            add(*first_, first_units_[slot], slot, true);
        right_ =
            engine::run_aggregate(job_.program, job_.base, momentum_, deltas, held.size()).value();
        sign(right_->base_root);
    }
    void expect_refused(const std::string& part) {
        handler_.tasks[key_.address()] = task_;
        const auto ran = verifier_->run_once({});
        ASSERT_FALSE(ran.ok());
        EXPECT_EQ(ran.error().code, ErrorCode::kMismatch) << ran.error().message;
        EXPECT_NE(ran.error().message.find(part), std::string::npos) << ran.error().message;
        EXPECT_TRUE(claims_->list().empty());
    }
};

}  // namespace gym::verifier
