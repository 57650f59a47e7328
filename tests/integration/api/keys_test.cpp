#include "api_fixture.hpp"
#include "gym/api/api.hpp"

namespace gym::api {
namespace {

class KeysTest : public testing::ApiDatabaseTest {};

TEST_F(KeysTest, AKeyNamesItsOwnerUntilItIsRevoked) {
    const std::string key = create_key(*api_db_, owner_, "laptop", 5).value();
    EXPECT_EQ(backend().authenticate(key).value().owner, owner_);
    const auto keys = list_keys(*api_db_).value();
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(keys[0].label, "laptop");
    EXPECT_TRUE(key.starts_with("gym_" + keys[0].id + "_"));
    ASSERT_TRUE(revoke_key(*api_db_, keys[0].id, 6).ok());
    EXPECT_EQ(backend().authenticate(key).error().code, ErrorCode::kUnauthenticated);
    EXPECT_EQ(revoke_key(*api_db_, "0000000000000000", 6).error().code, ErrorCode::kNotFound);
}

TEST_F(KeysTest, AKeyIsGoodUntilItExpires) {
    const std::string key =
        create_key(*api_db_, owner_, "", 5, {.expires_at_ms = clock_.now_ms() + 10}).value();
    EXPECT_EQ(backend().authenticate(key).value().owner, owner_);
    clock_.advance_ms(10);
    const auto late = backend().authenticate(key);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, ErrorCode::kUnauthenticated);
    EXPECT_NE(late.error().message.find("expired"), std::string::npos) << late.error().message;
    EXPECT_EQ(list_keys(*api_db_).value().at(0).terms.expires_at_ms, clock_.now_ms());
}

/// Its owner's signature is under every order: the limit is what a lost key may bring at most.
TEST_F(KeysTest, AKeyBringsNoOrdersAboveItsLimit) {
    deposit(owner_, "1000", "d1");
    const std::string key =
        create_key(*api_db_, owner_, "", 5, {.spend_max_wei = Amount::parse_tokens("150").value()})
            .value();
    const std::string id = backend().authenticate(key).value().key_id;
    Submission first{owner_, "a", testing::job_spec(dataset_)};
    first.key_id = id;
    const auto job = submit(first);
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_TRUE(submit(first).value().replayed) << "a repetition counts once";
    Submission second{owner_, "b", testing::job_spec(dataset_, "60")};
    second.key_id = id;
    const auto refused = submit(second);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(refused.error().message.find("may come to 150 GYM, 100 of them are used, this one "
                                           "is 60"),
              std::string::npos)
        << refused.error().message;
    Funding more{owner_, job->job.id, Amount::parse_tokens("51").value(), "c", {}, id};
    EXPECT_EQ(fund(more).error().code, ErrorCode::kPermissionDenied);
    more.amount = Amount::parse_tokens("50").value();
    EXPECT_TRUE(fund(more).ok());
    EXPECT_EQ(count("registry.job_order"), 1U) << "what is refused is not stored";
    EXPECT_EQ(list_keys(*api_db_).value().at(0).spent_wei.to_tokens(), "150");
    second.key_id = {};
    EXPECT_TRUE(submit(second).ok()) << "another key";
}

TEST_F(KeysTest, AKeyDoesNothingOutsideItsScopes) {
    PostgresBackend storage = backend();
    Api api({storage, storage, storage, clock_}, {});
    const auto status = [&](const std::string& scopes, const std::string& method,
                            const std::string& target) {
        KeyTerms terms;
        terms.scopes = parse_scopes(scopes).value();
        Request request{.method = method, .target = target};
        request.headers["authorization"] =
            "Bearer " + create_key(*api_db_, owner_, "", 5, terms).value();
        request.headers["content-type"] = "application/yaml";
        const auto admission = api.admit(request);
        return admission.refused ? admission.refused->status : api.handle(request).status;
    };
    const std::string mine = "/v1/accounts/" + owner_.hex() + "/transfers";
    const std::string pause = "/v1/jobs/" + dataset_.hex() + "/pause";
    EXPECT_EQ(status("read", "GET", mine), 200U);
    EXPECT_EQ(status("data,jobs,spend", "GET", mine), 403U);
    EXPECT_EQ(status("spend", "POST", "/v1/jobs"), 400U) << "it lacks its headers";
    EXPECT_EQ(status("read,data,jobs", "POST", "/v1/jobs"), 403U);
    EXPECT_EQ(status("read,data,jobs", "POST", "/v1/jobs/" + dataset_.hex() + "/budget"), 403U);
    EXPECT_EQ(status("jobs", "POST", pause), 404U) << "there is no such job";
    EXPECT_EQ(status("read,data,spend", "POST", pause), 403U);
    EXPECT_EQ(status("read,jobs,spend", "POST", "/v1/datasets"), 403U);
    EXPECT_EQ(status("read,jobs,spend", "DELETE", "/v1/blobs/" + dataset_.hex()), 403U);
}

TEST_F(KeysTest, ScopesAreNamed) {
    EXPECT_EQ(to_string(parse_scopes("read,data,jobs,spend").value()), "read,data,jobs,spend");
    EXPECT_EQ(to_string(KeyTerms{}.scopes), "read,data,jobs,spend") << "all of them";
    EXPECT_EQ(to_string(parse_scopes("spend,read,spend").value()), "spend,read");
    for (const char* wrong : {"", "all", "read,", "read spend"})
        EXPECT_EQ(parse_scopes(wrong).error().code, ErrorCode::kInvalidArgument) << wrong;
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
