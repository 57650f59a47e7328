// An evaluation's life with `gym`, a real gym-api and a real PostgreSQL: published, measured with,
// checked by a stranger, retired.
#include <boost/json.hpp>

#include "api_fixture.hpp"
#include "command.hpp"
#include "gym/api/api.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/http_server/server.hpp"
#include "must.hpp"
#include "small_model.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using engine::testing::counting_text;
using gym::testing::must;
using gym::testing::Outcome;
using gym::testing::spill;

constexpr int kUsage = 2, kMismatch = 3, kRejected = 5;

class MeasureCommandTest : public testing::ApiDatabaseTest {
  protected:
    void SetUp() override {
        ApiDatabaseTest::SetUp();
        storage_.emplace(backend());
        api_.emplace(ApiDependencies{*storage_, *storage_, *storage_, clock_}, ApiOptions{});
        server_ = must(http_server::Server::start({}, *api_));
        ::setenv("GYM_API", ("http://127.0.0.1:" + std::to_string(server_->port())).c_str(), 1);
        use(database_.config_as("gym_evaluator"));
        spill(place_ / "model.yaml",
              "batch: 4\n"
              "model: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 24, init_std: "
              "0.05}\n"
              "optimizer: {learning_rate: 0.01, warmup_steps: 2}\n");
        const std::string text = counting_text(30'000);
        spill(place_ / "reference.txt", text.substr(0, 20'000));
        spill(place_ / "held-out.txt", text.substr(20'000, 4'000));
        spill(place_ / "dataset.txt", text.substr(24'000));
        write_evaluation("evaluation.yaml", "reference.txt");
        must(add(owner_, "reference", dataset_file(text.substr(0, 20'000))));
    }
    void TearDown() override {
        server_->stop(1'000);
        for (const char* name :
             {"GYM_API", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD"})
            ::unsetenv(name);
    }
    static void use(const db::ConnectionConfig& config) {
        ::setenv("PGHOST", config.host.c_str(), 1);
        ::setenv("PGPORT", std::to_string(config.port).c_str(), 1);
        ::setenv("PGDATABASE", config.database.c_str(), 1);
        ::setenv("PGUSER", config.user.c_str(), 1);
        ::setenv("PGPASSWORD", config.password.c_str(), 1);
    }
    void write_evaluation(const char* name, const std::string& reference,
                          const std::string& extra = "seed: one\n") {
        spill(place_ / name,
              "model: model.yaml\nsteps: 30\nbase_steps: 10\nwindows: 32\n"
              "held_out: held-out.txt\nsalt: \"" +
                  testing::address_of(7).hex() + std::string(24, '0') +
                  "\"\nreference: " + reference + "\n" + extra);
    }
    registry::Dataset enter() {
        const std::string text = gym::testing::slurp(place_ / "dataset.txt");
        return must(add(testing::address_of(2), "counting", dataset_file(text))).dataset;
    }
    Outcome gym(std::vector<std::string> arguments) { return run(place_, std::move(arguments)); }
    Outcome measure(std::vector<std::string> more,
                    const std::string& evaluation = "evaluation.yaml",
                    const std::string& dataset = "dataset.txt") {
        const bool is_file = std::filesystem::exists(place_ / dataset);
        more.insert(more.begin(), {"data", "measure", is_file ? path(dataset) : dataset,
                                   "--evaluation", path(evaluation)});
        return gym(std::move(more));
    }
    Outcome publish(const std::string& file = "evaluation.yaml") {
        return gym({"operator", "publish-evaluation", path(file), "--json"});
    }
    std::string path(const std::string& name) { return (place_ / name).string(); }
    static json::object parsed(const Outcome& outcome) {
        return json::parse(outcome.out.substr(0, outcome.out.find('\n'))).as_object();
    }

    gym::testing::TemporaryFolder place_;
    std::optional<PostgresBackend> storage_;
    std::optional<Api> api_;
    std::unique_ptr<http_server::Server> server_;
};

TEST_F(MeasureCommandTest, FromPublicationToRetirement) {
    const Outcome published = publish();
    ASSERT_EQ(published.exit_code, 0) << published.err << published.out;
    const std::string id(parsed(published).at("evaluation").as_string());
    EXPECT_EQ(parsed(publish()).at("new"), json::value(false)) << "the same again, bit for bit";
    const registry::Dataset dataset = enter();
    EXPECT_NE(gym({"data", "show", dataset.root.hex()}).out.find("50 %, the network's default"),
              std::string::npos);
    const Outcome unmeasured = measure({"--check"});
    EXPECT_NE(unmeasured.err.find("there is no measurement of"), std::string::npos)
        << unmeasured.err;

    const Outcome dry = measure({"--json"});
    ASSERT_EQ(dry.exit_code, 0) << dry.err;
    EXPECT_FALSE(must(storage_->dataset(dataset.root, registry::Viewer::service())).measurement)
        << "nothing is stored";
    const Outcome recorded = measure({"--record", "--json", "--threads", "2"});
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
    json::object expected = parsed(dry);
    expected["recorded"] = true;
    EXPECT_EQ(parsed(recorded), expected) << "also with the registry's reference losses";
    const registry::Dataset measured =
        must(storage_->dataset(dataset.root, registry::Viewer::service()));
    ASSERT_TRUE(measured.measurement);
    EXPECT_EQ(measured.measurement->evaluation.hex(), id);
    EXPECT_EQ(json::value(measured.usefulness_ppm), expected.at("usefulness_ppm"));
    EXPECT_GT(measured.usefulness_ppm, 500'000U) << "it counts, as the reference does";
    EXPECT_NE(gym({"data", "show", dataset.root.hex()}).out.find("measured by evaluation " + id),
              std::string::npos);
    EXPECT_EQ(measure({"--record"}).exit_code, kRejected);
    EXPECT_NE(gym({"data", "evaluations"}).out.find(id + "  vocabulary 256, 30 steps"),
              std::string::npos);

    const Outcome retired = gym({"operator", "retire-evaluation", path("evaluation.yaml")});
    ASSERT_EQ(retired.exit_code, 0) << retired.err;
    EXPECT_EQ(gym({"operator", "retire-evaluation", path("evaluation.yaml")}).exit_code, kRejected);
    const Outcome checked = measure({"--check"});
    EXPECT_EQ(checked.exit_code, 0) << checked.err << checked.out;
    EXPECT_NE(checked.out.find("equal to the network's records, bit for bit"), std::string::npos)
        << checked.out;
}

// Before retirement: the model, the seed, the steps and the reference are public.
TEST_F(MeasureCommandTest, ThePublicTrainingIsRepeatedWithoutTheHeldOutText) {
    const json::object measured = parsed(measure({"--json"}));
    const auto unit = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"unit", "run", path("p.gym"), "--seed", "one", "--json", "-o",
                                   path("unit.json")});
        return parsed(gym(std::move(more)));
    };
    ASSERT_EQ(gym({"program", "build", path("model.yaml"), "-o", path("p.gym")}).exit_code, 0);
    unit({"--data", path("reference.txt"), "--steps", "10", "--state", path("base")});
    for (const auto& [text, root] : {std::pair("reference.txt", "baseline_state_root"),
                                     std::pair("dataset.txt", "after_state_root")}) {
        const json::object repeated =
            unit({"--data", path(text), "--steps", "30", "--round", "1", "--base", path("base")});
        EXPECT_EQ(repeated.at("final_state_root"), measured.at(root)) << text;
    }
    const std::string file = gym::testing::slurp(path("unit.json"));
    EXPECT_NE(file.find(std::string(measured.at("before_state_root").as_string())),
              std::string::npos);
}

TEST_F(MeasureCommandTest, ADeviationIsNamedAndEndsWithItsOwnCode) {
    ASSERT_EQ(publish().exit_code, 0);
    const registry::Dataset dataset = enter();
    ASSERT_EQ(measure({"--record"}).exit_code, 0);
    const auto tampered = database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec_script(
            "SET LOCAL session_replication_role = replica; "
            "UPDATE registry.measurement SET after_bits = after_bits - 1");
    });
    ASSERT_TRUE(tampered.ok()) << tampered.error().message;
    const Outcome checked = measure({"--check"});
    EXPECT_EQ(checked.exit_code, kMismatch);
    EXPECT_NE(checked.out.find("deviation          after_bits is recorded as 0x"),
              std::string::npos)
        << checked.out;
    // With another evaluation everything differs.
    write_evaluation("other.yaml", "reference.txt", "seed: two\n");
    const Outcome other = measure({"--check", "--json"}, "other.yaml");
    EXPECT_EQ(other.exit_code, kMismatch);
    EXPECT_GE(parsed(other).at("deviations").as_array().size(), 6U) << other.out;
}

TEST_F(MeasureCommandTest, WhatCannotBeRecordedIsRefusedBeforeAnyWork) {
    write_evaluation("unregistered.yaml", "dataset.txt");
    const Outcome unregistered = publish("unregistered.yaml");
    EXPECT_NE(unregistered.out.find("is not registered: `gym data register` it"), std::string::npos)
        << unregistered.out << unregistered.err;
    EXPECT_NE(measure({"--record"}).err.find("is not published"), std::string::npos);
    const registry::Dataset early = enter();
    ASSERT_EQ(publish().exit_code, 0);
    const Outcome late = measure({"--record"});
    EXPECT_EQ(late.exit_code, kRejected);
    EXPECT_NE(late.err.find("in force when it was registered: there is none"), std::string::npos)
        << late.err;
    EXPECT_FALSE(must(storage_->dataset(early.root, registry::Viewer::service())).measurement);
    // As whoever has no right to.
    use(database_.config_as("gym_api"));
    write_evaluation("mine.yaml", "reference.txt", "seed: mine\n");
    const Outcome forbidden = publish("mine.yaml");
    EXPECT_EQ(forbidden.exit_code, kRejected) << forbidden.out;
}

TEST_F(MeasureCommandTest, ARootIsTakenFromTheBlobStore) {
    const registry::Dataset dataset = enter();
    auto store = must(blob::DirectoryStore::open(path("blobs")));
    must(store.put(must(blobs_.load(dataset.blob))));
    const Outcome by_root =
        measure({"--json", "--blobs", path("blobs")}, "evaluation.yaml", dataset.root.hex());
    ASSERT_EQ(by_root.exit_code, 0) << by_root.err;
    EXPECT_EQ(parsed(by_root), parsed(measure({"--json"})));
    const Outcome nowhere = measure({}, "evaluation.yaml", dataset.root.hex());
    EXPECT_EQ(nowhere.exit_code, kUsage);
    EXPECT_NE(nowhere.err.find("--blobs"), std::string::npos) << nowhere.err;
}

TEST_F(MeasureCommandTest, BadInputIsNamed) {
    const auto expect = [&](const std::string& words, const Outcome& outcome) {
        EXPECT_EQ(outcome.exit_code, kUsage) << outcome.err;
        EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    };
    spill(place_ / "short.txt", "too short");
    expect("one window needs 17", measure({}, "evaluation.yaml", "short.txt"));
    write_evaluation("short.yaml", "short.txt");
    expect("short.yaml: the reference text: ", measure({}, "short.yaml"));
    write_evaluation("unknown.yaml", "reference.txt", "seed: s\nnonsense: 1\n");
    expect("nonsense", measure({}, "unknown.yaml"));
    spill(place_ / "salt.yaml",
          "model: m\nseed: s\nsteps: 1\nwindows: 1\nreference: r\n"
          "held_out: h\nsalt: secret\n");
    expect("openssl rand", measure({}, "salt.yaml"));
    std::string shipped = gym::testing::slurp(std::getenv("GYM_SOURCE_DIR") +
                                              std::string("/deploy/config/evaluation.yaml"));
    spill(place_ / "shipped.yaml", shipped);
    expect("the salt is the example's", measure({}, "shipped.yaml"));
}

}  // namespace
}  // namespace gym::api
