// Datasets that are registered from finished uploads: with the backend alone, and over real sockets
// with the client, as `gym data register` sends a large token file.
#include <optional>

#include "api_fixture.hpp"
#include "gym/api/api.hpp"
#include "gym/api/uploads.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/file.hpp"
#include "gym/data/manifest.hpp"
#include "gym/http_server/server.hpp"
#include "gym/vault/sealed_store.hpp"
#include "random_seed.hpp"
#include "streams.hpp"
#include "temporary_folder.hpp"

namespace gym::api {
namespace {

using testing::address_of;

class DatasetUploadsTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        store_.emplace(vault::SealedStore::open(place_ / "blobs", at_rest_).value());
        uploads_.emplace(*api_db_, files_, clock_);
        open(std::uint64_t{1} << 20);
    }
    void open(std::uint64_t dataset_bytes_max) {
        PostgresBackend::Options options;
        options.asset = testing::kAsset;
        options.network = testing::kNetwork;
        options.uploads = files_;
        options.dataset_bytes_max = dataset_bytes_max;
        backend_.emplace(*api_db_, *store_, clock_, options);
    }
    /// Sends all but the last `missing` bytes. @return the blob's root.
    Digest send(const Bytes& file, std::size_t missing = 0) {
        const Digest root = blob::blob_root(file);
        if (uploads_->upload(owner_, root).ok()) return root;
        const std::size_t size = file.size() - missing;
        const auto sink = uploads_->begin({owner_, root, file.size(), 0, size}).value();
        EXPECT_TRUE(sink->write(ByteView(file).first(size)).ok());
        EXPECT_TRUE(sink->finish().ok());
        return root;
    }
    Result<AddedDataset> offer(const Digest& upload, const std::optional<Digest>& root = {},
                               const std::optional<Address>& owner = {}) {
        return backend_->add_dataset({.owner = owner.value_or(owner_),
                                      .name = "uploaded",
                                      .licence = "CC0-1.0",
                                      .root = root,
                                      .upload = upload});
    }
    Bytes text(std::size_t tokens) {
        return blob::Dataset::from_tokens(quality::prose(random_, tokens), 256).value().encode();
    }

    std::mt19937_64 random_{gym::testing::random_seed()};
    gym::testing::TemporaryFolder place_;
    const vault::StoreKey at_rest_ = vault::StoreKey::random();
    const UploadFiles files_{place_ / "uploads", at_rest_};
    std::optional<vault::SealedStore> store_;
    std::optional<PostgresUploads> uploads_;
    std::optional<PostgresBackend> backend_;
};

