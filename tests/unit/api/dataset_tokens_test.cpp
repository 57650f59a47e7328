// A dataset's tokens over the API: for whom, and in pieces.
#include <gtest/gtest.h>

#include "fake_backend.hpp"
#include "gym/api/api.hpp"
#include "manual_clock.hpp"

namespace gym::api {
namespace {

using testing::digest_of;

class DatasetTokensTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const Digest blob = backend_.blobs.put(as_bytes("the tokens")).value();
        backend_.edit_dataset = [this, blob](registry::Dataset& dataset) {
            dataset.blob = blob;
            dataset.owner = testing::address_of(1);
            dataset.price_wei_per_mtoken = Amount(price_);
            dataset.access = access_;
        };
    }
    Response get(const char* key, std::map<std::string, std::string, std::less<>> headers = {}) {
        if (key != nullptr) headers["authorization"] = std::string("Bearer ") + key;
        const Request request{
            "GET", "/v1/datasets/" + digest_of(7).hex() + "/tokens", std::move(headers), {}, "req"};
        auto admission = api_.admit(request);
        return admission.refused ? *admission.refused : api_.handle(request);
    }
    static std::string content(const Response& response) {
        if (!response.stream) return {};
        Bytes bytes(response.stream->size);
        EXPECT_TRUE(response.stream->source->read(response.stream->offset, bytes).ok());
        return {bytes.begin(), bytes.end()};
    }

    std::uint64_t price_ = 0;
    registry::Access access_{registry::Visibility::kPublic, {}};
    testing::FakeBackend backend_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
};

TEST_F(DatasetTokensTest, AFreeDatasetIsForEverybodyWithAKey) {
    EXPECT_EQ(content(get(testing::kGoodKey)), "the tokens");
    EXPECT_EQ(content(get(testing::kOtherKey)), "the tokens");
    EXPECT_EQ(get(nullptr).status, 401U);
}

TEST_F(DatasetTokensTest, ADownloadContinuesByRange) {
    const Response rest = get(testing::kOtherKey, {{"range", "bytes=4-"}});
    EXPECT_EQ(rest.status, 206U);
    EXPECT_EQ(content(rest), "tokens");
    EXPECT_EQ(get(testing::kOtherKey, {{"range", "bytes=10-"}}).status, 416U);
}

TEST_F(DatasetTokensTest, OneWithAPriceIsItsOwnersAlone) {
    price_ = 1;
    EXPECT_EQ(content(get(testing::kGoodKey)), "the tokens");
    const Response other = get(testing::kOtherKey);
    EXPECT_EQ(other.status, 403U);
    EXPECT_FALSE(other.stream.has_value());
}

TEST_F(DatasetTokensTest, APrivateOneIsItsOwnersAlone) {
    access_ = {registry::Visibility::kPrivate, {}};
    EXPECT_EQ(content(get(testing::kGoodKey)), "the tokens");
    const Response hidden = get(testing::kOtherKey);
    backend_.unknown_dataset = true;
    const Response absent = get(testing::kOtherKey);
    EXPECT_EQ(hidden.status, 404U);
    EXPECT_EQ(hidden.body, absent.body) << "as if it did not exist";
    EXPECT_EQ(hidden.headers, absent.headers);
}

TEST_F(DatasetTokensTest, AnAllowListIsForTheAccountsOnIt) {
    access_ = {registry::Visibility::kAllowList, {testing::address_of(3)}};
    EXPECT_EQ(get(testing::kOtherKey).status, 404U);
    access_.allowed = {testing::address_of(2)};
    EXPECT_EQ(content(get(testing::kOtherKey)), "the tokens");
    EXPECT_EQ(content(get(testing::kGoodKey)), "the tokens");
    price_ = 1;
    EXPECT_EQ(get(testing::kOtherKey).status, 403U) << "it may see it and train on it";
}

TEST_F(DatasetTokensTest, NothingPrivateTravelsWithoutTls) {
    Api plain({backend_, backend_, backend_, clock_}, {.is_confidential = false});
    const auto get_plain = [&] {
        const Request request{"GET",
                              "/v1/datasets/" + digest_of(7).hex() + "/tokens",
                              {{"authorization", std::string("Bearer ") + testing::kGoodKey}},
                              {},
                              "req"};
        return plain.handle(request);
    };
    EXPECT_EQ(content(get_plain()), "the tokens") << "what is public may";
    access_ = {registry::Visibility::kPrivate, {}};
    const Response refused = get_plain();
    EXPECT_EQ(refused.status, 403U);
    EXPECT_NE(refused.body.find("without TLS"), std::string::npos) << refused.body;
    EXPECT_FALSE(refused.stream.has_value());
}

TEST_F(DatasetTokensTest, AnUnknownOneIsNotFound) {
    backend_.unknown_dataset = true;
    EXPECT_EQ(get(testing::kGoodKey).status, 404U);
}

}  // namespace
}  // namespace gym::api
