// The client over a socket, against answers that gym-api writes and against wrong ones.

#include "gym/client/api_client.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/json.hpp>
#include <functional>
#include <mutex>

#include "gym/http_server/server.hpp"
#include "views.hpp"

namespace gym::client {
namespace {

namespace json = boost::json;
using http_server::Request;
using http_server::Response;

class ScriptedApi final : public http_server::Handler {
  public:
    std::function<Response(const Request&)> answer;

    Admission admit(const Request&) override { return {.body_bytes_max = 1 << 20}; }
    Response handle(const Request& request) override { return answer(request); }
    Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {.status = status, .headers = {}, .body = {}};
    }
    void connections(std::int64_t) override {}
};

Response with_body(std::string body, unsigned status = 200) {
    return {.status = status, .headers = {}, .body = std::move(body)};
}
Response with_json(const json::object& object) {
    return with_body(json::serialize(object));
}

Address address(std::uint8_t last) {
    Address out;
    out.data.back() = last;
    return out;
}
Digest digest(std::uint8_t last) {
    Digest out;
    out.data.back() = last;
    return out;
}

rewards::Receipt receipt() {
    rewards::Receipt out;
    out.credit.id = "0b7e2b3c-0000-4000-8000-000000000001";
    out.credit.inputs = rewards::VerificationInputs{12, Amount(34), 56};
    out.credit.earner = address(1);
    out.credit.job_id = digest(2);
    out.credit.round = 3;
    out.credit.unit = digest(4);
    out.credit.node = address(5);
    out.credit.amount = Amount(6);
    out.state = rewards::CreditState::kVoid;
    out.reason = "the unit was rejected";
    out.payout_epoch = 7;
    out.created_at = 8;
    out.changed_at = 9;
    return out;
}

api::AccountView account_view() {
    api::AccountView view;
    view.address = address(1);
    view.available = Amount(10);
    view.escrowed = Amount(20);
    view.withdrawing = Amount(30);
    view.rewards.pending = Amount(40);
    view.rewards.earned = Amount(50);
    view.rewards.payable = Amount(60);
    view.rewards.claimed = Amount(70);
    view.last_credits = {receipt()};
    return view;
}

class ClientTest : public ::testing::Test {
  protected:
    void SetUp() override {
        server_ = http_server::Server::start({}, api_).value();
        url_ = "http://127.0.0.1:" + std::to_string(server_->port());
    }
    void TearDown() override { server_->stop(1'000); }

    void answer(const json::object& object) {
        api_.answer = [object](const Request&) { return with_json(object); };
    }
    void answer(std::string body, unsigned status) {
        api_.answer = [body, status](const Request&) { return with_body(body, status); };
    }
    [[nodiscard]] ApiClient client(std::chrono::milliseconds retry_for = {}) const {
        return ApiClient({.url = url_, .key = "gym_any", .retry_for = retry_for});
    }

    ScriptedApi api_;
    std::unique_ptr<http_server::Server> server_;
    std::string url_;
};

TEST_F(ClientTest, ReadsAnAccountAsItIsWritten) {
    answer(api::to_json(account_view()));
    const auto account = client().account(address(1));
    ASSERT_TRUE(account.ok()) << account.error().message;
    const Account& found = account->value;
    EXPECT_EQ(found.address, address(1));
    EXPECT_EQ(found.available, Amount(10));
    EXPECT_EQ(found.escrowed, Amount(20));
    EXPECT_EQ(found.withdrawing, Amount(30));
    EXPECT_EQ(found.pending, Amount(40));
    EXPECT_EQ(found.earned, Amount(50));
    EXPECT_EQ(found.payable, Amount(60));
    EXPECT_EQ(found.claimed, Amount(70));
    ASSERT_EQ(found.last_credits.size(), 1U);
    EXPECT_EQ(found.last_credits[0].credit, receipt().credit);
    EXPECT_EQ(found.last_credits[0].reason, receipt().reason);
    EXPECT_EQ(found.last_credits[0].posting, std::nullopt);
    EXPECT_EQ(found.last_credits[0].payout_epoch, 7U);
    EXPECT_EQ(account->json, api::to_json(account_view()));
}

TEST_F(ClientTest, MoneyThatIsMissingIsAnErrorThatNamesIt) {
    json::object object = api::to_json(account_view());
    object["payable_wei"] = nullptr;
    answer(object);
    const auto null = client().account(address(1));
    ASSERT_FALSE(null.ok());
    EXPECT_EQ(null.error().code, ErrorCode::kMalformed);
    EXPECT_EQ(null.error().message,
              "gym-api's answer to GET " + url_ + "/v1/accounts/" + address(1).hex() +
                  ": payable_wei: expected an amount in wei as decimal text, found null");

    object = api::to_json(account_view());
    object["last_credits"].as_array()[0].as_object().erase("amount_wei");
    answer(object);
    const auto missing = client().account(address(1));
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find("last_credits[0].amount_wei: expected an amount in wei "
                                           "as decimal text, but it is missing"),
              std::string::npos)
        << missing.error().message;
}

TEST_F(ClientTest, AMissingMemberIsNamed) {
    const auto check = [&](const json::object& whole, const auto& call) {
        answer(whole);
        const auto found = call();
        ASSERT_TRUE(found.ok()) << found.error().message;
        for (const auto& member : whole) {
            json::object part = whole;
            part.erase(member.key());
            answer(part);
            const auto partial = call();
            if (partial.ok()) continue;  // one that the records leave out
            EXPECT_EQ(partial.error().code, ErrorCode::kMalformed);
            EXPECT_NE(partial.error().message.find(std::string(member.key())), std::string::npos)
                << partial.error().message;
        }
        answer("[]", 200);
        EXPECT_EQ(call().error().code, ErrorCode::kMalformed);
        answer("no JSON", 200);
        EXPECT_EQ(call().error().code, ErrorCode::kMalformed);
    };
    api::JobView job;
    job.cost.spent = Amount(1);
    check(api::to_json(job, registry::Viewer::service()), [&] { return client().job(digest(1)); });
    check(api::to_json(receipt()), [&] { return client().receipt("1"); });
    check(api::to_json(account_view()), [&] { return client().account(address(1)); });
    check(api::to_json(registry::Dataset(), registry::Viewer::service()),
          [&] { return client().dataset(digest(1)); });
    check(api::to_json(api::Network()), [&] { return client().network(); });
    check(api::to_json(api::JobBill()), [&] { return client().bill(digest(1)); });
    check(api::to_json(api::NetworkTerms()), [&] { return client().fee(); });
}

TEST_F(ClientTest, ReadsNodesToTheEndOfTheirList) {
    registry::Node node;
    node.address = address(3);
    node.profile.device = "rtx4090";
    node.profile.memory_bytes = 24;
    node.profile.flops_per_second = 7;
    node.valid_value = Amount(5);
    std::vector<std::string> asked;
    api_.answer = [&](const Request& request) {
        asked.push_back(request.target);
        json::array nodes(asked.size() == 1 ? kPageItemsMax : 1, api::to_json(node, true));
        return with_json({{"nodes", std::move(nodes)}});
    };
    const auto nodes = client().nodes(records::NodeRole::kWorker);
    ASSERT_TRUE(nodes.ok()) << nodes.error().message;
    ASSERT_EQ(nodes->size(), kPageItemsMax + 1);
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[0], "/v1/nodes?role=worker&limit=1000");
    EXPECT_EQ(asked[1], "/v1/nodes?role=worker&limit=1000&after=" + address(3).hex());
    const Node& found = nodes->back();
    EXPECT_EQ(found.address, address(3));
    EXPECT_EQ(found.device, "rtx4090");
    EXPECT_EQ(found.memory_bytes, 24U);
    EXPECT_EQ(found.flops_per_second, 7U);
    EXPECT_EQ(found.valid_value, Amount(5));
    EXPECT_TRUE(found.live && !found.excluded);
    node.profile = {};
    const auto bare = client().nodes(records::NodeRole::kVerifier);
    ASSERT_TRUE(bare.ok()) << bare.error().message;
    EXPECT_EQ(bare->back().memory_bytes, 0U) << "a node that says nothing about itself";
}

TEST_F(ClientTest, TheRatesBehindAFeeMayBeMissing) {
    api::NetworkTerms terms;
    answer(api::to_json(terms));
    EXPECT_FALSE(client().fee()->verification_premium_ppm.has_value());
    terms.fee.verification_premium_ppm = 1'200'000;
    terms.fee.uptime_bonus_max_ppm = 40'000;
    answer(api::to_json(terms));
    EXPECT_EQ(client().fee()->verification_premium_ppm, 1'200'000U);
    EXPECT_EQ(client().fee()->uptime_bonus_max_ppm, 40'000U);
    EXPECT_FALSE(client().fee()->sizes.has_value());
    terms.sizes = protocol::SizeLimits{5, 7};
    answer(api::to_json(terms));
    EXPECT_EQ(client().fee()->sizes, terms.sizes);
    EXPECT_FALSE(client().fee()->dispute_window_ms.has_value());
    terms.dispute_window_ms = 178'500;
    answer(api::to_json(terms));
    EXPECT_EQ(client().fee()->dispute_window_ms, 178'500);
    auto older = api::to_json(terms);
    older.erase("dispute_window_ms");
    answer(older);
    EXPECT_FALSE(client().fee()->dispute_window_ms.has_value()) << "a gym-api of before";
}

TEST_F(ClientTest, ReadsWhatRunsOnTheMarket) {
    api::Market market;
    market.running = 2;
    market.slots_running = 9;
    market.least_wei_per_pflop = Amount(3);
    answer(api::to_json(market));
    const auto read = client().market();
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->running_jobs, 2U);
    EXPECT_EQ(read->running_slots, 9U);
    EXPECT_EQ(read->least_wei_per_pflop, Amount(3));
    EXPECT_FALSE(read->paid);
    market.paid = api::Market::Paid{std::nullopt, Amount(5)};
    answer(api::to_json(market));
    const auto hidden = client().market();
    ASSERT_TRUE(hidden.ok() && hidden->paid);
    EXPECT_FALSE(hidden->paid->job);
    EXPECT_EQ(hidden->paid->wei_per_pflop, Amount(5));
    market.paid->job = digest(7);
    answer(api::to_json(market));
    EXPECT_EQ(client().market()->paid->job, digest(7));
}

TEST_F(ClientTest, ReadsADatasetAndItsMeasurement) {
    registry::Dataset dataset;
    dataset.root = digest(1);
    dataset.blob = digest(2);
    dataset.owner = address(3);
    dataset.name = "a text";
    dataset.licence = "MIT";
    dataset.tokens = 4;
    dataset.vocabulary = 5;
    dataset.price_wei_per_mtoken = Amount(6);
    dataset.novelty_ppm = 7;
    dataset.nearest = registry::NearestDataset{digest(8), 9};
    dataset.measurement = registry::DatasetMeasurement{digest(10), digest(11), 0x3f800000, 1, 2, 3};
    dataset.number = 12;
    dataset.names = {"zoo@2", "zoo@1"};
    answer(api::to_json(dataset, registry::Viewer::service()));
    const auto found = client().dataset(dataset.root);
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ(api::to_json((*found)->value, registry::Viewer::service()),
              api::to_json(dataset, registry::Viewer::service()));
    EXPECT_EQ((*found)->value.shown_name(), "zoo@2");
    answer("{}", 404);
    EXPECT_FALSE(client().dataset(dataset.root).value().has_value());
}

TEST_F(ClientTest, ReadsAnAllowListAndSendsOne) {
    registry::Dataset dataset;
    dataset.owner = address(1);
    dataset.access = {registry::Visibility::kAllowList, {address(2), address(3)}};
    Request sent;
    api_.answer = [&](const Request& request) {
        sent = request;
        return with_json(api::to_json(dataset, registry::Viewer::account(address(1))));
    };
    const auto set = client().set_dataset_access(digest(1), dataset.access);
    ASSERT_TRUE(set.ok()) << set.error().message;
    EXPECT_EQ((*set)->access, dataset.access);
    EXPECT_EQ(sent.method, "PUT");
    EXPECT_EQ(sent.target, "/v1/datasets/" + digest(1).hex() + "/visibility");
    EXPECT_EQ(json::parse(sent.body).at("allowed").as_array().size(), 2U);
}

TEST(ClientPlaintext, APrivateTextDoesNotLeaveTheMachineInTheClear) {
    const auto text = blob::Dataset::build_from_text(as_bytes("secret")).value();
    const ApiClient far({.url = "http://api.example.org:1", .key = "gym_x"});
    for (const DatasetTerms& terms :
         {DatasetTerms{"n", "MIT", Amount(), registry::Access{registry::Visibility::kPrivate, {}}},
          DatasetTerms{"n", "LicenseRef-private", Amount(), {}}}) {
        const auto refused = far.register_dataset(text, terms);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
        EXPECT_NE(refused.error().message.find("plain HTTP"), std::string::npos);
    }
}

TEST_F(ClientTest, ControlCharactersOfOtherPeopleAreRemoved) {
    registry::Dataset dataset;
    dataset.name = "red \x1b[31m text";
    answer(api::to_json(dataset, registry::Viewer::service()));
    const auto found = client().dataset(digest(1));
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ((*found)->value.name.find('\x1b'), std::string::npos);
    EXPECT_EQ((*found)->json.at("name").as_string().find('\x1b'), json::string::npos);
}

// It becomes part of a path below the user's folder.
TEST_F(ClientTest, ANameThatIsNoNameIsRefused) {
    registry::ModelVersion model;
    model.version = 1;
    registry::DatasetVersion dataset;
    dataset.version = 1;
    for (const char* name : {"../../.ssh/x", "zoo/..", "zoo@2", "", "ZOO"}) {
        model.name = dataset.name = name;
        answer(api::to_json(model, registry::Viewer::service()));
        EXPECT_FALSE(client().model_version({"zoo", {}}).ok()) << name;
        answer(api::to_json(dataset));
        EXPECT_FALSE(client().dataset_version({"zoo", {}}).ok()) << name;
    }
    model.name = dataset.name = "zoo";
    answer(api::to_json(model, registry::Viewer::service()));
    EXPECT_TRUE(client().model_version({"zoo", {}}).ok());
    answer(api::to_json(dataset));
    EXPECT_TRUE(client().dataset_version({"zoo", {}}).ok());
}

TEST_F(ClientTest, AProblemKeepsItsCodeTitleAndDetail) {
    const std::array<std::pair<unsigned, ErrorCode>, 7> codes{{{400, ErrorCode::kInvalidArgument},
                                                               {401, ErrorCode::kUnauthenticated},
                                                               {402, ErrorCode::kInsufficientFunds},
                                                               {403, ErrorCode::kPermissionDenied},
                                                               {409, ErrorCode::kConflict},
                                                               {503, ErrorCode::kUnavailable},
                                                               {500, ErrorCode::kInternal}}};
    for (const auto& [status, code] : codes) {
        answer(R"({"title":"a title","detail":"a detail"})", status);
        const auto failed = client().ask_job(digest(1), "pause");
        ASSERT_FALSE(failed.ok());
        EXPECT_EQ(failed.error().code, code) << status;
        EXPECT_NE(failed.error().message.find("a title: a detail"), std::string::npos);
    }
}

TEST_F(ClientTest, OnlyWhatMayBeRepeatedIsRepeated) {
    std::atomic<int> calls = 0;  // the server counts in a thread of its own
    std::mutex mutex;
    std::vector<std::string> keys;
    api_.answer = [&](const Request& request) {
        const std::scoped_lock lock(mutex);
        if (request.target.ends_with("/budget")) {
            EXPECT_NE(request.header("gym-order").find("\"signature\":\"0x"),
                      std::string_view::npos);
        }
        keys.push_back(std::string(request.header("idempotency-key")));
        if (++calls < 3) return with_body("{}", 503);
        return with_json(api::to_json(registry::Job(), registry::Viewer::service()));
    };
    const auto retrying = client(std::chrono::seconds(20));
    ASSERT_TRUE(retrying.fund_job(digest(1), Amount(1), "once", {}).ok());
    EXPECT_EQ(keys, std::vector<std::string>(3, "once"));
    calls = 0;
    EXPECT_EQ(retrying.ask_job(digest(1), "cancel").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(calls, 1);
    calls = 0;
    EXPECT_EQ(client().account(address(1)).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(calls, 1);
}

/// A gym-api that takes a few bytes of each part and then breaks off.
class BreakingUploads {
  public:
    explicit BreakingUploads(std::size_t bytes_a_part) : bytes_a_part_(bytes_a_part) {}
    Response operator()(const Request& request) {
        const std::scoped_lock lock(mutex_);
        if (request.method == "GET") {
            if (received.empty()) return with_body("{}", 404);
            return with_json(state(false));
        }
        ++parts;
        ranges.push_back(std::string(request.header("content-range")));
        const std::string begin = "bytes " + std::to_string(received.size()) + "-";
        if (!request.body.empty() && !ranges.back().starts_with(begin)) return with_body("{}", 409);
        received += request.body.substr(0, bytes_a_part_);
        if (request.body.size() > bytes_a_part_ || bytes_a_part_ == 0) return with_body("{}", 503);
        return with_json(state(true));
    }
    std::string received;
    std::vector<std::string> ranges;
    int parts = 0;

  private:
    json::object state(bool complete) const {
        return api::to_json(api::Upload{digest(5), 10, received.size(), complete, digest(6), 1});
    }
    const std::size_t bytes_a_part_;
    std::mutex mutex_;
};

TEST_F(ClientTest, ACutUploadContinuesWhereItWasCut) {
    BreakingUploads uploads(4);
    uploads.received = "ab";  // of an earlier call
    api_.answer = [&](const Request& request) { return uploads(request); };
    const std::string blob = "abcdefghij";
    std::vector<std::uint64_t> seen;
    const auto sent = client(std::chrono::seconds(20))
                          .upload_blob(digest(5), source_of(as_bytes(blob)),
                                       [&](std::uint64_t done, std::uint64_t all) {
                                           EXPECT_EQ(all, 10U);
                                           seen.push_back(done);
                                       });
    ASSERT_TRUE(sent.ok()) << sent.error().message;
    EXPECT_TRUE((*sent)->complete);
    EXPECT_EQ((*sent)->state_root, digest(6));
    EXPECT_EQ(uploads.received, blob);
    EXPECT_EQ(uploads.ranges, (std::vector<std::string>{"bytes 2-9/10", "bytes 6-9/10"}));
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{6, 10}));
}

TEST_F(ClientTest, AnUploadWithoutProgressEnds) {
    BreakingUploads uploads(0);
    uploads.received = "ab";
    api_.answer = [&](const Request& request) { return uploads(request); };
    const auto sent = client(std::chrono::milliseconds(250))
                          .upload_blob(digest(5), source_of(as_bytes("abcdefghij")));
    ASSERT_FALSE(sent.ok());
    EXPECT_EQ(sent.error().code, ErrorCode::kUnavailable);
    EXPECT_GE(uploads.parts, 2);
}

TEST_F(ClientTest, ListsAreReadToTheirEnd) {
    const std::size_t count = kPageItemsMax + 1;
    api_.answer = [&](const Request& request) {
        const std::size_t begin = request.target.find("offset=1000&") != std::string::npos
                                      ? std::size_t{kPageItemsMax}
                                      : 0;
        json::array items;
        for (std::size_t i = begin; i < std::min<std::size_t>(count, begin + kPageItemsMax); ++i)
            items.push_back(json::object{{"commitment", "0x0102"}});
        return with_json({{"commitments", items}});
    };
    const auto found = client().commitments(digest(1), 2);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->size(), count);
    EXPECT_EQ(found->back(), Bytes({1, 2}));
}

}  // namespace
}  // namespace gym::client
