// Uploads with files and a real PostgreSQL, and jobs that begin from given weights.
#include "gym/api/uploads.hpp"

#include <algorithm>

#include "api_fixture.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/vault/sealed_store.hpp"
#include "temporary_folder.hpp"
#include "trained_job.hpp"

namespace gym::api {
namespace {

namespace fs = std::filesystem;
using testing::address_of;
using testing::job_spec;

/// The program of job_spec()'s model, with another width.
program::Program program_of(std::uint32_t width) {
    program::TrainConfig config;
    config.batch = 2;
    config.model.vocabulary = 256;
    config.model.context = 16;
    config.model.layers = 1;
    config.model.heads = 1;
    config.model.width = width;
    return program::train_program(config).value();
}

engine::State base_state(std::uint32_t width = 16) {
    const auto program = program_of(width);
    const auto seed = commit::sha256(as_bytes("weights"));
    return engine::base_of(program, engine::initial_state(program, seed).value()).value();
}

class UploadsTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        store_.emplace(vault::SealedStore::open(place_ / "blobs", at_rest_).value());
        limits_.bytes_max = 1 << 20;
        limits_.owner_bytes_max = 1 << 20;
        limits_.keep_ms = 1'000;
        open();
        deposit(owner_, "1000", "d1");
    }
    /// As after a restart of gym-api.
    void open() {
        uploads_.emplace(*api_db_, files_, clock_, limits_);
        PostgresBackend::Options options;
        options.asset = testing::kAsset;
        options.network = testing::kNetwork;
        options.uploads = files_;
        backend_.emplace(*api_db_, *store_, clock_, options);
    }
    Result<Upload> put(const Bytes& blob, std::uint64_t offset, std::size_t size,
                       const std::optional<Digest>& root = {},
                       const std::optional<Address>& owner = {}) {
        const UploadPart part{owner.value_or(owner_), root.value_or(blob::blob_root(blob)),
                              blob.size(), offset, size};
        GYM_TRY(const auto sink, uploads_->begin(part));
        GYM_CHECK(sink->write(ByteView(blob).subspan(offset, size)));
        return sink->finish();
    }
    Result<Upload> put(const Bytes& blob) { return put(blob, 0, blob.size()); }
    Result<Submitted> submit(const std::string& init, const std::string& key = "k",
                             const std::optional<Address>& owner = {}) {
        return backend_->submit_job(sealed(
            {owner.value_or(owner_), key, job_spec(dataset_, "100", "init: \"" + init + "\"\n")}));
    }
    gym::testing::TemporaryFolder place_;
    const vault::StoreKey at_rest_ = vault::StoreKey::random();
    const UploadFiles files_{place_ / "uploads", at_rest_};
    std::optional<vault::SealedStore> store_;
    UploadLimits limits_;
    std::optional<PostgresUploads> uploads_;
    std::optional<PostgresBackend> backend_;
};

TEST_F(UploadsTest, PartsOverRestartsMakeABlob) {
    const engine::State state = base_state();
    const Bytes blob = engine::encode_state(state);
    const Digest root = blob::blob_root(blob);
    const auto first = put(blob, 0, 1000);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(first->received_bytes, 1000U);
    EXPECT_FALSE(first->complete);
    open();
    EXPECT_EQ(uploads_->upload(owner_, root)->received_bytes, 1000U);
    {  // a connection that is cut in the middle of a part
        auto sink = uploads_->begin({owner_, root, blob.size(), 1000, blob.size() - 1000}).value();
        ASSERT_TRUE(sink->write(ByteView(blob).subspan(1000, 500)).ok());
        EXPECT_EQ(put(blob, 1500, 1).error().code, ErrorCode::kConflict) << "it is being sent";
    }
    const auto wrong = put(blob, 1000, 10);
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().code, ErrorCode::kConflict);
    EXPECT_NE(wrong.error().message.find("has 1500 of"), std::string::npos)
        << wrong.error().message;
    const auto last = put(blob, 1500, blob.size() - 1500);
    ASSERT_TRUE(last.ok()) << last.error().message;
    EXPECT_TRUE(last->complete);
    EXPECT_EQ(last->state_root, engine::state_root(state));
    EXPECT_EQ(put(blob, 0, 10).error().code, ErrorCode::kConflict) << "complete";
}

TEST_F(UploadsTest, ACrashBeforeTheCheckIsMadeGoodByAskingForIt) {
    const Bytes blob = engine::encode_state(base_state());
    const Digest root = blob::blob_root(blob);
    {
        auto sink = uploads_->begin({owner_, root, blob.size(), 0, blob.size()}).value();
        ASSERT_TRUE(sink->write(blob).ok());
    }
    EXPECT_FALSE(uploads_->upload(owner_, root)->complete);
    const auto checked = uploads_->begin({owner_, root, blob.size(), {}, 0}).value()->finish();
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    EXPECT_TRUE(checked->complete);
}

