// Registered models with files and a real PostgreSQL, and jobs that begin from them.
#include "api_fixture.hpp"
#include "gym/api/uploads.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/vault/sealed_store.hpp"
#include "temporary_folder.hpp"
#include "trained_job.hpp"

namespace gym::api {
namespace {

using registry::Visibility;
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

engine::State base_state(const std::string& seed, std::uint32_t width = 16) {
    const auto program = program_of(width);
    const auto start = engine::initial_state(program, commit::sha256(as_bytes(seed))).value();
    return engine::base_of(program, start).value();
}

class ModelsTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        store_.emplace(vault::SealedStore::open(place_ / "blobs", at_rest_).value());
        uploads_.emplace(*api_db_, files_, clock_);
        limit({});
        deposit(owner_, "1000", "d1");
        deposit(other_, "1000", "d2");
    }
    /// A backend with this quota of models.
    void limit(const registry::ModelQuota& quota) {
        PostgresBackend::Options options;
        options.asset = testing::kAsset;
        options.network = testing::kNetwork;
        options.uploads = files_;
        options.model_quota = quota;
        backend_.emplace(*api_db_, *store_, clock_, options);
    }
    Digest put(const Bytes& blob, const Address& owner) {
        const Digest root = blob::blob_root(blob);
        if (uploads_->upload(owner, root).ok()) return root;
        auto sink = uploads_->begin({owner, root, blob.size(), 0, blob.size()}).value();
        EXPECT_TRUE(sink->write(blob).ok());
        EXPECT_TRUE(sink->finish().ok());
        return root;
    }
    ModelOffer offer(const std::string& name, const engine::State& state,
                     const std::optional<Address>& owner = {}, std::uint32_t width = 16) {
        const Address who = owner.value_or(owner_);
        put(engine::encode_state(state), who);
        return {.owner = who,
                .reference = registry::parse_model_reference(name).value(),
                .state = engine::state_root(state),
                .program = put(program::encode(program_of(width)), who),
                .licence = "Apache-2.0"};
    }
    Result<registry::ModelVersion> push(const ModelOffer& offer) {
        GYM_TRY(auto named, backend_->name_model(offer));
        return std::move(named.version);
    }
    Result<Submitted> submit(const Digest& init, const std::string& key, const Address& owner,
                             const std::string& more = "") {
        return backend_->submit_job(sealed(
            {owner, key, job_spec(dataset_, "100", "init: \"" + init.hex() + "\"\n" + more)}));
    }
    /// Whether the store has the weights and the program that are offered.
    [[nodiscard]] bool keeps_any(const ModelOffer& what, const engine::State& state) const {
        return store_->has(blob::blob_root(engine::encode_state(state))).value() ||
               store_->has(*what.program).value();
    }
    /// A name for the state that a job trained, whose blobs the test leaves out.
    Result<registry::ModelVersion> registry_model(const std::string& name, const Digest& job,
                                                  const Digest& state) {
        registry::ModelVersion model;
        model.owner = other_;
        model.state = {state, state, 1};
        model.state_layout = engine::encode_layout(engine::parameter_layout(program_of(16)));
        model.program = {state, state, 1};
        model.licence = "Apache-2.0";
        model.job = job;
        model.round = 1;
        GYM_TRY(auto named, database_.owner().transact([&](db::Transaction& tx) {
            return registry::name_model(tx, {name, {}}, model);
        }));
        return std::move(named.version);
    }
    /// What the schema itself says to a statement of its owner.
    ErrorCode sql(const std::string& text) {
        const auto done =
            database_.owner().transact([&](db::Transaction& tx) { return tx.exec(text); });
        return done.ok() ? ErrorCode::kInternal : done.error().code;
    }
    Result<registry::ModelVersion> seen(const std::string& name, const Address& who) {
        return backend_->model_version(registry::parse_model_reference(name).value(),
                                       registry::Viewer::account(who));
    }

