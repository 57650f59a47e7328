// A job with an update on a real network: the coordinator as a program over PostgreSQL and a chain,
// workers and a verifier with their own connections. How many bytes a round brings a worker, and
// what happens where an update is missing.
#include <iostream>
#include <map>
#include <mutex>

#include "gym/engine/delta.hpp"
#include "gym/program/codec.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/verifier/verifier.hpp"
#include "gym/worker/worker.hpp"
#include "mirrored_fixture.hpp"
#include "stalling_proxy.hpp"

namespace gym::testing {
namespace {

constexpr std::uint64_t kRounds = 6;

/// A worker of its own thread whose connection is counted.
class CountedWorker {
  public:
    CountedWorker(int coordinator_port, const std::filesystem::path& folder, const Clock& clock)
        : proxy_(coordinator_port) {
        rpc::ClientConfig config;
        config.target = "127.0.0.1:" + std::to_string(proxy_.port());
        connection_ = rpc::connect(config, key_.clone(), clock).value();
        records::NodeProfile profile;
        profile.device = "cpu";
        EXPECT_TRUE(connection_->register_node(profile).ok());
        worker::WorkerOptions options;
        options.data_dir = folder / ("worker-" + key_.address().hex());
        options.poll_wait = std::chrono::seconds(2);
        options.on_event = [this](const worker::WorkerEvent& event) {
            const std::scoped_lock lock(mutex_);
            if (event.name == "started") down_at_[event.unit.round] = proxy_.bytes_down();
            if (event.name == "committed") ++committed_;
        };
        worker_ = worker::Worker::open(*connection_, key_, clock, options).value();
        thread_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                (void)connection_->heartbeat({});
                const auto done = worker_->run_once(stop);
                if (!done.ok() && !stop.stop_requested())
                    ADD_FAILURE() << "a worker: " << done.error().message;
                (void)worker_->track(stop);
            }
        });
    }
    [[nodiscard]] Address address() const { return key_.address(); }
    [[nodiscard]] int committed() const {
        const std::scoped_lock lock(mutex_);
        return committed_;
    }
    /// By round, the bytes from the beginning of its unit to that of the next round's.
    [[nodiscard]] std::map<std::uint64_t, std::uint64_t> bytes_of_rounds() const {
        const std::scoped_lock lock(mutex_);
        std::map<std::uint64_t, std::uint64_t> out;
        for (const auto& [round, bytes] : down_at_)
            if (const auto next = down_at_.find(round + 1); next != down_at_.end())
                out[round] = next->second - bytes;
        return out;
    }
    [[nodiscard]] std::uint64_t first_round() const {
        const std::scoped_lock lock(mutex_);
        return down_at_.empty() ? 0 : down_at_.begin()->first;
    }

  private:
    const crypto::PrivateKey key_ = crypto::PrivateKey::generate();
    StallingProxy proxy_;
    std::unique_ptr<rpc::Coordinator> connection_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> down_at_;
    int committed_ = 0;
    std::unique_ptr<worker::Worker> worker_;
    std::jthread thread_;
};

