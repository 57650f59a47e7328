// Data and models that are not public, over the API, with the keys of two accounts.
#include <algorithm>
#include <boost/json.hpp>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "trained_job.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using testing::address_of;
using testing::job_spec;

class PrivateTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        keys_[owner_] = create_key(*api_db_, owner_, "owner", 1).value();
        keys_[other_] = create_key(*api_db_, other_, "other", 1).value();
        offer_.file = file_;
        offer_.access = registry::Access{registry::Visibility::kPrivate, {}};
        hidden_ = backend().add_dataset(offer_).value().dataset.root;
    }
    Response ask(const std::string& method, const std::string& target,
                 const std::optional<Address>& who, const std::string& body = "") {
        PostgresBackend on_database = backend();
        Api api({on_database, on_database, on_database, clock_}, {});
        Request request{method, target, {}, body, "req"};
        if (who) request.headers["authorization"] = "Bearer " + keys_.at(*who);
        if (!body.empty()) request.headers["content-type"] = "application/json";
        const auto admission = api.admit(request);
        return admission.refused ? *admission.refused : api.handle(request);
    }
    Response get(const std::string& target, const std::optional<Address>& who) {
        return ask("GET", target, who);
    }
    static std::size_t count(const Response& response, const char* list) {
        return json::parse(response.body).at(list).as_array().size();
    }
    /// What differs between two answers is the id that was asked for.
    static void expect_same_answer(const Response& hidden, const Digest& hidden_id,
                                   const Response& absent, const Digest& absent_id) {
        std::string body = hidden.body;
        for (std::size_t at; (at = body.find(hidden_id.hex())) != std::string::npos;)
            body.replace(at, absent_id.hex().size(), absent_id.hex());
        EXPECT_EQ(hidden.status, 404U) << hidden.body;
        EXPECT_EQ(absent.status, 404U) << absent.body;
        EXPECT_EQ(body, absent.body);
        EXPECT_EQ(hidden.headers, absent.headers);
    }
    void set(const Digest& root, const std::string& body) {
        const Response done =
            ask("PUT", "/v1/datasets/" + root.hex() + "/visibility", owner_, body);
        ASSERT_EQ(done.status, 200U) << done.body;
    }

    const Address other_ = address_of(2);
    std::map<Address, std::string> keys_;
    const Bytes file_ = dataset_file(std::string(2'000, 'y'));
    DatasetOffer offer_{.owner = owner_, .name = "diary", .licence = "LicenseRef-mine", .file = {}};
    Digest hidden_;
    const Digest absent_ = Digest{{0xab}};
};

TEST_F(PrivateTest, APrivateDatasetDoesNotExistForOthers) {
    for (const std::string what : {"", "/tokens"}) {
        const auto answer = [&](const Digest& root, const std::optional<Address>& who) {
            return get("/v1/datasets/" + root.hex() + what, who);
        };
        EXPECT_EQ(answer(hidden_, owner_).status, 200U) << what;
        expect_same_answer(answer(hidden_, other_), hidden_, answer(absent_, other_), absent_);
    }
    EXPECT_EQ(get("/v1/datasets/" + hidden_.hex(), std::nullopt).status, 404U);
    EXPECT_EQ(count(get("/v1/datasets", owner_), "datasets"), 2U);
    for (const auto& who : {std::optional(other_), std::optional<Address>()}) {
        const Response listed = get("/v1/datasets", who);
        EXPECT_EQ(count(listed, "datasets"), 1U);
        EXPECT_EQ(listed.body.find(hidden_.hex()), std::string::npos);
        EXPECT_EQ(count(get("/v1/datasets?owner=" + owner_.hex(), who), "datasets"), 1U);
    }
    EXPECT_EQ(get("/v1/datasets", owner_).body.find("gym_"), std::string::npos);
}

/// Every route, also one that is added later: what it says to others of private things.
TEST_F(PrivateTest, NoRouteTellsAStrangerWhatIsPrivate) {
    deposit(owner_, "1000", "d1");
    std::string spec = job_spec(hidden_);
    spec.replace(spec.find("name: test"), 10, "name: secret job");
    const Digest job = submit({owner_, "k", spec})->job.id;
    ASSERT_TRUE(backend().name_dataset(owner_, {.name = "hidden-name"}, hidden_).ok());
    const auto record = backend().dataset(hidden_, registry::Viewer::account(owner_)).value();
    const std::vector<std::string> secrets{"diary", "secret job", "LicenseRef-mine",
                                           record.blob.hex(), "yyyyyyyy"};
    const std::map<std::string, std::string> values{
        {"{root}", hidden_.hex()}, {"{id}", job.hex()},         {"{name}", "hidden-name"},
        {"{version}", "1"},        {"{address}", owner_.hex()}, {"{round}", "1"},
        {"{epoch}", "1"}};
    PostgresBackend on_database = backend();
    const Api api({on_database, on_database, on_database, clock_}, {});
    std::size_t told_to_owner = 0;
    for (const Route& route : api.router().routes()) {
        if (route.begin) continue;  // takes bytes; of uploads nobody sees another owner's
        std::string target = route.pattern;
        for (const auto& [name, value] : values)
            if (const auto at = target.find(name); at != std::string::npos)
                target.replace(at, name.size(), value);
        ASSERT_EQ(target.find('{'), std::string::npos) << target << ": a value for the test";
        const bool writes = route.method != "GET";
        for (const auto& who : {std::optional(other_), std::optional<Address>()}) {
            const Response answer = ask(route.method, target, who, writes ? "{}" : "");
            for (const std::string& secret : secrets)
                EXPECT_EQ(answer.body.find(secret), std::string::npos)
                    << route.method << " " << target << ": " << answer.body;
            EXPECT_FALSE(answer.stream.has_value()) << target;
            if (writes) {
                EXPECT_GE(answer.status, 400U) << route.method << " " << target;
            }
        }
        if (writes) continue;
        const Response own = ask(route.method, target, owner_);
        told_to_owner += std::ranges::any_of(secrets, [&](const std::string& secret) {
            return own.body.find(secret) != std::string::npos;
        });
    }
    EXPECT_GE(told_to_owner, 4U) << "datasets, dataset, jobs, job: or the search proves nothing";
}

TEST_F(PrivateTest, AWrongKeyIsNotNoKey) {
    keys_[address_of(3)] = "gym_wrong";
    EXPECT_EQ(get("/v1/datasets", address_of(3)).status, 401U);
}

TEST_F(PrivateTest, AnAllowListOpensItToItsAccountsAndIsToldToTheOwner) {
    set(hidden_, R"({"visibility":"allow-list","allowed":[")" + other_.hex() + R"("]})");
    const Response seen = get("/v1/datasets/" + hidden_.hex(), other_);
    ASSERT_EQ(seen.status, 200U) << seen.body;
    EXPECT_EQ(json::parse(seen.body).at("visibility").as_string(), "allow-list");
    EXPECT_TRUE(json::parse(seen.body).at("allowed").as_array().empty());
    EXPECT_EQ(get("/v1/datasets/" + hidden_.hex() + "/tokens", other_).status, 200U);
    const Response own = get("/v1/datasets/" + hidden_.hex(), owner_);
    EXPECT_EQ(json::parse(own.body).at("allowed").as_array().at(0).as_string(), other_.hex());
    set(hidden_, R"({"visibility":"private"})");
    EXPECT_EQ(get("/v1/datasets/" + hidden_.hex(), other_).status, 404U);
}

TEST_F(PrivateTest, OnlyTheOwnerSaysWhoSeesIt) {
    const std::string body = R"({"visibility":"public"})";
    const auto put = [&](const Digest& root, const std::string& text) {
        return ask("PUT", "/v1/datasets/" + root.hex() + "/visibility", other_, text);
    };
    expect_same_answer(put(hidden_, body), hidden_, put(absent_, body), absent_);
    EXPECT_EQ(put(dataset_, body).status, 403U) << "a public one of another owner";
    for (const char* bad : {"{}", "[]", R"({"visibility":"secret"})",
                            R"({"visibility":"private","allowed":["0x12"]})",
                            R"({"visibility":"public","more":1})"}) {
        const unsigned status = put(hidden_, bad).status;
        EXPECT_TRUE(status == 400U || status == 422U) << bad << status;
    }
}

TEST_F(PrivateTest, AJobOnSomebodyElsesPrivateDatasetIsRefused) {
    deposit(owner_, "1000", "d1");
    deposit(other_, "1000", "d2");
    const auto job = [&](const Address& who, const Digest& dataset, const std::string& key) {
        return submit({who, key, job_spec(dataset)});
    };
    EXPECT_TRUE(job(owner_, hidden_, "k").ok());
    const auto refused = job(other_, hidden_, "k1");
    const auto unknown = job(other_, absent_, "k2");
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
    std::string message = refused.error().message;
    message.replace(message.find(hidden_.hex()), absent_.hex().size(), absent_.hex());
    EXPECT_EQ(message, unknown.error().message);
    set(hidden_, R"({"visibility":"allow-list","allowed":[")" + address_of(3).hex() + R"("]})");
    EXPECT_EQ(job(other_, hidden_, "k3").error().code, ErrorCode::kNotFound);
    set(hidden_, R"({"visibility":"allow-list","allowed":[")" + other_.hex() + R"("]})");
    const auto taken = job(other_, hidden_, "k4");
    EXPECT_TRUE(taken.ok()) << taken.error().message;
}

TEST_F(PrivateTest, APrivateModelDoesNotExistForOthersAndItsBillsDo) {
    deposit(owner_, "1000", "d1");
    const Digest id = submit({owner_, "k", job_spec(dataset_)})->job.id;
    const std::string at = "/v1/jobs/" + id.hex();
    for (const std::string what : {"/model", "/model/state", "/model/program"})
        expect_same_answer(get(at + what, other_), id,
                           get("/v1/jobs/" + absent_.hex() + what, other_), absent_);
    EXPECT_EQ(get(at + "/model", owner_).status, 409U) << "it is not prepared yet";
    EXPECT_EQ(count(get("/v1/jobs", owner_), "jobs"), 1U);
    EXPECT_EQ(count(get("/v1/jobs", other_), "jobs"), 0U);
    EXPECT_EQ(count(get("/v1/jobs", std::nullopt), "jobs"), 0U);
    EXPECT_EQ(json::parse(get(at, owner_).body).at("name").as_string(), "test");
    const Response audited = get(at, std::nullopt);
    ASSERT_EQ(audited.status, 200U) << "payments are audited with it";
    EXPECT_EQ(json::parse(audited.body).at("name").as_string(), "");
    EXPECT_EQ(json::parse(audited.body).at("data_owner").as_string(), owner_.hex());
    EXPECT_EQ(get(at + "/bill", other_).status, 200U);
    EXPECT_EQ(json::parse(get("/v1/market", std::nullopt).body).at("jobs").as_int64(), 1);

    const Response opened = ask("PUT", at + "/visibility", owner_, R"({"visibility":"public"})");
    ASSERT_EQ(opened.status, 200U) << opened.body;
    EXPECT_EQ(get(at + "/model", other_).status, 409U) << "there, and not prepared yet";
    EXPECT_EQ(count(get("/v1/jobs", std::nullopt), "jobs"), 1U);
    EXPECT_EQ(ask("PUT", at + "/visibility", other_, R"({"visibility":"private"})").status, 403U);
}

TEST_F(PrivateTest, ThePriceOfAPrivateJobNamesNoJob) {
    deposit(owner_, "1000", "d1");
    const Digest id = submit({owner_, "k", job_spec(dataset_)})->job.id;
    const registry::StateRef state{Digest{{1}}, Digest{{2}}};
    ASSERT_TRUE(testing::store_round(database_.owner(), id, state, state, address_of(7), 1).ok());
    const auto market = json::parse(get("/v1/market", std::nullopt).body);
    EXPECT_TRUE(market.at("paid_wei_per_pflop").is_string()) << "its price counts";
    EXPECT_TRUE(market.at("paid_job").is_null()) << "its id is its owner's";
    ASSERT_EQ(
        ask("PUT", "/v1/jobs/" + id.hex() + "/visibility", owner_, R"({"visibility":"public"})")
            .status,
        200U);
    const auto open = json::parse(get("/v1/market", std::nullopt).body);
    EXPECT_EQ(open.at("paid_job").as_string(), id.hex());
}

TEST_F(PrivateTest, ALicenceThatSaysPrivateIsNotPublishedForNothing) {
    const Bytes file = dataset_file(std::string(2'000, 'z'));
    DatasetOffer offer{
        .owner = owner_, .name = "mine", .licence = "LicenseRef-private", .file = file};
    offer.access = registry::Access{registry::Visibility::kPublic, {}};
    EXPECT_EQ(backend().add_dataset(offer).error().code, ErrorCode::kInvalidArgument);
    offer.access.reset();
    const auto added = backend().add_dataset(offer);
    ASSERT_TRUE(added.ok()) << added.error().message;
    EXPECT_EQ(added->dataset.access.visibility, registry::Visibility::kPrivate);
    const std::string at = "/v1/datasets/" + added->dataset.root.hex();
    EXPECT_EQ(get(at, other_).status, 404U);
    const Response opened = ask("PUT", at + "/visibility", owner_, R"({"visibility":"public"})");
    EXPECT_EQ(opened.status, 422U) << "the licence does not change: " << opened.body;
    EXPECT_EQ(get(at, other_).status, 404U);
}

TEST_F(PrivateTest, RegisteringAgainChangesNoVisibilityByAccident) {
    EXPECT_FALSE(backend().add_dataset(offer_)->is_new);
    offer_.access.reset();
    EXPECT_EQ(backend().add_dataset(offer_)->dataset.access.visibility,
              registry::Visibility::kPrivate);
    offer_.access = registry::Access{registry::Visibility::kPublic, {}};
    EXPECT_EQ(backend().add_dataset(offer_).error().code, ErrorCode::kConflict);
    offer_.owner = other_;
    const auto stranger = backend().add_dataset(offer_);
    EXPECT_EQ(stranger.error().code, ErrorCode::kConflict);
    EXPECT_EQ(stranger.error().message.find(owner_.hex()), std::string::npos)
        << "whose it is, is not told: " << stranger.error().message;
}

}  // namespace
}  // namespace gym::api
