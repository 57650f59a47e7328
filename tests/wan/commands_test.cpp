#include "commands.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "must.hpp"

namespace gym::wan {
namespace {

namespace json = boost::json;

Plan plan() {
    return testing::must(parse_plan(R"(
inside_delay_us: 0
between_delay_us: 10
queue_bytes: 20000
seed: 7
hosts:
  - {name: a, region: eu, netns: n-a, address: 10.77.0.1, up_kbit_per_s: 8000, down_kbit_per_s: 8000}
  - {name: c, region: us, netns: n-c, address: 10.77.1.1, up_kbit_per_s: 8000, down_kbit_per_s: 8000}
)",
                                    "plan"));
}

TEST(WanCommands, ChangeTheNetworkAndCountWhatItDid) {
    Network network(plan());
    const auto send = [&](std::uint64_t now) {
        network.send(now, 0, 1, Bytes(100));
        network.advance(now + 900'000, [](std::size_t, const Bytes&) {});
    };
    const auto row = [&] {
        return json::parse(carry_out("stats", network)).at("pairs").at(0).as_object();
    };
    send(0);
    EXPECT_EQ(carry_out("loss 0 1000000", network), R"({"ok":true})");
    send(1'000'000);
    EXPECT_EQ(carry_out("loss 0 0", network), R"({"ok":true})");
    EXPECT_EQ(carry_out("cut us", network), R"({"ok":true})");
    send(2'000'000);
    EXPECT_EQ(carry_out("heal us", network), R"({"ok":true})");
    send(3'000'000);
    EXPECT_EQ(row(), (json::object{{"from", "a"},
                                   {"to", "c"},
                                   {"packets", 2},
                                   {"bytes", 200},
                                   {"lost", 1},
                                   {"full", 0},
                                   {"cut", 1}}));
    EXPECT_EQ(carry_out("reset", network), R"({"ok":true})");
    EXPECT_TRUE(json::parse(carry_out("stats", network)).at("pairs").as_array().empty());
}

TEST(WanCommands, OthersAreRefused) {
    Network network(plan());
    for (const char* line : {"", "cat us", "cut", "cut asia", "heal us", "loss", "loss 1",
                             "loss -1 0", "loss 0 1000001", "loss x y"})
        EXPECT_NE(carry_out(line, network).find("\"error\""), std::string::npos) << line;
}

}  // namespace
}  // namespace gym::wan
