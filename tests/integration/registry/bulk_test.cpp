// Many units and nodes in one statement: the same as one by one, and nothing half.
#include <algorithm>
#include <set>
#include <thread>

#include "gym/registry/feed.hpp"
#include "registry_fixture.hpp"

namespace gym::registry::testing {
namespace {

using protocol::UnitState;

class RegistryBulk : public RegistryDatabase {
  protected:
    std::vector<UnitEventRow> events() {
        return *coordinator->transact(
            [](db::Transaction& tx) { return read_events(tx, 0, 1'000); });
    }
    Unit unit(const Digest& id) {
        return *coordinator->transact([&](db::Transaction& tx) { return get_unit(tx, id); });
    }
    Node node(std::uint8_t n) {
        return *coordinator->transact(
            [&](db::Transaction& tx) { return get_node(tx, address(n)); });
    }
    void expect_sound() {
        for (const char* view : {"registry_feed_gaps", "registry_state_without_event",
                                 "registry_commitment_mismatch"}) {
            const auto rows = database.owner().transact([&](db::Transaction& tx) {
                return tx.exec(std::string("SELECT * FROM audit.") + view);
            });
            ASSERT_TRUE(rows.ok());
            EXPECT_EQ(rows->size(), 0U) << view;
        }
    }
    std::vector<UnitStep> steps(const std::vector<Digest>& units,
                                const protocol::UnitEvent& event) {
        std::vector<UnitStep> out;
        for (const Digest& id : units)
            out.push_back({id, event});
        return out;
    }
    void commit_all(const std::vector<Digest>& units) {
        run([&](db::Transaction& tx) -> Status {
            for (const Digest& id : units)
                GYM_CHECK(commit(tx, id));
            return {};
        });
    }
    const UnixMs late = kNow + params.challenge_ms + 1;
};

TEST_F(RegistryBulk, StepsTogetherAreWhatTheyAreOneByOne) {
    const auto units = open_round_with_units();
    commit_all(units);
    // Half together, half one by one.
    const std::vector<Digest> together(units.begin(), units.begin() + 4);
    const std::vector<Digest> alone(units.begin() + 4, units.end());
    const auto both = [&](const protocol::UnitEvent& event, UnixMs at) {
        run([&](db::Transaction& tx) -> Status {
            GYM_TRY(const auto moved, advance_all(tx, steps(together, event), params, at));
            for (std::size_t i = 0; i < moved.size(); ++i)
                EXPECT_EQ(moved[i].id, together[i]);
            for (const Digest& id : alone)
                GYM_CHECK(advance(tx, id, event, params, at));
            return {};
        });
    };
    both(protocol::event::Drawn{false}, kNow);
    both(protocol::event::TimePassed{}, late);
    for (std::size_t i = 0; i < 4; ++i) {
        const Unit a = unit(together[i]), b = unit(alone[i]);
        EXPECT_EQ(a.status, b.status);
        EXPECT_EQ(a.status.state, UnitState::kFinal);
        EXPECT_EQ(a.ended_at_ms, b.ended_at_ms);
        EXPECT_EQ(a.flops, b.flops);
    }
    const Amount one_unit =
        protocol::work_value(unit(alone[0]).flops, new_job().terms.price_wei_per_pflop).value();
    for (std::uint8_t n = 1; n <= 8; ++n)
        EXPECT_EQ(node(n).valid_value, one_unit) << int{n};
    expect_sound();
}

TEST_F(RegistryBulk, AStepReturnsTheUnitAsItIsStored) {
    const auto units = open_round_with_units();
    commit_all(units);
    const auto expect_stored = [&](const protocol::UnitEvent& event, UnixMs at) {
        run([&](db::Transaction& tx) -> Status {
            GYM_TRY(const auto moved, advance_all(tx, steps(units, event), params, at));
            for (const Unit& after : moved) {
                GYM_TRY(const Unit stored, get_unit(tx, after.id));
                EXPECT_EQ(static_cast<const records::UnitSummary&>(after),
                          static_cast<const records::UnitSummary&>(stored));
                EXPECT_EQ(after.verifier, stored.verifier);
                EXPECT_EQ(after.report_digest, stored.report_digest);
                EXPECT_EQ(after.ended_at_ms, stored.ended_at_ms);
                EXPECT_EQ(after.committed_at_ms, stored.committed_at_ms);
            }
            return {};
        });
    };
    expect_stored(protocol::event::Drawn{true}, kNow);
    run([&](db::Transaction& tx) -> Status {
        for (const Digest& id : units) {
            GYM_CHECK(set_verifier(tx, id, address(9)));
            GYM_CHECK(store_report(tx, id, 0, address(9), digest(20), kNow));
        }
        return {};
    });
    expect_stored(protocol::event::Reported{}, kNow);
    expect_stored(protocol::event::TimePassed{}, kNow + params.reveal_ms + 1);  // the next draw
    EXPECT_EQ(unit(units[0]).verifier, std::nullopt);
    const auto missed =
        *coordinator->transact([&](db::Transaction& tx) { return missed_draws(tx, units); });
    EXPECT_EQ(missed.size(), units.size());
    EXPECT_EQ(missed.at(units[3]).front().verifier, address(9));
    expect_sound();
}

TEST_F(RegistryBulk, OneStepThatIsNotAllowedUndoesAll) {
    const auto units = open_round_with_units();
    commit_all({units[0], units[1]});
    const std::size_t before = events().size();
    const auto moved = coordinator->transact([&](db::Transaction& tx) {
        return advance_all(tx, steps({units[0], units[1], units[2]}, protocol::event::Drawn{true}),
                           params, kNow);
    });
    ASSERT_FALSE(moved.ok());
    EXPECT_EQ(moved.error().code, ErrorCode::kConflict);
    EXPECT_EQ(unit(units[0]).status.state, UnitState::kCommitted);
    EXPECT_EQ(events().size(), before);
    const auto unknown = coordinator->transact([&](db::Transaction& tx) {
        return advance_all(tx, steps({digest(99)}, protocol::event::Drawn{true}), params, kNow);
    });
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
    EXPECT_NE(unknown.error().message.find(digest(99).hex()), std::string::npos);
}

TEST_F(RegistryBulk, TheFeedHasOneEventAUnitInTheOrderOfTheirSlots) {
    const auto units = open_round_with_units();
    commit_all(units);
    std::vector<Digest> shuffled(units.rbegin(), units.rend());
    const std::uint64_t before = events().back().seq;
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance_all(tx, steps(shuffled, protocol::event::Drawn{true}), params, kNow));
        return {};
    });
    const auto all = events();
    std::vector<Digest> drawn;
    for (const UnitEventRow& event : all)
        if (event.seq > before) {
            EXPECT_EQ(event.seq, before + drawn.size() + 1) << "no gap";
            EXPECT_EQ(event.from, UnitState::kCommitted);
            EXPECT_EQ(event.to, UnitState::kSampled);
            EXPECT_EQ(event.flops, 5U);
            drawn.push_back(event.unit);
        }
    EXPECT_EQ(drawn, units);
    run([&](db::Transaction& tx) { return set_epoch(tx, 1, units); });
    EXPECT_EQ(events().size(), all.size()) << "what moves no unit is no event";
    EXPECT_EQ(unit(units[5]).leaf_index, 5U);
    expect_sound();
}

TEST_F(RegistryBulk, AcceptedReportsAreNumberedWithoutGaps) {
    const auto units = open_round_with_units();
    commit_all(units);
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance_all(tx, steps(units, protocol::event::Drawn{true}), params, kNow));
        std::vector<DrawnVerifier> drawn;
        for (const Digest& id : units)
            drawn.push_back({id, address(9)});
        GYM_CHECK(set_verifiers(tx, drawn));
        for (std::size_t i = 0; i < units.size(); ++i) {
            const Digest& id = units[i];
            GYM_CHECK(store_report(tx, id, 0, address(9), digest(20), kNow));
            GYM_CHECK(advance(tx, id, protocol::event::Reported{}, params, kNow));
            if (i == 0) continue;  // never revealed
            GYM_CHECK(advance(tx, id, protocol::event::Revealed{}, params, kNow));
            protocol::Report report;
            report.unit = id;
            report.verifier = address(9);
            GYM_CHECK(store_reveal(tx, report, as_bytes("records"), true, kNow));
            GYM_CHECK(advance(tx, id, protocol::event::Compared{true}, params, kNow));
        }
        return {};
    });
    const std::vector<Digest> verified(units.begin() + 1, units.end());
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance_all(tx, steps(verified, protocol::event::TimePassed{}), params, late));
        return {};
    });
    const auto accepted = *coordinator->transact(
        [](db::Transaction& tx) { return read_accepted_reports(tx, 0, 100); });
    ASSERT_EQ(accepted.size(), verified.size());
    for (std::size_t i = 0; i < accepted.size(); ++i) {
        EXPECT_EQ(accepted[i].seq, i + 1);
        EXPECT_EQ(accepted[i].unit, verified[i]);
    }
}