TEST_F(UploadsTest, NoDiskShowsTheWeights) {
    const engine::State state = base_state();
    const Bytes blob = engine::encode_state(state);
    const Digest root = blob::blob_root(blob);
    const ByteView weights =
        ByteView(blob).subspan(engine::StateIndex::of_state(blob)->begin(0), 64);
    const auto shown = [&] {
        std::size_t files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(place_.path())) {
            if (!entry.is_regular_file() || entry.path().extension() == ".lock" ||
                entry.path().filename() == ".lock")
                continue;
            ++files;
            const Bytes stored = read_file(entry.path()).value();
            EXPECT_TRUE(std::ranges::search(stored, ByteView(blob).first(64)).empty());
            EXPECT_TRUE(std::ranges::search(stored, weights).empty());
        }
        return files;
    };
    {
        auto sink = uploads_->begin({owner_, root, blob.size(), 0, blob.size()}).value();
        ASSERT_TRUE(sink->write(ByteView(blob).first(1'000)).ok());
        EXPECT_EQ(shown(), 1U) << "while it is written";
    }
    EXPECT_EQ(shown(), 1U) << "what has arrived";
    ASSERT_TRUE(put(blob, 1'000, blob.size() - 1'000)->complete);
    ASSERT_TRUE(submit(engine::state_root(state).hex()).ok());
    EXPECT_EQ(shown(), 2U) << "and the blob that a job begins from";
    EXPECT_TRUE(fs::equivalent(files_.of(owner_, root), store_->path_of(root)))
        << "a link, not a copy";
}

TEST_F(UploadsTest, WhatAnotherKeySealedIsSentAgain) {
    const Bytes blob = engine::encode_state(base_state());
    const Digest root = blob::blob_root(blob);
    ASSERT_TRUE(put(blob, 0, 1000).ok());
    uploads_.emplace(*api_db_, UploadFiles(place_ / "uploads", vault::StoreKey::random()), clock_,
                     limits_);
    EXPECT_EQ(uploads_->upload(owner_, root)->received_bytes, 0U);
    EXPECT_TRUE(put(blob)->complete);
}

TEST_F(UploadsTest, BytesOfAnotherRootAreRemovedAndCanBeSentAgain) {
    Bytes blob = engine::encode_state(base_state());
    const Digest root = blob::blob_root(blob);
    blob[500] ^= 1;
    const auto wrong = put(blob, 0, blob.size(), root);
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().code, ErrorCode::kMismatch);
    EXPECT_EQ(uploads_->upload(owner_, root).error().code, ErrorCode::kNotFound);
    blob[500] ^= 1;
    EXPECT_TRUE(put(blob).ok());
}

TEST_F(UploadsTest, AStateWithNaNIsRefused) {
    engine::State state = base_state();
    state.tensors[0].bytes[3] = 0x7F;
    state.tensors[0].bytes[2] = 0xFF;
    const auto refused = put(engine::encode_state(state));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find(state.tensors[0].name), std::string::npos)
        << refused.error().message;
}

TEST_F(UploadsTest, SizesAreBounded) {
    const auto error = [&](std::uint64_t size, std::uint64_t offset, std::uint64_t length) {
        const auto sink = uploads_->begin({owner_, Digest{}, size, offset, length});
        return sink.ok() ? ErrorCode::kInternal : sink.error().code;
    };
    EXPECT_EQ(error(0, 0, 0), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error((1 << 20) + 1, 0, 1), ErrorCode::kOutOfRange);
    EXPECT_EQ(error(~std::uint64_t{0}, 0, 1), ErrorCode::kOutOfRange);
    EXPECT_EQ(error(10, 11, 0), ErrorCode::kMalformed);
    EXPECT_EQ(error(10, 5, ~std::uint64_t{0}), ErrorCode::kMalformed);
    EXPECT_EQ(count("api.upload"), 0U);
    const auto sink = uploads_->begin({owner_, Digest{}, 10, 0, 3}).value();
    EXPECT_FALSE(sink->write(Bytes(4)).ok()) << "more than announced";
    EXPECT_FALSE(sink->finish().ok()) << "less than announced";
    EXPECT_EQ(uploads_->begin({owner_, Digest{}, 11, 0, 3}).error().code, ErrorCode::kConflict)
        << "another size than before";
}

