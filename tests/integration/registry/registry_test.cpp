// The registry's own rules: what the schema refuses whoever writes, and that the feed can be
// followed.
#include <atomic>
#include <set>
#include <thread>

#include "gym/registry/feed.hpp"
#include "gym/registry/games.hpp"
#include "registry_fixture.hpp"

namespace gym::registry::testing {
namespace {

using protocol::UnitState;

TEST_F(RegistryDatabase, TheTransitionTableIsTheStateMachines) {
    const auto rows = coordinator
                          ->transact([](db::Transaction& tx) {
                              return tx.exec(
                                  "SELECT from_state, to_state FROM "
                                  "registry.unit_transition");
                          })
                          .value();
    std::set<std::pair<std::string, std::string>> stored;
    for (const db::Row row : rows)
        stored.emplace(row.get<std::string>(0), row.get<std::string>(1));
    std::set<std::pair<std::string, std::string>> legal;
    for (std::size_t from = 0; from < protocol::kUnitStateCount; ++from)
        for (std::size_t to = 0; to < protocol::kUnitStateCount; ++to)
            if (protocol::is_legal(static_cast<UnitState>(from), static_cast<UnitState>(to)))
                legal.emplace(protocol::to_string(static_cast<UnitState>(from)),
                              protocol::to_string(static_cast<UnitState>(to)));
    EXPECT_EQ(stored, legal);
}

TEST_F(RegistryDatabase, TheSchemaRefusesWhatTheStateMachineWould) {
    const std::vector<Digest> units = open_round_with_units();
    auto& owner = database.owner();
    const std::string one = " WHERE slot = 0";
    EXPECT_NE(sql(owner, "UPDATE registry.unit SET state = 'final', ended_at_ms = 1" + one),
              ErrorCode::kCancelled)
        << "assigned -> final is no transition";
    EXPECT_NE(sql(owner, "UPDATE registry.unit SET state = 'committed'" + one),
              ErrorCode::kCancelled)
        << "committed without a time";
    EXPECT_NE(sql(owner, "UPDATE registry.unit SET worker = '\\x00'" + one), ErrorCode::kCancelled);
    EXPECT_NE(
        sql(owner, "UPDATE registry.unit SET owner = '\\x" + std::string(40, '0') + "'" + one),
        ErrorCode::kCancelled)
        << "who is credited never changes";
    EXPECT_NE(sql(owner, "DELETE FROM registry.unit_event"), ErrorCode::kCancelled);
    EXPECT_NE(sql(owner, "UPDATE registry.unit_event SET to_state = 'final'"),
              ErrorCode::kCancelled);
    EXPECT_NE(sql(owner, "TRUNCATE registry.unit_event"), ErrorCode::kCancelled);
    EXPECT_NE(sql(owner, "UPDATE registry.job SET budget_wei = 1"), ErrorCode::kCancelled);
    EXPECT_NE(sql(owner, "UPDATE registry.job SET status = 'submitted'"), ErrorCode::kCancelled);
    EXPECT_NE(sql(owner, "UPDATE registry.round SET state = 'sealed'"), ErrorCode::kCancelled);
    run([&](db::Transaction& tx) { return commit(tx, units[0]); });
    EXPECT_NE(sql(owner, "UPDATE registry.unit SET flops = 6" + one), ErrorCode::kCancelled)
        << "what was committed to never changes";
}

TEST_F(RegistryDatabase, RolesCanDoTheirWorkAndNothingElse) {
    open_round_with_units();
    const auto rewards = database.as("gym_rewards");
    using E = ErrorCode;
    EXPECT_EQ(sql(*api, "UPDATE registry.unit SET reason = 'x'"), E::kPermissionDenied);
    EXPECT_EQ(sql(*api, "UPDATE registry.job SET status = 'paused'"), E::kPermissionDenied);
    EXPECT_EQ(sql(*api, "SELECT records FROM registry.unit_records"), E::kPermissionDenied);
    EXPECT_EQ(sql(*api, "SELECT salt FROM registry.report"), E::kPermissionDenied);
    EXPECT_EQ(sql(*api, "UPDATE registry.job SET request = 'pause'"), E::kCancelled);
    EXPECT_EQ(sql(*rewards, "UPDATE registry.unit SET reason = 'x'"), E::kPermissionDenied);
    EXPECT_EQ(sql(*rewards, "SELECT * FROM registry.unit_event"), E::kCancelled);
    EXPECT_EQ(sql(*coordinator,
                  "INSERT INTO registry.unit_event SELECT seq + 100, unit_id, "
                  "from_state, to_state, at_ms, detail FROM registry.unit_event"),
              E::kPermissionDenied)
        << "only the trigger writes the feed";
    EXPECT_EQ(sql(*coordinator, "DELETE FROM registry.unit"), E::kPermissionDenied);
    EXPECT_EQ(sql(*coordinator, "UPDATE registry.unit_commitment SET commitment = ''"),
              E::kPermissionDenied);
}

TEST_F(RegistryDatabase, AReaderOfTheFeedNeverSkipsAnEvent) {
    const std::vector<Digest> units = open_round_with_units();
    std::atomic<bool> done = false;
    std::vector<std::thread> writers;
    std::atomic<int> failures = 0;
    for (const Digest& unit : units)
        writers.emplace_back([&, unit] {
            for (const protocol::UnitEvent& event :
                 {protocol::UnitEvent(protocol::event::Committed{}),
                  protocol::UnitEvent(protocol::event::Drawn{true}),
                  protocol::UnitEvent(protocol::event::Redrawn{}),
                  protocol::UnitEvent(protocol::event::Redrawn{})}) {
                const Status moved = coordinator->transact([&](db::Transaction& tx) -> Status {
                    if (std::holds_alternative<protocol::event::Committed>(event))
                        return commit(tx, unit);
                    GYM_CHECK(advance(tx, unit, event, params, kNow));
                    return {};
                });
                failures += moved.ok() ? 0 : 1;
            }
        });
    std::uint64_t seen = 0;
    std::thread reader([&] {
        for (bool last = false; !last;) {
            last = done;
            const auto events =
                api->transact([&](db::Transaction& tx) { return read_events(tx, seen, 3); });
            ASSERT_TRUE(events.ok());
            for (const UnitEventRow& event : *events)
                EXPECT_EQ(event.seq, ++seen) << "an event appeared behind a reader";
            if (!events->empty()) last = false;
        }
    });
    for (std::thread& writer : writers)
        writer.join();
    done = true;
    reader.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(seen, 8U * 5U);
}

TEST_F(RegistryDatabase, ACommitmentAndItsStateAreOne) {
    const std::vector<Digest> units = open_round_with_units();
    const Status without = coordinator->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance(tx, units[0], protocol::event::Committed{}, params, kNow));
        return {};
    });
    EXPECT_EQ(without.error().code, ErrorCode::kConflict);
    run([&](db::Transaction& tx) { return commit(tx, units[0]); });
    const Status again =
        coordinator->transact([&](db::Transaction& tx) { return commit(tx, units[0]); });
    EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
}

