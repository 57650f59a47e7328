// Uptime challenges through the coordinator: what it asks, which answers it takes, what it says of
// the others.
#include <gtest/gtest.h>

#include <set>

#include "fake_world.hpp"
#include "gym/registry/challenges.hpp"

namespace gym::testing {
namespace {

using records::NodeRole;

class CoordinatorUptime : public ::testing::Test {
  protected:
    CoordinatorUptime() {
        world.options.challenge_every_ms = 1'000;
        world.restart();
    }
    records::HeartbeatAnswer beat(const FakeNode& node,
                                  const std::optional<protocol::UptimeAnswer>& answer = {}) {
        const auto outcome = world.core().heartbeat(node.address(), answer);
        EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
        return outcome.value_or({});
    }
    protocol::UptimeAnswer sign(const FakeNode& node, const protocol::UptimeChallenge& challenge) {
        return protocol::answer_uptime(world.options.domain, node.key, challenge);
    }
    /// Passes until `node` has a challenge.
    protocol::UptimeChallenge ask(const FakeNode& node) {
        for (int i = 0; i < 200; ++i) {
            EXPECT_TRUE(world.core().challenge_nodes().ok());
            const auto outcome = beat(node);
            if (outcome.challenge) return *outcome.challenge;
            world.clock.advance_ms(500);
        }
        ADD_FAILURE() << "no challenge in 100 s, of which there should be one a second";
        return {};
    }
    registry::Uptime uptime(const FakeNode& node) {
        world.clock.advance_ms(world.options.challenge_answer_ms + 1);
        const UnixMs now_ms = world.clock.now_ms();
        const auto counted = world.database().transact([&](db::Transaction& tx) {
            return registry::uptime(tx, node.address(), now_ms - 3'600'000, now_ms);
        });
        const auto status = world.core().node_status(node.address());
        EXPECT_EQ(status->challenges, counted->issued);
        EXPECT_EQ(status->uptime_ppm, counted->ppm());
        return *counted;
    }

    World world;
    const FakeNode worker = world.add_node(NodeRole::kWorker);
    const FakeNode other = world.add_node(NodeRole::kVerifier);
};

TEST_F(CoordinatorUptime, a_signed_answer_counts) {
    const auto challenge = ask(worker);
    const auto outcome = beat(worker, sign(worker, challenge));
    EXPECT_EQ(outcome.answer_refused, "");
    EXPECT_FALSE(outcome.challenge) << "nothing is open any more";
    EXPECT_EQ(uptime(worker).answered, 1U);
    EXPECT_EQ(uptime(worker).issued, 1U);
}

TEST_F(CoordinatorUptime, an_answer_again_is_no_second_one) {
    const auto challenge = ask(worker);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(beat(worker, sign(worker, challenge)).answer_refused, "")
            << "a call whose reply was lost comes again";
    EXPECT_EQ(uptime(worker).answered, 1U);
}

TEST_F(CoordinatorUptime, what_is_not_the_nodes_own_answer_counts_nothing_and_says_why) {
    const auto challenge = ask(worker);
    EXPECT_NE(beat(other, sign(other, challenge)).answer_refused.find("not put to this node"),
              std::string::npos)
        << "another's nonce";
    EXPECT_NE(beat(worker, sign(other, challenge)).answer_refused.find("sign"), std::string::npos)
        << "another's signature";
    auto invented = challenge;
    invented.nonce.data[0] ^= 1;
    EXPECT_NE(beat(worker, sign(worker, invented)).answer_refused.find("not put to this node"),
              std::string::npos);
    auto moved = challenge;
    moved.issued_ms += 1;
    EXPECT_NE(beat(worker, sign(worker, moved)).answer_refused, "") << "another moment is signed";
    auto elsewhere = world.options.domain;
    elsewhere.chain_id = 1;
    EXPECT_NE(
        beat(worker, protocol::answer_uptime(elsewhere, worker.key, challenge)).answer_refused, "")
        << "another network";
    EXPECT_EQ(uptime(worker).answered, 0U);
    EXPECT_EQ(uptime(worker).issued, 1U);
}

TEST_F(CoordinatorUptime, a_late_answer_counts_nothing_and_says_by_how_much) {
    const auto challenge = ask(worker);
    world.clock.advance_ms(world.options.challenge_answer_ms + 7);
    const auto outcome = beat(worker, sign(worker, challenge));
    EXPECT_NE(outcome.answer_refused.find("7 ms after its deadline"), std::string::npos)
        << outcome.answer_refused;
    const registry::Uptime late = uptime(worker);
    EXPECT_EQ(late.answered, 0U);
    EXPECT_EQ(late.issued, 1U);
    EXPECT_EQ(late.late, 1U);
}

TEST_F(CoordinatorUptime, moments_and_nonces_have_no_pattern) {
    std::set<Digest> nonces;
    std::set<UnixMs> waits;
    UnixMs last = 0;
    const UnixMs begin = world.clock.now_ms();
    for (int i = 0; i < 40; ++i) {
        const auto challenge = ask(worker);
        ASSERT_EQ(beat(worker, sign(worker, challenge)).answer_refused, "");
        EXPECT_TRUE(nonces.insert(challenge.nonce).second);
        waits.insert(challenge.issued_ms - last);
        last = challenge.issued_ms;
    }
    EXPECT_GT(waits.size(), 4U) << "in steps of half a second around a mean of one";
    // 40 waits of one second on average, each rounded up to half a second: 5 standard deviations.
    EXPECT_GT(last - begin, 15'000);
    EXPECT_LT(last - begin, 90'000);
}

TEST_F(CoordinatorUptime, old_challenges_are_pruned_and_those_that_count_are_kept) {
    ask(worker);
    const auto count = [&] {
        return world.owner()
            .transact([&](db::Transaction& tx) {
                return tx.exec_one("SELECT count(*) AS n FROM registry.challenge");
            })
            ->get<std::int64_t>("n");
    };
    ASSERT_TRUE(world.owner()
                    .transact([&](db::Transaction& tx) {
                        return tx.exec(
                            "INSERT INTO registry.challenge (node, nonce, issued_at_ms, "
                            "deadline_ms) VALUES ($1, $2, $3::bigint, $3::bigint + 1)",
                            {worker.address(), Digest{},
                             world.clock.now_ms() - world.options.challenges_kept_ms});
                    })
                    .ok());
    const std::int64_t recorded = count();
    world.tick();
    EXPECT_EQ(count(), recorded) << "it counts for another hour";
    world.clock.advance_ms(world.options.challenges_pruned_every_ms);
    world.tick();
    EXPECT_EQ(count(), recorded - 1);
}

}  // namespace
}  // namespace gym::testing