TEST_F(UploadsTest, TheQuotaIsEachOwnersAndComesBack) {
    const Bytes large(1 << 19, 1), more(1 << 19, 2), one(1, 3);
    ASSERT_TRUE(put(large).ok());
    ASSERT_TRUE(put(more, 0, 1).ok()) << "begun: its whole size counts";
    const auto full = put(one);
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(full.error().message.find("forget one"), std::string::npos) << full.error().message;
    EXPECT_TRUE(put(one, 0, 1, {}, address_of(2)).ok());
    ASSERT_TRUE(uploads_->forget(owner_, blob::blob_root(more)).ok());
    EXPECT_TRUE(put(one).ok());
    EXPECT_EQ(uploads_->forget(owner_, Digest{}).error().code, ErrorCode::kNotFound);
}

// Each is a row and two files, however small: a quota of bytes alone allows billions of them.
TEST_F(UploadsTest, AnOwnerHasFewAtOneTime) {
    limits_.owner_uploads_max = 2;
    open();
    const Bytes first(10, 1), second(10, 2), third(10, 3);
    ASSERT_TRUE(put(first, 0, 1).ok());
    ASSERT_TRUE(put(second).ok());
    const auto refused = put(third, 0, 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(refused.error().message.find("forget one"), std::string::npos)
        << refused.error().message;
    EXPECT_EQ(count("api.upload"), 2U);
    EXPECT_TRUE(put(first, 1, 9).ok()) << "what has begun continues";
    EXPECT_TRUE(put(third, 0, 1, {}, address_of(2)).ok()) << "another owner's";
    ASSERT_TRUE(uploads_->forget(owner_, blob::blob_root(second)).ok());
    EXPECT_TRUE(put(third).ok());
}

// Or its bytes would count for nobody and still arrive on the disk.
TEST_F(UploadsTest, WhatIsBeingSentCannotBeForgotten) {
    const Bytes blob(1 << 20, 1);
    const Digest root = blob::blob_root(blob);
    {
        const auto sink = uploads_->begin({owner_, root, blob.size(), 0, blob.size()}).value();
        ASSERT_TRUE(sink->write(ByteView(blob).first(1000)).ok());
        const auto refused = uploads_->forget(owner_, root);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
        EXPECT_EQ(put(Bytes(10, 2)).error().code, ErrorCode::kOutOfRange) << "its size counts";
    }
    EXPECT_TRUE(uploads_->forget(owner_, root).ok());
    EXPECT_TRUE(put(Bytes(10, 2)).ok());
}

TEST_F(UploadsTest, UntouchedUploadsAreForgotten) {
    const Bytes old(100, 1), kept(100, 2);
    ASSERT_TRUE(put(old, 0, 50).ok());
    const fs::path file = files_.of(owner_, blob::blob_root(old));
    EXPECT_TRUE(fs::exists(file));
    clock_.advance_ms(900);
    ASSERT_TRUE(put(kept, 0, 50).ok());
    clock_.advance_ms(200);
    ASSERT_TRUE(put(kept, 50, 25).ok());
    EXPECT_EQ(uploads_->upload(owner_, blob::blob_root(old)).error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(fs::exists(file));
    EXPECT_EQ(uploads_->upload(owner_, blob::blob_root(kept))->received_bytes, 75U);
}

// Or who knows the root of another owner's weights, which is on chain, could train on them.
TEST_F(UploadsTest, OfOthersAreNotSeen) {
    const engine::State state = base_state();
    const Bytes blob = engine::encode_state(state);
    ASSERT_TRUE(put(blob).ok());
    EXPECT_EQ(uploads_->upload(address_of(2), blob::blob_root(blob)).error().code,
              ErrorCode::kNotFound);
    deposit(address_of(2), "1000", "d2");
    EXPECT_EQ(submit(engine::state_root(state).hex(), "k", address_of(2)).error().code,
              ErrorCode::kNotFound);
    EXPECT_TRUE(submit(engine::state_root(state).hex()).ok());
}

TEST_F(UploadsTest, AJobBeginsFromAnUploadedState) {
    const engine::State state = base_state();
    const Bytes blob = engine::encode_state(state);
    ASSERT_TRUE(put(blob).ok());
    const auto job = submit(engine::state_root(state).hex());
    ASSERT_TRUE(job.ok()) << job.error().message;
    const registry::StateRef given{engine::state_root(state), blob::blob_root(blob)};
    EXPECT_EQ(job->job.init, given);
    EXPECT_EQ(store_->get(given.blob).value(), blob) << "where the coordinator finds it";
    // What a job began from outlives its upload.
    ASSERT_TRUE(uploads_->forget(owner_, given.blob).ok());
    EXPECT_EQ(store_->get(given.blob).value(), blob);
    const auto again = submit(given.root.hex() + "\"\nmax_data_price: \"0", "another");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->job.init, given);
}

TEST_F(UploadsTest, WeightsThatDoNotFitAreRefusedBeforeMoneyIsLocked) {
    const engine::State wide = base_state(32);
    ASSERT_TRUE(put(engine::encode_state(wide)).ok());
    const auto refused = submit(engine::state_root(wide).hex());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kShapeMismatch);
    for (const engine::StateTensor& tensor : wide.tensors)
        EXPECT_NE(refused.error().message.find("'" + tensor.name + "'"), std::string::npos)
            << refused.error().message;
    const auto unknown = submit(Digest{}.hex());
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
    EXPECT_NE(unknown.error().message.find("init"), std::string::npos) << unknown.error().message;
    for (const char* init : {"weights.safetensors", "job:12", "job:", "0x12"})
        EXPECT_EQ(submit(init).error().code, ErrorCode::kInvalidArgument) << init;
    EXPECT_EQ(backend_->account(owner_)->available.to_tokens(), "1000");
    EXPECT_EQ(count("registry.job"), 0U);
}

