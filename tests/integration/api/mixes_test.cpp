// Mixes that gym-api makes of registered datasets, on a real PostgreSQL and over real sockets.
#include <boost/json.hpp>
#include <thread>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "gym/api/mixes.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/file.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/data/mix.hpp"
#include "gym/http_server/server.hpp"
#include "gym/registry/dataset_parts.hpp"
#include "random_seed.hpp"
#include "streams.hpp"

namespace gym::api {
namespace {

using quality::prose;
using quality::Tokens;
using testing::address_of;

class MixesTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        first_ = enter(2, 40'000, "MIT", 3'000'000);
        second_ = enter(3, 20'000, "CC-BY-4.0", 1'000'000);
        start({});
    }
    void start(MixLimits limits, registry::DatasetQuota quota = {}) {
        mixes_.reset();
        PostgresBackend::Options options;
        options.dataset_quota = quota;
        options.asset = testing::kAsset;
        mixes_.emplace(*api_db_, blobs_, clock_, folder_ / "mixes", options, limits);
    }

    registry::Dataset enter(std::uint8_t owner, std::size_t tokens, const std::string& licence,
                            std::uint64_t price, std::uint32_t vocabulary = 256) {
        const Bytes file =
            blob::Dataset::from_tokens(prose(random_, tokens), vocabulary).value().encode();
        const auto added = backend().add_dataset({.owner = address_of(owner),
                                                  .name = "text of " + std::to_string(owner),
                                                  .licence = licence,
                                                  .price_wei_per_mtoken = Amount(price),
                                                  .file = file});
        EXPECT_TRUE(added.ok()) << added.error().message;
        return added->dataset;
    }
    MixOrder seven_and_three() const {
        return {.owner = owner_,
                .parts = {{first_.root.hex(), 700'000}, {second_.root.hex(), 300'000}}};
    }
    /// Asks until it is made or refused.
    Result<registry::Dataset> made(const MixOrder& order) {
        for (;;) {
            auto mix = mixes_->mix(order);
            if (!mix.ok()) return mix.error();
            if (mix->dataset) return *std::move(mix->dataset);
            std::this_thread::yield();
        }
    }
    ErrorCode refusal(const MixOrder& order, const std::string& words) {
        const auto answer = made(order);
        EXPECT_FALSE(answer.ok()) << words;
        if (answer.ok()) return ErrorCode::kInternal;
        EXPECT_NE(answer.error().message.find(words), std::string::npos) << answer.error().message;
        return answer.error().code;
    }

    std::mt19937_64 random_{gym::testing::random_seed()};
    TemporaryFolder folder_{TemporaryFolder::create("gym-mixes-test").value()};
    registry::Dataset first_, second_;
    std::optional<PostgresMixes> mixes_;
};

TEST_F(MixesTest, AMixCountsForTheQuotaOfItsOwner) {
    // The fixture's text is the owner's first dataset.
    start({}, {.datasets_max = 1});
    EXPECT_EQ(refusal(seven_and_three(), "mixes included; at most 1 are allowed"),
              ErrorCode::kOutOfRange);
    start({}, {.datasets_max = 2});
    ASSERT_TRUE(made(seven_and_three()).ok());
    const MixOrder other{.owner = owner_,
                         .parts = {{first_.root.hex(), 500'000}, {second_.root.hex(), 500'000}}};
    EXPECT_EQ(refusal(other, "you have registered 2 datasets"), ErrorCode::kOutOfRange);
    EXPECT_TRUE(made(seven_and_three()).ok()) << "what was made stays";
}

TEST_F(MixesTest, AMixHasItsPartsInTheirSharesAndCostsWhatTheyDo) {
    const auto mix = made(seven_and_three());
    ASSERT_TRUE(mix.ok()) << mix.error().message;
    ASSERT_EQ(mix->parts.size(), 2U);
    EXPECT_EQ(mix->tokens, 57'142U) << "as many as 40,000 tokens are 70 % of";
    EXPECT_EQ(mix->parts[0].tokens, 39'999U);
    EXPECT_EQ(mix->parts[1].tokens, 17'143U);
    EXPECT_EQ(mix->parts[0].owner, address_of(2));
    EXPECT_EQ(mix->parts[0].weight_ppm, 700'000U);
    EXPECT_EQ(mix->licence, "CC-BY-4.0 AND MIT");
    EXPECT_EQ(mix->owner, owner_);
    const auto terms = registry::mix_terms(mix->parts).value();
    EXPECT_EQ(mix->price_wei_per_mtoken, terms.price_wei_per_mtoken);
    EXPECT_EQ(mix->quality_ppm, terms.quality_ppm);
    EXPECT_GT(mix->price_wei_per_mtoken, Amount(2'390'000));
    EXPECT_LT(mix->price_wei_per_mtoken, Amount(2'410'000));
    const auto stored = blob::Dataset::decode(blobs_.get(mix->blob).value(), mix->root);
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    EXPECT_EQ(stored->tokens().size(), mix->tokens);
    mixes_.reset();  // its thread has ended
    EXPECT_FALSE(std::filesystem::exists(folder_ / "mixes") &&
                 !std::filesystem::is_empty(folder_ / "mixes"))
        << "nothing of the parts stays";
}

TEST_F(MixesTest, TheSameRequestIsTheSameMixAlsoOfAnotherAndAsMadeAnywhereElse) {
    const auto mix = made(seven_and_three()).value();
    MixOrder again = seven_and_three();
    again.owner = address_of(4);
    const auto answer = mixes_->mix(again);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->state, MixState::kMade);
    EXPECT_EQ(answer->dataset->root, mix.root);
    EXPECT_EQ(answer->dataset->owner, owner_) << "the first to ask";
    // Other weights of the same shares are the same tokens.
    again.parts = {{first_.root.hex(), 7'000'000}, {second_.root.hex(), 3'000'000}};
    EXPECT_EQ(made(again)->root, mix.root);
    again.parts = {{second_.root.hex(), 300'000}, {first_.root.hex(), 700'000}};
    EXPECT_NE(made(again)->root, mix.root) << "the order is part of the recipe";
    // Who has the texts can make it, too.
    data::MixOptions local;
    for (const registry::Dataset& part : {first_, second_}) {
        const auto file = folder_ / (part.root.hex() + ".tokens");
        ASSERT_TRUE(write_file_atomic(file, blobs_.get(part.blob).value()).ok());
        local.inputs.push_back({file, part.root == first_.root ? 700'000U : 300'000U});
    }
    local.output = folder_ / "local.tokens";
    EXPECT_EQ(data::mix(local)->dataset.root, mix.root);
}

TEST_F(MixesTest, WhatCannotBeMixedIsRefusedBeforeAnythingIsMade) {
    MixOrder order = seven_and_three();
    order.parts[1].dataset = Digest{{7}}.hex();
    EXPECT_EQ(refusal(order, "not registered"), ErrorCode::kNotFound);
    order.parts[1].dataset = "no-such-name@2";
    EXPECT_EQ(refusal(order, "no-such-name"), ErrorCode::kNotFound);
    order.parts[1].dataset = "No Name";
    EXPECT_EQ(refusal(order, "No Name"), ErrorCode::kInvalidArgument);
    order.parts[1].dataset = first_.root.hex();
    EXPECT_EQ(refusal(order, "twice"), ErrorCode::kInvalidArgument);
    order = seven_and_three();
    order.parts[1].weight_ppm = 0;
    EXPECT_EQ(refusal(order, "its weight is 0"), ErrorCode::kInvalidArgument);
    order.parts.resize(1);
    EXPECT_EQ(refusal(order, "2 to 64"), ErrorCode::kInvalidArgument);
    order = seven_and_three();
    order.tokens = 1'000'000;
    EXPECT_EQ(refusal(order, "tokens"), ErrorCode::kInvalidArgument);
    for (const char* licence : {"CC-BY-ND-4.0", "no-training"}) {
        order = seven_and_three();
        order.parts[1].dataset = enter(5, 9'000, licence, 0).root.hex();
        EXPECT_EQ(refusal(order, "leave it out"), ErrorCode::kPermissionDenied) << licence;
        order.owner = address_of(5);
        EXPECT_TRUE(made(order).ok()) << "its owner may";
    }
    order = seven_and_three();
    order.parts[1].dataset = enter(5, 9'000, "MIT", 0, 300).root.hex();
    EXPECT_EQ(refusal(order, "another tokenizer"), ErrorCode::kInvalidArgument);
    order.parts[1].dataset = made(seven_and_three())->root.hex();
    EXPECT_EQ(refusal(order, "is a mix itself"), ErrorCode::kInvalidArgument);
}

TEST_F(MixesTest, SizesHaveLimits) {
    start({.bytes_max = 20'000});
    EXPECT_EQ(refusal(seven_and_three(), "would have 57142 tokens"), ErrorCode::kOutOfRange);
    MixOrder order = seven_and_three();
    order.tokens = 9'000;
    EXPECT_TRUE(made(order).ok());
    start({.parts_bytes_max = 100'000});
    order.tokens = 9'001;
    EXPECT_EQ(refusal(order, "the parts have more than"), ErrorCode::kOutOfRange);
}

TEST_F(MixesTest, ADamagedPartEndsTheMixAndIsToldOnce) {
    const Bytes file = blobs_.get(second_.blob).value();
    ASSERT_TRUE(blobs_.remove(second_.blob).ok());
    EXPECT_EQ(refusal(seven_and_three(), second_.blob.hex()), ErrorCode::kNotFound);
    EXPECT_EQ(count("registry.dataset_part"), 0U);
    ASSERT_TRUE(blobs_.put(file).ok());
    EXPECT_TRUE(made(seven_and_three()).ok()) << "asked again, it is made";
}

TEST_F(MixesTest, TokensThatSomebodyRegisteredAsHisOwnAreNoMix) {
    const auto mix = made(seven_and_three()).value();
    const Bytes file = blobs_.get(mix.blob).value();
    const auto stolen = add(address_of(6), "mine", file);
    EXPECT_EQ(stolen.error().code, ErrorCode::kConflict);
    // The other way round: a mix of free texts that somebody offers for money.
    MixOrder order = seven_and_three();
    order.tokens = 5'000;
    data::MixOptions local;
    for (const registry::Dataset& part : {first_, second_}) {
        const auto at = folder_ / (part.root.hex() + ".tokens");
        ASSERT_TRUE(write_file_atomic(at, blobs_.get(part.blob).value()).ok());
        local.inputs.push_back({at, part.root == first_.root ? 700'000U : 300'000U});
    }
    local.output = folder_ / "local.tokens";
    local.tokens = 5'000;
    ASSERT_TRUE(data::mix(local).ok());
    ASSERT_TRUE(add(address_of(6), "mine", read_file(local.output, 1 << 20).value()).ok());
    EXPECT_EQ(refusal(order, "as its own"), ErrorCode::kConflict);
}

TEST_F(MixesTest, AMixIsReadByThoseWhoMayReadEveryPart) {
    const auto free_one = enter(4, 9'000, "MIT", 0), own = enter(1, 9'000, "LicenseRef-private", 0);
    const auto priced = made(seven_and_three()).value();
    const auto open =
        made({.owner = owner_, .parts = {{free_one.root.hex(), 1}, {own.root.hex(), 1}}}).value();
    PostgresBackend storage = backend();
    Api api({storage, storage, storage, clock_, nullptr, &*mixes_}, {});
    const auto status = [&](const registry::Dataset& dataset, std::uint8_t reader) {
        Request request;
        request.method = "GET";
        request.target = "/v1/datasets/" + dataset.root.hex() + "/tokens";
        request.headers = {
            {"authorization",
             "Bearer " + create_key(*api_db_, address_of(reader), "test", 1).value()}};
        return api.handle(request).status;
    };
    EXPECT_EQ(status(priced, 1), 403U) << "who asked for it may not read what he did not pay for";
    EXPECT_EQ(status(priced, 2), 403U) << "the owner of one part alone";
    EXPECT_EQ(status(open, 1), 200U);
    EXPECT_EQ(status(open, 4), 404U) << "of another's private part there is nothing to see";
}

TEST_F(MixesTest, AMixIsAsVisibleAsItsLeastVisiblePart) {
    const auto hidden = enter(2, 9'000, "MIT", 0);
    const MixOrder order{.owner = address_of(3),
                         .parts = {{second_.root.hex(), 1}, {hidden.root.hex(), 1}}};
    const auto set = [&](registry::Access access) {
        return backend().set_dataset_access(address_of(2), hidden.root, access);
    };
    ASSERT_TRUE(set({registry::Visibility::kPrivate, {}}).ok());
    EXPECT_EQ(refusal(order, "is not registered"), ErrorCode::kNotFound);
    ASSERT_TRUE(set({registry::Visibility::kAllowList, {address_of(3)}}).ok());
    const auto mix = made(order);
    ASSERT_TRUE(mix.ok()) << mix.error().message;
    EXPECT_EQ(mix->access.visibility, registry::Visibility::kAllowList);

    const auto seen_by = [&](const registry::Viewer& viewer) {
        return backend().dataset(mix->root, viewer).ok();
    };
    EXPECT_TRUE(seen_by(registry::Viewer::account(address_of(3))));
    EXPECT_TRUE(seen_by(registry::Viewer::account(address_of(2)))) << "both parts are for it";
    EXPECT_FALSE(seen_by(registry::Viewer::account(address_of(4))));
    EXPECT_FALSE(seen_by(registry::Viewer::account(std::nullopt)));
    const auto listed =
        backend().datasets({.limit = 100, .viewer = registry::Viewer::account(address_of(4))});
    ASSERT_TRUE(listed.ok()) << listed.error().message;
    for (const registry::Dataset& one : *listed)
        EXPECT_NE(one.root, mix->root);
    const auto opened =
        backend().set_dataset_access(address_of(3), mix->root, {registry::Visibility::kPublic, {}});
    EXPECT_EQ(opened.error().code, ErrorCode::kConflict) << "its maker cannot publish it";
    ASSERT_TRUE(set({registry::Visibility::kPrivate, {}}).ok());
    EXPECT_FALSE(seen_by(registry::Viewer::account(address_of(3)))) << "its part is gone for it";
}

TEST_F(MixesTest, ClientsAskOverTheNetworkUntilItIsMade) {
    PostgresBackend storage = backend();
    Api api({storage, storage, storage, clock_, nullptr, &*mixes_}, {});
    const auto server = http_server::Server::start({}, api).value();
    const client::ApiClient client({.url = "http://127.0.0.1:" + std::to_string(server->port()),
                                    .key = create_key(*api_db_, owner_, "test", 1).value()});
    client::MixRequest request{{{first_.root, 700'000}, {second_.root, 300'000}}, 5'000};
    const auto mix = client.make_mix(request);
    ASSERT_TRUE(mix.ok()) << mix.error().message;
    EXPECT_EQ(mix->tokens, 5'000U);
    EXPECT_EQ(mix->parts[0].tokens, 3'500U);
    const auto shown = client.dataset(mix->root);
    ASSERT_TRUE(shown.ok()) << shown.error().message;
    EXPECT_EQ((*shown)->value.parts, mix->parts);
    EXPECT_TRUE(client.dataset(first_.root).value()->value.parts.empty());
    request.parts[1].root = first_.root;
    EXPECT_EQ(client.make_mix(request).error().code, ErrorCode::kInvalidArgument);
    for (const char* weight : {"0", "-1", "101", "1e400", "\"0.5\"", "null", "NaN"}) {
        Request post;
        post.method = "POST";
        post.target = "/v1/mixes";
        post.headers = {
            {"authorization", "Bearer " + create_key(*api_db_, owner_, "test", 1).value()},
            {"content-type", "application/json"}};
        post.body = "{\"parts\": [{\"dataset\": \"a\", \"weight\": " + std::string(weight) +
                    "}, {\"dataset\": \"b\", \"weight\": 1}]}";
        EXPECT_EQ(api.handle(post).status, 400U) << weight;
    }
    server->stop(1'000);
}

TEST_F(MixesTest, AJobOnAMixIsBoundByItsPriceAndItsPartsLicences) {
    deposit(owner_, "1000", "d1");
    const auto mix = made(seven_and_three()).value();
    const auto refused = submit({owner_, "k1", testing::job_spec(mix.root)});
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find(mix.price_wei_per_mtoken.to_tokens()), std::string::npos)
        << refused.error().message;
    const std::string agreed = "max_data_price: " + mix.price_wei_per_mtoken.to_tokens() + "\n";
    const auto job = submit({owner_, "k2", testing::job_spec(mix.root, "100", agreed)});
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->job.data_price_wei_per_mtoken, mix.price_wei_per_mtoken);
    const auto view = backend().job(job->job.id);
    ASSERT_TRUE(view.ok()) << view.error().message;
    ASSERT_EQ(view->data.size(), 2U);
    EXPECT_EQ(view->data[0].owner, address_of(2));
    EXPECT_EQ(view->data[0].price_wei_per_mtoken, Amount(3'000'000));
    EXPECT_EQ(view->data[1].part_tokens, mix.parts[1].tokens);
    const auto restricted = enter(5, 9'000, "CC-BY-NC-4.0", 0);
    const auto bounded =
        made({.owner = owner_, .parts = {{first_.root.hex(), 1}, {restricted.root.hex(), 1}}});
    ASSERT_TRUE(bounded.ok()) << bounded.error().message;
    const auto commercial = submit({owner_, "k3", testing::job_spec(bounded->root, "100", agreed)});
    EXPECT_EQ(commercial.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(commercial.error().message.find(restricted.root.hex()), std::string::npos);
}

}  // namespace
}  // namespace gym::api
