// Calls of many nodes that are answered together, and nodes that wait without asking: woken by
// whichever instance has something for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "fake_world.hpp"
#include "gym/coordinator/grpc_service.hpp"
#include "gym/coordinator/task_watch.hpp"
#include "gym/registry/challenges.hpp"

namespace gym::testing {
namespace {

using coordinator::Beat;
using records::NodeRole;

class Together : public ::testing::Test {
  protected:
    std::vector<Address> addresses(const std::vector<FakeNode>& nodes) {
        std::vector<Address> out;
        for (const FakeNode& node : nodes)
            out.push_back(node.address());
        return out;
    }
    std::vector<FakeNode> workers(int count) {
        std::vector<FakeNode> out;
        for (int i = 0; i < count; ++i)
            out.push_back(world.add_node(NodeRole::kWorker));
        return out;
    }
    void exclude(const Address& node) {
        const Status done = world.database().transact([&](db::Transaction& tx) {
            return registry::exclude_node(tx, node, protocol::late_commitment({Digest{}, 1, 0, 0}),
                                          {}, world.clock.now_ms());
        });
        ASSERT_TRUE(done.ok()) << done.error().message;
    }
    World world;
};

TEST_F(Together, HeartbeatsOfABatchAreAnsweredEachForItself) {
    const auto nodes = workers(3);
    const FakeNode stranger;
    ASSERT_NO_FATAL_FAILURE(exclude(nodes[2].address()));
    world.clock.advance_ms(1'000);
    const UnixMs at = world.clock.now_ms();
    const std::vector<Beat> beats{{nodes[0].address(), at, {}},
                                  {stranger.address(), at, {}},
                                  {nodes[2].address(), at, {}},
                                  {nodes[0].address(), at + 5, {}}};
    const auto answers = world.core().heartbeats(beats);
    ASSERT_EQ(answers.size(), 4U);
    ASSERT_TRUE(answers[0].ok()) << answers[0].error().message;
    EXPECT_EQ(answers[0]->excluded_because, "");
    EXPECT_EQ(answers[1].error().code, ErrorCode::kNotFound);
    EXPECT_NE(answers[1].error().message.find(stranger.address().hex()), std::string::npos);
    ASSERT_TRUE(answers[2].ok());
    EXPECT_NE(answers[2]->excluded_because, "");
    EXPECT_TRUE(answers[3].ok());
    EXPECT_EQ(world.node(nodes[0].address()).last_seen_at_ms, at + 5) << "the later of two";
    EXPECT_LT(world.node(nodes[1].address()).last_seen_at_ms, at) << "it did not come";
}

TEST_F(Together, ChallengesAreAnsweredInOneBatch) {
    world.options.challenge_every_ms = 1'000;
    world.restart();
    const auto nodes = workers(4);
    std::vector<std::optional<protocol::UptimeChallenge>> asked(nodes.size());
    const auto beat = [&](const std::vector<std::optional<protocol::UptimeAnswer>>& with) {
        std::vector<Beat> beats;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            beats.push_back({nodes[i].address(), world.clock.now_ms(), with[i]});
        return world.core().heartbeats(beats);
    };
    const std::vector<std::optional<protocol::UptimeAnswer>> none(nodes.size());
    const auto all_asked = [&] {
        for (const auto& challenge : asked)
            if (!challenge) return false;
        return true;
    };
    // Exponentially distributed around a second: one comes within 15 s all but for e^-15.
    for (int i = 0; i < 1'500 && !all_asked(); ++i) {
        ASSERT_TRUE(world.core().challenge_nodes().ok());
        const auto answers = beat(none);
        for (std::size_t n = 0; n < nodes.size(); ++n)
            if (answers[n]->challenge && !asked[n]) asked[n] = answers[n]->challenge;
        world.clock.advance_ms(10);
    }
    ASSERT_TRUE(all_asked());
    const auto sign = [&](std::size_t signer, std::size_t challenge) {
        return protocol::answer_uptime(world.options.domain, nodes[signer].key, *asked[challenge]);
    };
    // One right, one of another node's challenge, one signed by another, one right.
    auto forged = sign(3, 2);
    const auto answers = beat({sign(0, 0), sign(1, 0), forged, sign(3, 3)});
    EXPECT_EQ(answers[0]->answer_refused, "");
    EXPECT_NE(answers[1]->answer_refused.find("not put to this node"), std::string::npos);
    EXPECT_NE(answers[2]->answer_refused, "");
    EXPECT_EQ(answers[3]->answer_refused, "");
    const auto again = beat({sign(0, 0), std::nullopt, std::nullopt, std::nullopt});
    EXPECT_EQ(again[0]->answer_refused, "") << "a repeated answer is no refusal";
    world.clock.advance_ms(world.options.challenge_answer_ms + 1'000);
    const auto late = beat({std::nullopt, std::nullopt, sign(2, 2), std::nullopt});
    EXPECT_NE(late[2]->answer_refused.find("after its deadline"), std::string::npos);
}

TEST_F(Together, TasksOfABatchAreEachNodesOwn) {
    const auto nodes = workers(3);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const FakeNode stranger;
    registry::JobTerms terms = World::terms();
    terms.slots_max = 2;
    world.submit_job(terms);
    world.settle();
    std::vector<Address> ask = addresses(nodes);
    ask.push_back(verifier.address());
    ask.push_back(stranger.address());
    const auto tasks = world.core().next_tasks(ask);
    ASSERT_EQ(tasks.size(), 5U);
    std::set<std::uint32_t> slots;
    for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(tasks[i].ok()) << tasks[i].error().message;
        const auto alone = world.core().next_unit(ask[i]);
        ASSERT_EQ(alone->has_value(), tasks[i]->has_value());
        if (!*alone) continue;
        EXPECT_EQ(std::get<records::TrainTask>(**tasks[i]), **alone);
        slots.insert((*alone)->unit.slot);
    }
    EXPECT_EQ(slots, (std::set<std::uint32_t>{0, 1}));
    EXPECT_FALSE(tasks[3]->has_value()) << "nothing is drawn yet";
    EXPECT_EQ(tasks[4].error().code, ErrorCode::kNotFound);

    for (const FakeNode& node : nodes)
        if (world.core().next_unit(node.address())->has_value()) {
            ASSERT_TRUE(world.commit(node, world.work(node)).ok());
        }
    world.settle();
    const Address one = verifier.address();
    const auto drawn = world.core().next_tasks({&one, 1});
    ASSERT_TRUE(drawn[0].ok() && drawn[0]->has_value());
    EXPECT_EQ(std::get<records::VerifyTask>(**drawn[0]), **world.core().next_task(one));
    const auto waiting = *world.core().nodes_with_tasks();
    EXPECT_EQ(waiting, std::vector{one});
}

TEST_F(Together, ARestartedServerReadsAllNodesAtOnce) {
    const auto nodes = workers(3);
    const FakeNode fresh, stranger;
    coordinator::GrpcService service(world.core(), world.database(), world.blobs, world.clock, {});
    ASSERT_TRUE(service.register_node(fresh.address(), {NodeRole::kWorker, "cpu", 1, 1, "v"}).ok());
    const auto registered = service.registered_nodes();
    ASSERT_TRUE(registered.ok()) << registered.error().message;
    for (const Address& node :
         {nodes[0].address(), nodes[1].address(), nodes[2].address(), fresh.address()}) {
        EXPECT_EQ(std::ranges::count(*registered, node), 1);
        EXPECT_TRUE(service.is_registered(node).value());
    }
    EXPECT_EQ(std::ranges::count(*registered, stranger.address()), 0);
    EXPECT_FALSE(service.is_registered(stranger.address()).value());
}

TEST_F(Together, TwoJobsDoNotRecordOneWorker) {
    const auto nodes = workers(4);
    registry::JobTerms terms = World::terms();
    terms.slots_max = terms.workers_min = 2;
    const Digest first = world.submit_job(terms);
    world.clock.advance_ms(1);
    const Digest second = world.submit_job(terms);
    // No block: the records are on their way, no unit is assigned yet.
    for (int i = 0; i < 4; ++i)
        world.tick();
    std::set<Address> taken;
    for (const Digest& job : {first, second})
        for (const registry::Round& round : world.rounds(job))
            for (const protocol::SlotAssignment& slot : round.record.slots)
                EXPECT_TRUE(taken.insert(slot.worker).second) << "a worker in two rounds";
    EXPECT_EQ(taken.size(), 4U);
}

/// What a watch told, for a test to wait for.
class Told {
  public:
    coordinator::TaskWatch::Wake wake() {
        return [this](std::span<const Address> nodes) {
            {
                const std::scoped_lock lock(mutex_);
                told_.insert(nodes.begin(), nodes.end());
            }
            changed_.notify_all();
        };
    }
    bool within(const Address& node, std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, time, [&] { return told_.contains(node); });
    }
    void forget() {
        const std::scoped_lock lock(mutex_);
        told_.clear();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<Address> told_;
};

class Watching : public Together {
  protected:
    static constexpr std::int64_t kNever = 3'600'000;
    static constexpr std::chrono::milliseconds kSoon{2'000};
};

TEST_F(Watching, ANodeAtOneInstanceIsToldWhatAnotherAssigns) {
    const auto nodes = workers(2);
    const FakeNode verifier = world.add_node(NodeRole::kVerifier);
    const auto beside = world.beside(nullptr);
    Told told;
    const coordinator::TaskWatch watch(*beside, world.database().config(), told.wake(), kNever);
    registry::JobTerms terms = World::terms();
    terms.slots_max = 1;
    world.submit_job(terms);
    world.settle();  // at the first instance
    const bool first = world.core().next_unit(nodes[0].address())->has_value();
    const FakeNode& worker = first ? nodes[0] : nodes[1];
    const FakeNode& idle = first ? nodes[1] : nodes[0];
    EXPECT_TRUE(told.within(worker.address(), kSoon));
    EXPECT_FALSE(told.within(idle.address(), std::chrono::milliseconds(100)));
    ASSERT_TRUE(world.commit(worker, world.work(worker)).ok());
    world.settle();
    EXPECT_TRUE(told.within(verifier.address(), kSoon)) << "a draw is told, too";
    told.forget();
    ASSERT_NO_FATAL_FAILURE(exclude(idle.address()));
    EXPECT_TRUE(told.within(idle.address(), kSoon)) << "an exclusion is told at once";
    EXPECT_EQ(beside->next_tasks(std::vector{idle.address()})[0].error().code,
              ErrorCode::kPermissionDenied);
}

TEST_F(Watching, WhatIsAnnouncedWhileTheDatabaseIsAwayIsToldAfterwards) {
    const auto nodes = workers(1);
    Told told;
    const coordinator::TaskWatch watch(world.core(), world.database().config(), told.wake(),
                                       kNever);
    ASSERT_TRUE(postgres().restart(db::StopMode::kImmediate).ok());
    world.submit_job(World::terms());
    world.settle();
    EXPECT_TRUE(told.within(nodes[0].address(), std::chrono::seconds(10)));
}

TEST_F(Watching, ALostNotificationCostsOnlyTime) {
    const auto nodes = workers(1);
    world.submit_job(World::terms());
    world.settle();
    Told told;
    const coordinator::TaskWatch watch(world.core(), world.database().config(), told.wake(), 50);
    ASSERT_TRUE(told.within(nodes[0].address(), kSoon)) << "what was there before it began";
    told.forget();
    EXPECT_TRUE(told.within(nodes[0].address(), kSoon)) << "it asks again";
}

}  // namespace
}  // namespace gym::testing
