// Which units the registry says are to be audited, are final, or are in a game.
#include <algorithm>
#include <set>

#include "gym/registry/audits.hpp"
#include "gym/registry/games.hpp"
#include "gym/registry/published.hpp"
#include "registry_fixture.hpp"

namespace gym::registry::testing {
namespace {

using protocol::UnitState;

class RegistryUnits : public RegistryDatabase {
  protected:
    void move(const Digest& unit, const protocol::UnitEvent& event) {
        run([&](db::Transaction& tx) -> Status {
            GYM_TRY(const Unit before, get_unit(tx, unit));
            std::optional<protocol::Reason> reason;
            const auto* compared = std::get_if<protocol::event::Compared>(&event);
            if (std::holds_alternative<protocol::event::Challenged>(event))
                reason = protocol::challenged(before.key);
            else if (compared != nullptr && !compared->equal)
                reason = protocol::step_differs(before.key, 1, digest(1), digest(2));
            else if (std::holds_alternative<protocol::event::Voided>(event))
                reason = protocol::worker_excluded(before.key);
            GYM_CHECK(advance(tx, unit, event, params, kNow, reason));
            return {};
        });
    }
    /// A report of the verifier on the unit that is revealed and, if `equal`, agrees.
    void verify(const Digest& unit, bool equal = true) {
        run([&](db::Transaction& tx) -> Status {
            GYM_CHECK(commit(tx, unit));
            GYM_CHECK(advance(tx, unit, protocol::event::Drawn{true}, params, kNow));
            GYM_CHECK(set_verifier(tx, unit, address(9)));
            GYM_CHECK(advance(tx, unit, protocol::event::Reported{}, params, kNow));
            GYM_CHECK(store_report(tx, unit, 0, address(9), digest(20), kNow));
            GYM_CHECK(advance(tx, unit, protocol::event::Revealed{}, params, kNow));
            protocol::Report report;
            report.unit = unit;
            report.verifier = address(9);
            return store_reveal(tx, report, as_bytes("records"), equal, kNow);
        });
        move(unit, protocol::event::Compared{equal});
    }
    /// The units whose audit is due, in the order of their audits, which pass.
    std::set<Digest> audit_all() {
        std::set<Digest> out;
        run([&](db::Transaction& tx) -> Status {
            for (;;) {
                GYM_TRY(const auto next, next_audit(tx, new_job().id));
                if (!next) return {};
                GYM_CHECK(finish_audit(tx, next->id, 0, AuditResult::kPassed));
                out.insert(next->id);
            }
        });
        return out;
    }
    bool is_overdue(const Digest& unit) {
        const auto units = coordinator->transact([&](db::Transaction& tx) {
            return overdue_units(tx, new_job().id, kNow + params.challenge_ms + 1, {});
        });
        return std::ranges::any_of(*units, [&](const Unit& late) { return late.id == unit; });
    }
};

TEST_F(RegistryUnits, AnAuditIsDueWhateverGamesMakeOfTheUnit) {
    const std::vector<Digest> units = open_round_with_units();
    for (const std::size_t i : {0, 1, 2, 3}) {
        verify(units[i]);
        run([&](db::Transaction& tx) { return require_audit(tx, units[i], 0); });
    }
    for (const std::size_t i : {1, 2})
        move(units[i], protocol::event::Challenged{});
    move(units[2], protocol::event::GameEnded{true});
    move(units[3], protocol::event::Voided{});
    EXPECT_FALSE(is_overdue(units[0]));
    EXPECT_FALSE(is_overdue(units[2])) << "upheld, and not final before its audit";
    EXPECT_EQ(audit_all(), (std::set<Digest>{units[0], units[1], units[2]}))
        << "what is void is nobody's credit";
    EXPECT_TRUE(is_overdue(units[0]));
    EXPECT_TRUE(is_overdue(units[2]));
}

TEST_F(RegistryUnits, AllThatAVerifierPassedAndThatIsOpenIsToBeAudited) {
    const std::vector<Digest> units = open_round_with_units();
    for (const std::size_t i : {0, 1, 2, 3, 4})
        verify(units[i]);
    verify(units[5], false);
    for (const std::size_t i : {1, 2})
        move(units[i], protocol::event::Challenged{});
    move(units[2], protocol::event::GameEnded{true});
    move(units[3], protocol::event::Voided{});
    run([&](db::Transaction& tx) -> Status {
        return advance(tx, units[4], protocol::event::TimePassed{}, params,
                       kNow + params.challenge_ms + 1)
                       .ok()
                   ? Status()
                   : fail(ErrorCode::kInternal, "it is final");
    });
    run([&](db::Transaction& tx) { return require_audits_of(tx, address(9)); });
    EXPECT_EQ(audit_all(), (std::set<Digest>{units[0], units[1], units[2]}));
    run([&](db::Transaction& tx) { return require_audits_of(tx, address(9)); });
    EXPECT_TRUE(audit_all().empty()) << "once each";
}

TEST_F(RegistryUnits, AUnitInAGameIsToBeDisputedOnceAndNotBeforeItsRoundIsDecided) {
    const std::vector<Digest> units = open_round_with_units();
    for (const std::size_t i : {0, 1, 2, 3})
        verify(units[i]);
    const Digest job = new_job().id;
    const auto names = [&] {
        std::set<Digest> out;
        const auto found = coordinator->transact(
            [&](db::Transaction& tx) { return units_to_challenge(tx, job, address(77)); });
        EXPECT_TRUE(found.ok());
        for (const SignedUnit& unit : *found)
            out.insert(unit.unit);
        return out;
    };
    run([&](db::Transaction& tx) -> Status {
        // Of the workers of units 0, 1 and 2; the third's game has proven a fault, and the fourth's
        // is over.
        GYM_CHECK(store_games(tx, {address(77), 1, 100},
                              {{digest(30), address(1), 1, false, 1},
                               {digest(31), address(2), 2, false, 1},
                               {digest(32), address(3), 1, true, 1},
                               {digest(33), address(4), 0, false, 1}}));
        return {};
    });
    EXPECT_TRUE(names().empty()) << "a bond keeps no delta out";
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(seal_round(tx, job, 1, digest(40), 4, kNow));
        GYM_CHECK(mark_posted(tx, job, 1, 5, {7, {}}));
        GYM_CHECK(set_beacon(tx, job, 1, digest(41)));
        return set_aggregated(
            tx, job, 1, {{digest(42), digest(43)}, {digest(44), digest(45)}, {}, {}, 1.0}, kNow);
    });
    EXPECT_EQ(names(), (std::set<Digest>{units[0], units[1]}));
    move(units[0], protocol::event::Challenged{});
    EXPECT_EQ(names(), (std::set<Digest>{units[1]}));
}

