// The alert rules speak of metrics that gym-api has.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "fake_backend.hpp"
#include "gym/api/api.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

std::set<std::string> families(const std::string& page) {
    static const std::regex type("# TYPE ([a-z_]+) ");
    std::set<std::string> out;
    for (std::sregex_iterator it(page.begin(), page.end(), type), end; it != end; ++it)
        out.insert((*it)[1]);
    return out;
}

std::string metrics_page() {
    testing::FakeBackend backend;
    const gym::testing::ManualClock clock{1'000'000};
    Api api({backend, backend, backend, clock}, {});
    Request request;
    request.target = "/metrics";
    return api.handle(request).body;
}

TEST(Alerts, NameMetricsThatExist) {
    const std::set<std::string> known = families(metrics_page());
    ASSERT_FALSE(known.empty());
    const YAML::Node rules = YAML::LoadFile(std::string(std::getenv("GYM_SOURCE_DIR")) +
                                            "/deploy/prometheus/gym-rules.yml");
    static const std::regex metric("\\bgym_[a-z_]+");
    std::set<std::string> used;
    std::size_t alerts = 0;
    for (const YAML::Node& group : rules["groups"])
        for (const YAML::Node& rule : group["rules"]) {
            ++alerts;
            EXPECT_TRUE(rule["annotations"]["summary"]) << rule["alert"];
            const auto expression = rule["expr"].as<std::string>();
            for (std::sregex_iterator it(expression.begin(), expression.end(), metric), end;
                 it != end; ++it)
                used.insert(std::regex_replace(it->str(), std::regex("_bucket$"), ""));
        }
    EXPECT_GE(alerts, 10U);
    EXPECT_GE(used.size(), 8U);
    for (const std::string& name : used)
        EXPECT_TRUE(known.contains(name)) << "no metric " << name;
}

}  // namespace
}  // namespace gym::api