    const Address other_ = address_of(2);
    gym::testing::TemporaryFolder place_;
    const vault::StoreKey at_rest_ = vault::StoreKey::random();
    const UploadFiles files_{place_ / "uploads", at_rest_};
    std::optional<vault::SealedStore> store_;
    std::optional<PostgresUploads> uploads_;
    std::optional<PostgresBackend> backend_;
};

/// Nothing ever leaves the store: a refusal that stored 64 GiB would fill the network's disk for
/// nothing.
TEST_F(ModelsTest, WhatIsRefusedIsNotStored) {
    const engine::State mine = base_state("a"), theirs = base_state("b");
    ASSERT_TRUE(push(offer("taken", mine)).ok());
    const ModelOffer name = offer("taken", theirs, other_, 16);
    EXPECT_FALSE(push(name).ok()) << "another's name";
    EXPECT_FALSE(store_->has(blob::blob_root(engine::encode_state(theirs))).value());
    ModelOffer version = offer("taken@9", theirs);
    EXPECT_FALSE(push(version).ok()) << "not the next version";
    EXPECT_FALSE(store_->has(blob::blob_root(engine::encode_state(theirs))).value());
    ModelOffer shapes = offer("shapes", theirs, other_);
    shapes.program = put(program::encode(program_of(32)), other_);
    EXPECT_FALSE(push(shapes).ok());
    EXPECT_FALSE(keeps_any(shapes, theirs));
    ModelOffer junk = offer("junk", theirs, other_);
    junk.program = put(Bytes(1000, 7), other_);
    EXPECT_FALSE(push(junk).ok());
    EXPECT_FALSE(keeps_any(junk, theirs));
    EXPECT_TRUE(push(offer("right", theirs, other_)).ok());
}

TEST_F(ModelsTest, VersionsFollowEachOtherAndNeverChange) {
    const auto first = push(offer("zoo", base_state("a")));
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(first->version, 1U);
    EXPECT_EQ(first->program.root, program::program_root(program_of(16)));
    EXPECT_EQ(first->state.root, engine::state_root(base_state("a")));
    EXPECT_EQ(first->access.visibility, Visibility::kPublic) << "the licence says nothing else";
    EXPECT_EQ(store_->get(first->state.blob).value(), engine::encode_state(base_state("a")));
    EXPECT_EQ(push(offer("zoo", base_state("a")))->version, 1U) << "the same again";
    EXPECT_EQ(push(offer("zoo@2", base_state("b")))->version, 2U);
    EXPECT_EQ(push(offer("zoo@4", base_state("c"))).error().code, ErrorCode::kConflict);
    EXPECT_EQ(push(offer("zoo", base_state("c"), other_)).error().code,
              ErrorCode::kPermissionDenied);
    EXPECT_EQ(seen("zoo", other_)->version, 2U);
    EXPECT_EQ(seen("zoo@1", other_)->state.root, first->state.root);
    EXPECT_EQ(seen("zoo@3", other_).error().code, ErrorCode::kNotFound);
    for (const char* change :
         {"UPDATE registry.model_version SET licence = 'MIT'", "DELETE FROM registry.model_version",
          "TRUNCATE registry.model_version CASCADE", "UPDATE registry.model_name SET name = 'x1z'"})
        EXPECT_EQ(sql(change), ErrorCode::kConflict) << change;
}

TEST_F(ModelsTest, WhatDoesNotBelongTogetherIsRefused) {
    ModelOffer wide = offer("zoo", base_state("a", 32));
    const auto refused = push(wide);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kShapeMismatch);
    for (const engine::StateTensor& tensor : base_state("a").tensors)
        EXPECT_NE(refused.error().message.find("'" + tensor.name + "'"), std::string::npos)
            << refused.error().message;
    ModelOffer none = offer("zoo", base_state("a"));
    none.state.reset();
    EXPECT_EQ(push(none).error().code, ErrorCode::kInvalidArgument);
    ModelOffer both = offer("zoo", base_state("a"));
    both.job = Digest{};
    EXPECT_EQ(push(both).error().code, ErrorCode::kInvalidArgument);
    ModelOffer strange = offer("zoo", base_state("a"));
    strange.program = put(Bytes{1, 2, 3}, owner_);
    EXPECT_NE(push(strange).error().message.find("'program'"), std::string::npos);
    ModelOffer files = offer("zoo", base_state("a"));
    files.tokenizer = put(Bytes{1, 2, 3}, owner_);
    EXPECT_NE(push(files).error().message.find("'tokenizer'"), std::string::npos);
    ModelOffer open = offer("zoo", base_state("a"));
    open.licence = "private";
    open.access = registry::Access{Visibility::kPublic, {}};
    EXPECT_EQ(push(open).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(count("registry.model_name"), 0U);
}

