// The files of a dataset's tokenizer over the API.
#include <gtest/gtest.h>

#include "fake_backend.hpp"
#include "gym/api/api.hpp"
#include "gym/tokenizer/bundle.hpp"
#include "manual_clock.hpp"
#include "must.hpp"

namespace gym::api {
namespace {

using gym::testing::must;
using testing::digest_of;

class DatasetTokenizerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        backend_.edit_dataset = [this](registry::Dataset& dataset) {
            dataset.owner = testing::address_of(1);
            dataset.tokenizer = tokenizer_;
            dataset.access = access_;
        };
    }
    static tokenizer::Bundle bundle_of(std::string_view model) {
        const ByteView bytes = as_bytes(model);
        return must(
            tokenizer::make_bundle({{"tokenizer.model", Bytes(bytes.begin(), bytes.end())}}));
    }
    Response ask(const char* method, const char* key, const Bytes& body = {}) {
        std::map<std::string, std::string, std::less<>> headers{
            {"content-type", "application/octet-stream"}};
        if (key != nullptr) headers["authorization"] = std::string("Bearer ") + key;
        const Request request{method,
                              "/v1/datasets/" + digest_of(7).hex() + "/tokenizer",
                              std::move(headers),
                              {body.begin(), body.end()},
                              "req"};
        Api& api = is_confidential_ ? api_ : plain_;
        auto admission = api.admit(request);
        return admission.refused ? *admission.refused : api.handle(request);
    }

    const tokenizer::Bundle bundle_ = bundle_of("a model");
    const Bytes files_ = tokenizer::encode_bundle(bundle_);
    std::optional<Digest> tokenizer_ = bundle_.root;
    registry::Access access_{registry::Visibility::kPublic, {}};
    bool is_confidential_ = true;
    testing::FakeBackend backend_;
    gym::testing::ManualClock clock_{20'000};
    Api api_{{backend_, backend_, backend_, clock_}, {}};
    Api plain_{{backend_, backend_, backend_, clock_}, {.is_confidential = false}};
};

TEST_F(DatasetTokenizerTest, ItsOwnerGivesThemAndEverybodyWithAKeyGetsThem) {
    EXPECT_EQ(ask("GET", testing::kOtherKey).status, 404U);
    EXPECT_EQ(ask("PUT", testing::kGoodKey, files_).status, 201U);
    EXPECT_EQ(ask("PUT", testing::kGoodKey, files_).status, 200U);
    const Response got = ask("GET", testing::kOtherKey);
    ASSERT_EQ(got.status, 200U);
    Bytes bytes(got.stream->size);
    EXPECT_TRUE(got.stream->source->read(got.stream->offset, bytes).ok());
    EXPECT_EQ(bytes, files_);
    EXPECT_EQ(ask("GET", nullptr).status, 401U);
}

TEST_F(DatasetTokenizerTest, OneIsReadAtATime) {
    Response inside;
    backend_.during_naming = [&] { inside = ask("PUT", testing::kGoodKey, files_); };
    const Request naming{"POST",
                         "/v1/model-names/m/versions",
                         {{"authorization", std::string("Bearer ") + testing::kOtherKey},
                          {"content-type", "application/json"}},
                         R"({"licence":"MIT","tokenizer":")" + digest_of(3).hex() + "\"}",
                         "req"};
    EXPECT_EQ(api_.handle(naming).status, 201U);
    EXPECT_EQ(inside.status, 503U) << inside.body;
    EXPECT_TRUE(backend_.tokenizers.empty());
    EXPECT_EQ(ask("PUT", testing::kGoodKey, files_).status, 201U);
}

TEST_F(DatasetTokenizerTest, OnlyItsOwnerGivesThem) {
    EXPECT_EQ(ask("PUT", testing::kOtherKey, files_).status, 403U);
    EXPECT_TRUE(backend_.tokenizers.empty());
}

TEST_F(DatasetTokenizerTest, OfAPrivateDatasetTheyAreItsOwnersAndNeedTls) {
    access_ = {registry::Visibility::kPrivate, {}};
    is_confidential_ = false;
    EXPECT_EQ(ask("PUT", testing::kGoodKey, files_).status, 403U);
    EXPECT_TRUE(backend_.tokenizers.empty());
    is_confidential_ = true;
    EXPECT_EQ(ask("PUT", testing::kGoodKey, files_).status, 201U);
    EXPECT_EQ(ask("GET", testing::kGoodKey).status, 200U);
    const Response hidden = ask("GET", testing::kOtherKey);
    EXPECT_EQ(hidden.status, 404U);
    is_confidential_ = false;
    EXPECT_EQ(ask("GET", testing::kGoodKey).status, 403U);
    EXPECT_EQ(ask("GET", testing::kOtherKey).body, hidden.body) << "as one that does not exist";
    access_ = {registry::Visibility::kPublic, {}};
    EXPECT_EQ(ask("GET", testing::kOtherKey).status, 200U) << "what is public may";
}

TEST_F(DatasetTokenizerTest, FilesOfAnotherTokenizerAreRefused) {
    const Bytes other = tokenizer::encode_bundle(bundle_of("another model"));
    const Response refused = ask("PUT", testing::kGoodKey, other);
    EXPECT_EQ(refused.status, 422U) << refused.body;
    EXPECT_NE(refused.body.find(bundle_.root.hex()), std::string::npos) << refused.body;
    EXPECT_GE(ask("PUT", testing::kGoodKey, {'x'}).status, 400U);
    tokenizer_.reset();
    EXPECT_GE(ask("PUT", testing::kGoodKey, files_).status, 400U) << "it names none";
    EXPECT_TRUE(backend_.tokenizers.empty());
}

}  // namespace
}  // namespace gym::api
