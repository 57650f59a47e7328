#include "gym/protocol/report.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "samples.hpp"

namespace gym::protocol {
namespace {

using gym::testing::digest;
using gym::testing::domain;
using gym::testing::key;

Report report() {
    Report out;
    out.unit = digest(1);
    out.verifier = key(5).address();
    out.records_root = digest(30);
    out.final_state_root = digest(31);
    out.delta_root = digest(32);
    out.trace = digest(33);
    out.challenge_signature =
        key(5).sign_digest(trace_challenge_digest(domain(), digest(7), out.unit));
    out.salt = digest(34);
    return out;
}

TEST(Report, OpensOnlyWhatWasCommitted) {
    const Digest beacon = digest(7);
    const Digest committed = report_digest(beacon, report());
    EXPECT_TRUE(check_reveal(domain(), beacon, committed, report()).ok());
    const std::vector<std::function<void(Report&)>> changes = {
        [](Report& r) { r.unit = digest(2); },
        [](Report& r) { r.draw = 1; },
        [](Report& r) { r.verifier = key(6).address(); },
        [](Report& r) { r.records_root = digest(40); },
        [](Report& r) { r.final_state_root = digest(40); },
        [](Report& r) { r.delta_root = digest(40); },
        [](Report& r) { r.trace = digest(40); },
        [](Report& r) { r.challenge_signature.data[3] ^= 1; },
        [](Report& r) { r.salt = digest(40); }};
    for (const auto& change : changes) {
        Report changed = report();
        change(changed);
        EXPECT_EQ(check_reveal(domain(), beacon, committed, changed).error().code,
                  ErrorCode::kMismatch);
    }
    EXPECT_FALSE(check_reveal(domain(), digest(8), committed, report()).ok()) << "another beacon";
}

TEST(Report, PositionsMustComeFromTheVerifiersOwnSignature) {
    Report copied = report();
    copied.challenge_signature =
        key(6).sign_digest(trace_challenge_digest(domain(), digest(7), copied.unit));
    const Digest committed = report_digest(digest(7), copied);
    EXPECT_EQ(check_reveal(domain(), digest(7), committed, copied).error().code,
              ErrorCode::kUnauthenticated);
}

TEST(Report, PositionsAreInRangeSpreadAndDifferBetweenVerifiers) {
    const auto signature = report().challenge_signature;
    const TraceChallenge mine = trace_challenge(signature, 20, 1'000);
    EXPECT_EQ(mine.step, 19U) << "nobody has the last step's trace without the steps before it";
    EXPECT_EQ(trace_step(1), 0U);
    std::set<std::uint64_t> distinct;
    for (const std::uint64_t position : mine.positions) {
        EXPECT_LT(position, 1'000U);
        distinct.insert(position);
    }
    EXPECT_GT(distinct.size(), 50U);
    const TraceChallenge theirs = trace_challenge(
        key(6).sign_digest(trace_challenge_digest(domain(), digest(7), digest(1))), 20, 1'000);
    EXPECT_NE(mine.positions, theirs.positions);
    for (const std::uint64_t position : trace_challenge(signature, 1, 1).positions)
        EXPECT_EQ(position, 0U);
}

TEST(Report, NamesTheFirstFieldThatDiffers) {
    UnitCommitment commitment = gym::testing::commitment(gym::testing::round_record());
    EXPECT_EQ(compare(roots_of(commitment), roots_of(report())), Difference::kNone);
    commitment.delta_root = digest(50);
    EXPECT_EQ(compare(roots_of(commitment), roots_of(report())), Difference::kDelta);
    commitment.final_state_root = digest(50);
    EXPECT_EQ(compare(roots_of(commitment), roots_of(report())), Difference::kFinalState);
    commitment.records_root = digest(50);
    EXPECT_EQ(compare(roots_of(commitment), roots_of(report())), Difference::kRecords);
}

}  // namespace
}  // namespace gym::protocol