// Or who knows the roots of another owner's upload could take it.
TEST_F(ModelsTest, UploadsOfOthersAreNotRegistered) {
    ModelOffer stolen = offer("zoo", base_state("a"));
    stolen.owner = other_;
    EXPECT_EQ(push(stolen).error().code, ErrorCode::kNotFound);
}

TEST_F(ModelsTest, AJobOfAnotherOwnerBeginsFromAPublicModel) {
    const auto model = push(offer("zoo", base_state("a")));
    ASSERT_TRUE(model.ok()) << model.error().message;
    std::string wide = job_spec(dataset_, "100", "init: \"" + model->state.root.hex() + "\"\n");
    wide.replace(wide.find("width: 16"), 9, "width: 32");
    const auto refused = backend_->submit_job(sealed({other_, "wide", wide}));
    EXPECT_EQ(refused.error().code, ErrorCode::kShapeMismatch);
    EXPECT_NE(refused.error().message.find("zoo@1"), std::string::npos) << refused.error().message;
    for (const engine::StateTensor& tensor : base_state("a").tensors)
        EXPECT_NE(refused.error().message.find("'" + tensor.name + "'"), std::string::npos)
            << refused.error().message;
    const auto job = submit(model->state.root, "k", other_);
    ASSERT_TRUE(job.ok()) << job.error().message;
    EXPECT_EQ(job->job.init, (registry::StateRef{model->state.root, model->state.blob}));
}