TEST_F(RegistryBulk, AVerifierForAUnitThatWaitsForNoneIsRefused) {
    const auto units = open_round_with_units();
    const auto refused = coordinator->transact([&](db::Transaction& tx) {
        const std::vector<DrawnVerifier> drawn{{units[0], address(9)}, {units[1], address(9)}};
        return set_verifiers(tx, drawn);
    });
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

TEST_F(RegistryBulk, UnitsThatKeepTheirNodesBusyAreFound) {
    const auto units = open_round_with_units();
    commit_all({units[0], units[1]});
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(advance(tx, units[0], protocol::event::Drawn{true}, params, kNow));
        return set_verifier(tx, units[0], address(9));
    });
    std::vector<Address> all;
    for (std::uint8_t n = 1; n <= 9; ++n)
        all.push_back(address(n));
    run([&](db::Transaction& tx) -> Status {
        GYM_TRY(const auto busy, busy_units(tx));
        EXPECT_EQ(busy.size(), 6U);
        GYM_TRY(const auto trains, next_train_units(tx, all, kNow));
        EXPECT_EQ(trains.size(), 6U);
        EXPECT_EQ(trains.at(address(3)).id, units[2]);
        GYM_TRY(const auto others, next_train_units(tx, all, kNow, std::vector{units[2]}));
        EXPECT_EQ(others.size(), 5U);
        EXPECT_FALSE(others.contains(address(3))) << "it is done with its unit";
        GYM_TRY(const auto drawn, next_drawn_units(tx, all, kNow));
        EXPECT_EQ(drawn.size(), 1U);
        EXPECT_EQ(drawn.at(address(9)).id, units[0]);
        GYM_TRY(const auto nodes, nodes_with_units(tx, kNow));
        EXPECT_EQ(nodes.size(), 7U);
        GYM_TRY(const auto over, nodes_with_units(tx, kNow + params.unit_ms + params.report_ms));
        EXPECT_TRUE(over.empty()) << "their deadlines are over";
        return {};
    });
}

