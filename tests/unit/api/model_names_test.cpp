// Registered models over the API: offers, lists, and downloads for those who may see them.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "fake_backend.hpp"
#include "gym/api/api.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using testing::address_of;
using testing::digest_of;

constexpr const char* kVersions = "/v1/model-names/zoo-llama/versions";

class ModelNamesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const Digest state = backend_.blobs.put(as_bytes("the weights")).value();
        const Digest program = backend_.blobs.put(as_bytes("the program")).value();
        backend_.edit_model = [this, state, program](registry::ModelVersion& model) {
            model.state.blob = state;
            model.program.blob = program;
            model.tokenizer_blob = tokenizer_;
            model.access = access_;
        };
    }
    Response ask(const std::string& method, const std::string& target, const char* key,
                 const std::string& body = "") {
        Request request{method, target, {}, body, "req"};
        if (key != nullptr) request.headers["authorization"] = std::string("Bearer ") + key;
        if (!body.empty()) request.headers["content-type"] = "application/json";
        const auto admission = api_.admit(request);
        return admission.refused ? *admission.refused : api_.handle(request);
    }
    Response get(const std::string& part, const char* key) {
        return ask("GET", kVersions + std::string("/latest") + part, key);
    }
    static std::string content(const Response& response) {
        if (!response.stream) return "status " + std::to_string(response.status);
        Bytes bytes(response.stream->size);
        EXPECT_TRUE(response.stream->source->read(response.stream->offset, bytes).ok());
        return {bytes.begin(), bytes.end()};
    }

    registry::Access access_{registry::Visibility::kPublic, {}};
    std::optional<Digest> tokenizer_;
    testing::FakeBackend backend_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
};

TEST_F(ModelNamesTest, AnOfferIsReadWhole) {
    const std::string body =
        R"({"state":")" + digest_of(1).hex() + R"(","program":")" + digest_of(2).hex() +
        R"(","tokenizer":")" + digest_of(3).hex() +
        R"(","licence":"MIT","version":4,"visibility":"allow-list","allowed":[")" +
        address_of(2).hex() + R"("]})";
    EXPECT_EQ(ask("POST", kVersions, testing::kGoodKey, body).status, 201U);
    const ModelOffer& offer = backend_.last_model_offer;
    EXPECT_EQ(offer.owner, address_of(1));
    EXPECT_EQ(registry::to_string(offer.reference), "zoo-llama@4");
    EXPECT_EQ(offer.state, digest_of(1));
    EXPECT_EQ(offer.program, digest_of(2));
    EXPECT_EQ(offer.tokenizer, digest_of(3));
    EXPECT_FALSE(offer.job);
    EXPECT_EQ(offer.licence, "MIT");
    ASSERT_TRUE(offer.access);
    EXPECT_EQ(offer.access->allowed, std::vector{address_of(2)});
}

/// Reading one takes up to hundreds of megabytes.
TEST_F(ModelNamesTest, OneTokenizerIsReadAtATimeOwnersInTurn) {
    const std::string body = R"({"licence":"MIT","state":")" + digest_of(1).hex() +
                             R"(","program":")" + digest_of(2).hex() + R"(","tokenizer":")" +
                             digest_of(3).hex() + "\"}";
    const std::string without = R"({"licence":"MIT","state":")" + digest_of(1).hex() +
                                R"(","program":")" + digest_of(2).hex() + "\"}";
    Response other;
    bool first = true;
    backend_.during_naming = [&] {
        if (!std::exchange(first, false)) return;
        other = ask("POST", kVersions, testing::kOtherKey, body);
        EXPECT_EQ(ask("POST", kVersions, testing::kOtherKey, without).status, 201U)
            << "there is nothing to wait for";
    };
    EXPECT_EQ(ask("POST", kVersions, testing::kGoodKey, body).status, 201U);
    EXPECT_EQ(other.status, 503U);
    const auto retry = std::ranges::find(other.headers, std::string("Retry-After"),
                                         [](const auto& header) { return header.first; });
    EXPECT_NE(retry, other.headers.end());
    // The line is the same for datasets' tokenizers, and the other owner is first in it.
    EXPECT_EQ(ask("POST", kVersions, testing::kGoodKey, body).status, 503U);
    EXPECT_EQ(ask("POST", kVersions, testing::kOtherKey, body).status, 201U);
    EXPECT_EQ(ask("POST", kVersions, testing::kGoodKey, body).status, 201U);
}

