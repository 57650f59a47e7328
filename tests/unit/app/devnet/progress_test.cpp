#include "gym/devnet/progress.hpp"

#include <gtest/gtest.h>

namespace gym::devnet {
namespace {

using protocol::UnitState;

registry::Unit unit(std::uint64_t round, UnitState state, UnixMs committed_at_ms) {
    registry::Unit out;
    out.key.round = round;
    out.status.state = state;
    out.committed_at_ms = committed_at_ms;
    return out;
}

TEST(Progress, CountsUnitsThatEndedUnpaidAndThoseThatWaitForTheirVerifier) {
    JobProgress progress;
    count_units({unit(2, UnitState::kSampled, 50'000), unit(2, UnitState::kReported, 40'000),
                 unit(2, UnitState::kVerified, 10'000), unit(1, UnitState::kUnpaid, 1'000),
                 unit(1, UnitState::kVoid, 1'000), unit(1, UnitState::kFinal, 1'000)},
                2, 115'999, progress);
    EXPECT_EQ(progress.units_unpaid, 2U);
    EXPECT_EQ(progress.units_waiting, 2U);
    EXPECT_EQ(progress.waiting_s, 75U) << "since the first was committed";
    EXPECT_EQ(progress.units, 3U);
    EXPECT_EQ(progress.units_checked, 1U);
    EXPECT_EQ(progress.units_open, 3U);
}

TEST(Progress, AFaultThatNoGameProvedEndsTheDemoAtOnce) {
    registry::Unit wrong = unit(0, UnitState::kRejected, 1'000);
    wrong.reason = "unit 0 of round 0: step 7 differs";
    JobProgress late;
    count_units({unit(0, UnitState::kFinal, 1'000), wrong}, 0, 9'000, late);
    EXPECT_EQ(late.missed_game, wrong.reason);
    for (const Status& status : {check_disputes(late), check_cheat_proven(late)}) {
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
        const std::string& said = status.error().message;
        EXPECT_NE(said.find("found too late to take its worker's stake: unit 0 of round 0: step 7 "
                            "differs"),
                  std::string::npos)
            << said;
        EXPECT_NE(said.find("This machine was too slow"), std::string::npos) << said;
        EXPECT_NE(said.find("--dispute-window 300"), std::string::npos) << said;
    }
}

TEST(Progress, AFaultThatItsGameProvedDoesNot) {
    JobProgress progress;
    count_units({unit(0, UnitState::kSlashed, 1'000), unit(0, UnitState::kVoid, 1'000)}, 0, 9'000,
                progress);
    EXPECT_TRUE(progress.game_proved);
    EXPECT_TRUE(check_disputes(progress).ok());
    EXPECT_TRUE(check_cheat_proven(progress).ok());
}

TEST(Progress, ACheatThatNobodyFoundIsNotWaitedFor) {
    JobProgress progress;
    count_units({unit(0, UnitState::kFinal, 1'000), unit(0, UnitState::kUnpaid, 1'000)}, 0, 9'000,
                progress);
    EXPECT_TRUE(check_disputes(progress).ok()) << "it may still be found";
    const Status status = check_cheat_proven(progress);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
    EXPECT_NE(status.error().message.find("was not run again in time, or a game about it was lost "
                                          "by the clock (1 unit ended without pay)"),
              std::string::npos)
        << status.error().message;
}

TEST(Progress, ClocksThatDifferDoNotMakeAWaitOfCenturies) {
    JobProgress progress;
    count_units({unit(1, UnitState::kSampled, 50'000)}, 1, 49'000, progress);
    EXPECT_EQ(progress.waiting_s, 0U);
}

TEST(Progress, TheLinesNameUnpaidUnitsOnlyIfThereAreAny) {
    JobProgress progress{.rounds = 6, .rounds_done = 1, .validation_losses = {5.734}};
    EXPECT_EQ(round_line(progress), "round 1/6 [####....................] validation loss 5.734");
    EXPECT_EQ(progress_line(progress), "round 2/6 [####....................], loss 5.734");
    progress.units_unpaid = 3;
    EXPECT_TRUE(round_line(progress).ends_with("5.734, unpaid units: 3"));
    EXPECT_TRUE(progress_line(progress).ends_with("loss 5.734, unpaid units: 3"));
}

TEST(Progress, VerificationIsBehindAfterAMinute) {
    JobProgress progress{.units_waiting = 3, .waiting_s = kBehindS - 1};
    EXPECT_EQ(behind_line(progress), "");
    progress.waiting_s = 75;
    EXPECT_EQ(behind_line(progress),
              "verification is behind: 3 units wait for it, the first for 75 s");
    progress.units_waiting = 1;
    EXPECT_EQ(behind_line(progress),
              "verification is behind: 1 unit waits for it, the first for 75 s");
}

TEST(ProgressPrinter, TellsEachPieceOfNewsOnceAndABacklogEveryMinute) {
    using Lines = std::vector<std::string>;
    ProgressPrinter printer;
    JobProgress progress{.rounds = 6};
    EXPECT_EQ(printer.news(progress), Lines());
    progress.units_waiting = 2;
    Lines told;
    for (progress.waiting_s = 0; progress.waiting_s < 200; ++progress.waiting_s)
        for (const std::string& line : printer.news(progress))
            told.push_back(line.substr(line.rfind(' ', line.size() - 3) + 1));
    EXPECT_EQ(told, (Lines{"60 s", "120 s", "180 s"}));

    progress.units_waiting = 0;
    progress.units_unpaid = 2;
    progress.faults = {"step 7 differs"};
    progress.validation_losses = {5.734};
    EXPECT_EQ(printer.news(progress), (Lines{"fault found: step 7 differs", round_line(progress),
                                             "units that ended unpaid so far: 2"}));
    EXPECT_EQ(printer.news(progress), Lines());
    progress.units_waiting = 1;
    progress.waiting_s = 61;
    EXPECT_EQ(printer.news(progress).size(), 1U)
        << "the next backlog is told as early as the first";
}

}  // namespace
}  // namespace gym::devnet
