#include "gym/registry/service_health.hpp"

#include "registry_fixture.hpp"

namespace gym::registry {
namespace {

class ServiceHealthTest : public testing::RegistryDatabase {
  protected:
    static Status note(db::Database& login, std::string_view service, std::string_view problem,
                       UnixMs now_ms) {
        return login.transact(
            [&](db::Transaction& tx) { return note_health(tx, service, problem, now_ms); });
    }
};

TEST_F(ServiceHealthTest, TheLastWordOfEachServiceCounts) {
    const auto rewards = database.as("gym_rewards");
    EXPECT_TRUE(api->transact(service_health).value().empty());
    ASSERT_TRUE(note(*coordinator, kCoordinatorService, kStartingProblem, 1).ok());
    ASSERT_TRUE(note(*rewards, kRewardsService, "mismatch", 2).ok());
    ASSERT_TRUE(note(*coordinator, kCoordinatorService, "", 3).ok());
    const auto services = api->transact(service_health).value();
    ASSERT_EQ(services.size(), 2U);
    EXPECT_EQ(services[0].service, kCoordinatorService);
    EXPECT_EQ(services[0].problem, "");
    EXPECT_EQ(services[0].seen_at_ms, 3);
    EXPECT_EQ(services[1].service, kRewardsService);
    EXPECT_EQ(services[1].problem, "mismatch");
}

TEST_F(ServiceHealthTest, NoRoleSpeaksForAnother) {
    const auto rewards = database.as("gym_rewards");
    ASSERT_TRUE(note(*rewards, kRewardsService, "mismatch", 2).ok());
    EXPECT_FALSE(note(*coordinator, kRewardsService, "", 3).ok());
    EXPECT_FALSE(note(*rewards, kCoordinatorService, "", 3).ok());
    EXPECT_FALSE(note(*api, kRewardsService, "", 3).ok());
    // A row that is not seen is not updated either.
    (void)coordinator->transact([](db::Transaction& tx) {
        return tx.exec("UPDATE registry.service_health SET problem = ''");
    });
    EXPECT_EQ(api->transact(service_health).value().at(0).problem, "mismatch");
}

}  // namespace
}  // namespace gym::registry