TEST_F(RegistryDatabase, AHeartbeatOfAStrangerIsRefused) {
    EXPECT_EQ(
        coordinator->transact([&](db::Transaction& tx) { return heartbeat(tx, address(77), kNow); })
            .error()
            .code,
        ErrorCode::kNotFound);
}

TEST_F(RegistryDatabase, AnExclusionKeepsItsFirstReasonThroughANewRegistration) {
    run([&](db::Transaction& tx) -> Status {
        const protocol::UnitKey unit{digest(1), 1, 2, 0};
        GYM_CHECK(exclude_node(tx, address(1),
                               protocol::step_differs(unit, 3, digest(1), digest(2)), std::nullopt,
                               kNow));
        GYM_CHECK(
            exclude_node(tx, address(1), protocol::late_commitment(unit), std::nullopt, kNow));
        NewNode again;
        again.address = again.owner = address(1);
        again.name = "back again";
        GYM_CHECK(register_node(tx, again, kNow + 5));
        return {};
    });
    const Node node =
        coordinator->transact([](db::Transaction& tx) { return get_node(tx, address(1)); }).value();
    EXPECT_TRUE(node.excluded);
    EXPECT_EQ(node.excluded_code, "step_differs");
    EXPECT_EQ(node.name, "back again");
    NewNode other_role;
    other_role.address = other_role.owner = address(2);
    other_role.profile.role = records::NodeRole::kVerifier;
    EXPECT_EQ(
        coordinator
            ->transact([&](db::Transaction& tx) { return register_node(tx, other_role, kNow); })
            .error()
            .code,
        ErrorCode::kConflict);
}