/// Late ones are of the next round's epoch: its list, its block, its commitments.
TEST_F(RegistryUnits, LateUnitsAreOfTheNextRoundsEpoch) {
    const std::vector<Digest> units = open_round_with_units();
    const Digest job = new_job().id;
    params.late_ms = 5'000;
    const UnixMs later = kNow + params.unit_ms + 1;
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(commit(tx, units[0]));
        GYM_CHECK(advance(tx, units[1], protocol::event::TimePassed{}, params, later));
        protocol::SignedCommitment late;
        late.commitment.records_root = units[1];
        GYM_CHECK(store_commitment(tx, units[1], late, as_bytes("records"), later));
        GYM_CHECK(advance(tx, units[1], protocol::event::Committed{}, params, later));
        return {};
    });
    const auto read = [&](const auto& body) { return coordinator->transact(body).value(); };
    const auto of_epoch = [&](std::uint64_t round) {
        UnitFilter filter;
        filter.job_id = job;
        filter.epoch_round = round;
        filter.states = {UnitState::kCommitted};
        std::set<Digest> out;
        for (const Unit& unit : read([&](db::Transaction& tx) { return list_units(tx, filter); }))
            out.insert(unit.id);
        return out;
    };
    EXPECT_EQ(of_epoch(1), std::set<Digest>{units[0]});
    EXPECT_EQ(of_epoch(2), std::set<Digest>{units[1]});
    const Unit late = read([&](db::Transaction& tx) { return get_unit(tx, units[1]); });
    EXPECT_TRUE(late.status.late);
    EXPECT_EQ(late.epoch_round(), 2U);
    // Two epochs, and what is published under each.
    run([&](db::Transaction& tx) -> Status {
        GYM_TRY(Round first, get_round(tx, job, 1));
        first.record.round = 2;
        GYM_CHECK(record_round(tx, first.record, first.base, first.momentum, later));
        GYM_CHECK(set_epoch(tx, 1, {units[0]}));
        return set_epoch(tx, 2, {units[1]});
    });
    const auto published = [&](std::uint64_t round) {
        return read([&](db::Transaction& tx) {
            return published_commitments(tx, job, round, {0, 10});
        });
    };
    ASSERT_EQ(published(1).size(), 1U);
    EXPECT_EQ(published(1)[0].unit, units[0]);
    ASSERT_EQ(published(2).size(), 1U);
    EXPECT_EQ(published(2)[0].unit, units[1]);
    // Final once the window of the next round's block is over, which has none yet.
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance(tx, units[0], protocol::event::Drawn{false}, params, later));
        GYM_CHECK(advance(tx, units[1], protocol::event::Drawn{false}, params, later));
        GYM_CHECK(seal_round(tx, job, 1, digest(40), 1, kNow));
        return mark_posted(tx, job, 1, 5, {7, {}});
    });
    const auto overdue = read([&](db::Transaction& tx) {
        return overdue_units(tx, job, later + params.challenge_ms + 1,
                             {GameWatch{address(77), 2'000, 1'000}});
    });
    EXPECT_TRUE(std::ranges::any_of(overdue, [&](const Unit& u) { return u.id == units[0]; }));
    EXPECT_TRUE(std::ranges::none_of(overdue, [&](const Unit& u) { return u.id == units[1]; }))
        << "its own round's block does not count";
}

TEST_F(RegistryUnits, NothingBecomesLateOnceItIsCommitted) {
    const std::vector<Digest> units = open_round_with_units();
    run([&](db::Transaction& tx) { return commit(tx, units[0]); });
    auto& owner = database.owner();
    EXPECT_NE(sql(owner, "UPDATE registry.unit SET late = true WHERE slot = 0"),
              ErrorCode::kCancelled);
    EXPECT_EQ(sql(owner, "UPDATE registry.unit SET late = true WHERE slot = 1"),
              ErrorCode::kCancelled)
        << "it goes through";
    EXPECT_NE(sql(owner, "UPDATE registry.unit SET late = false WHERE slot = 1"),
              ErrorCode::kCancelled);
}

}  // namespace
}  // namespace gym::registry::testing