class UpdateRounds : public MirroredRound {
  protected:
    [[nodiscard]] std::uint32_t width() const override { return 320; }
    [[nodiscard]] std::string more_of_model() const override {
        return "  compression: dense-4bit\n  update: dense-4bit\n";
    }
    void change(registry::JobTerms& terms) const override {
        terms.rounds = kRounds;
        terms.slots_max = 3;
    }
    void start_all() {
        job_ = submit_job(2);
        process_ = start();
        (void)dial(verifier_key_);  // waits for the port
        verifier_connection_ = dial(verifier_key_);
        records::NodeProfile profile;
        profile.role = records::NodeRole::kVerifier;
        profile.device = "cpu";
        ASSERT_TRUE(verifier_connection_->register_node(profile).ok());
        verifier::VerifierOptions options;
        options.data_dir = folder() / "verifier";
        options.poll_wait = std::chrono::seconds(1);
        options.on_event = [this](const verifier::VerifierEvent& event) {
            const std::scoped_lock lock(mutex_);
            ++verified_[event.name];
        };
        verifier_ = verifier::Verifier::open(*verifier_connection_, verifier_key_, options).value();
        verifying_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                (void)verifier_connection_->heartbeat({});
                const auto done = verifier_->run_once(stop);
                if (!done.ok() && !stop.stop_requested())
                    ADD_FAILURE() << "the verifier: " << done.error().message;
            }
        });
        add_worker();
        add_worker();
    }
    CountedWorker& add_worker() {
        workers_.push_back(std::make_unique<CountedWorker>(port(), folder(), clock_));
        return *workers_.back();
    }
    void TearDown() override {
        workers_.clear();
        verifying_ = {};
        MirroredRound::TearDown();
    }
    template <class F>
    auto read(F&& body) {
        auto out = database_.owner().transact(std::forward<F>(body), {.read_only = true});
        GYM_ASSERT(out.ok(), out.ok() ? "" : out.error().message);
        return std::move(out).value();
    }
    std::vector<registry::Round> rounds() {
        return read([&](db::Transaction& tx) { return registry::list_rounds(tx, job_); });
    }
    /// Until so many rounds are aggregated.
    void wait_for(std::uint64_t count) {
        for (int i = 0; i < 3'000; ++i) {
            std::uint64_t aggregated = 0;
            for (const registry::Round& round : rounds())
                aggregated += round.next_base ? 1 : 0;
            if (aggregated >= count) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        FAIL() << text_of(folder() / "coordinator.log");
    }
    /// As a task has it.
    records::UnitInputs inputs_of(const registry::Round& round) {
        return read([&](db::Transaction& tx) -> Result<records::UnitInputs> {
            records::UnitInputs out;
            GYM_TRY(const registry::Job job, registry::get_job(tx, job_));
            GYM_TRY(const auto dataset, registry::get_dataset(tx, job.dataset_root));
            out.program_blob = job.artifacts->program_blob;
            out.dataset_blob = dataset.blob;
            out.base_state_blob = round.base.blob;
            GYM_TRY(out.base_steps, registry::steps_to_base(tx, job_, round.round));
            return out;
        });
    }
    std::uint64_t parameters() {
        return read([&](db::Transaction& tx) { return registry::get_job(tx, job_); })
            .artifacts->parameters;
    }

    Digest job_;
    const crypto::PrivateKey verifier_key_ = crypto::PrivateKey::generate();
    std::unique_ptr<rpc::Coordinator> verifier_connection_;
    std::unique_ptr<verifier::Verifier> verifier_;
    std::mutex mutex_;
    std::map<std::string, int> verified_;
    std::jthread verifying_;
    std::vector<std::unique_ptr<CountedWorker>> workers_;
};

/// What a node without any state loads, one that has the base state of the round before, and the
/// bytes that came for it.
struct Loaded {
    engine::State base;
    rpc::BlobCache::Traffic traffic;
};

TEST_F(UpdateRounds, BringAWorkerHalfAByteAParameter) {
    ASSERT_NO_FATAL_FAILURE(start_all());
    ASSERT_NO_FATAL_FAILURE(wait_for(2));
    CountedWorker& joined = add_worker();
    ASSERT_NO_FATAL_FAILURE(wait_for(kRounds));
    const double count = static_cast<double>(parameters());
    std::cout << count << " parameters\n";
    for (const auto& worker : workers_) {
        const std::uint64_t first = worker->first_round();
        ASSERT_GT(first, 0U);
        for (const auto& [round, bytes] : worker->bytes_of_rounds()) {
            const double each = static_cast<double>(bytes) / count;
            std::cout << worker->address().hex().substr(0, 8) << " round " << round << ": " << each
                      << " bytes a parameter\n";
            if (round == first)
                EXPECT_GT(each, 4) << "the whole base state";
            else
                EXPECT_LE(each, 0.53);
        }
        EXPECT_GE(worker->bytes_of_rounds().size(), 2U);
    }
    EXPECT_GE(joined.first_round(), 3U);
    EXPECT_GE(joined.committed(), 1);
    const std::scoped_lock lock(mutex_);
    EXPECT_GE(verified_["verified"], 2 * static_cast<int>(kRounds));
    EXPECT_EQ(verified_["differs"] + verified_["contradiction"], 0);
    EXPECT_EQ(text_of(folder() / "coordinator.log").find("[error]"), std::string::npos);
}

/// The same job, whose rounds overlap.
class OverlapRounds : public UpdateRounds {
  protected:
    void change(registry::JobTerms& terms) const override {
        UpdateRounds::change(terms);
        terms.elastic.overlap = 1;
    }
};