TEST_F(RegistryDatabase, SubmittingTwiceIsOneJobAndOtherContentAConflict) {
    const auto code_of = [&](const NewJob& job) {
        const auto stored = submit(job);
        return stored.ok() ? ErrorCode::kCancelled : stored.error().code;
    };
    NewJob job = new_job();
    EXPECT_EQ(code_of(job), ErrorCode::kCancelled);
    EXPECT_EQ(code_of(job), ErrorCode::kCancelled);
    job.terms.steps = 7;
    EXPECT_EQ(code_of(job), ErrorCode::kConflict);
    NewJob no_dataset = new_job();
    no_dataset.id = digest(50);
    no_dataset.dataset_root = digest(51);
    EXPECT_EQ(code_of(no_dataset), ErrorCode::kConflict);
    NewJob bad_terms = new_job();
    bad_terms.id = digest(52);
    bad_terms.terms.workers_min = 99;
    EXPECT_EQ(code_of(bad_terms), ErrorCode::kInvalidArgument);
    const auto jobs =
        api->transact([](db::Transaction& tx) { return list_jobs(tx, JobFilter{}); }).value();
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_TRUE(jobs[0].spec_yaml.empty()) << "a list is not megabytes";
}

TEST_F(RegistryDatabase, RoundsAreNumberedWithoutGapsAndRecordedOnce) {
    open_round_with_units();
    protocol::RoundRecord record;
    record.job_id = new_job().id;
    record.checkpoint_every = 1;
    const auto put = [&](std::uint64_t number) {
        record.round = number;
        return coordinator->transact([&](db::Transaction& tx) {
            return record_round(tx, record, {digest(5), digest(6)}, {digest(7), digest(8)}, kNow);
        });
    };
    EXPECT_EQ(put(1).error().code, ErrorCode::kConflict) << "round 1 has another record";
    EXPECT_EQ(put(3).error().code, ErrorCode::kConflict) << "round 2 is missing";
    const auto second = put(2);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->epoch, 2U);
    EXPECT_EQ(put(2)->epoch, 2U) << "the same record again is the same round";
    EXPECT_EQ(coordinator
                  ->transact([&](db::Transaction& tx) {
                      return seal_round(tx, record.job_id, 2, digest(9), 0, kNow);
                  })
                  .error()
                  .code,
              ErrorCode::kConflict)
        << "a round is sealed after it was open";
}

