// Registration of datasets on a real PostgreSQL: what is new of them, what that is worth, and what
// the database itself refuses.
#include <atomic>
#include <thread>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/quality/usefulness.hpp"
#include "gym/rewards/formulas.hpp"
#include "random_seed.hpp"
#include "streams.hpp"

namespace gym::api {
namespace {

using quality::joined;
using quality::prose;
using quality::Tokens;
using testing::address_of;

Bytes file_of(const Tokens& tokens) {
    return blob::Dataset::from_tokens(tokens, 256).value().encode();
}

class DatasetsTest : public testing::ApiDatabaseTest {
  protected:
    registry::Dataset enter(const Tokens& tokens, std::uint8_t owner = 1) {
        const auto added = add(address_of(owner), "text", file_of(tokens));
        EXPECT_TRUE(added.ok()) << added.error().message;
        return added.value().dataset;
    }
    /// The earnings of a million of its tokens at a price of a million base units.
    static std::uint64_t worth(const registry::Dataset& dataset) {
        return rewards::data_credit(kPpm, Amount(kPpm), dataset.quality_ppm)
            .value()
            .to_u64()
            .value();
    }
    /// The earnings of all of its tokens at one base unit each.
    static std::uint64_t worth_of_all(const registry::Dataset& dataset) {
        return rewards::data_credit(dataset.tokens, Amount(kPpm), dataset.quality_ppm)
            .value()
            .to_u64()
            .value();
    }
    static std::uint64_t worth_of_all(const quality::Novelty& found) {
        const auto half = PostgresBackend::Options().usefulness_default_ppm;
        return rewards::data_credit(found.tokens, Amount(kPpm),
                                    quality::quality_ppm(found.ppm, half).value())
            .value()
            .to_u64()
            .value();
    }
    ErrorCode sql(db::Database& as, const std::string& text) {
        const auto rows = as.transact([&](db::Transaction& tx) { return tx.exec(text); });
        return rows.ok() ? ErrorCode::kCancelled  // it went through
                         : rows.error().code;
    }