TEST_F(OverlapRounds, AreTrainedVerifiedAndUpdatedLikeOthers) {
    ASSERT_NO_FATAL_FAILURE(start_all());
    ASSERT_NO_FATAL_FAILURE(wait_for(kRounds + 1));
    const std::vector<registry::Round> played = rounds();
    ASSERT_EQ(played.size(), kRounds + 1);
    EXPECT_EQ(played[1].base, played[0].base);
    for (std::size_t i = 2; i < played.size(); ++i) {
        EXPECT_EQ(played[i].base, *played[i - 1].next_base);
        EXPECT_NE(played[i].base, played[i - 1].base);
        EXPECT_EQ(played[i].record.included.size(), 2U);
        EXPECT_EQ(protocol::held_of(played[i].record.included), 2U);
    }
    EXPECT_TRUE(played.back().record.slots.empty());
    EXPECT_NE(played.back().next_base, played.back().base);
    const double count = static_cast<double>(parameters());
    for (const auto& worker : workers_) {
        EXPECT_EQ(worker->committed(), static_cast<int>(kRounds));
        for (const auto& [round, bytes] : worker->bytes_of_rounds())
            EXPECT_LE(static_cast<double>(bytes) / count, round > 1 ? 0.53 : 4.1) << round;
    }
    const std::scoped_lock lock(mutex_);
    EXPECT_GE(verified_["verified"], 2 * static_cast<int>(kRounds));
    EXPECT_EQ(verified_["differs"] + verified_["contradiction"], 0);
    EXPECT_EQ(text_of(folder() / "coordinator.log").find("[error]"), std::string::npos);
}

TEST_F(UpdateRounds, OfAPublicJobComeFromMirrorsAndAreNotNeeded) {
    ASSERT_NO_FATAL_FAILURE(start_all());
    ASSERT_NO_FATAL_FAILURE(wait_for(4));
    workers_.clear();
    set_visibility("job", "public");
    set_visibility("dataset", "public");
    start_mirror();
    const std::vector<registry::Round> played = rounds();
    const std::uint64_t update_bytes =
        get(mirror_url() + "/b/" + to_hex(played[0].next_update_blob->view())).body.size();
    EXPECT_LE(static_cast<double>(update_bytes), 0.53 * static_cast<double>(parameters()));
    const auto folder_of = [&](const std::string& name) { return folder() / name; };
    const crypto::PrivateKey reader = crypto::PrivateKey::generate();
    const auto connection = dial(reader);
    records::NodeProfile profile;
    profile.device = "cpu";
    ASSERT_TRUE(connection->register_node(profile).ok());
    // Whole base states, one after the other, and the same by updates.
    const auto load = [&](rpc::BlobCache& cache, std::size_t round, bool whole) -> Loaded {
        const auto before = cache.traffic();
        node::InputLoader loader(cache);
        records::UnitInputs inputs = inputs_of(played[round - 1]);
        if (whole) inputs.base_steps.clear();
        auto loaded = loader.load_train(played[round - 1].record,
                                        played[round - 1].record.slots.at(0), inputs);
        EXPECT_TRUE(loaded.ok()) << loaded.error().message;
        if (!loaded.ok()) return {};
        const auto after = cache.traffic();
        return {std::move(loaded->base),
                {after.mirror_bytes - before.mirror_bytes,
                 after.coordinator_bytes - before.coordinator_bytes}};
    };
    auto whole =
        rpc::BlobCache::open(folder_of("whole"), *connection, vault::StoreKey::of(reader)).value();
    auto packed =
        rpc::BlobCache::open(folder_of("packed"), *connection, vault::StoreKey::of(reader)).value();
    load(packed, 1, false);
    for (const std::size_t round : {2U, 3U}) {
        const Loaded by_update = load(packed, round, false);
        EXPECT_EQ(by_update.traffic.mirror_bytes, update_bytes);
        EXPECT_EQ(by_update.traffic.coordinator_bytes, 0U);
        EXPECT_EQ(by_update.base, load(whole, round, true).base);
    }
    // The coordinator loses the update of round 3, and then finds other bytes in its place. No
    // mirror has it yet.
    const Digest update = *played[2].next_update_blob;
    auto store = vault::SealedStore::open(folder_of("blobs"), std::filesystem::path()).value();
    const Bytes bytes = store.get(update).value();
    ASSERT_TRUE(store.remove(update).ok());
    const engine::State expected = load(whole, 4, true).base;
    const Loaded missing = load(packed, 4, false);
    EXPECT_EQ(missing.base, expected);
    EXPECT_GT(missing.traffic.mirror_bytes, 4 * parameters());
    ASSERT_TRUE(packed.store().remove(played[3].base.blob).ok());
    std::filesystem::create_directories(store.path_of(update).parent_path());
    ASSERT_TRUE(write_file_atomic(store.path_of(update), bytes).ok());
    EXPECT_EQ(load(packed, 4, false).base, expected);
    ASSERT_TRUE(packed.store().remove(played[3].base.blob).ok());
    ASSERT_TRUE(store.put(blob::VerifiedBlob::hash(bytes)).ok());
    std::this_thread::sleep_for(std::chrono::seconds(6));  // a mirror asks again after five
    const Loaded found = load(packed, 4, false);
    EXPECT_EQ(found.base, expected);
    EXPECT_EQ(found.traffic.mirror_bytes + found.traffic.coordinator_bytes, update_bytes);
}

}  // namespace
}  // namespace gym::testing
