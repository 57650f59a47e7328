// `gym job` and `gym data` against a real gym-api on a real PostgreSQL.
#include <filesystem>

#include "gym/engine/state.hpp"
#include "gym/profile/store.hpp"
#include "job_commands_fixture.hpp"
#include "random_seed.hpp"
#include "sample_profile.hpp"
#include "small_tokenizer.hpp"

namespace gym::api {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using gym::testing::spill;

using testing::JobCommandsTest;

TEST_F(JobCommandsTest, SubmitUploadsLocksAndIsRepeatable) {
    deposit(owner_, "100", "d1");
    const auto first = gym(
        {"job", "submit", job_file(), "--licence", "CC0-1.0", "--idempotency-key", "k", "--json"});
    ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
    const std::string id(parse_line(first.out).at("id").as_string());
    const auto again = gym({"job", "submit", job_file(), "--idempotency-key", "k", "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(parse_line(again.out).at("id").as_string(), id);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "60");

    const auto list = gym({"job", "list", "--owner", owner_.hex()});
    EXPECT_NE(list.out.find(id + "  submitted"), std::string::npos) << list.out << list.err;
    const auto status = gym({"job", "status", id});
    EXPECT_EQ(status.exit_code, 0) << status.err;
    EXPECT_NE(status.out.find("in its escrow      40 GYM, 0 of them reserved"), std::string::npos)
        << status.out;
    const auto bill = gym({"job", "bill", id});
    EXPECT_EQ(bill.out, "in all             0 GYM\nspent              0 GYM\n") << bill.err;
    const auto twice = gym({"job", "submit", job_file()});
    EXPECT_EQ(twice.exit_code, 5);
    EXPECT_NE(twice.err.find("is submitted: " + id), std::string::npos) << twice.err;
    EXPECT_NE(twice.err.find("--again"), std::string::npos) << twice.err;
    const auto told = gym({"job", "submit", job_file(), "--idempotency-key", "k"});
    EXPECT_NE(told.out.find("`gym job watch " + id.substr(0, 10) + "`"), std::string::npos)
        << told.out;
    const std::string key_file = (place_ / "api.key").string();
    gym::testing::spill(key_file, std::getenv("GYM_API_KEY"));
    std::filesystem::permissions(key_file, std::filesystem::perms::owner_read);
    const auto with_file =
        gym({"job", "submit", job_file(), "--idempotency-key", "k", "--api-key-file", key_file});
    EXPECT_NE(with_file.out.find("`gym job watch " + id.substr(0, 10) + " --api-key-file " +
                                 key_file + "` follows it"),
              std::string::npos)
        << "a private job is found by its first digits with its owner's key alone: "
        << with_file.out << with_file.err;
    const Status started = database_.owner().transact([&](db::Transaction& tx) {
        return registry::start_job(tx, Digest::parse(id).value(), {}, clock_.now_ms());
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    const auto pause_because = [&](const std::string& why) {
        const Status paused = database_.owner().transact([&](db::Transaction& tx) {
            return registry::set_job_status(tx, Digest::parse(id).value(),
                                            registry::JobStatus::kPaused, why, clock_.now_ms());
        });
        ASSERT_TRUE(paused.ok()) << paused.error().message;
    };
    const std::string resume = "`gym job resume " + id.substr(0, 10) + "` continues it";
    pause_because("paused by its owner");
    EXPECT_NE(gym({"job", "status", id}).out.find(resume), std::string::npos);
    pause_because("budget: `gym job fund` adds to it and resumes the job");
    EXPECT_EQ(gym({"job", "status", id}).out.find(resume), std::string::npos);
    const auto cancel = gym({"job", "cancel", id});
    EXPECT_EQ(cancel.exit_code, 0) << cancel.err;
    EXPECT_NE(gym({"job", "list"}).out.find("asked to cancel"), std::string::npos);
    const auto steered = database_.owner().transact(
        [&](db::Transaction& tx) { return registry::get_job(tx, Digest::parse(id).value()); });
    EXPECT_EQ(steered.value().request, registry::JobRequest::kCancel);
}

TEST_F(JobCommandsTest, OrdersAreSignedForTheStoredNetwork) {
    ::unsetenv("GYM_API");
    ::unsetenv("GYM_DEPLOYMENT");
    auto profile = profile::testing::sample_profile();
    profile.contracts.chain_id = testing::kNetwork.chain_id;
    profile.contracts.escrow = testing::kNetwork.escrow;
    profile.api = "http://127.0.0.1:" + std::to_string(server_->port());
    profile::StoredNetwork network;
    network.name = "mine";
    network.url = profile.api;
    network.chain_rpc = profile.chain_rpc[0];
    network.signed_profile = profile::sign(profile, profile::testing::operator_key());
    const profile::Store store({place_ / ".gym"});
    ASSERT_TRUE(store.save(network).ok());
    deposit(owner_, "100", "d1");
    const auto submitted =
        gym({"job", "submit", job_file(), "--licence", "CC0-1.0", "--network", "mine", "--json"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const std::string id(parse_line(submitted.out).at("id").as_string());
    EXPECT_EQ(gym({"job", "fund", id, "1", "--network", "mine"}).exit_code, 0);
    ASSERT_TRUE(store.set_default("mine").ok());
    const auto by_default = gym({"job", "fund", id, "1"});
    EXPECT_EQ(by_default.exit_code, 0) << by_default.err;
}

TEST_F(JobCommandsTest, AJobBeginsFromExportedWeights) {
    deposit(owner_, "200", "d1");
    // A state as a run leaves it, and its weights as others read them.
    const std::string program = (place_ / "p.gym").string(), state = (place_ / "s").string();
    const fs::path folder = place_ / "weights";
    fs::create_directory(folder);
    const std::string weights = (folder / "model.safetensors").string();
    ASSERT_EQ(gym({"program", "build", (place_ / "model.yaml").string(), "-o", program}).exit_code,
              0);
    ASSERT_EQ(gym({"program", "run", program, "--data", (place_ / "text.txt").string(), "--steps",
                   "2", "--state", state})
                  .exit_code,
              0);
    const auto exported =
        gym({"program", "export-weights", program, "--state", state, "-o", weights, "--json"});
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    const std::string root(parse_line(exported.out).at("base_root").as_string());

    write_job("init: weights\n");
    const auto lacking = gym({"job", "submit", job_file(), "--licence", "MIT"});
    EXPECT_NE(lacking.exit_code, 0);
    EXPECT_NE(lacking.err.find("no config.json"), std::string::npos) << lacking.err;
    spill(folder / "config.json", R"({"model_type": "gpt2", "n_head": 1})");
    const auto first = gym({"job", "submit", job_file(), "--licence", "MIT", "--json"});
    ASSERT_EQ(first.exit_code, 0) << first.err << first.out;
    EXPECT_EQ(parse_line(first.out).at("init_root").as_string(), root);
    EXPECT_NE(first.err.find("uploading the weights"), std::string::npos) << first.err;
    const Digest id = backend().jobs({}).value().front().id;
    const registry::Job job = backend().job(id).value().job;  // lists leave the job file out
    ASSERT_TRUE(job.init);
    EXPECT_EQ(job.init->root.hex(), root);
    const Bytes kept = blobs_.get(job.init->blob).value();
    EXPECT_EQ(engine::state_root(engine::decode_state(kept).value()).hex(), root);
    EXPECT_NE(job.spec_yaml.find("init: \"" + root + "\""), std::string::npos) << job.spec_yaml;

    // The state that the run left has the same weights: nothing is uploaded again.
    write_job("init: s   # of the run\n");
    const auto again = gym({"job", "submit", job_file(), "--again", "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(parse_line(again.out).at("init_root").as_string(), root);
    EXPECT_EQ(again.err.find("uploading"), std::string::npos) << again.err;
    EXPECT_EQ(count("api.upload"), 1U);

    // What submission refuses has no quote.
    const std::string whole = gym::testing::slurp(weights);
    spill(place_ / "nan.safetensors", whole.substr(0, whole.size() - 4) + "\xFF\xFF\xFF\xFF");
    spill(place_ / "random", "no weights at all, but bytes");
    for (const auto& [file, words] :
         {std::pair{"nan.safetensors", "NaN or infinite"}, std::pair{"random", "random"}}) {
        write_job(std::string("init: ") + file + "\n");
        const auto quoted = gym({"job", "quote", job_file()});
        EXPECT_NE(quoted.exit_code, 0) << file;
        EXPECT_NE(quoted.err.find(words), std::string::npos) << quoted.err;
    }
}

TEST_F(JobCommandsTest, WeightsOfAnotherTokenizerAreRefusedBeforeAnythingIsSent) {
    deposit(owner_, "200", "d1");
    const auto succeed = [&](const std::vector<std::string>& arguments) {
        const auto done = gym(arguments);
        EXPECT_EQ(done.exit_code, 0) << done.err << done.out;
    };
    const auto path = [&](const char* name) { return (place_ / name).string(); };
    auto merges = gym::testing::small_merges();
    for (const char* name : {"own", "other"}) {
        fs::create_directory(place_ / name);
        spill(place_ / name / "tokenizer.json",
              json::serialize(gym::testing::small_tokenizer_json(merges)));
        merges.pop_back();
        succeed({"data", "build", "--steps", "none", "--tokenizer", path(name), path("text.txt"),
                 "-o", path(name) + ".tokens"});
    }
    spill(place_ / "wide.yaml",
          "batch: 2\nmodel: {vocabulary: 300, context: 16, layers: 1, heads: 1, width: 16}\n");
    succeed({"program", "build", path("wide.yaml"), "-o", path("wide.gym")});
    succeed({"program", "run", path("wide.gym"), "--data", path("own.tokens"), "--steps", "1",
             "--state", path("s")});
    succeed({"program", "export", path("wide.gym"), "--state", path("s"), "-o", path("weights")});
    const auto ask = [&](const char* command, const char* data) {
        spill(place_ / "job.yaml",
              std::string("name: two tokenizers\nmodel: wide.yaml\ndataset: ") + data +
                  "\nrounds: 3\nslots: 2\nsteps_per_round: 4\n"
                  "price_per_pflop: 2\nbudget: 40\ninit: weights\n");
        std::vector<std::string> arguments{"job", command, job_file()};
        if (command == std::string("submit"))
            arguments.insert(arguments.end(), {"--licence", "MIT"});
        return gym(arguments);
    };
    const auto datasets = count("registry.dataset");
    for (const char* command : {"quote", "submit"}) {
        const auto refused = ask(command, "other.tokens");
        EXPECT_EQ(refused.exit_code, 3) << command << refused.err;
        EXPECT_NE(refused.err.find("the weights have the tokenizer 0x"), std::string::npos)
            << refused.err;
    }
    EXPECT_EQ(count("api.upload"), 0U) << "the weights were sent";
    EXPECT_EQ(count("registry.dataset"), datasets) << "the data was registered";
    // Also of a dataset that only the network has, by its name.
    succeed({"data", "register", path("other.tokens"), "--yes", "--licence", "MIT", "--as",
             "other-words"});
    const auto named = ask("quote", "other-words");
    EXPECT_EQ(named.exit_code, 3) << named.err;
    EXPECT_EQ(ask("quote", "own.tokens").exit_code, 0);
}

TEST_F(JobCommandsTest, AKeystoreOfAnotherAccountThanTheKeysIsNamedBeforeAnythingIsSent) {
    deposit(owner_, "100", "d1");
    hold_key(2);
    const auto submitted = gym({"job", "submit", job_file(), "--licence", "MIT"});
    EXPECT_EQ(submitted.exit_code, 5);
    EXPECT_NE(submitted.err.find("your keystore is " + testing::address_of(2).hex() +
                                 ", the API key belongs to " + owner_.hex()),
              std::string::npos)
        << submitted.err;
    EXPECT_EQ(count("registry.dataset"), 1U);
}

TEST_F(JobCommandsTest, WeightsThatAreNotThereAreSaidBeforeAnythingIsSent) {
    deposit(owner_, "100", "d1");
    write_job("init: nowhere\n");
    for (const char* command : {"quote", "submit"}) {
        const auto outcome = gym({"job", command, job_file(), "--json"});
        EXPECT_NE(outcome.exit_code, 0);
        EXPECT_NE(outcome.out.find("'init' names"), std::string::npos) << outcome.out;
    }
    write_job("init: job:abcd\n");
    for (const char* command : {"quote", "submit"}) {
        const auto outcome = gym({"job", command, job_file(), "--json"});
        EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
        EXPECT_NE(outcome.out.find("no job has an id that begins with 0xabcd"), std::string::npos)
            << outcome.out;
    }
    ::unsetenv("GYM_API_KEY");
    const auto keyless = gym({"job", "quote", job_file()});
    EXPECT_EQ(keyless.exit_code, 0) << keyless.err;
    EXPECT_NE(keyless.out.find("the weights of job:abcd fit the model is not checked: that needs "
                               "an API key"),
              std::string::npos)
        << keyless.out << keyless.err;
    EXPECT_EQ(count("registry.dataset"), 1U);
}

TEST_F(JobCommandsTest, APartOfAMixThatIsNeitherFileNorNameIsSaidToBeBoth) {
    gym::testing::spill(place_ / "mix.yaml",
                        "name: a mix\nmodel: model.yaml\nrounds: 3\nslots: 2\nsteps_per_round: 4\n"
                        "price_per_pflop: 2\nbudget: 40\ndata:\n"
                        "  - {dataset: text.txt, weight: 0.5}\n"
                        "  - {dataset: other.txt, weight: 0.5}\n");
    const std::string says = "'data': there is no file " + (place_ / "other.txt").string() +
                             ", and as a dataset's name: ";
    for (const char* command : {"quote", "submit"}) {
        const auto outcome = gym({"job", command, (place_ / "mix.yaml").string()});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    }
}

TEST_F(JobCommandsTest, TheStoredJobIsSelfContained) {
    deposit(owner_, "100", "d1");
    const auto submitted = gym({"job", "submit", job_file(), "--licence", "MIT", "--json"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const auto jobs = backend().jobs({}).value();
    ASSERT_EQ(jobs.size(), 1U);
    const std::string stored = backend().job(jobs[0].id).value().job.spec_yaml;
    EXPECT_NE(stored.find("context: 16"), std::string::npos) << stored;
    EXPECT_EQ(stored.find("text.txt"), std::string::npos) << stored;
    const auto dataset = blob::Dataset::build_from_text(as_bytes(std::string(4'000, 'z'))).value();
    EXPECT_EQ(jobs[0].dataset_root, dataset.root());
}

TEST_F(JobCommandsTest, RefusalsHaveTheirExitCodes) {
    const auto unlicensed = gym({"job", "submit", job_file()});
    EXPECT_EQ(unlicensed.exit_code, 2);
    EXPECT_NE(unlicensed.err.find("is not registered: say under which licence with --licence"),
              std::string::npos)
        << unlicensed.err;
    EXPECT_EQ(count("registry.dataset"), 1U) << "the fixture's";
    EXPECT_EQ(gym({"job", "submit", job_file(), "--licence", "MIT"}).exit_code, 5) << "no money";
    write_job("roundz: 1\n");
    const auto unknown = gym({"job", "submit", job_file()});
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_NE(unknown.err.find("'roundz' is not a known key"), std::string::npos) << unknown.err;
    write_job("");
    ::setenv("GYM_API_KEY", "gym_wrong", 1);
    const auto wrong_key = gym({"job", "submit", job_file()});
    EXPECT_EQ(wrong_key.exit_code, 5) << wrong_key.err;
    ::unsetenv("GYM_API_KEY");
    EXPECT_EQ(gym({"job", "submit", job_file()}).exit_code, 5) << "no key";
    EXPECT_EQ(gym({"job", "status", "7"}).exit_code, 2);
    EXPECT_EQ(gym({"job", "status", std::string(64, '7')}).exit_code, 1) << "no such job";
    server_->stop(0);
    EXPECT_EQ(gym({"job", "status", std::string(64, '7')}).exit_code, 4) << "nobody there";
    EXPECT_EQ(count("registry.job"), 0U);
}

TEST_F(JobCommandsTest, WatchFollowsAJobToItsEnd) {
    deposit(owner_, "100", "d1");
    const auto job = submit({owner_, "k", testing::job_spec(dataset_)}).value().job;
    const gym::testing::Command watching(place_, {"job", "watch", job.id.hex()});
    const Status ended = database_.owner().transact([&](db::Transaction& tx) {
        return registry::set_job_status(tx, job.id, registry::JobStatus::kFailed,
                                        "the dataset is gone", clock_.now_ms());
    });
    ASSERT_TRUE(ended.ok()) << ended.error().message;
    const auto outcome = watching.wait();
    EXPECT_EQ(outcome.exit_code, 1) << "a job that failed is a failure";
    EXPECT_NE(outcome.out.find("the dataset is gone"), std::string::npos) << outcome.out;
}

TEST_F(JobCommandsTest, QuoteNeedsNobody) {
    server_->stop(0);
    const auto quote = gym({"job", "quote", job_file(), "--json"});
    ASSERT_EQ(quote.exit_code, 0) << quote.err;
    const json::object object = parse_line(quote.out);
    EXPECT_TRUE(object.at("data_price_wei_per_mtoken").is_null());
    EXPECT_NE(gym({"job", "quote", job_file()}).out.find("price unknown"), std::string::npos);
    EXPECT_GT(object.at("flops_per_step").to_number<std::uint64_t>(), 0U);
    for (const char* key : {"most_wei", "most_of_a_round_wei", "rounds_covered", "data_wei"})
        EXPECT_TRUE(object.at(key).is_null()) << key;
    EXPECT_NE(gym({"job", "quote", job_file()})
                  .out.find("at most            unknown: the data's price is missing"),
              std::string::npos);
}

TEST_F(JobCommandsTest, ADatasetIsOfferedShownAndItsPriceQuotedBeforeItIsPaid) {
    const auto text = (place_ / "text.txt").string();
    const auto offered = gym({"data", "register", text, "--name", "zzz", "--licence",
                              "LicenseRef-z OR CC0-1.0", "--price", "2.5", "--json"});
    ASSERT_EQ(offered.exit_code, 0) << offered.err << offered.out;
    const json::object record = parse_line(offered.out);
    const std::string root(record.at("root").as_string());
    EXPECT_EQ(record.at("licence").as_string(), "LicenseRef-z OR CC0-1.0");
    EXPECT_EQ(record.at("price_wei_per_mtoken").as_string(), "2500000000000000000");
    EXPECT_EQ(record.at("owner").as_string(), owner_.hex());

    const auto shown = gym({"data", "show", root});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    for (const char* line :
         {"licence            LicenseRef-z OR CC0-1.0", "tokens             4000",
          "price              2.5 GYM per million tokens of text", "novelty            0 %",
          "usefulness         50 %, the network's default", "quality            0 %"})
        EXPECT_NE(shown.out.find(line), std::string::npos) << line << " in:\n" << shown.out;
    const auto list = gym({"data", "list"});
    EXPECT_NE(list.out.find(root + "          4000 tokens  2.5 GYM per million, quality 0 %  "
                                   "LicenseRef-z OR CC0-1.0  zzz"),
              std::string::npos)
        << list.out;
    EXPECT_EQ(gym({"data", "list", "--owner", testing::address_of(9).hex()}).out, "no datasets\n");

    const auto quoted = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    EXPECT_EQ(quoted.at("data_price_wei_per_mtoken").as_string(), "2500000000000000000");
    EXPECT_EQ(quoted.at("data_quality_ppm").to_number<int>(), 0);
    deposit(owner_, "100", "d1");
    const auto unasked = gym({"job", "submit", job_file()});
    EXPECT_EQ(unasked.exit_code, 5) << "nobody agreed to a price";
    EXPECT_NE(unasked.err.find("costs 2.5 GYM per million tokens of text, and the job agrees "
                               "to none: --max-data-price 2.5"),
              std::string::npos)
        << unasked.err;
    write_job("max_data_price: 2.4\n");
    EXPECT_EQ(gym({"job", "submit", job_file()}).exit_code, 5);
    const auto misnamed =
        gym({"job", "submit", job_file(), "--max-data-price", "2.5", "--licence", "CC0-1.0"});
    EXPECT_EQ(misnamed.exit_code, 5);
    EXPECT_NE(misnamed.err.find("is registered under LicenseRef-z OR CC0-1.0, not under CC0-1.0"),
              std::string::npos)
        << misnamed.err;
    EXPECT_EQ(gym({"job", "submit", job_file(), "--max-data-price", "much"}).exit_code, 2);
    EXPECT_EQ(count("registry.job"), 0U);
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "100") << "nothing locked";
    const auto machine = parse_line(gym({"job", "submit", job_file(), "--max-data-price", "2.5",
                                         "--idempotency-key", "k", "--json"})
                                        .out);
    EXPECT_EQ(machine.at("data_price_wei_per_mtoken").as_string(), "2500000000000000000");
    EXPECT_EQ(machine.at("data_licence").as_string(), "LicenseRef-z OR CC0-1.0");
    const auto submitted =
        gym({"job", "submit", job_file(), "--max-data-price", "2.5", "--idempotency-key", "k"});
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    EXPECT_LT(submitted.out.find("data               2.5 GYM per million tokens of text, "
                                 "quality 0 % (zzz, LicenseRef-z OR CC0-1.0)"),
              submitted.out.find("job  "))
        << submitted.out;
}

TEST_F(JobCommandsTest, AQuoteAndASubmissionSayWhatTheNetworkTakes) {
    const auto unknown = gym({"job", "quote", job_file()});
    EXPECT_NE(unknown.out.find("fee                unknown: "), std::string::npos) << unknown.out;
    EXPECT_NE(unknown.out.find("at most            unknown: "), std::string::npos) << unknown.out;
    publish_terms(0);
    const auto free = gym({"job", "quote", job_file()});
    EXPECT_NE(free.out.find("fee                none\n"), std::string::npos) << free.out;
    EXPECT_NE(free.out.find("data               not registered"), std::string::npos) << free.out;
    const auto before = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    publish_terms(400'000);  // more than 2.5 covers
    const auto after = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    EXPECT_EQ(after.at("fee_ppm").to_number<int>(), 400'000);
    EXPECT_EQ(after.at("fee_burned_ppm").to_number<int>(), 500'000);
    EXPECT_FALSE(after.at("data_registered").as_bool());
    const auto wei = [](const json::object& quote, const char* key) {
        return Amount::parse(std::string(quote.at(key).as_string())).value();
    };
    EXPECT_GT(wei(after, "most_wei"), wei(before, "most_wei"));
    deposit(owner_, "100", "d1");
    const auto submitted = gym({"job", "submit", job_file(), "--licence", "MIT"});
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    EXPECT_NE(submitted.out.find("fee                40 % on top of the cost of the work, 50 % of "
                                 "it burned"),
              std::string::npos)
        << submitted.out;
}

TEST_F(JobCommandsTest, TheDataOfAQuoteIsPartOfTheMost) {
    std::mt19937_64 random(gym::testing::random_seed());
    std::string text;
    for (int i = 0; i < 20'000; ++i)
        text.push_back(static_cast<char>('a' + random() % 26));
    spill(place_ / "text.txt", text);
    publish_terms(0);
    const auto before = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    EXPECT_EQ(before.at("data_wei").as_string(), "0") << "nobody has registered it";
    ASSERT_EQ(gym({"data", "register", (place_ / "text.txt").string(), "--licence", "MIT",
                   "--price", "1000"})
                  .exit_code,
              0);
    const auto after = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    const auto wei = [](const json::object& quote, const char* key) {
        return Amount::parse(std::string(quote.at(key).as_string())).value();
    };
    // 3 rounds of 2 units of 4 steps of 2 windows of 16 tokens.
    const Amount tokens(3 * 2 * 4 * 2 * 16);
    const Amount expected =
        tokens.mul_div(Amount(after.at("data_quality_ppm").as_int64()), Amount(1))
            .value()
            .mul_div(wei(after, "data_price_wei_per_mtoken"), Amount(1'000'000'000'000))
            .value();
    EXPECT_FALSE(expected.is_zero());
    EXPECT_EQ(wei(after, "data_wei"), expected);
    EXPECT_EQ(wei(after, "most_wei"), wei(before, "most_wei").plus(expected).value());
    EXPECT_NE(gym({"job", "quote", job_file()})
                  .out.find("the job accepts 0 GYM per million: it is refused without "
                            "--max-data-price 1000"),
              std::string::npos);
}

TEST_F(JobCommandsTest, WhatCanNeverBeChangedNeedsAWordMoreWhereItLooksLikeAMistake) {
    const std::string text = (place_ / "text.txt").string();
    const auto mine = [&] { return gym({"data", "list", "--owner", owner_.hex()}).out; };
    const std::string before = mine();
    const auto mistyped = gym({"data", "register", text, "--licence", "CC0-1.0 OR MTI"});
    EXPECT_EQ(mistyped.exit_code, 2) << mistyped.out;
    EXPECT_NE(mistyped.err.find("'MTI' is not an SPDX identifier; near ones are MIT"),
              std::string::npos)
        << mistyped.err;
    spill(place_ / "short.txt", "abc");
    const auto worthless = gym(
        {"data", "register", (place_ / "short.txt").string(), "--licence", "MIT", "--price", "5"});
    EXPECT_EQ(worthless.exit_code, 5) << worthless.out;
    EXPECT_NE(worthless.err.find("its quality is 0 %"), std::string::npos) << worthless.err;
    EXPECT_EQ(mine(), before);
    EXPECT_EQ(gym({"data", "register", (place_ / "short.txt").string(), "--licence", "MIT",
                   "--price", "5", "--yes"})
                  .exit_code,
              0);
    const auto useless = gym({"data", "register", text, "--licence", "MIT", "--price", "5"});
    EXPECT_EQ(useless.exit_code, 0);
    EXPECT_NE(useless.err.find("earns nothing at any price"), std::string::npos) << useless.err;
}

TEST_F(JobCommandsTest, TheFirstDigitsOfAnIdAreEnough) {
    deposit(owner_, "100", "d1");
    const auto job = submit({owner_, "k", testing::job_spec(dataset_)}).value().job;
    const std::string id = job.id.hex();
    for (const std::string& prefix : {id.substr(0, 8), id.substr(2, 6)}) {
        const auto shown = gym({"job", "status", prefix, "--json"});
        ASSERT_EQ(shown.exit_code, 0) << shown.err;
        EXPECT_EQ(parse_line(shown.out).at("id").as_string(), id);
    }
    const auto data = gym({"data", "show", dataset_.hex().substr(0, 8), "--json"});
    ASSERT_EQ(data.exit_code, 0) << data.err;
    EXPECT_EQ(parse_line(data.out).at("root").as_string(), dataset_.hex());
    const auto other = gym({"job", "status", id[2] == 'f' ? "0xeeeeeeee" : "0xffffffff"});
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_NE(other.err.find("no job has an id that begins with 0x"), std::string::npos)
        << other.err;
    EXPECT_EQ(gym({"job", "status", "0x12"}).exit_code, 2);
}

TEST_F(JobCommandsTest, BadOffersAreRefusedWithTheirReasons) {
    const std::string text = (place_ / "text.txt").string();
    const auto refused = [&](std::vector<std::string> more, int exit_code, const char* part) {
        std::vector<std::string> command{"data", "register"};
        command.insert(command.end(), more.begin(), more.end());
        const auto outcome = gym(command);
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
        EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    };
    refused({text}, 2, "no licence is given");
    refused({text, "--licence", "MIT OR"}, 2, "no licence identifier: the end");
    refused({text, "--licence", "MIT", "--price", "cheap"}, 2,
            "GYM for a million tokens of text, like --price 0.25; 0: free");
    refused({text, "--licence", "banana"}, 2, "'banana' is not an SPDX identifier");
    refused({text, "--licence", "MIT", "--price", "-1"}, 2, "");
    refused({text, "--licence", "MIT", "--price", "1000000000001"}, 2, "at most 1000000000000");
    refused({text, "--licence", "MIT", "--name", std::string(129, 'n')}, 2, "1 to 128 bytes");
    refused({(place_ / "none").string(), "--licence", "MIT"}, 1, "none");
    EXPECT_EQ(gym({"data", "register", text, "--licence", "MIT", "--price", "1"}).exit_code, 0);
    refused({text, "--licence", "MIT", "--price", "2"}, 5, "neither changes afterwards");
    const auto unknown = gym({"data", "show", std::string(64, '7')});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_NE(unknown.err.find("is not registered"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace gym::api