TEST_F(DatasetUploadsTest, AFinishedUploadIsRegisteredAsABodyIs) {
    const Bytes file = text(50'000);
    const auto tokens = blob::Dataset::decode(file, std::nullopt).value();
    const Digest blob = send(file);
    const auto added = offer(blob, tokens.root());
    ASSERT_TRUE(added.ok()) << added.error().message;
    EXPECT_TRUE(added->is_new);
    EXPECT_EQ(added->dataset.root, tokens.root());
    EXPECT_EQ(added->dataset.blob, blob);
    EXPECT_EQ(added->dataset.tokens, 50'000U);
    EXPECT_EQ(store_->get(blob).value(), file) << "jobs find it where they look for datasets";
    // In a body it would have been the same record.
    const auto body = backend_->add_dataset(
        {.owner = owner_, .name = "again", .licence = "CC0-1.0", .file = file});
    ASSERT_TRUE(body.ok()) << body.error().message;
    EXPECT_FALSE(body->is_new);
    EXPECT_EQ(body->dataset.novelty_ppm, added->dataset.novelty_ppm);
    EXPECT_GT(added->dataset.novelty_ppm, 900'000U);
    // The upload may be forgotten: the dataset keeps its bytes.
    ASSERT_TRUE(uploads_->forget(owner_, blob).ok());
    EXPECT_EQ(store_->get(blob).value(), file);
}

TEST_F(DatasetUploadsTest, WhatIsNoFinishedUploadOfATokenFileIsRefused) {
    const auto refused = [&](const Result<AddedDataset>& answer, ErrorCode code,
                             const std::string& words) {
        ASSERT_FALSE(answer.ok()) << words;
        EXPECT_EQ(answer.error().code, code) << answer.error().message;
        EXPECT_NE(answer.error().message.find(words), std::string::npos) << answer.error().message;
    };
    const Bytes file = text(5'000);
    const Digest half = send(file, 100);
    refused(offer(half), ErrorCode::kNotFound, "you have no complete upload of blob " + half.hex());
    const Bytes other = text(6'000);
    const Digest whole = send(other);
    refused(offer(whole, {}, address_of(9)), ErrorCode::kNotFound, "you have no complete upload");
    refused(offer(whole, Digest{}), ErrorCode::kMismatch, "the dataset's root is ");
    const std::string prose = "this is no token file, but prose";
    const Digest no_tokens = send(Bytes(prose.begin(), prose.end()));
    refused(offer(no_tokens), ErrorCode::kMalformed, "");
    open(10'000);
    refused(offer(whole), ErrorCode::kOutOfRange, "this network takes at most");
    EXPECT_FALSE(store_->has(whole).value()) << "what is refused fills no disk";
}

TEST_F(DatasetUploadsTest, AManifestIsThatOfItsDatasetAndNeverChanges) {
    const registry::Dataset dataset = offer(send(text(3'000)))->dataset;
    const registry::Dataset other = offer(send(text(3'000)))->dataset;
    const auto manifest = [&](const registry::Dataset& of, const std::string& source) {
        const auto path = place_ / "manifest";
        auto writer = data::ManifestWriter::create(path).value();
        EXPECT_TRUE(writer.append(data::to_line(data::ManifestHead{"bytes", 256, {}, "{}"})).ok());
        data::ManifestDocument document{.tokens = of.tokens};
        document.source = source;
        EXPECT_TRUE(writer.append(data::to_line(document)).ok());
        EXPECT_TRUE(
            writer.append(data::to_line(data::ManifestEnd{of.root, of.tokens, 1, {}})).ok());
        EXPECT_TRUE(writer.sync().ok());
        return std::pair(read_file(path, 10'000).value(), writer.root());
    };
    const auto [file, root] = manifest(dataset, "a.txt");
    const auto give = [&](const Bytes& bytes) {
        return backend_->add_dataset_manifest(dataset, send(bytes));
    };
    EXPECT_EQ(give(manifest(other, "a.txt").first).error().code, ErrorCode::kMismatch);
    EXPECT_EQ(give(Bytes(file.begin(), file.end() - 1)).ok(), true) << "a line feed is no content";
    const auto same = give(Bytes(file.begin(), file.end() - 1));
    ASSERT_TRUE(same.ok()) << same.error().message;
    EXPECT_FALSE(same->is_new);
    EXPECT_EQ(same->manifest.root, root);
    EXPECT_EQ(give(manifest(dataset, "b.txt").first).error().code, ErrorCode::kConflict);
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2));
    EXPECT_EQ(give(cut).error().code, ErrorCode::kMalformed);
    EXPECT_EQ(backend_->add_dataset_manifest(dataset, Digest{}).error().code, ErrorCode::kNotFound);
    const auto stored = backend_->dataset(dataset.root, registry::Viewer::service()).value();
    EXPECT_EQ(stored.manifest, root);
    EXPECT_FALSE(backend_->dataset(other.root, registry::Viewer::service())->manifest);
}

TEST_F(DatasetUploadsTest, TheClientSendsAFileInPartsAndForgetsTheUpload) {
    const SystemClock clock;
    const std::string key = create_key(*api_db_, owner_, "test", clock.now_ms()).value();
    ApiOptions api_options;
    // A body may not have so much: only an upload can.
    api_options.dataset_bytes_max = 1'000;
    Api api({*backend_, *backend_, *backend_, clock, &*uploads_}, api_options);
    const auto server = http_server::Server::start({}, api).value();
    const auto path = place_ / "large.tokens";
    const Bytes file = text(200'000);
    const client::ApiClient client({.url = "http://127.0.0.1:" + std::to_string(server->port()),
                                    .key = key,
                                    .dataset_body_bytes = file.size() - 1});
    ASSERT_TRUE(write_file_atomic(path, file).ok());
    const Digest root = blob::Dataset::decode(file, std::nullopt).value().root();
    std::uint64_t sent = 0;
    const auto registered =
        client.register_dataset(path, root, {.name = "large", .licence = "CC0-1.0"},
                                [&](std::uint64_t done, std::uint64_t) { sent = done; });
    ASSERT_TRUE(registered.ok()) << registered.error().message;
    EXPECT_EQ((*registered)->root, root);
    EXPECT_EQ(sent, file.size());
    EXPECT_FALSE(client.upload(blob::blob_root(file)).value().has_value())
        << "it would count for the quota of uploads";
    const auto again = client.register_dataset(path, root, {.name = "large", .licence = "CC0-1.0"});
    ASSERT_TRUE(again.ok()) << again.error().message;
    const auto other = client.register_dataset(path, root, {.name = "large", .licence = "MIT"});
    ASSERT_FALSE(other.ok()) << "other terms";
    EXPECT_EQ(other.error().code, ErrorCode::kConflict);
}

TEST_F(DatasetUploadsTest, TheClientSendsASmallFileAtOnce) {
    const SystemClock clock;
    const std::string key = create_key(*api_db_, owner_, "test", clock.now_ms()).value();
    Api api({*backend_, *backend_, *backend_, clock, nullptr}, {});  // takes no uploads
    const auto server = http_server::Server::start({}, api).value();
    const client::ApiClient client(
        {.url = "http://127.0.0.1:" + std::to_string(server->port()), .key = key});
    const auto path = place_ / "small.tokens";
    const Bytes file = text(2'000);
    ASSERT_TRUE(write_file_atomic(path, file).ok());
    const Digest root = blob::Dataset::decode(file, std::nullopt).value().root();
    const auto registered =
        client.register_dataset(path, root, {.name = "small", .licence = "CC0-1.0"});
    ASSERT_TRUE(registered.ok()) << registered.error().message;
    EXPECT_EQ((*registered)->root, root);
}

TEST_F(DatasetUploadsTest, TheClientSendsALargeDatasetOfMemoryInParts) {
    const SystemClock clock;
    const std::string key = create_key(*api_db_, owner_, "test", clock.now_ms()).value();
    ApiOptions api_options;
    api_options.dataset_bytes_max = 1'000;
    Api api({*backend_, *backend_, *backend_, clock, &*uploads_}, api_options);
    const auto server = http_server::Server::start({}, api).value();
    client::ApiOptions options{.url = "http://127.0.0.1:" + std::to_string(server->port()),
                               .key = key};
    const Bytes file = text(200'000);
    const auto dataset = blob::Dataset::decode(file, std::nullopt).value();
    const client::DatasetTerms terms{.name = "large", .licence = "CC0-1.0"};
    const auto whole = client::ApiClient(options).register_dataset(dataset, terms);
    ASSERT_FALSE(whole.ok()) << "no body may have so much";
    options.dataset_body_bytes = file.size() - 1;
    std::uint64_t sent = 0;
    const auto parts = client::ApiClient(options).register_dataset(
        dataset, terms, [&](std::uint64_t done, std::uint64_t) { sent = done; });
    ASSERT_TRUE(parts.ok()) << parts.error().message;
    EXPECT_EQ((*parts)->root, dataset.root());
    EXPECT_EQ(sent, file.size());
}

}  // namespace
}  // namespace gym::api
