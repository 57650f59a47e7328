#include "network.hpp"

#include <gtest/gtest.h>

#include "must.hpp"

namespace gym::wan {
namespace {

using testing::must;

constexpr const char* kPlan = R"(
inside_delay_us: 5000
between_delay_us: 150000
queue_bytes: 20000
seed: 7
hosts:
  - {name: a, region: eu, netns: n-a, address: 10.77.0.1, up_kbit_per_s: 8000, down_kbit_per_s: 80000}
  - {name: b, region: eu, netns: n-b, address: 10.77.0.2, up_kbit_per_s: 8000, down_kbit_per_s: 800}
  - {name: c, region: us, netns: n-c, address: 10.77.1.1, up_kbit_per_s: 8000, down_kbit_per_s: 80000}
)";
constexpr std::size_t kA = 0, kB = 1, kC = 2;

Plan plan() {
    return must(parse_plan(kPlan, "plan"));
}

struct Arrival {
    std::uint64_t at_us;
    std::size_t to;
    Bytes packet;
};

/// Plays the network until nothing is under way.
std::vector<Arrival> play(Network& network) {
    std::vector<Arrival> out;
    while (const auto next = network.next_us())
        network.advance(*next, [&](std::size_t to, const Bytes& packet) {
            out.push_back({*next, to, packet});
        });
    return out;
}

TEST(WanNetwork, APacketTakesBothLinesAndTheWay) {
    Network network(plan());
    network.send(1'000'000, kA, kC, Bytes(1'000, 1));
    const auto far = play(network);
    ASSERT_EQ(far.size(), 1U);
    EXPECT_EQ(far[0].to, kC);
    EXPECT_EQ(far[0].packet, Bytes(1'000, 1));
    // 8,000 bits: 1 ms at 8 Mbit/s, 0.1 ms at 80.
    EXPECT_EQ(far[0].at_us, 1'000'000U + 1'000 + 150'000 + 100);
    network.send(2'000'000, kA, kB, Bytes(1'000));
    const auto near = play(network);
    ASSERT_EQ(near.size(), 1U);
    EXPECT_EQ(near[0].at_us, 2'000'000U + 1'000 + 5'000 + 10'000);
    EXPECT_EQ(network.count(kA, kC), (PairCount{.packets = 1, .bytes = 1'000}));
    EXPECT_EQ(network.count(kC, kA), PairCount());
}

TEST(WanNetwork, ALineSendsNoFasterThanItsRateAndKeepsTheOrder) {
    Network network(plan());
    for (std::uint8_t i = 0; i < 20; ++i)
        network.send(0, kA, kC, Bytes(1'000, i));
    const auto out = play(network);
    ASSERT_EQ(out.size(), 20U);
    for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i].packet[0], i);
        EXPECT_EQ(out[i].at_us, 1'000 * (i + 1) + 150'000 + 100);
    }
}

TEST(WanNetwork, SendersShareTheReceiversLine) {
    Network network(plan());
    network.send(0, kA, kB, Bytes(1'000));
    network.send(0, kC, kB, Bytes(1'000));
    const auto out = play(network);
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].at_us, 16'000U);
    EXPECT_EQ(out[1].at_us, 161'000U);
    network.send(1'000'000, kA, kB, Bytes(1'000));
    network.send(1'000'000, kA, kB, Bytes(1'000));
    const auto queued = play(network);
    EXPECT_EQ(queued[1].at_us - queued[0].at_us, 10'000U) << "800 kbit/s, though a's line has 8";
}

TEST(WanNetwork, AFullQueueDropsAndCounts) {
    Network network(plan());
    for (int i = 0; i < 25; ++i)
        network.send(0, kA, kC, Bytes(1'000));
    EXPECT_EQ(network.count(kA, kC).full, 5U);
    EXPECT_EQ(play(network).size(), 20U);
    // The receiver's queue: 8 Mbit/s come in, 0.8 go out.
    for (std::uint64_t i = 0; i < 100; ++i)
        network.send(1'000'000 + 1'000 * i, kA, kB, Bytes(1'000));
    const std::size_t arrived = play(network).size();
    EXPECT_GE(arrived, 28U);
    EXPECT_LE(arrived, 31U);
    EXPECT_EQ(network.count(kA, kB).full, 100 - arrived);
}

TEST(WanNetwork, LossFollowsFromTheSeedAlone) {
    const auto survivors = [](std::uint64_t seed, std::uint32_t ppm) {
        Plan some = plan();
        some.seed = seed;
        some.loss = {.inside_ppm = 0, .between_ppm = ppm};
        Network network(some);
        std::vector<std::uint64_t> out;
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            network.send(i * 1'000'000, kA, kC, Bytes(100));
            for (const Arrival& one : play(network))
                out.push_back(one.at_us / 1'000'000);
        }
        EXPECT_EQ(network.count(kA, kC).lost + out.size(), 20'000U);
        return out;
    };
    const auto once = survivors(7, 10'000);
    EXPECT_EQ(once, survivors(7, 10'000));
    EXPECT_NE(once, survivors(8, 10'000));
    EXPECT_NEAR(static_cast<double>(20'000 - once.size()), 200, 60);
    EXPECT_EQ(survivors(7, 0).size(), 20'000U);
    EXPECT_EQ(survivors(7, kPpm).size(), 0U);
}

TEST(WanNetwork, InsideAndBetweenRegionsLoseApart) {
    Network network(plan());
    network.set_loss({.inside_ppm = 0, .between_ppm = kPpm});
    network.send(0, kA, kB, Bytes(100));
    network.send(0, kA, kC, Bytes(100));
    EXPECT_EQ(play(network).size(), 1U);
    network.set_loss({});
    network.send(1'000'000, kA, kC, Bytes(100));
    EXPECT_EQ(play(network).size(), 1U);
}

TEST(WanNetwork, ARegionThatIsCutOffGoesOnInside) {
    Network network(plan());
    EXPECT_FALSE(network.cut("asia"));
    network.send(0, kA, kC, Bytes(100));  // under way when the line breaks
    EXPECT_TRUE(network.cut("eu"));
    network.send(1, kC, kA, Bytes(100));
    network.send(1, kA, kB, Bytes(100));
    const auto out = play(network);
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].to, kB);
    EXPECT_EQ(network.count(kA, kC).cut + network.count(kC, kA).cut, 2U);
    EXPECT_TRUE(network.heal("eu"));
    EXPECT_FALSE(network.heal("eu"));
    network.send(1'000'000, kC, kA, Bytes(100));
    EXPECT_EQ(play(network).size(), 1U);
}

TEST(WanNetwork, CountsBeginAnew) {
    Network network(plan());
    network.send(0, kA, kB, Bytes(100));
    network.advance(1'000'000, [](std::size_t, const Bytes&) {});
    EXPECT_GT(network.late_us_max(), 0U);
    network.reset_counts();
    EXPECT_EQ(network.count(kA, kB), PairCount());
    EXPECT_EQ(network.late_us_max(), 0U);
}

TEST(WanPlan, HostsAreFoundByTheirAddress) {
    const Network network(plan());
    EXPECT_EQ(network.find(must(parse_address("10.77.1.1"))), kC);
    EXPECT_EQ(network.find(must(parse_address("10.77.1.2"))), std::nullopt);
}

TEST(WanPlan, BadPlansAreRefusedWithTheirKey) {
    const auto message = [](const std::string& from, const std::string& to) {
        std::string text = kPlan;
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        const auto read = parse_plan(text.replace(at, from.size(), to), "plan.yaml");
        return read.ok() ? "accepted" : read.error().message;
    };
    EXPECT_NE(message("10.77.0.2", "10.77.0.256").find("address"), std::string::npos);
    EXPECT_NE(message("10.77.0.2", "10.77.0.1").find("share"), std::string::npos);
    EXPECT_NE(message("seed", "sead").find("sead"), std::string::npos);
    EXPECT_NE(message("queue_bytes: 20000", "queue_bytes: 1").find("queue_bytes"),
              std::string::npos);
    EXPECT_NE(message("up_kbit_per_s: 8000", "up_kbit_per_s: 0").find("up_kbit"),
              std::string::npos);
}

}  // namespace
}  // namespace gym::wan
