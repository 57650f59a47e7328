#include "api_fixture.hpp"

namespace gym::api {
namespace {

class KeysTest : public testing::ApiDatabaseTest {};

TEST_F(KeysTest, AKeyNamesItsOwnerUntilItIsRevoked) {
    const std::string key = create_key(*api_db_, owner_, "laptop", 5).value();
    EXPECT_EQ(backend().authenticate(key).value(), owner_);
    const auto keys = list_keys(*api_db_).value();
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(keys[0].label, "laptop");
    EXPECT_TRUE(key.starts_with("gym_" + keys[0].id + "_"));
    ASSERT_TRUE(revoke_key(*api_db_, keys[0].id, 6).ok());
    EXPECT_EQ(backend().authenticate(key).error().code, ErrorCode::kUnauthenticated);
    EXPECT_EQ(revoke_key(*api_db_, "0000000000000000", 6).error().code, ErrorCode::kNotFound);
}

TEST_F(KeysTest, EveryOtherCharacterIsRefused) {
    const std::string key = create_key(*api_db_, owner_, "", 5).value();
    for (std::size_t i = 0; i < key.size(); ++i) {
        std::string wrong = key;
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        EXPECT_EQ(backend().authenticate(wrong).error().code, ErrorCode::kUnauthenticated) << i;
    }
    EXPECT_FALSE(backend().authenticate("").ok());
    EXPECT_FALSE(backend().authenticate(key + "0").ok());
}

TEST_F(KeysTest, TheDatabaseDoesNotKnowTheSecret) {
    const std::string key = create_key(*api_db_, owner_, "", 5).value();
    const std::string secret = key.substr(key.rfind('_') + 1);
    const auto rows = database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec("SELECT 1 FROM api.api_key k WHERE k::text LIKE $1", {"%" + secret + "%"});
    });
    EXPECT_TRUE(rows.value().empty());
}

}  // namespace
}  // namespace gym::api