TEST_F(UploadsTest, AJobContinuesWhatAnotherOfTheSameOwnerTrained) {
    const auto digest = [](const char* text) { return commit::sha256(as_bytes(text)); };
    const auto tokens_of = [&](const char* tokenizer) {
        const std::vector<std::uint32_t> tokens(20'000, 'a');
        const auto made =
            blob::Dataset::from_tokens(tokens, blob::Tokenization{256, digest(tokenizer)}).value();
        return add(owner_, tokenizer, made.encode()).value().dataset.root;
    };
    const auto before =
        backend_->submit_job(sealed({owner_, "first", job_spec(tokens_of("one"))})).value().job;
    const std::string name = "job:" + before.id.hex();
    const auto early = submit(name);
    ASSERT_FALSE(early.ok());
    EXPECT_EQ(early.error().code, ErrorCode::kNotFound);
    EXPECT_NE(early.error().message.find("finished no round"), std::string::npos)
        << early.error().message;

    const registry::StateRef base{digest("base"), digest("base blob")};
    const registry::StateRef next{digest("next"), digest("next blob")};
    const Status trained =
        testing::store_round(database_.owner(), before.id, base, next, address_of(7));
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    const auto at = [&](const std::string& init) {
        const auto job = submit(init, init);
        EXPECT_TRUE(job.ok()) << job.error().message;
        return job.ok() ? job->job.init : std::nullopt;
    };
    EXPECT_EQ(at(name), next);
    EXPECT_EQ(at(name + "@1"), next);
    EXPECT_EQ(at(name + "@0"), base);
    const auto later = submit(name + "@2", "later");
    ASSERT_FALSE(later.ok());
    EXPECT_NE(later.error().message.find("its last finished round is 1"), std::string::npos)
        << later.error().message;
    deposit(address_of(2), "1000", "d2");
    const auto other = submit(name, "k", address_of(2));
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, ErrorCode::kNotFound) << "the model is its owner's alone";
    const auto allow = [&](registry::Access access) {
        return backend_->set_job_access(owner_, before.id, access).ok();
    };
    ASSERT_TRUE(allow({registry::Visibility::kAllowList, {address_of(3)}}));
    EXPECT_EQ(submit(name, "k", address_of(2)).error().message, other.error().message);
    ASSERT_TRUE(allow({registry::Visibility::kAllowList, {address_of(2)}}));
    EXPECT_EQ(submit(name, "k", address_of(2))->job.init, next);
    // The first job's data name a tokenizer: others are refused, data without one are not compared.
    const auto continued = [&](const char* tokenizer) {
        return backend_->submit_job(
            sealed({owner_, tokenizer,
                    job_spec(tokens_of(tokenizer), "100", "init: \"" + name + "\"\n")}));
    };
    EXPECT_TRUE(continued("one").ok());
    const auto mixed = continued("two");
    ASSERT_FALSE(mixed.ok());
    EXPECT_EQ(mixed.error().code, ErrorCode::kMismatch);
    EXPECT_NE(mixed.error().message.find(digest("one").hex()), std::string::npos)
        << mixed.error().message;
    std::string wide = job_spec(dataset_, "100", "init: \"" + name + "\"\n");
    wide.replace(wide.find("width: 16"), 9, "width: 32");
    EXPECT_EQ(backend_->submit_job(sealed({owner_, "wide", wide})).error().code,
              ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace gym::api