TEST_F(ModelNamesTest, AJobIsOfferedWithItsRound) {
    const std::string body = R"({"licence":"MIT","job":")" + digest_of(9).hex() + R"(","round":7})";
    EXPECT_EQ(ask("POST", "/v1/model-names/known/versions", testing::kGoodKey, body).status, 200U);
    EXPECT_EQ(backend_.last_model_offer.job, digest_of(9));
    EXPECT_EQ(backend_.last_model_offer.round, 7U);
    EXPECT_FALSE(backend_.last_model_offer.access) << "the licence decides";
}

TEST_F(ModelNamesTest, WhatIsNoOfferIsRefusedWithItsReason) {
    for (const char* bad : {"[]", "{}", R"({"licence":1})", R"({"licence":"MIT","state":"0x1"})",
                            R"({"licence":"MIT","allowed":["0x12"]})",
                            R"({"licence":"MIT","visibility":"secret"})"}) {
        const unsigned status = ask("POST", kVersions, testing::kGoodKey, bad).status;
        EXPECT_TRUE(status == 400U || status == 422U) << bad << ": " << status;
    }
    EXPECT_EQ(
        ask("POST", "/v1/model-names/UPPER/versions", testing::kGoodKey, R"({"licence":"MIT"})")
            .status,
        422U);
    EXPECT_EQ(ask("POST", kVersions, nullptr, R"({"licence":"MIT"})").status, 401U);
}

TEST_F(ModelNamesTest, PartsAreDownloadedByThoseWhoMaySeeTheModel) {
    EXPECT_EQ(content(get("/state", testing::kOtherKey)), "the weights");
    EXPECT_EQ(content(get("/program", testing::kOtherKey)), "the program");
    EXPECT_EQ(get("/state", nullptr).status, 401U);
    EXPECT_EQ(get("/tokenizer", testing::kOtherKey).status, 404U) << "nobody gave its files";
    tokenizer_ = backend_.blobs.put(as_bytes("the files")).value();
    EXPECT_EQ(content(get("/tokenizer", testing::kOtherKey)), "the files");
    access_.visibility = registry::Visibility::kPrivate;
    EXPECT_EQ(content(get("/state", testing::kGoodKey)), "the weights");
    for (const char* part : {"", "/state", "/program", "/tokenizer"})
        EXPECT_EQ(get(part, testing::kOtherKey).status, 404U) << part;
}

TEST_F(ModelNamesTest, AnAllowListIsToldToTheOwnerAlone) {
    access_ = {registry::Visibility::kAllowList, {address_of(2)}};
    const auto allowed = [&](const char* key) {
        return json::parse(get("", key).body).at("allowed").as_array().size();
    };
    EXPECT_EQ(allowed(testing::kGoodKey), 1U);
    EXPECT_EQ(allowed(testing::kOtherKey), 0U);
    EXPECT_EQ(get("", nullptr).status, 404U);
}

TEST_F(ModelNamesTest, ListsAreOfTheCallerAndOfAnOwner) {
    const Response listed =
        ask("GET", "/v1/model-names?owner=" + address_of(3).hex() + "&limit=5&offset=2",
            testing::kOtherKey);
    EXPECT_EQ(listed.status, 200U) << listed.body;
    EXPECT_EQ(backend_.last_model_filter.owner, address_of(3));
    EXPECT_EQ(backend_.last_model_filter.limit, 5U);
    EXPECT_EQ(backend_.last_model_filter.offset, 2U);
    EXPECT_EQ(backend_.last_model_filter.viewer.address(), address_of(2));
    EXPECT_EQ(json::parse(listed.body).at("models").as_array().size(), 1U);
}

}  // namespace
}  // namespace gym::api
