#include <gtest/gtest.h>

#include "gym/common/file.hpp"
#include "gym/verifier/report_journal.hpp"
#include "gym/verifier/round_watch.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::verifier {
namespace {

PendingReport some_report() {
    PendingReport out;
    out.report.unit.data.fill(1);
    out.report.draw = 2;
    out.report.verifier = testing::test_key(1).address();
    out.report.salt.data.fill(3);
    out.report.challenge_signature.data.fill(4);
    out.beacon.data.fill(5);
    out.records = {6, 7};
    return out;
}

TEST(ReportJournalTest, KeepsAReportOfADrawUntilItIsRemoved) {
    const testing::TemporaryFolder dir;
    ReportJournal journal = ReportJournal::open(dir.path()).value();
    const PendingReport report = some_report();
    EXPECT_FALSE(journal.find(report.report.unit, 2)->has_value());
    ASSERT_TRUE(journal.save(report).ok());
    const ReportJournal reopened = ReportJournal::open(dir.path()).value();
    EXPECT_EQ(reopened.find(report.report.unit, 2)->value(), report);
    EXPECT_FALSE(reopened.find(report.report.unit, 3)->has_value());
    ASSERT_TRUE(journal.remove(report.report.unit, 2).ok());
    EXPECT_FALSE(journal.find(report.report.unit, 2)->has_value());
}

TEST(ReportJournalTest, EveryTruncationAndExtensionIsMalformed) {
    Bytes whole = encode(some_report());
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_pending_report(ByteView(whole).first(size)).ok()) << size;
    whole.push_back(0);
    EXPECT_FALSE(decode_pending_report(whole).ok());
}

WatchedRound some_round(std::uint64_t number) {
    WatchedRound out;
    out.record.round = number;
    out.record.checkpoint_every = 1;
    out.record.slots = {{0, testing::test_key(1).address(), kPpm, 1}};
    out.commitment.commitment.kind = protocol::UnitKind::kAggregate;
    out.commitment.commitment.slot = protocol::kAggregateSlot;
    out.commitment.signature.data.fill(1);
    out.deltas = {{0, out.record.job_id, out.record.job_id}, {3, {}, {}}};
    return out;
}

TEST(RoundWatchTest, KeepsWhatWasShownFirstUntilItIsRemoved) {
    const testing::TemporaryFolder dir;
    const WatchedRound first = some_round(1);
    WatchedRound second = first;
    second.commitment.commitment.steps = 7;
    {
        RoundWatch watch = RoundWatch::open(dir.path()).value();
        EXPECT_EQ(watch.add(first).value(), first);
        EXPECT_EQ(watch.add(second).value(), first);
    }
    RoundWatch watch = RoundWatch::open(dir.path()).value();
    ASSERT_EQ(watch.list().size(), 1u);
    EXPECT_EQ(watch.list()[0], first);
    ASSERT_TRUE(watch.remove(first.unit()).ok());
    EXPECT_TRUE(RoundWatch::open(dir.path())->list().empty());
}

TEST(RoundWatchTest, TheOldestRoundGoes) {
    const testing::TemporaryFolder dir;
    RoundWatch watch = RoundWatch::open(dir.path()).value();
    for (std::uint64_t round = 1; round <= RoundWatch::kRoundsMax + 2; ++round)
        ASSERT_TRUE(watch.add(some_round(round)).ok());
    const RoundWatch reopened = RoundWatch::open(dir.path()).value();
    ASSERT_EQ(reopened.list().size(), RoundWatch::kRoundsMax);
    EXPECT_EQ(reopened.list().front().record.round, 3u);
    EXPECT_EQ(reopened.list().back().record.round, RoundWatch::kRoundsMax + 2);
}

TEST(RoundWatchTest, EveryTruncationAndExtensionIsMalformed) {
    Bytes whole = encode(some_round(1));
    EXPECT_EQ(decode_watched_round(whole).value(), some_round(1));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_watched_round(ByteView(whole).first(size)).ok()) << size;
    whole.push_back(0);
    EXPECT_FALSE(decode_watched_round(whole).ok());
}

}  // namespace
}  // namespace gym::verifier
