#include "gym/api/api.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "fake_backend.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

using testing::address_of;
using testing::digest_of;
using testing::FakeBackend;

class ApiTest : public ::testing::Test {
  protected:
    Response get(const std::string& target) { return send("GET", target); }
    Response send(const std::string& method, const std::string& target, std::string body = {},
                  std::map<std::string, std::string, std::less<>> headers = {}) {
        Request request{method, target, std::move(headers), {}, "req"};
        auto admission = api_.admit(request);
        if (admission.refused) return *admission.refused;
        EXPECT_LE(body.size(), admission.body_bytes_max) << "the server would refuse this body";
        request.body = std::move(body);
        return api_.handle(request);
    }
    static boost::json::object object_of(const Response& response) {
        return boost::json::parse(response.body).as_object();
    }
    static std::map<std::string, std::string, std::less<>> job_headers(
        const std::string& idempotency_key) {
        return {{"authorization", std::string("Bearer ") + testing::kGoodKey},
                {"content-type", "application/yaml"},
                {"idempotency-key", idempotency_key},
                {"gym-order", testing::kJobSealText}};
    }

    FakeBackend backend_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_, &backend_}, {}};
};

/// Sends parts of blobs as the server does: admitted, the body to the sink, then handled.
class UploadRoutes : public ApiTest {
  protected:
    Response put(const std::string& range, const std::string& body,
                 const std::string& key = testing::kGoodKey) {
        return put_to(api_, range, body, key);
    }
    static Response put_to(Api& api, const std::string& range, const std::string& body,
                           const std::string& key = testing::kGoodKey) {
        Request request{"PUT", "/v1/blobs/" + digest_of(3).hex(), {}, {}, "req"};
        request.headers = {{"authorization", "Bearer " + key},
                           {"content-type", "application/octet-stream"},
                           {"content-length", std::to_string(body.size())}};
        if (!range.empty()) request.headers["content-range"] = range;
        auto admission = api.admit(request);
        if (admission.refused) return *admission.refused;
        request.sink = admission.sink;
        const Status written = request.sink->write(as_bytes(body));
        return written.ok() ? api.handle(request) : api.refuse_body(written.error(), "req");
    }
};

TEST_F(UploadRoutes, PartsFollowOneAnother) {
    EXPECT_EQ(put("bytes 0-1/5", "ab").status, 200U);
    EXPECT_EQ(backend_.last_part.owner, address_of(1));
    EXPECT_EQ(backend_.last_part.root, digest_of(3));
    EXPECT_EQ(backend_.last_part.size_bytes, 5U);
    EXPECT_EQ(backend_.last_part.length_bytes, 2U);
    EXPECT_EQ(put("bytes 0-1/5", "ab").status, 409U);
    const Response whole = put("bytes 2-4/5", "cde");
    EXPECT_EQ(whole.status, 201U) << whole.body;
    EXPECT_EQ(backend_.uploaded, "abcde");
    EXPECT_TRUE(object_of(whole).at("complete").as_bool());
    EXPECT_EQ(put("bytes */5", "").status, 201U) << "asks to check what is there";
    EXPECT_EQ(backend_.last_part.offset, std::nullopt);
}

TEST_F(UploadRoutes, ABodyWithoutARangeIsTheWholeBlob) {
    EXPECT_EQ(put("", "abcde").status, 201U);
    EXPECT_EQ(backend_.last_part.offset, 0U);
    EXPECT_EQ(backend_.last_part.size_bytes, 5U);
}

TEST_F(UploadRoutes, RangesThatMakeNoSenseAreRefused) {
    for (const char* range :
         {"bytes 0-2/5", "bytes 1-0/5", "bytes 4-5/5", "bytes 0-1", "bytes a-b/5", "bytes 0-1/*",
          "0-1/5", "bytes */5", "bytes -1/5", "bytes 0-1/99999999999999999999999"}) {
        const Response response = put(range, "ab");
        EXPECT_EQ(response.status, 400U) << range << ": " << response.body;
    }
    EXPECT_EQ(backend_.uploaded, "");
}

TEST_F(UploadRoutes, WeightsAreNotTakenWithoutTls) {
    Api plain({backend_, backend_, backend_, clock_, &backend_}, {.is_confidential = false});
    const Response refused = put_to(plain, "", "abcde");
    EXPECT_EQ(refused.status, 403U);
    EXPECT_NE(refused.body.find("without TLS"), std::string::npos) << refused.body;
    EXPECT_EQ(backend_.uploaded, "");
}