    std::mt19937_64 random_{gym::testing::random_seed()};
};

TEST_F(DatasetsTest, ANewTextIsNovelAndOfTheDefaultUsefulness) {
    const Tokens text = prose(random_, 100'000);
    const auto dataset = enter(text);
    EXPECT_GT(dataset.novelty_ppm, 970'000U);
    EXPECT_LT(dataset.novelty_ppm, kPpm) << "edges are not";
    EXPECT_EQ(dataset.novelty_ppm, quality::Book().novelty_of(text).ppm);
    EXPECT_EQ(dataset.usefulness_ppm, PostgresBackend::Options().usefulness_default_ppm);
    EXPECT_EQ(dataset.quality_ppm,
              quality::quality_ppm(dataset.novelty_ppm, dataset.usefulness_ppm).value());
    EXPECT_FALSE(dataset.nearest);
    ASSERT_TRUE(dataset.sample);
    EXPECT_EQ(dataset.sample->compared_tokens, quality::sketch(text).compared_tokens);
    EXPECT_EQ(dataset.number, 2U) << "the fixture's text is the first";
    EXPECT_EQ(dataset.licence, "CC0-1.0");
}

/// A backend whose owners may register only so much.
class DatasetQuotaTest : public DatasetsTest {
  protected:
    Result<AddedDataset> offer(const registry::DatasetQuota& quota, const Address& owner,
                               const Bytes& file) {
        PostgresBackend::Options options;
        options.asset = testing::kAsset;
        options.network = testing::kNetwork;
        options.dataset_quota = quota;
        PostgresBackend limited(*api_db_, blobs_, clock_, options);
        return limited.add_dataset(
            {.owner = owner, .name = "text", .licence = "CC0-1.0", .file = file});
    }
    Bytes text_of(std::size_t tokens) { return file_of(prose(random_, tokens)); }
};

TEST_F(DatasetQuotaTest, AnOwnerRegistersSoManyAndAnotherItsOwn) {
    const Address ann = address_of(7), bob = address_of(8);
    const registry::DatasetQuota two{.datasets_max = 2};
    const Bytes first = text_of(1'000);
    ASSERT_TRUE(offer(two, ann, first).ok());
    ASSERT_TRUE(offer(two, ann, text_of(1'000)).ok());
    const Bytes third = text_of(1'000);
    const auto refused = offer(two, ann, third);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(refused.error().message.find("you have registered 2 datasets, mixes included; at "
                                           "most 2 are allowed"),
              std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(blobs_.get(blob::blob_root(third)).ok()) << "what is refused fills no disk";
    const auto again = offer(two, ann, first);
    ASSERT_TRUE(again.ok()) << "what is there stays there: " << again.error().message;
    EXPECT_FALSE(again->is_new);
    EXPECT_TRUE(offer(two, bob, third).ok());
}

TEST_F(DatasetQuotaTest, TheTokensOfAnOwnersDatasetsAreBoundedTogether) {
    const Address ann = address_of(7);
    const registry::DatasetQuota bytes{.bytes_max = 6'000};
    ASSERT_TRUE(offer(bytes, ann, text_of(1'000)).ok()) << "two bytes a token";
    const auto large = offer(bytes, ann, text_of(2'001));
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(large.error().message.find("your registered datasets may have"), std::string::npos)
        << large.error().message;
    EXPECT_TRUE(offer(bytes, ann, text_of(2'000)).ok()) << "all of it";
    EXPECT_FALSE(offer(bytes, ann, text_of(1)).ok());
}

TEST_F(DatasetQuotaTest, RegistrationsAtOneTimeDoNotEachSeeRoom) {
    const Address ann = address_of(7);
    const registry::DatasetQuota two{.datasets_max = 2};
    std::vector<Bytes> files;
    for (int i = 0; i < 6; ++i)
        files.push_back(text_of(500));
    std::atomic<int> added = 0;
    std::vector<std::thread> owners;
    owners.reserve(files.size());
    for (const Bytes& file : files)
        owners.emplace_back([&] { added += offer(two, ann, file).ok() ? 1 : 0; });
    for (std::thread& owner : owners)
        owner.join();
    EXPECT_EQ(added, 2);
}

TEST_F(DatasetsTest, OneOfManyTokensIsRegisteredWithItsTokenizer) {
    const Digest tokenizer = commit::sha256(as_bytes("tokenizer"));
    std::vector<std::uint32_t> tokens;
    for (const std::uint16_t token : prose(random_, 40'000))
        tokens.push_back(std::uint32_t{token} * 500);
    const auto made =
        blob::Dataset::from_tokens(tokens, blob::Tokenization{128'256, tokenizer}).value();
    const auto added = add(address_of(1), "wide", made.encode());
    ASSERT_TRUE(added.ok()) << added.error().message;
    EXPECT_EQ(added->dataset.root, made.root());
    const auto stored = backend().dataset(made.root(), registry::Viewer::service()).value();
    EXPECT_EQ(stored.vocabulary, 128'256U);
    EXPECT_EQ(stored.tokenizer, tokenizer);
    EXPECT_GT(stored.novelty_ppm, 900'000U);
    EXPECT_FALSE(enter(prose(random_, 2'000)).tokenizer);

    EXPECT_FALSE(backend().dataset_tokenizer(made.root()).value());
    const auto given = backend().add_dataset_tokenizer(made.root(), as_bytes("files"));
    ASSERT_TRUE(given.ok()) << given.error().message;
    EXPECT_TRUE(given->is_new);
    EXPECT_FALSE(backend().add_dataset_tokenizer(made.root(), as_bytes("files"))->is_new);
    EXPECT_EQ(backend().add_dataset_tokenizer(made.root(), as_bytes("others")).error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(backend().dataset_tokenizer(made.root()).value()->blob, given->tokenizer.blob);
    EXPECT_EQ(sql(database_.owner(), "UPDATE registry.dataset_tokenizer SET bytes = 1"),
              ErrorCode::kConflict);
}

TEST_F(DatasetsTest, ANameBelongsToItsFirstOwnerAndItsVersionsFollowEachOther) {
    const Digest first = enter(prose(random_, 3'000), 1).root;
    const Digest second = enter(prose(random_, 3'000), 1).root;
    const Digest foreign = enter(prose(random_, 3'000), 2).root;
    const auto name = [&](std::uint8_t owner, const std::string& reference, const Digest& root) {
        return backend().name_dataset(address_of(owner),
                                      registry::parse_dataset_reference(reference).value(), root);
    };
    EXPECT_EQ(name(1, "zoo", first)->version.version, 1U);
    EXPECT_FALSE(name(1, "zoo", first)->is_new) << "a repeated request";
    EXPECT_FALSE(name(1, "zoo@1", first)->is_new);
    EXPECT_EQ(name(1, "zoo@3", second).error().code, ErrorCode::kConflict);
    EXPECT_EQ(name(1, "zoo@1", second).error().code, ErrorCode::kConflict);
    EXPECT_EQ(name(1, "zoo@2", second)->version.version, 2U);
    EXPECT_EQ(name(1, "zoo", first)->version.version, 3U) << "back to an earlier one";
    EXPECT_EQ(name(2, "zoo", foreign).error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(name(1, "zoo", foreign).error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(name(1, "zoo", Digest()).error().code, ErrorCode::kNotFound);
    const auto find = [&](const std::string& reference) {
        return backend().dataset_version(registry::parse_dataset_reference(reference).value(),
                                         registry::Viewer::service());
    };
    EXPECT_EQ(find("zoo@2")->root, second);
    EXPECT_EQ(find("zoo")->version, 3U);
    EXPECT_EQ(find("zoo")->owner, address_of(1));
    EXPECT_EQ(find("zoo@4").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(find("other").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(backend().dataset_versions("zoo", registry::Viewer::service())->size(), 3U);
}

TEST_F(DatasetsTest, AnOwnerHasSoManyNames) {
    const Digest root = enter(prose(random_, 3'000), 1).root;
    const auto name = [&](const std::string& text) {
        return api_db_->transact([&](db::Transaction& tx) {
            return registry::name_dataset(tx, {.name = text}, root, address_of(1), 1'000, 2);
        });
    };
    ASSERT_TRUE(name("one").ok());
    ASSERT_TRUE(name("two").ok());
    const auto third = name("three");
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(third.error().message.find("you have 2 names of datasets"), std::string::npos)
        << third.error().message;
    EXPECT_TRUE(name("two").ok()) << "it has that one";
}

TEST_F(DatasetsTest, TheDatabaseItselfKeepsNamesAndVersions) {
    const Digest root = enter(prose(random_, 3'000), 1).root;
    ASSERT_TRUE(backend().name_dataset(address_of(1), {.name = "zoo"}, root).ok());
    const std::string mine = "decode('" + to_hex(root.view()) + "', 'hex')";
    auto& owner = database_.owner();
    EXPECT_EQ(sql(owner, "INSERT INTO registry.dataset_version VALUES ('zoo', 3, " + mine + ", 1)"),
              ErrorCode::kConflict);
    EXPECT_EQ(sql(owner, "UPDATE registry.dataset_version SET version = 2"), ErrorCode::kConflict);
    EXPECT_EQ(sql(owner, "DELETE FROM registry.dataset_name"), ErrorCode::kConflict);
    EXPECT_EQ(sql(owner, "WITH n AS (INSERT INTO registry.dataset_name VALUES ('theirs', decode('" +
                             std::string(40, '2') + "', 'hex'), 1)) SELECT 1"),
              ErrorCode::kCancelled);
    EXPECT_EQ(
        sql(owner, "INSERT INTO registry.dataset_version VALUES ('theirs', 1, " + mine + ", 1)"),
        ErrorCode::kConflict);
    for (const char* bad : {"'abcdef12'", "'0x12'", "'Zoo'", "'-zoo'", "''"})
        EXPECT_NE(sql(owner, std::string("INSERT INTO registry.dataset_name SELECT ") + bad +
                                 ", owner, 1 FROM registry.dataset LIMIT 1"),
                  ErrorCode::kCancelled)
            << bad;
}

TEST_F(DatasetsTest, ADuplicateUnderAnotherRootEarnsNothing) {
    const Tokens text = prose(random_, 100'000);
    const auto original = enter(text, 1);
    Tokens copy = text;
    copy.back() = static_cast<std::uint16_t>(copy.back() ^ 1);
    copy.insert(copy.begin(), 'x');
    const auto dataset = enter(copy, 2);
    ASSERT_NE(dataset.root, original.root);
    EXPECT_LT(worth(dataset), worth(original) / 100);
    ASSERT_TRUE(dataset.nearest);
    EXPECT_EQ(dataset.nearest->root, original.root);
    EXPECT_GT(dataset.nearest->ppm, 990'000U);
    // A copy of the copy is one of the original, whose keys they are.
    copy.insert(copy.begin(), 'y');
    EXPECT_EQ(enter(copy, 3).nearest->root, original.root);
}

TEST_F(DatasetsTest, HalfADuplicateEarnsHalf) {
    const Tokens text = prose(random_, 100'000);
    const auto original = enter(text, 1);
    const auto half = enter(joined(text, prose(random_, 100'000)), 2);
    const double share = static_cast<double>(worth(half)) / static_cast<double>(worth(original));
    EXPECT_GT(share, 0.47);
    EXPECT_LT(share, 0.53);
    EXPECT_EQ(half.nearest->root, original.root);
    EXPECT_NEAR(half.nearest->ppm, 500'000, 30'000);
}

// Chunks that are alike only if they are equal: a random stream. (Where they are merely similar a
// cut may gain some hundred tokens, docs/REWARDS.md.)
TEST_F(DatasetsTest, SplittingADatasetNeverEarnsMore) {
    for (std::uint64_t i = 0; i < 3 * gym::testing::test_scale(); ++i) {
        const Tokens text = quality::random_tokens(random_, 40'000, 256);
        // In a network of its own, where nothing was registered before.
        const std::uint64_t whole = worth_of_all(quality::Book().novelty_of(text));
        std::uint64_t parts = 0;
        std::size_t first = 0;
        while (first < text.size()) {
            const std::size_t count =
                std::min<std::size_t>(text.size() - first, 1 + random_() % 20'000);
            const auto from = text.begin() + static_cast<std::ptrdiff_t>(first);
            parts += worth_of_all(enter({from, from + static_cast<std::ptrdiff_t>(count)}));
            first += count;
        }
        EXPECT_LE(parts, whole);
        EXPECT_GT(parts, whole / 2) << "of parts that are not mere edges";
    }
}

// They all look before any has registered, if nothing holds them apart.
TEST_F(DatasetsTest, OfConcurrentCopiesOneIsNovel) {
    const Tokens text = prose(random_, 60'000);
    std::vector<std::thread> providers;
    std::vector<std::optional<registry::Dataset>> entered(6);
    for (std::size_t i = 0; i < entered.size(); ++i)
        providers.emplace_back([&, i] {
            Tokens copy = text;
            copy.push_back(static_cast<std::uint16_t>('a' + i));
            const auto added =
                add(address_of(static_cast<std::uint8_t>(i + 1)), "copy", file_of(copy));
            EXPECT_TRUE(added.ok()) << added.error().message;
            if (added.ok()) entered[i] = added->dataset;
        });
    for (std::thread& provider : providers)
        provider.join();
    std::uint64_t novel = 0;
    std::uint64_t earliest = ~std::uint64_t{0};
    for (const auto& dataset : entered) {
        ASSERT_TRUE(dataset);
        earliest = std::min(earliest, dataset->number);
    }
    for (const auto& dataset : entered) {
        novel += dataset->novelty_ppm > 900'000U ? 1 : 0;
        const std::uint32_t most = dataset->number == earliest ? kPpm : 0;
        EXPECT_LE(dataset->novelty_ppm, most);
    }
    EXPECT_EQ(novel, 1U);
}

TEST_F(DatasetsTest, TheTermsOfTheFirstTimeStay) {
    DatasetOffer offer{.owner = owner_,
                       .name = "mine",
                       .licence = "MIT",
                       .price_wei_per_mtoken = Amount(5),
                       .file = {}};
    const Bytes file = file_of(prose(random_, 5'000));
    offer.file = file;
    ASSERT_TRUE(backend().add_dataset(offer).value().is_new);
    EXPECT_FALSE(backend().add_dataset(offer).value().is_new);
    DatasetOffer dearer = offer;
    dearer.price_wei_per_mtoken = Amount(6);
    const auto refused = backend().add_dataset(dearer);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("neither changes afterwards"), std::string::npos)
        << refused.error().message;
    DatasetOffer freer = offer;
    freer.licence = "CC0-1.0";
    EXPECT_EQ(backend().add_dataset(freer).error().code, ErrorCode::kConflict);
    EXPECT_EQ(count("registry.dataset"), 2U);
}

TEST_F(DatasetsTest, BadOffersAreRefusedWithoutATrace) {
    const Bytes file = file_of(prose(random_, 5'000));
    const DatasetOffer good{.owner = owner_, .name = "n", .licence = "MIT", .file = file};
    const auto code = [&](auto change) {
        DatasetOffer offer = good;
        change(offer);
        const auto added = backend().add_dataset(offer);
        return added.ok() ? ErrorCode::kInternal : added.error().code;
    };
    using enum ErrorCode;
    EXPECT_EQ(code([](auto& offer) { offer.licence = "MIT OR"; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.licence = "NOASSERTION"; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.licence = ""; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.licence = "banana"; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.name = std::string(129, 'n'); }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.name = ""; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.name = "two\nlines"; }), kInvalidArgument);
    EXPECT_EQ(code([](auto& offer) { offer.root = Digest{}; }), kMismatch);
    EXPECT_EQ(code([](auto& offer) { offer.file = {}; }), kMalformed);
    EXPECT_EQ(code([](auto& offer) {
                  offer.price_wei_per_mtoken =
                      registry::dataset_price_max().plus(Amount(1)).value();
              }),
              kOutOfRange);
    // 2^36 tokens announced, none sent.
    Bytes absurd = file;
    absurd.resize(20);
    for (std::size_t i = 12; i < 20; ++i)
        absurd[i] = i == 15 ? 16 : 0;
    EXPECT_EQ(code([&](auto& offer) { offer.file = absurd; }), kMalformed);
    EXPECT_EQ(count("registry.dataset"), 1U);
    EXPECT_EQ(code([](auto& offer) {
                  offer.price_wei_per_mtoken = registry::dataset_price_max();
                  offer.licence = "(MIT AND GPL-2.0+ WITH Classpath-exception-2.0) OR LicenseRef-x";
              }),
              kInternal)
        << "what is allowed goes through";
}

TEST_F(DatasetsTest, ABlobThatWasLostComesBackWithTheSameFile) {
    const Bytes file = file_of(prose(random_, 5'000));
    const auto first = add(owner_, "n", file).value().dataset;
    ASSERT_TRUE(blobs_.remove(first.blob).ok());
    EXPECT_FALSE(add(owner_, "n", file).value().is_new);
    EXPECT_EQ(blobs_.get(first.blob).value(), file);
}

TEST_F(DatasetsTest, TheListIsByOwnerNewestFirst) {
    const auto mine = enter(prose(random_, 3'000), 5);
    const auto later = enter(prose(random_, 3'000), 5);
    enter(prose(random_, 3'000), 6);
    const auto listed = backend().datasets({.owner = address_of(5)}).value();
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_EQ(listed[0].root, later.root);
    EXPECT_EQ(listed[1].root, mine.root);
    EXPECT_EQ(backend().datasets({.limit = 1, .offset = 1}).value().at(0).root, later.root);
    EXPECT_EQ(backend().dataset(mine.root, registry::Viewer::service()).value().number,
              mine.number);
    EXPECT_EQ(backend().dataset(Digest{}, registry::Viewer::service()).error().code,
              ErrorCode::kNotFound);
}

TEST_F(DatasetsTest, WhatIsRegisteredNeverChangesNotEvenForTheOwnerOfTheSchema) {
    const auto dataset = enter(prose(random_, 20'000));
    db::Database& superuser = database_.owner();
    const std::string mine = " WHERE number = " + std::to_string(dataset.number);
    for (const char* change :
         {"novelty_ppm = 1000000", "price_wei_per_mtoken = 7", "licence = 'MIT'", "name = 'x'",
          "owner = root", "number = 77", "nearest = root, nearest_ppm = 1"})
        EXPECT_NE(sql(superuser, std::string("UPDATE registry.dataset SET ") + change + mine),
                  ErrorCode::kCancelled)
            << change;
    EXPECT_NE(sql(superuser, "DELETE FROM registry.dataset" + mine), ErrorCode::kCancelled);
    EXPECT_NE(sql(superuser, "UPDATE registry.dataset_key SET dataset = 1"), ErrorCode::kCancelled);
    EXPECT_NE(sql(superuser, "DELETE FROM registry.dataset_key"), ErrorCode::kCancelled);
    EXPECT_NE(sql(superuser, "INSERT INTO registry.dataset_key VALUES (1, 999)"),
              ErrorCode::kCancelled)
        << "a key of nobody's";
    EXPECT_NE(sql(superuser, "UPDATE registry.dataset SET usefulness_ppm = 250000" + mine),
              ErrorCode::kCancelled)
        << "nobody measured it";
    // The roles: the API adds and never changes, the coordinator only reads.
    EXPECT_EQ(sql(*api_db_, "UPDATE registry.dataset SET usefulness_ppm = 1" + mine),
              ErrorCode::kPermissionDenied);
    const auto coordinator = database_.as("gym_coordinator");
    EXPECT_EQ(sql(*coordinator, "UPDATE registry.dataset SET usefulness_ppm = 1" + mine),
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(sql(*coordinator, "INSERT INTO registry.dataset_key VALUES (1, 1)"),
              ErrorCode::kPermissionDenied);
}

TEST_F(DatasetsTest, AJobKeepsTheTermsOfItsSubmission) {
    deposit(owner_, "125", "d1");
    const Bytes file = file_of(prose(random_, 20'000));
    const auto dataset = backend()
                             .add_dataset({.owner = address_of(2),
                                           .name = "n",
                                           .licence = "MIT",
                                           .price_wei_per_mtoken = Amount(1'000),
                                           .file = file})
                             .value()
                             .dataset;
    // The fixture's account is asked for nothing before the price is agreed to.
    const std::string agreed = "max_data_price: 0.000000000000001";
    const auto submit_with = [&](const std::string& extra) {
        return submit({owner_, "k1", testing::job_spec(dataset.root, "100", extra)});
    };
    for (const std::string& extra :
         {std::string(), std::string("max_data_price: 0.000000000000000999\n")}) {
        const auto refused = submit_with(extra);
        ASSERT_FALSE(refused.ok()) << extra;
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
        EXPECT_NE(refused.error().message.find("'" + agreed + "'"), std::string::npos)
            << refused.error().message;
    }
    EXPECT_EQ(count("registry.job"), 0U);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "125");
    const auto first = submit_with(agreed + "\n").value().job;
    EXPECT_EQ(first.data_price_wei_per_mtoken, Amount(1'000));
    EXPECT_EQ(first.data_quality_ppm, dataset.quality_ppm);
    EXPECT_EQ(sql(database_.owner(), "UPDATE registry.job SET data_quality_ppm = 1"),
              ErrorCode::kConflict);
    EXPECT_EQ(sql(database_.owner(), "UPDATE registry.job SET data_price_wei_per_mtoken = 1"),
              ErrorCode::kConflict);
}

TEST_F(DatasetsTest, RefusalsAreProblemsThatSayWhatIsWrong) {
    PostgresBackend storage = backend();
    Api api({storage, storage, storage, clock_}, {.dataset_bytes_max = 10'000});
    const std::string key = create_key(*api_db_, owner_, "test", 1).value();
    const Bytes file = file_of(prose(random_, 1'000));
    const auto post = [&](const std::string& query) {
        Request request{.method = "POST", .target = "/v1/datasets?" + query};
        request.headers["authorization"] = "Bearer " + key;
        request.body.assign(file.begin(), file.end());
        return api.handle(request);
    };
    const auto none = post("name=n");
    EXPECT_EQ(none.status, 400U);
    EXPECT_NE(none.body.find("the query needs 'licence'"), std::string::npos) << none.body;
    const auto odd = post("name=n&licence=MIT%20AND");
    EXPECT_EQ(odd.status, 422U);
    EXPECT_NE(odd.body.find("no licence identifier: the end"), std::string::npos) << odd.body;
    const auto mistyped = post("name=n&licence=CC-BY-4");
    EXPECT_EQ(mistyped.status, 422U);
    EXPECT_NE(mistyped.body.find("'CC-BY-4' is not an SPDX identifier; near ones are CC-BY-4.0"),
              std::string::npos)
        << mistyped.body;
    const auto root = post("name=n&licence=MIT&root=" + std::string(64, '1'));
    EXPECT_EQ(root.status, 422U);
    EXPECT_NE(root.body.find("the dataset's root is"), std::string::npos) << root.body;
    EXPECT_EQ(post("name=n&licence=MIT&price_wei_per_mtoken=-1").status, 400U);
    EXPECT_EQ(post("name=n&licence=MIT&price_wei_per_mtoken=1" + std::string(31, '0')).status,
              422U);
    EXPECT_EQ(post("name=n&licence=MIT&price_wei_per_mtoken=1" + std::string(80, '0')).status,
              422U);
    Request large{.method = "POST", .target = "/v1/datasets?name=n&licence=MIT"};
    large.headers["authorization"] = "Bearer " + key;
    large.headers["content-type"] = "application/octet-stream";
    EXPECT_EQ(api.admit(large).body_bytes_max, 10'000U);
    EXPECT_EQ(post("name=n&licence=MIT&price_wei_per_mtoken=7").status, 201U);
    const auto unknown = api.handle({.target = "/v1/datasets/" + std::string(64, '1')});
    EXPECT_EQ(unknown.status, 404U);
}

}  // namespace
}  // namespace gym::api