TEST_F(RegistryBulk, ANodeWhoseRowIsLockedKeepsNobodyWaiting) {
    std::vector<Sighting> seen;
    for (std::uint8_t n = 1; n <= 3; ++n)
        seen.push_back({address(n), kNow + 50});
    seen.push_back({address(77), kNow + 50});  // unknown
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(leave(tx, address(2), kNow + 10));  // holds its row
        std::set<Address> marked;
        std::jthread other([&] {
            const auto start = std::chrono::steady_clock::now();
            marked = *coordinator->transact(
                [&](db::Transaction& inner) { return see_nodes(inner, seen); });
            EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
        });
        other.join();
        EXPECT_EQ(marked, (std::set<Address>{address(1), address(3)}));
        return {};
    });
    EXPECT_EQ(node(1).last_seen_at_ms, kNow + 50);
    EXPECT_TRUE(node(2).left);
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(see_nodes(tx, seen));
        return {};
    });
    EXPECT_FALSE(node(2).left) << "and the next time it is there";
}

TEST_F(RegistryBulk, ANodeThatSignedOffAfterItWasSeenStaysAway) {
    const std::vector<Sighting> before{{address(1), kNow + 50}, {address(2), kNow + 50}};
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(leave(tx, address(1), kNow + 60));
        GYM_CHECK(leave(tx, address(2), kNow + 60));
        GYM_TRY(const auto marked, see_nodes(tx, before));  // a batch that comes late
        EXPECT_EQ(marked.size(), 2U);
        return heartbeat(tx, address(2), kNow + 50);
    });
    EXPECT_TRUE(node(1).left);
    EXPECT_TRUE(node(2).left);
    EXPECT_EQ(node(1).last_seen_at_ms, kNow + 60);
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(see_nodes(tx, std::vector<Sighting>{{address(1), kNow + 61}}));
        return heartbeat(tx, address(2), kNow + 61);
    });
    EXPECT_FALSE(node(1).left);
    EXPECT_FALSE(node(2).left);
}

}  // namespace
}  // namespace gym::registry::testing