TEST_F(UploadRoutes, OnlyTheKeysOwnerUploads) {
    EXPECT_EQ(put("", "abcde", "gym_stranger").status, 401U);
    EXPECT_EQ(put("", "ab!de").status, 422U) << "the sink's own error";
    EXPECT_EQ(send("GET", "/v1/blobs/" + digest_of(3).hex()).status, 401U);
    EXPECT_EQ(Api({backend_, backend_, backend_, clock_}, {})
                  .handle({"GET",
                           "/v1/blobs/" + digest_of(3).hex(),
                           {{"authorization", std::string("Bearer ") + testing::kGoodKey}},
                           {},
                           "req"})
                  .status,
              503U);
}

TEST_F(ApiTest, AccountsHaveBalancesAndCredits) {
    const Response response = get("/v1/accounts/" + address_of(3).hex());
    ASSERT_EQ(response.status, 200U) << response.body;
    const auto body = object_of(response);
    EXPECT_EQ(body.at("available_wei").as_string(), "5");
    EXPECT_EQ(body.at("pending_wei").as_string(), "7");
    EXPECT_EQ(body.at("last_credits").as_array().size(), 1U);
    EXPECT_EQ(get("/v1/accounts/0x12").status, 400U);
}

TEST_F(ApiTest, NodesAreFilteredAndShownLive) {
    const auto body = object_of(get("/v1/nodes?role=verifier&limit=5"));
    EXPECT_EQ(backend_.last_node_filter.limit, 5U);
    EXPECT_EQ(backend_.last_node_filter.role, records::NodeRole::kVerifier);
    EXPECT_TRUE(body.at("nodes").as_array().at(0).as_object().at("live").as_bool());
    clock_.advance_ms(60'000);
    EXPECT_FALSE(object_of(get("/v1/nodes/" + address_of(9).hex())).at("live").as_bool());
    EXPECT_EQ(get("/v1/nodes?role=boss").status, 400U);
    EXPECT_EQ(get("/v1/nodes?limit=1001").status, 400U);
}

TEST_F(ApiTest, AnOpenChallengeIsToldToNobody) {
    const std::string path = "/v1/nodes/" + address_of(9).hex() + "/challenges";
    for (const auto& [query, to_ms] : {std::pair{"", 20'000}, std::pair{"?to_ms=20001", 20'000},
                                       std::pair{"?to_ms=19999", 19'999}}) {
        EXPECT_EQ(get(path + query).status, 200U);
        EXPECT_EQ(backend_.last_span.second, to_ms) << query;
    }
    EXPECT_EQ(get(path + "?from_ms=7&offset=5&limit=2").status, 200U);
    EXPECT_EQ(backend_.last_span.first, 7);
    EXPECT_EQ(backend_.last_page.offset, 5U);
    EXPECT_EQ(backend_.last_page.limit, 2U);
    EXPECT_EQ(get(path + "?limit=1001").status, 400U);
    EXPECT_EQ(get("/v1/jobs/" + digest_of(1).hex() + "/rounds/one").status, 400U);
}

TEST_F(ApiTest, UnitsSayWhyInOneSentence) {
    const auto body = object_of(get("/v1/units/" + digest_of(7).hex()));
    EXPECT_EQ(body.at("state").as_string(), "rejected");
    EXPECT_EQ(body.at("reason").as_string(),
              "unit 2 of round 3: step 12 differs from re-execution");
    EXPECT_EQ(body.at("history").as_array().size(), 1U);
}

TEST_F(ApiTest, ProofsCarryTheContractsArguments) {
    const auto body = object_of(get("/v1/rewards/" + address_of(1).hex() + "/proof"));
    EXPECT_EQ(body.at("cumulative_wei").as_string(), "11");
    ASSERT_EQ(body.at("path").as_array().size(), 2U);
    const boost::json::object& step = body.at("path").as_array()[1].as_object();
    EXPECT_EQ(step.at("hash").as_string(), digest_of(2).hex());
    EXPECT_EQ(step.at("sum_wei").as_string(), "6");
    EXPECT_EQ(step.at("pivot").as_string(), address_of(4).hex());
    EXPECT_EQ(get("/v1/rewards/" + address_of(2).hex() + "/proof").status, 404U);
}

TEST_F(ApiTest, ATransferIsProvenToWhoItBelongsTo) {
    const std::string id = ledger::to_uuid(testing::sample_transfer_proof().transfer.id);
    const auto ask = [&](const std::string& which, const char* key) {
        return send("GET", "/v1/transfers/" + which + "/proof", "",
                    {{"authorization", std::string("Bearer ") + key}});
    };
    const Response response = ask(id, testing::kGoodKey);
    ASSERT_EQ(response.status, 200U) << response.body;
    const auto proof = ledger::parse_proof(response.body);
    ASSERT_TRUE(proof.ok()) << proof.error().message;
    EXPECT_TRUE(ledger::check_proof(*proof).ok());
    EXPECT_EQ(response.body, ledger::encode_proof(*proof) + "\n") << "as `gym ledger prove`";

    EXPECT_EQ(ask(id, testing::kOtherKey).status, 403U);
    EXPECT_EQ(ask(id, "wrong").status, 401U);
    EXPECT_EQ(get("/v1/transfers/" + id + "/proof").status, 401U) << "without a key";
    EXPECT_EQ(ask("00000000-0000-8000-8000-000000000000", testing::kGoodKey).status, 404U);
    for (const std::string& bad : {digest_of(1).hex(), id + "0", id.substr(1), std::string("x")})
        EXPECT_EQ(ask(bad, testing::kGoodKey).status, 400U) << bad;
    backend_.unsealed = true;
    const Response early = ask(id, testing::kGoodKey);
    EXPECT_EQ(early.status, 409U);
    EXPECT_NE(early.body.find("no seal covers"), std::string::npos) << early.body;
}

TEST_F(ApiTest, AStatementIsItsOwnersAndIsReadPageByPage) {
    const auto ask = [&](const Address& of, const std::string& query, const char* key) {
        return send("GET", "/v1/accounts/" + of.hex() + "/transfers" + query, "",
                    {{"authorization", std::string("Bearer ") + key}});
    };
    const auto all = object_of(ask(address_of(1), "", testing::kGoodKey));
    EXPECT_EQ(backend_.last_statement.owner, address_of(1));
    EXPECT_EQ(backend_.last_statement.limit, 100U);
    ASSERT_EQ(all.at("transfers").as_array().size(), 3U);
    EXPECT_TRUE(all.at("next_before").is_null());
    std::string directions;
    for (const auto& line : all.at("transfers").as_array())
        directions += std::string(line.at("direction").as_string()) + " ";
    EXPECT_EQ(directions, "out within in ");

    const auto page = object_of(ask(address_of(1), "?limit=2", testing::kGoodKey));
    EXPECT_EQ(page.at("transfers").as_array().size(), 2U);
    ASSERT_EQ(page.at("next_before").to_number<int>(), 5);
    const auto rest = object_of(ask(address_of(1), "?limit=2&before=5", testing::kGoodKey));
    ASSERT_EQ(rest.at("transfers").as_array().size(), 1U);
    EXPECT_EQ(rest.at("transfers").at(0).at("reason").as_string(), "deposit");
    EXPECT_TRUE(rest.at("next_before").is_null());

    backend_.last_statement = {};
    EXPECT_EQ(ask(address_of(1), "", testing::kOtherKey).status, 403U);
    EXPECT_EQ(get("/v1/accounts/" + address_of(1).hex() + "/transfers").status, 401U);
    for (const char* bad : {"?limit=0", "?limit=1001", "?before=x", "?before=-1", "?offset=1",
                            "?before=9223372036854775808"})
        EXPECT_EQ(ask(address_of(1), bad, testing::kGoodKey).status, 400U) << bad;
    EXPECT_EQ(backend_.last_statement.owner, Address{}) << "refused before anything is read";
}

TEST_F(ApiTest, AnOwnerHasTwoStatementsUnderWayAndKeepsNobodyElseFromOne) {
    const auto ask = [&] {
        return send("GET", "/v1/accounts/" + address_of(1).hex() + "/transfers", "",
                    {{"authorization", std::string("Bearer ") + testing::kGoodKey}});
    };
    std::vector<unsigned> inner;
    Response third, proof;
    backend_.during_statement = [&] {
        if (inner.size() == 1) {
            third = ask();
            proof =
                send("GET",
                     "/v1/transfers/" +
                         ledger::to_uuid(testing::sample_transfer_proof().transfer.id) + "/proof",
                     "", {{"authorization", std::string("Bearer ") + testing::kGoodKey}});
            return;
        }
        inner.push_back(0);
        inner.back() = ask().status;
    };
    EXPECT_EQ(ask().status, 200U);
    EXPECT_EQ(inner, std::vector<unsigned>{200});
    EXPECT_EQ(third.status, 503U) << third.body;
    EXPECT_EQ(
        std::ranges::count(third.headers, std::pair<std::string, std::string>("Retry-After", "1")),
        1);
    EXPECT_EQ(proof.status, 503U) << proof.body;
    backend_.during_statement = nullptr;
    EXPECT_EQ(ask().status, 200U) << "the others have ended";
}

TEST_F(ApiTest, JobsAreSubmittedOnceAndReplayed) {
    const Response created = send("POST", "/v1/jobs", "name: x", job_headers("k1"));
    EXPECT_EQ(created.status, 201U) << created.body;
    EXPECT_EQ(object_of(created).at("owner").as_string(), address_of(1).hex());
    const Response replayed = send("POST", "/v1/jobs", "name: x", job_headers("again"));
    EXPECT_EQ(replayed.status, 200U);
}

TEST_F(ApiTest, SubmittingNeedsAKeyBeforeTheBody) {
    auto headers = job_headers("k1");
    headers.erase("authorization");
    EXPECT_EQ(send("POST", "/v1/jobs", "x", headers).status, 401U);
    headers["authorization"] = "Bearer wrong";
    EXPECT_EQ(send("POST", "/v1/jobs", "x", headers).status, 401U);
    headers["authorization"] = "Basic abc";
    EXPECT_EQ(send("POST", "/v1/jobs", "x", headers).status, 401U);
    EXPECT_EQ(backend_.submissions, 0);
}

TEST_F(ApiTest, IdempotencyKeysAreRequiredAndBounded) {
    for (const std::string& key :
         {std::string(), std::string(129, 'k'), std::string("a b"), std::string("\x01")}) {
        EXPECT_EQ(send("POST", "/v1/jobs", "x", job_headers(key)).status, 400U) << key;
    }
    EXPECT_EQ(backend_.submissions, 0);
}

TEST_F(ApiTest, OtherContentTypesAreRefused) {
    auto headers = job_headers("k");
    headers["content-type"] = "application/json";
    EXPECT_EQ(send("POST", "/v1/jobs", "x", headers).status, 415U);
    headers["content-type"] = "application/yaml; charset=utf-8";
    EXPECT_EQ(send("POST", "/v1/jobs", "x", headers).status, 201U);
}

TEST_F(ApiTest, RefusalsOfTheBackendKeepTheirMeaning) {
    EXPECT_EQ(send("POST", "/v1/jobs", "poor", job_headers("k")).status, 402U);
    EXPECT_EQ(get("/v1/jobs/" + digest_of(2).hex()).status, 404U);
}

TEST_F(ApiTest, ExceptionsBecomeA500WithoutDetails) {
    const Response response = send("POST", "/v1/jobs", "throw", job_headers("k"));
    EXPECT_EQ(response.status, 500U);
    EXPECT_EQ(response.body.find("unexpected"), std::string::npos);
}

TEST_F(ApiTest, ADatabaseOutageIs503AndPasses) {
    backend_.down = true;
    EXPECT_EQ(get("/healthz").status, 503U);
    EXPECT_EQ(get("/v1/jobs").status, 503U);
    EXPECT_EQ(send("POST", "/v1/jobs", "x", job_headers("k")).status, 503U);
    const Response metrics = get("/metrics");
    EXPECT_EQ(metrics.status, 200U);
    EXPECT_NE(metrics.body.find("gym_api_database_up 0\n"), std::string::npos);
    backend_.down = false;
    EXPECT_EQ(get("/healthz").status, 200U);
    EXPECT_NE(get("/metrics").body.find("gym_api_database_up 1\n"), std::string::npos);
}

TEST_F(ApiTest, HealthIsThatOfAllServicesAndNamesTheOneThatDoesNotWork) {
    const UnixMs now = clock_.now_ms();
    backend_.health = {{"gym-coordinator", "", now - 5'000}, {"gym-rewards", "", now}};
    EXPECT_EQ(get("/healthz").status, 200U);
    EXPECT_NE(get("/healthz").body.find("gym-rewards"), std::string::npos);

    backend_.health[1].problem = "mismatch";
    EXPECT_EQ(get("/healthz").status, 503U);
    EXPECT_NE(get("/healthz").body.find("gym-rewards has a problem: mismatch (its log says why)"),
              std::string::npos)
        << get("/healthz").body;
    EXPECT_EQ(get("/healthz").body.find("gym-coordinator"), std::string::npos) << "it works";
    EXPECT_EQ(get("/livez").status, 200U) << "a load balancer sends nobody away";

    backend_.health[0].seen_at_ms = now - 61'000;
    EXPECT_NE(get("/healthz").body.find("gym-coordinator has said nothing for 61 s"),
              std::string::npos)
        << get("/healthz").body;
    backend_.health.clear();
    EXPECT_EQ(get("/healthz").status, 200U);
    backend_.down = true;
    EXPECT_EQ(get("/livez").status, 503U);
}

TEST_F(ApiTest, MetricsCountRequestsByOperationAndStatus) {
    (void)get("/v1/jobs");
    (void)get("/v1/jobs");
    (void)get("/nowhere");
    const std::string text = get("/metrics").body;
    EXPECT_NE(text.find("gym_api_requests_total{operation=\"listJobs\",status=\"200\"} 2\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("gym_api_requests_total{operation=\"none\",status=\"404\"} 1\n"),
              std::string::npos);
    EXPECT_NE(text.find("gym_jobs{status=\"running\"} 2\n"), std::string::npos);
    EXPECT_NE(text.find("gym_nodes_live{role=\"worker\"} 3\n"), std::string::npos);
}

TEST_F(ApiTest, AWrongMethodNamesTheAllowedOnes) {
    const Response response = send("DELETE", "/v1/jobs");
    EXPECT_EQ(response.status, 405U);
    bool allow = false;
    for (const auto& [name, value] : response.headers)
        allow = allow || (name == "Allow" && value == "GET, POST");
    EXPECT_TRUE(allow);
}

TEST_F(ApiTest, AnApiKeyAloneSpendsNothing) {
    auto headers = job_headers("k");
    headers.erase("gym-order");
    const Response unsigned_job = send("POST", "/v1/jobs", "name: x", headers);
    EXPECT_EQ(unsigned_job.status, 403U) << unsigned_job.body;
    EXPECT_NE(unsigned_job.body.find("Gym-Order is missing"), std::string::npos);
    for (const char* text : {"x", "{}", "[]", R"({"chain_id":1,"escrow":"0x","expiry":1})"}) {
        headers["gym-order"] = text;
        EXPECT_EQ(send("POST", "/v1/jobs", "name: x", headers).status, 400U) << text;
    }
    EXPECT_EQ(backend_.submissions, 0);
    headers["gym-order"] = testing::kSealText;
    const Response half = send("POST", "/v1/jobs", "name: x", headers);
    EXPECT_EQ(half.status, 400U) << "nothing is read before its terms are checked";
    EXPECT_NE(half.body.find("datasets"), std::string::npos) << half.body;
    EXPECT_EQ(backend_.submissions, 0);
    headers["gym-order"] = testing::kJobSealText;
    EXPECT_EQ(send("POST", "/v1/jobs", "name: x", headers).status, 201U);
    EXPECT_EQ(backend_.last_terms.budget_wei, Amount(5));
    EXPECT_EQ(backend_.last_terms.price_wei_per_pflop, Amount(6));
    EXPECT_EQ(backend_.last_terms.datasets, std::vector{digest_of(7)});
    EXPECT_EQ(backend_.last_seal.network.escrow.data.back(), 0xeeU);
    EXPECT_EQ(backend_.last_seal.signature.data.front(), 0x11U);
}

TEST_F(ApiTest, FundingNeedsAKeyAnAmountAndAName) {
    const std::string target = "/v1/jobs/" + digest_of(1).hex() + "/budget";
    auto headers = job_headers("once");
    headers["content-type"] = "application/json";
    const Response funded = send("POST", target, "{\"amount_wei\":\"7\"}", headers);
    ASSERT_EQ(funded.status, 200U) << funded.body;
    EXPECT_EQ(object_of(funded).at("id").as_string(), digest_of(1).hex());
    EXPECT_EQ(backend_.last_funding_key, "once");
    for (const char* body : {"", "7", "{}", "{\"amount_wei\":7}", "{\"amount_wei\":\"7\",\"x\":1}",
                             "{\"amount_wei\":\"1\",\"amount_wei\":\"7\"}"})
        EXPECT_EQ(send("POST", target, body, headers).status, 400U) << body;
    EXPECT_EQ(send("POST", target, "{\"amount_wei\":\"0\"}", headers).status, 422U);
    EXPECT_EQ(send("POST", target, "{\"amount_wei\":\"1001\"}", headers).status, 402U);
    EXPECT_EQ(backend_.last_seal.expiry_s, 30U);
    EXPECT_EQ(backend_.last_seal.network.chain_id, 1U);
    headers.erase("idempotency-key");
    EXPECT_EQ(send("POST", target, "{\"amount_wei\":\"7\"}", headers).status, 400U);
    headers["idempotency-key"] = "once";
    headers.erase("gym-order");
    EXPECT_EQ(send("POST", target, "{\"amount_wei\":\"7\"}", headers).status, 403U);
    headers.erase("authorization");
    EXPECT_EQ(send("POST", target, "{\"amount_wei\":\"7\"}", headers).status, 401U);
}

}  // namespace
}  // namespace gym::api
