// Which of the free workers a job's round may take, and when it waits.
#include "gym/coordinator/turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace gym::coordinator {
namespace {

constexpr UnixMs kNow = 1'700'000'000'000;
constexpr std::int64_t kPatience = 600'000;

Turn turn(std::uint8_t id, UnixMs since_ms, std::uint64_t slots) {
    Turn out;
    out.job.data.fill(id);
    out.since_ms = since_ms;
    out.patience_ms = kPatience;
    out.slots = slots;
    return out;
}

Candidate worker(std::uint8_t id, bool free, std::uint64_t memory_bytes = 0) {
    Candidate out;
    out.node.address.data.fill(id);
    out.node.profile.memory_bytes = memory_bytes;
    out.free = free;
    return out;
}

std::vector<Candidate> workers(std::uint8_t free, std::uint8_t busy) {
    std::vector<Candidate> out;
    for (std::uint8_t i = 0; i < free + busy; ++i)
        out.push_back(worker(i, i < free));
    return out;
}

std::size_t taken(const Turn& job, const std::vector<Turn>& others, std::vector<Candidate> all,
                  UnixMs now_ms = kNow) {
    return workers_of_turn(job, others, std::move(all), now_ms).size();
}

TEST(Turns, ARoundBeginsWithItsSlotsOrWithAllWorkersThatThereAre) {
    EXPECT_EQ(taken(turn(1, kNow, 2), {}, workers(3, 0)), 3U) << "the caller takes its slots";
    EXPECT_EQ(taken(turn(1, kNow, 8), {}, workers(3, 0)), 3U) << "no others are live";
    EXPECT_EQ(taken(turn(1, kNow, 2), {}, workers(2, 5)), 2U) << "the busy ones are not needed";
    EXPECT_EQ(taken(turn(1, kNow, 2), {}, {}), 0U);
}

TEST(Turns, ARoundWaitsForBusyWorkersAsLongAsItsJobIsPatient) {
    const Turn job = turn(1, kNow, 3);
    EXPECT_EQ(taken(job, {}, workers(2, 1)), 0U);
    EXPECT_EQ(taken(job, {}, workers(2, 1), kNow + kPatience - 1), 0U);
    EXPECT_EQ(taken(job, {}, workers(2, 1), kNow + kPatience), 2U);
}

TEST(Turns, WhoeverCameFirstGetsItsWorkersFirst) {
    const Turn first = turn(2, kNow - 1, 3), second = turn(1, kNow, 2);
    EXPECT_EQ(taken(second, {first, second}, workers(2, 2)), 0U) << "they are the first one's";
    EXPECT_EQ(taken(second, {first, second}, workers(5, 0)), 2U) << "enough for both";
    EXPECT_EQ(taken(first, {first, second}, workers(3, 2)), 3U)
        << "nothing is kept for those behind";
    const Turn same = turn(3, kNow, 2);
    EXPECT_EQ(taken(same, {second}, workers(3, 0)), 0U) << "ids decide where times do not";
    EXPECT_EQ(taken(second, {same}, workers(3, 0)), 3U);
}

TEST(Turns, AJobThatLostItsPatienceOrCannotBeginKeepsNothing) {
    const Turn second = turn(1, kNow, 2);
    EXPECT_EQ(taken(second, {turn(2, kNow - kPatience, 3)}, workers(2, 2)), 2U);
    Turn demanding = turn(2, kNow - 1, 8);
    demanding.workers_min = 5;
    EXPECT_EQ(taken(second, {demanding}, workers(2, 2)), 2U) << "four workers are not five";
    demanding.workers_min = 4;
    EXPECT_EQ(taken(second, {demanding}, workers(2, 2)), 0U);
}

TEST(Turns, OnlyWorkersWithTheMemoryCount) {
    constexpr std::uint64_t kSmall = 1'000, kLarge = 9'000;
    Turn large = turn(2, kNow - 1, 2), small = turn(1, kNow, 2);
    large.memory = {kLarge, kLarge};
    small.memory = {kSmall, kSmall};
    const std::vector<Candidate> all{worker(1, true, kSmall), worker(2, true, kLarge),
                                     worker(3, false, kLarge), worker(4, true, kSmall)};
    EXPECT_EQ(taken(large, {}, all), 0U) << "it waits for the large one that is busy";
    const auto given = workers_of_turn(small, std::vector{large}, all, kNow);
    ASSERT_EQ(given.size(), 2U) << "the small ones are of no use to the job before it";
    for (const registry::Node& node : given)
        EXPECT_EQ(node.profile.memory_bytes, kSmall);
    Turn huge = turn(2, kNow - 1, 2);
    huge.memory = {kLarge + 1, kLarge + 1};
    EXPECT_EQ(taken(small, {huge}, all), 3U) << "no worker has the memory";
}

TEST(Turns, AGpuNeedsTheMemoryOfItsKernels) {
    Turn job = turn(1, kNow, 1);
    job.memory = {1'000, 3'000};
    Candidate node = worker(1, true, 2'000);
    node.node.profile.device = "cpu";
    EXPECT_TRUE(is_able(node.node, job));
    node.node.profile.device = "NVIDIA GeForce RTX 4090";
    EXPECT_FALSE(is_able(node.node, job)) << "its engine would refuse the unit";
    node.node.profile.memory_bytes = 3'000;
    EXPECT_TRUE(is_able(node.node, job));
    job.memory.gpu_bytes = 0;
    EXPECT_TRUE(is_able(node.node, job)) << "of a job that began before it was counted";
    node.node.profile.memory_bytes = 999;
    EXPECT_FALSE(is_able(node.node, job)) << "no device needs less than the CPU is known to";
    node.node.profile.memory_bytes = 0;
    EXPECT_FALSE(is_able(node.node, job)) << "no GPU has memory without a limit";
    job.memory = {};
    EXPECT_FALSE(is_able(node.node, job));
    node.node.profile.device = "cpu";
    EXPECT_TRUE(is_able(node.node, job));
}

}  // namespace
}  // namespace gym::coordinator