TEST_F(RegistryDatabase, TheStepsToABaseStateAreTheUpdatesOfTheLastEightRounds) {
    ASSERT_TRUE(submit(new_job()).ok());
    const Digest job = new_job().id;
    const auto base = [](std::uint64_t round) {
        return StateRef{digest(100 + round), digest(200 + round)};
    };
    const StateRef momentum{digest(7), digest(8)};
    protocol::RoundRecord record;
    record.job_id = job;
    record.checkpoint_every = 1;
    record.slots = {{0, address(1), kPpm, 1}};
    // Round 3 was of a program that had no update; round 6 had no deltas.
    const auto play = [&](db::Transaction& tx, std::uint64_t round) -> Status {
        record.round = round;
        GYM_TRY(const Round made,
                record_round(tx, record, base(round == 7 ? 6 : round), momentum, kNow));
        record.previous_record = made.record_hash;
        GYM_CHECK(open_round(tx, job, round, kNow + 1, kNow));
        GYM_CHECK(seal_round(tx, job, round, digest(9), 0, kNow));
        GYM_CHECK(mark_posted(tx, job, round, 10 + round, {20 + round, {}}));
        GYM_CHECK(set_beacon(tx, job, round, digest(10)));
        AggregateOutcome outcome{base(round == 6 ? 6 : round + 1), momentum, {}, {}, 1};
        if (round != 3 && round != 6) outcome.next_update_blob = digest(300 + round);
        GYM_CHECK(set_aggregated(tx, job, round, outcome, kNow));
        GYM_TRY(const Round after, get_round(tx, job, round));
        EXPECT_EQ(after.next_update_blob, outcome.next_update_blob);
        return {};
    };
    run([&](db::Transaction& tx) -> Status {
        JobArtifacts artifacts;
        artifacts.seed = digest(3);
        artifacts.program_root = digest(4);
        GYM_CHECK(start_job(tx, job, artifacts, kNow));
        GYM_TRY(auto newest, newest_beacon(tx));
        EXPECT_FALSE(newest) << "nothing was drawn yet";
        for (std::uint64_t round = 1; round <= 20; ++round)
            GYM_CHECK(play(tx, round));
        GYM_TRY(newest, newest_beacon(tx));
        EXPECT_EQ(newest->beacon, digest(10));
        EXPECT_EQ(newest->sealed_at_ms, kNow);
        return {};
    });
    const auto steps = [&](std::uint64_t round) {
        std::vector<records::BaseStep> out;
        run([&](db::Transaction& tx) -> Status {
            GYM_TRY(out, steps_to_base(tx, job, round));
            return {};
        });
        return out;
    };
    using Steps = std::vector<records::BaseStep>;
    const auto step = [](std::uint64_t round, std::uint64_t of_base) {
        return records::BaseStep{digest(200 + of_base), digest(300 + round)};
    };
    EXPECT_EQ(steps(1), Steps{});
    EXPECT_EQ(steps(3), (Steps{step(1, 1), step(2, 2)}));
    EXPECT_EQ(steps(4), Steps{}) << "the base state before it leads nowhere";
    EXPECT_EQ(steps(6), (Steps{step(4, 4), step(5, 5)}));
    EXPECT_EQ(steps(7), (Steps{step(4, 4), step(5, 5)})) << "the same base state";
    EXPECT_EQ(steps(8), (Steps{step(4, 4), step(5, 5), step(7, 6)}));
    ASSERT_EQ(steps(20).size(), records::kBaseStepsMax);
    EXPECT_EQ(steps(20).front(), step(12, 12));
    EXPECT_EQ(steps(20).back(), step(19, 19));
}

TEST_F(RegistryDatabase, TheFirstOfTheGamesThatAreOpenSaysSinceWhen) {
    GameWatch watch{address(1), 0, 100};
    const auto opened_after = [&](std::uint64_t open_games, std::optional<std::uint64_t> opened) {
        ++watch.seen_block;
        run([&](db::Transaction& tx) -> Status {
            GYM_CHECK(store_games(tx, watch, {{digest(1), address(2), open_games, false, opened}}));
            return {};
        });
        return coordinator
            ->transact([&](db::Transaction& tx) {
                return find_disputed_unit(tx, watch.contract, digest(1));
            })
            .value()
            ->opened_block;
    };
    using Block = std::optional<std::uint64_t>;
    EXPECT_EQ(opened_after(1, 10), Block(10));
    EXPECT_EQ(opened_after(2, 20), Block(10)) << "another game";
    EXPECT_EQ(opened_after(1, std::nullopt), Block(10)) << "asked for, and nothing new";
    EXPECT_EQ(opened_after(1, 9), Block(9)) << "a reorganisation moved it";
    EXPECT_EQ(opened_after(0, std::nullopt), Block(9));
    EXPECT_EQ(opened_after(1, 30), Block(30)) << "nothing was open meanwhile";
    EXPECT_EQ(opened_after(0, std::nullopt), Block(30));
    EXPECT_EQ(opened_after(1, std::nullopt), Block()) << "not known";
    EXPECT_EQ(opened_after(2, 40), Block()) << "one is older, nobody knows how much";
}

}  // namespace
}  // namespace gym::registry::testing
