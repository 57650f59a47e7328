#include "gym/rewards/daemon.hpp"

namespace gym::rewards {
namespace {

/// Rounds of one tick over a feed: a longer backlog continues in the next tick, after the other
/// steps had their turn.
constexpr int kBatchesPerTickMax = 50;
/// Without events none of our tokens moved; those of others may have.
constexpr std::uint64_t kReconcileEveryBlocks = 64;

template <class F>
Result<std::size_t> drain(F&& step) {
    std::size_t total = 0;
    for (int i = 0; i < kBatchesPerTickMax; ++i) {
        GYM_TRY(const std::size_t count, step());
        if (count == 0) break;
        total += count;
    }
    return total;
}

}  // namespace

Result<TickReport> Daemon::tick() {
    TickReport report;
    // First, since owners wait for it.
    GYM_TRY(report.orders, drain([&] { return accounting_.take_orders(); }));
    GYM_TRY(report.locks, settlement_.lock_orders());
    GYM_TRY(const ChainProgress progress, follow_([&](const ChainEvent& event) {
                reconcile_due_ = true;
                return accounting_.on_chain_event(event);
            }));
    GYM_TRY(report.unit_events, drain([&] { return accounting_.consume_unit_events(); }));
    GYM_TRY(report.reports, drain([&] { return accounting_.consume_reports(); }));
    GYM_TRY(report.prefixes, drain([&] { return accounting_.consume_prefixes(); }));
    GYM_TRY(report.rounds, drain([&] { return accounting_.finish_rounds(); }));
    GYM_CHECK(accounting_.end_jobs_of_leaving());
    GYM_CHECK(accounting_.fund_unfunded());
    GYM_CHECK(accounting_.refund_ended_jobs());
    GYM_TRY(report.epoch_closed, settlement_.close_epoch());
    GYM_TRY(report.settled, settlement_.advance());
    GYM_CHECK(settlement_.unlock());
    GYM_CHECK(settlement_.show_leaves());
    // Only at a block whose events are all booked do both sides describe the same moment.
    reconcile_due_ =
        reconcile_due_ || progress.finalized_block >= reconciled_block_ + kReconcileEveryBlocks;
    if (progress.caught_up && reconcile_due_) {
        GYM_TRY(report.reconciliation, settlement_.reconcile(progress.finalized_block));
        reconciled_block_ = progress.finalized_block;
        reconcile_due_ = false;
    }
    return report;
}

}  // namespace gym::rewards