TEST_F(ModelsTest, APrivateModelDoesNotExistForOthers) {
    ModelOffer hidden = offer("zoo", base_state("a"));
    hidden.licence = "private";
    const auto model = push(hidden);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model->access.visibility, Visibility::kPrivate);
    const auto unknown = submit(Digest{{7}}, "k", other_);
    const auto refused = submit(model->state.root, "k1", other_);
    ASSERT_FALSE(refused.ok());
    std::string message = refused.error().message;
    message.replace(message.find(model->state.root.hex()), 66, Digest{{7}}.hex());
    EXPECT_EQ(message, unknown.error().message);
    EXPECT_EQ(seen("zoo", other_).error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(backend_->models({.viewer = registry::Viewer::account(other_)})->empty());
    EXPECT_EQ(backend_->models({.viewer = registry::Viewer::account(owner_)})->size(), 1U);
    EXPECT_TRUE(submit(model->state.root, "k2", owner_).ok());
    const auto allow = [&](const Address& who) {
        return backend_->set_model_access(who, {"zoo", {}}, {Visibility::kAllowList, {other_}});
    };
    EXPECT_EQ(allow(other_).error().code, ErrorCode::kNotFound);
    ASSERT_TRUE(allow(owner_).ok());
    EXPECT_EQ(allow(other_).error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(seen("zoo", other_)->version, 1U);
    const auto reserved = submit(model->state.root, "k3", other_);
    EXPECT_EQ(reserved.error().code, ErrorCode::kPermissionDenied) << "its licence says no";
}

TEST_F(ModelsTest, ALicenceForbidsWhatItForbids) {
    ModelOffer offered = offer("zoo", base_state("a"));
    offered.licence = "CC-BY-NC-4.0";
    const auto model = push(offered);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const auto refused = submit(model->state.root, "k", other_);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(refused.error().message.find("CC-BY-NC-4.0"), std::string::npos);
    ASSERT_TRUE(submit(model->state.root, "k1", other_, "use: non-commercial\n").ok());
    EXPECT_EQ(submit(model->state.root, "k2", other_).error().code, ErrorCode::kPermissionDenied)
        << "also where an earlier job began from it";
    EXPECT_TRUE(submit(model->state.root, "k3", owner_).ok());
}

// Or one's own job that is not commercial would be the way around a licence that says so.
TEST_F(ModelsTest, AJobOnTheWayLoosensNoLicence) {
    ModelOffer offered = offer("zoo", base_state("a"));
    offered.licence = "CC-BY-NC-4.0";
    const auto model = push(offered);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const std::string free_use = "use: non-commercial\n";
    const auto first = submit(model->state.root, "first", other_, free_use);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto trained = [&](const Digest& job, std::uint8_t next) {
        return testing::store_round(database_.owner(), job, {model->state.root, model->state.blob},
                                    {Digest{{next}}, Digest{{next, 1}}}, address_of(7));
    };
    ASSERT_TRUE(trained(first->job.id, 0x20).ok());
    const auto from_job = [&](const Digest& job, const std::string& key, const std::string& more) {
        return backend_->submit_job(sealed(
            {other_, key, job_spec(dataset_, "100", "init: \"job:" + job.hex() + "\"\n" + more)}));
    };
    const auto second = from_job(first->job.id, "second", free_use);
    ASSERT_TRUE(second.ok()) << second.error().message;
    ASSERT_TRUE(trained(second->job.id, 0x30).ok());
    for (const Digest& job : {first->job.id, second->job.id}) {
        const auto refused = from_job(job, "commercial", "");
        ASSERT_FALSE(refused.ok()) << job.hex();
        EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
        EXPECT_NE(refused.error().message.find("CC-BY-NC-4.0"), std::string::npos)
            << refused.error().message;
    }
    // Nor does another name for what the job trained.
    const auto renamed = registry_model("mine", second->job.id, Digest{{0x30}});
    ASSERT_TRUE(renamed.ok()) << renamed.error().message;
    EXPECT_EQ(submit(Digest{{0x30}}, "renamed", other_).error().code, ErrorCode::kPermissionDenied);
    EXPECT_TRUE(submit(Digest{{0x30}}, "renamed", other_, free_use).ok());
}

/// Or whoever registers public weights first would own everybody's work on them.
TEST_F(ModelsTest, AStrangersNameBindsNobodyWhoBroughtTheWeights) {
    const engine::State known = base_state("public weights");
    const Digest root = engine::state_root(known);
    ModelOffer lock = offer("lock", known);
    lock.licence = "CC-BY-NC-4.0";
    ASSERT_TRUE(push(lock).ok());
    EXPECT_EQ(submit(root, "none", other_).error().code, ErrorCode::kPermissionDenied)
        << "who has them from the network";
    put(engine::encode_state(known), other_);
    const auto mine = submit(root, "mine", other_);
    ASSERT_TRUE(mine.ok()) << mine.error().message;
    EXPECT_TRUE(mine->job.init_own);
    ASSERT_TRUE(testing::store_round(database_.owner(), mine->job.id, *mine->job.init,
                                     {Digest{{0x40}}, Digest{{0x41}}}, address_of(7))
                    .ok());
    const auto further = backend_->submit_job(
        sealed({other_, "further",
                job_spec(dataset_, "100", "init: \"job:" + mine->job.id.hex() + "\"\n")}));
    EXPECT_TRUE(further.ok()) << further.error().message;
    // Not even by a job that trained nothing.
    const auto idle = submit(root, "idle", owner_);
    ASSERT_TRUE(idle.ok());
    ASSERT_TRUE(testing::store_round(database_.owner(), idle->job.id, *idle->job.init,
                                     *idle->job.init, address_of(7))
                    .ok());
    const auto again = submit(root, "again", other_, "evaluate_windows: 3\n");
    EXPECT_TRUE(again.ok()) << again.error().message;
}

TEST_F(ModelsTest, DataOfOthersInAJobsWeightsKeepItsLicence) {
    const auto text = backend_->add_dataset({.owner = owner_,
                                             .name = "theirs",
                                             .licence = "CC-BY-NC-4.0",
                                             .file = dataset_file(std::string(3'000, 'y'))});
    ASSERT_TRUE(text.ok()) << text.error().message;
    const Digest data = text->dataset.root;
    const auto on_data = backend_->submit_job(
        sealed({other_, "first", job_spec(data, "100", "use: non-commercial\n")}));
    ASSERT_TRUE(on_data.ok()) << on_data.error().message;
    ASSERT_TRUE(testing::store_round(database_.owner(), on_data->job.id, {Digest{{1}}, Digest{{2}}},
                                     {Digest{{3}}, Digest{{4}}}, address_of(7))
                    .ok());
    const std::string init = "init: \"job:" + on_data->job.id.hex() + "\"\n";
    const auto commercial =
        backend_->submit_job(sealed({other_, "second", job_spec(dataset_, "100", init)}));
    ASSERT_FALSE(commercial.ok());
    EXPECT_EQ(commercial.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(commercial.error().message.find("CC-BY-NC-4.0"), std::string::npos);
    EXPECT_TRUE(
        backend_
            ->submit_job(sealed(
                {other_, "third", job_spec(dataset_, "100", init + "use: non-commercial\n")}))
            .ok());
}

/// What a refusal says of data that the submitter may not see.
TEST_F(ModelsTest, PrivateDataInAJobsWeightsIsNotNamed) {
    const Bytes file = dataset_file(std::string(3'000, 'y'));
    DatasetOffer offered{
        .owner = owner_, .name = "nobodys-business", .licence = "CC-BY-NC-4.0", .file = file};
    offered.access = registry::Access{registry::Visibility::kAllowList, {other_}};
    const auto text = backend_->add_dataset(offered);
    ASSERT_TRUE(text.ok()) << text.error().message;
    const Digest data = text->dataset.root;
    const auto job = backend_->submit_job(
        sealed({other_, "first", job_spec(data, "100", "use: non-commercial\n")}));
    ASSERT_TRUE(job.ok()) << job.error().message;
    ASSERT_TRUE(testing::store_round(database_.owner(), job->job.id, {Digest{{1}}, Digest{{2}}},
                                     {Digest{{3}}, Digest{{4}}}, address_of(7))
                    .ok());
    ASSERT_TRUE(
        backend_->set_dataset_access(owner_, data, {registry::Visibility::kPrivate, {}}).ok());
    const auto refused = backend_->submit_job(
        sealed({other_, "second",
                job_spec(dataset_, "100", "init: \"job:" + job->job.id.hex() + "\"\n")}));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
    for (const std::string& secret : {std::string("nobodys"), data.hex(), owner_.hex()})
        EXPECT_EQ(refused.error().message.find(secret), std::string::npos)
            << refused.error().message;
}

/// Who was shown a model once keeps what it may do with it, and no more.
TEST_F(ModelsTest, AClosedModelKeepsItsLicence) {
    ModelOffer offered = offer("zoo", base_state("a"));
    offered.licence = "CC-BY-NC-4.0";
    const auto model = push(offered);
    ASSERT_TRUE(model.ok()) << model.error().message;
    const std::string free_use = "use: non-commercial\n";
    ASSERT_TRUE(submit(model->state.root, "first", other_, free_use).ok());
    ASSERT_TRUE(backend_
                    ->set_model_access(owner_, {.name = "zoo", .version = 1},
                                       {registry::Visibility::kPrivate, {}})
                    .ok());
    const auto again =
        submit(model->state.root, "again", other_, free_use + "evaluate_windows: 3\n");
    EXPECT_TRUE(again.ok()) << again.error().message;
    const auto commercial = submit(model->state.root, "commercial", other_);
    ASSERT_FALSE(commercial.ok());
    EXPECT_EQ(commercial.error().code, ErrorCode::kPermissionDenied);
    EXPECT_EQ(commercial.error().message.find("zoo"), std::string::npos)
        << commercial.error().message;
}

/// Names and versions are never removed.
TEST_F(ModelsTest, AnOwnerHasAQuota) {
    const engine::State a = base_state("a"), b = base_state("b");
    limit({.names_max = 2, .versions_max = 3, .bytes_max = engine::encode_state(a).size()});
    ASSERT_TRUE(push(offer("one", a)).ok());
    const auto more_bytes = push(offer("one", b));
    ASSERT_FALSE(more_bytes.ok());
    EXPECT_EQ(more_bytes.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(more_bytes.error().message.find("of your registered models"), std::string::npos)
        << more_bytes.error().message;
    ASSERT_TRUE(push(offer("two", a)).ok()) << "the same bytes";
    const auto third = push(offer("three", a));
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, ErrorCode::kOutOfRange);
    EXPECT_NE(third.error().message.find("you have 2 names of models"), std::string::npos)
        << third.error().message;
    EXPECT_TRUE(push(offer("three", b, other_)).ok()) << "each owner has one of its own";
    ModelOffer licensed = offer("two", a);
    licensed.licence = "MIT";
    ASSERT_TRUE(push(licensed).ok());
    licensed.licence = "CC0-1.0";
    const auto version = push(licensed);
    ASSERT_FALSE(version.ok());
    EXPECT_NE(version.error().message.find("3 versions"), std::string::npos)
        << version.error().message;
    EXPECT_TRUE(push(offer("one", a)).ok()) << "what is there is found";
}

// Else a folder that was exported and uploaded would lose them.
TEST_F(ModelsTest, WeightsThatTheNetworkTrainedKeepTheirLicencesWhenTheyAreUploaded) {
    const auto text = backend_->add_dataset({.owner = owner_,
                                             .name = "theirs",
                                             .licence = "CC-BY-NC-4.0",
                                             .file = dataset_file(std::string(3'000, 'y'))});
    ASSERT_TRUE(text.ok()) << text.error().message;
    const std::string free_use = "use: non-commercial\n";
    const auto job = backend_->submit_job(
        sealed({other_, "first", job_spec(text->dataset.root, "100", free_use)}));
    ASSERT_TRUE(job.ok()) << job.error().message;
    const engine::State trained = base_state("trained");
    const Digest root = engine::state_root(trained);
    ASSERT_TRUE(testing::store_round(database_.owner(), job->job.id, {Digest{{1}}, Digest{{2}}},
                                     {root, Digest{{4}}}, address_of(7))
                    .ok());
    ModelOffer again = offer("again", trained, other_);  // which uploads them
    const auto commercial = submit(root, "commercial", other_);
    ASSERT_FALSE(commercial.ok());
    EXPECT_EQ(commercial.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(commercial.error().message.find("CC-BY-NC-4.0"), std::string::npos);
    const auto free = submit(root, "free", other_, free_use);
    ASSERT_TRUE(free.ok()) << free.error().message;
    // A round without deltas ends where it began: the job comes before itself, and hides nothing.
    ASSERT_TRUE(testing::store_round(database_.owner(), free->job.id, {root, Digest{{4}}},
                                     {root, Digest{{4}}}, address_of(7))
                    .ok());
    const auto further = backend_->submit_job(
        sealed({other_, "further",
                job_spec(dataset_, "90", "init: \"" + root.hex() + "\"\n" + free_use)}));
    EXPECT_TRUE(further.ok()) << further.error().message;
    EXPECT_EQ(submit(root, "commercial", other_).error().code, ErrorCode::kPermissionDenied);
    // Nor does a name with another licence change them.
    const auto renamed = push(again);
    ASSERT_FALSE(renamed.ok());
    EXPECT_EQ(renamed.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(renamed.error().message.find("Apache-2.0 gives others commercial use"),
              std::string::npos)
        << renamed.error().message;
    again.licence = "CC-BY-NC-4.0";
    const auto named = push(again);
    EXPECT_TRUE(named.ok()) << named.error().message;
}

/// A request for weights that the network no longer keeps is answered with the rounds that it has.
TEST_F(ModelsTest, PrunedWeightsAreRefusedWithTheRoundsThatAreKept) {
    const auto job = backend_->submit_job(sealed({owner_, "first", job_spec(dataset_, "100")}));
    ASSERT_TRUE(job.ok()) << job.error().message;
    const Digest id = job->job.id;
    const Digest start = store_->put(engine::encode_state(base_state("start"))).value();
    const Digest end = store_->put(engine::encode_state(base_state("end"))).value();
    ASSERT_TRUE(testing::store_round(database_.owner(), id, {Digest{{1}}, start},
                                     {Digest{{3}}, end}, address_of(7))
                    .ok());
    EXPECT_EQ(backend_->job(id)->kept_rounds, (std::vector<std::uint64_t>{0, 1}));
    sql("UPDATE registry.round SET state = 'closed', closed_at_ms = 2, pruned_at_ms = 3");
    EXPECT_EQ(backend_->job(id)->kept_rounds, (std::vector<std::uint64_t>{0}));
    const std::string init = "init: \"job:" + id.hex() + "\"\n";
    EXPECT_TRUE(backend_->open_blob(end).ok()) << "decided, and not erased yet";
    ASSERT_TRUE(store_->remove(end).ok());
    const std::string why =
        " was pruned when the round was final; the weights that are kept are those after rounds 0 "
        "(0: before any training)";
    const auto further =
        backend_->submit_job(sealed({owner_, "further", job_spec(dataset_, "90", init)}));
    ASSERT_FALSE(further.ok());
    EXPECT_EQ(further.error().code, ErrorCode::kNotFound);
    EXPECT_NE(further.error().message.find(why), std::string::npos) << further.error().message;
    const ModelOffer offered{.owner = owner_,
                             .reference = registry::parse_model_reference("mine").value(),
                             .job = id,
                             .licence = "Apache-2.0"};
    const auto named = push(offered);
    ASSERT_FALSE(named.ok());
    EXPECT_NE(named.error().message.find(why), std::string::npos) << named.error().message;
    EXPECT_NE(backend_->open_blob(end).error().message.find(why), std::string::npos);
    EXPECT_TRUE(backend_->open_blob(start).ok());
}

TEST_F(ModelsTest, APrivateLicenceIsNotMadePublicLater) {
    ModelOffer hidden = offer("zoo", base_state("a"));
    hidden.licence = "private";
    ASSERT_TRUE(push(hidden).ok());
    const auto opened = backend_->set_model_access(owner_, {"zoo", {}}, {Visibility::kPublic, {}});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ModelsTest, ListsShowOfEachNameTheNewestThatOneMaySee) {
    ASSERT_TRUE(push(offer("zoo", base_state("a"))).ok());
    ModelOffer hidden = offer("zoo", base_state("b"));
    hidden.licence = "private";
    ASSERT_TRUE(push(hidden).ok());
    clock_.advance_ms(1);
    ASSERT_TRUE(push(offer("theirs", base_state("c"), other_)).ok());
    const auto of = [&](const Address& viewer, std::optional<Address> owner) {
        std::vector<std::string> out;
        const auto models =
            backend_->models({.owner = owner, .viewer = registry::Viewer::account(viewer)});
        for (const registry::ModelVersion& model : models.value())
            out.push_back(model.name + "@" + std::to_string(model.version));
        return out;
    };
    EXPECT_EQ(of(owner_, {}), (std::vector<std::string>{"theirs@1", "zoo@2"}));
    EXPECT_EQ(of(other_, {}), (std::vector<std::string>{"theirs@1", "zoo@1"}));
    EXPECT_EQ(of(other_, owner_), (std::vector<std::string>{"zoo@1"}));
    EXPECT_EQ(backend_->model_versions("zoo", registry::Viewer::account(owner_))->size(), 2U);
    EXPECT_EQ(backend_->model_versions("zoo", registry::Viewer::account(other_))->size(), 1U);
    EXPECT_EQ(seen("zoo", other_)->version, 1U) << "the newest that it may see";
    EXPECT_FALSE(seen("zoo", other_)->state_layout.empty());
    const auto listed = backend_->models({});
    for (const registry::ModelVersion& model : listed.value())
        EXPECT_TRUE(model.state_layout.empty()) << "a list is not megabytes";
}

}  // namespace
}  // namespace gym::api
