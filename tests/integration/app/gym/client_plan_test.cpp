// `gym job quote` and `gym job submit` in the owner's units, against a real gym-api.
#include <map>
#include <string>

#include "gym/program/train_config_yaml.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/rounds.hpp"
#include "job_commands_fixture.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;
using gym::testing::spill;
using testing::address_of;

/// Worth many units of every job here.
const Amount kLongRecord = Amount::parse("1" + std::string(60, '0')).value();

class JobPlanTest : public testing::JobCommandsTest {
  protected:
    /// Live nodes of 1 GFLOP/s; workers whose records are worth `valid_value`.
    void add_nodes(std::uint8_t workers, const Amount& valid_value) {
        const Status added = database_.owner().transact([&](db::Transaction& tx) -> Status {
            for (std::uint8_t i = 0; i <= workers; ++i) {
                registry::NewNode node;
                node.address = node.owner = address_of(static_cast<std::uint8_t>(100 + i));
                node.name = "node";
                node.profile.role =
                    i == workers ? records::NodeRole::kVerifier : records::NodeRole::kWorker;
                node.profile.device = "cpu";
                node.profile.memory_bytes = 1 << 20;
                node.profile.flops_per_second = 1'000'000'000;
                GYM_CHECK(registry::register_node(tx, node, clock_.now_ms()));
            }
            GYM_CHECK(tx.exec("UPDATE registry.node SET valid_value = $1", {valid_value}));
            return {};
        });
        ASSERT_TRUE(added.ok()) << added.error().message;
    }
    /// As a coordinator aggregates the first round.
    void train_a_round(const Digest& job) {
        const Status trained = database_.owner().transact([&](db::Transaction& tx) -> Status {
            const registry::StateRef state{job, job};
            registry::JobArtifacts made;
            made.base_state_root = made.base_state_blob = job;
            made.tokens_per_step = 32;
            GYM_CHECK(registry::start_job(tx, job, made, 1));
            protocol::RoundRecord record;
            record.job_id = record.base_state_root = job;
            record.round = 1;
            record.checkpoint_every = 4;
            record.slots = {{0, address_of(7), kPpm, 4}};
            GYM_CHECK(registry::record_round(tx, record, state, state, 1));
            GYM_CHECK(registry::open_round(tx, job, 1, 2, 1));
            GYM_CHECK(registry::seal_round(tx, job, 1, Digest{}, 1, 1));
            GYM_CHECK(registry::mark_posted(tx, job, 1, 1, {2, {}}));
            GYM_CHECK(registry::set_beacon(tx, job, 1, Digest{}));
            return registry::set_aggregated(tx, job, 1, {state, state, {}, {}, 2.5}, 1);
        });
        ASSERT_TRUE(trained.ok()) << trained.error().message;
    }
    std::vector<std::string> wishes(const char* verb, const char* tokens = "1e6",
                                    const char* nodes = "2") const {
        return {"job",      verb,
                "--model",  (place_ / "model.yaml").string(),
                "--data",   (place_ / "text.txt").string(),
                "--tokens", tokens,
                "--nodes",  nodes};
    }
    static std::vector<std::string> with(std::vector<std::string> command,
                                         const std::vector<std::string>& more) {
        command.insert(command.end(), more.begin(), more.end());
        return command;
    }
};

TEST_F(JobPlanTest, AJobIsSubmittedWithoutAJobFile) {
    publish_terms(0);
    add_nodes(2, Amount());
    deposit(owner_, "100", "d1");
    const auto submitted = gym(with(
        wishes("submit"), {"--max-cost", "50", "--price", "20", "--licence", "MIT", "--json"}));
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    EXPECT_EQ(parse_line(submitted.out).at("name").as_string(), "model on text.txt");
    const auto jobs = backend().jobs({}).value();
    ASSERT_EQ(jobs.size(), 1U);
    const registry::JobTerms& terms = jobs[0].terms;
    EXPECT_EQ(terms.slots_max, 2U);
    EXPECT_EQ(terms.price_wei_per_pflop.to_tokens(), "20");
    EXPECT_GE(terms.rounds * terms.slots_max * terms.steps * 32, 1'000'000U);
    EXPECT_LE(jobs[0].budget_wei, Amount::parse_tokens("50").value());
    const std::string stored = backend().job(jobs[0].id).value().job.spec_yaml;
    EXPECT_EQ(stored.find((place_ / "").string()), std::string::npos)
        << "the job says nothing about its owner's disk: " << stored;
    EXPECT_TRUE(registry::parse_submitted_spec(stored, "stored").ok());
}

TEST_F(JobPlanTest, AQuoteExplainsThePlan) {
    publish_terms(0);
    publish_sizes({std::uint64_t{1} << 30, std::uint64_t{1} << 40});
    add_nodes(2, kLongRecord);
    const auto quote = gym(with(wishes("quote"), {"--max-cost", "50", "--price", "20"}));
    ASSERT_EQ(quote.exit_code, 0) << quote.err;
    for (const char* part :
         {"plan               1,0", " rounds x 2 workers x 489 steps x 32 tokens",
          "slots               2             the nodes that you want",
          "price_per_pflop     20 GYM        as you say",
          "price              20 GYM per PFLOP (as you say)", "verification       9.",
          "time               ", "(2 workers live; a unit takes ",
          "memory             each worker needs ", " of memory, on a GPU ",
          "on this machine (50.0 GFLOP/s by `gym node bench`)"})
        EXPECT_NE(quote.out.find(part), std::string::npos) << part << " in:\n" << quote.out;
    EXPECT_EQ(quote.out.find("in a cloud"), std::string::npos) << "below a cent: " << quote.out;
    const auto long_job = gym(with(wishes("quote", "3e10"), {"--price", "20", "--no-bench"}));
    for (const char* part : {"on one A100 80GB", "(assumed: $5.12 an hour, AWS p4de.24xlarge"})
        EXPECT_NE(long_job.out.find(part), std::string::npos) << part << " in:\n" << long_job.out;
    // What the job costs at most, and the budget that pays it, are rounded the same way.
    const auto money_after = [&](const std::string& row) {
        const std::size_t at = long_job.out.find("\n" + row);
        EXPECT_NE(at, std::string::npos) << row << " in:\n" << long_job.out;
        const std::size_t begin = long_job.out.find_first_of("0123456789", at);
        return long_job.out.substr(begin, long_job.out.find(' ', begin) - begin);
    };
    EXPECT_EQ(money_after("budget "), money_after("at most "));
    const json::object machine =
        parse_line(gym(with(wishes("quote"), {"--max-cost", "50", "--price", "20", "--cloud-price",
                                              "2.5", "--json"}))
                       .out);
    EXPECT_LT(machine.at("verification_ppm").to_number<int>(), 100'000);
    EXPECT_GT(machine.at("verification_untrusted_ppm").to_number<int>(), 1'100'000);
    EXPECT_LT(machine.at("minutes_low").to_number<double>(),
              machine.at("minutes_high").to_number<double>());
    EXPECT_EQ(machine.at("workers_live").to_number<int>(), 2);
    EXPECT_GE(machine.at("worker_gpu_memory_bytes").to_number<std::uint64_t>(),
              machine.at("worker_memory_bytes").to_number<std::uint64_t>());
    EXPECT_EQ(machine.at("cloud").at("usd_per_hour").to_number<double>(), 2.5);
    EXPECT_EQ(machine.at("machine_flops_per_second").to_number<std::uint64_t>(), 50'000'000'000U);
    EXPECT_GE(machine.at("training_tokens").to_number<std::uint64_t>(), 1'000'000U);
    const auto amount = [&](const char* key) {
        return Amount::parse(std::string(machine.at(key).as_string())).value();
    };
    EXPECT_LT(amount("expected_wei"), amount("most_wei"));
    EXPECT_LE(amount("budget_wei"), Amount::parse_tokens("50").value());
    const json::array& terms = machine.at("plan").at("terms").as_array();
    EXPECT_EQ(terms.size(), 20U);
    std::map<std::string, std::string> values;
    for (const json::value& term : terms)
        values.emplace(std::string(term.at("term").as_string()),
                       std::string(term.at("value").as_string()));
    EXPECT_EQ(values["delta_norm_factor"], "4");
    EXPECT_EQ(values["elastic.quorum_ppm"], "500000") << "of two workers";
    EXPECT_EQ(values["elastic.grace_ms"], "15000") << "of short units";
    for (const char* term : {"adapt_steps", "hold_drawn", "accept_late"})
        EXPECT_EQ(values[std::string("elastic.") + term], "true") << term;
    EXPECT_EQ(values["outer.momentum"], "0.69") << "of few rounds";
    EXPECT_EQ(values["compression"], "dense-4bit");
    EXPECT_EQ(values["update"], "dense-4bit");
    EXPECT_TRUE(machine.at("plan").at("shortage").is_null());
    // What is quoted can be kept as a job file, which then needs no plan.
    spill(place_ / "kept.yaml", std::string(machine.at("spec").as_string()));
    const json::object kept =
        parse_line(gym({"job", "quote", (place_ / "kept.yaml").string(), "--json"}).out);
    EXPECT_EQ(kept.at("flops"), machine.at("flops"));
    EXPECT_EQ(kept.at("budget_wei"), machine.at("budget_wei"));
    EXPECT_FALSE(kept.contains("plan"));
}

TEST_F(JobPlanTest, AnOverlapIsWarnedOfByQuoteAndSubmission) {
    publish_terms(0);
    add_nodes(2, kLongRecord);
    deposit(owner_, "100", "d1");
    const char* const cost = "the loss ended 20 % higher with it";
    const std::vector<std::string> more{"--max-cost", "50",    "--price",
                                        "20",         "--set", "elastic.overlap=1"};
    const auto quote = gym(with(wishes("quote"), more));
    ASSERT_EQ(quote.exit_code, 0) << quote.err;
    EXPECT_NE(quote.out.find(cost), std::string::npos) << quote.out;
    const json::object planned = parse_line(gym(with(with(wishes("quote"), more), {"--json"})).out);
    ASSERT_EQ(planned.at("warnings").as_array().size(), 1U);
    EXPECT_NE(planned.at("warnings").at(0).as_string().find(cost), std::string::npos);
    const std::string spec(planned.at("spec").as_string());
    EXPECT_NE(spec.find("learning_rate: 0.4"), std::string::npos) << spec;
    // A job file that leaves nothing to the plan keeps its outer step, and is warned of it.
    spill(place_ / "kept.yaml", spec);
    const auto warnings = [&](const std::vector<std::string>& sets) {
        return parse_line(
                   gym(with({"job", "quote", (place_ / "kept.yaml").string(), "--json"}, sets)).out)
            .at("warnings")
            .as_array();
    };
    EXPECT_EQ(warnings({}).size(), 1U);
    const json::array two =
        warnings({"--set", "model.outer.learning_rate=0.7", "--set", "model.outer.momentum=0.9"});
    ASSERT_EQ(two.size(), 2U);
    EXPECT_NE(two[1].as_string().find("too large where rounds overlap"), std::string::npos);
    const auto submitted = gym(with(with(wishes("submit"), more), {"--licence", "MIT", "--json"}));
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const json::object answer = parse_line(submitted.out);
    ASSERT_EQ(answer.at("warnings").as_array().size(), 1U) << submitted.out;
    EXPECT_NE(answer.at("warnings").at(0).as_string().find(cost), std::string::npos);
    const auto jobs = backend().jobs({}).value();
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].terms.elastic.overlap, 1U);
    const auto late = gym(with(wishes("quote"), with(more, {"--set", "elastic.accept_late=true"})));
    EXPECT_NE(late.exit_code, 0);
    EXPECT_NE(late.err.find("'overlap' must be 0 with accept_late"), std::string::npos) << late.err;
}

TEST_F(JobPlanTest, TokensThatTodaysWorkersDoNotTrainAreSaidBeforeAndAfter) {
    publish_terms(0);
    add_nodes(2, Amount());
    deposit(owner_, "100", "d1");
    const char* const few = "2 of the 50 workers are live now; with today's 2 workers: 256 of ";
    // An owner who insists on the slots: with --nodes the plan is for those that are live.
    const auto many = [&](const char* verb, const std::vector<std::string>& more) {
        return gym(with({"job", verb, "--model", (place_ / "model.yaml").string(), "--data",
                         (place_ / "text.txt").string(), "--tokens", "6400", "--set", "slots=50",
                         "--price", "20"},
                        more));
    };
    EXPECT_NE(many("quote", {"--no-bench"}).out.find(few), std::string::npos);
    const json::object quoted = parse_line(many("quote", {"--no-bench", "--json"}).out);
    ASSERT_EQ(quoted.at("warnings").as_array().size(), 1U);
    EXPECT_TRUE(quoted.at("warnings").at(0).as_string().starts_with(few)) << quoted.at("warnings");
    EXPECT_EQ(quoted.at("training_tokens_today").to_number<int>(), 256);
    EXPECT_EQ(quoted.at("training_tokens").to_number<int>(), 6'400);
    // A job file that leaves nothing to the planner is told the same.
    spill(place_ / "kept.yaml", std::string(quoted.at("spec").as_string()));
    const auto kept = gym({"job", "quote", (place_ / "kept.yaml").string(), "--json"});
    EXPECT_EQ(parse_line(kept.out).at("warnings"), quoted.at("warnings")) << kept.err;
    const auto submitted = many("submit", {"--licence", "MIT"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    EXPECT_NE(submitted.err.find(few), std::string::npos) << submitted.err;
    const auto again = many("submit", {"--again", "--json"});
    EXPECT_EQ(parse_line(again.out).at("warnings"), quoted.at("warnings")) << again.err;
    const Digest job = backend().jobs({}).value().front().id;
    train_a_round(job);
    const auto status = gym({"job", "status", job.hex()});
    EXPECT_NE(status.out.find("of 6,400 are trained"), std::string::npos) << status.out;
    const json::object shown = parse_line(gym({"job", "status", job.hex(), "--json"}).out);
    EXPECT_EQ(shown.at("tokens_planned").to_number<int>(), 6'400);
    EXPECT_EQ(shown.at("tokens_trained").to_number<int>() % 32, 0);
    EXPECT_GT(shown.at("tokens_trained").to_number<int>(), 0);
    const json::object beside = parse_line(many("quote", {"--no-bench", "--json"}).out);
    EXPECT_EQ(beside.at("running_jobs").to_number<int>(), 1) << "that which has rounds left";
    EXPECT_EQ(beside.at("running_slots").to_number<int>(), 50);
    EXPECT_NE(std::string(beside.at("warnings").as_array().back().as_string())
                  .find("1 other job runs now, with 50 slots, and 2 workers are live"),
              std::string::npos)
        << beside.at("warnings");
}

TEST_F(JobPlanTest, MoreNodesThanAreLiveTrainAllTokensAndTheQuoteSaysHowLong) {
    publish_terms(0);
    add_nodes(2, Amount());
    deposit(owner_, "100", "d1");
    const auto eight = [&](const char* verb, const std::vector<std::string>& more) {
        return gym(with(wishes(verb, "1e6", "8"), with({"--price", "20"}, more)));
    };
    const auto quote = eight("quote", {"--no-bench"});
    for (const char* part : {" rounds x 2 workers x ",
                             "slots               2             the live ones of the 8 nodes",
                             "2 of the 8 workers that you want are live: the plan is for 2, so "
                             "that it trains all ",
                             "; with 8 workers it would take "})
        EXPECT_NE(quote.out.find(part), std::string::npos) << part << " in:\n" << quote.out;
    const json::object quoted = parse_line(eight("quote", {"--no-bench", "--json"}).out);
    const json::object& shortage = quoted.at("plan").at("shortage").as_object();
    EXPECT_EQ(shortage.at("nodes_wanted").to_number<int>(), 8);
    EXPECT_EQ(shortage.at("nodes_planned").to_number<int>(), 2);
    EXPECT_LT(shortage.at("minutes_low").to_number<double>(),
              quoted.at("minutes_low").to_number<double>());
    EXPECT_LT(shortage.at("minutes_high").to_number<double>(),
              quoted.at("minutes_high").to_number<double>());
    EXPECT_GE(quoted.at("training_tokens_today").to_number<std::uint64_t>(), 1'000'000U);
    EXPECT_EQ(quoted.at("training_tokens_today"), quoted.at("training_tokens"));
    const auto submitted = eight("submit", {"--licence", "MIT", "--max-cost", "50"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    EXPECT_NE(submitted.err.find("2 of the 8 workers that you want are live"), std::string::npos)
        << submitted.err;
    const auto jobs = backend().jobs({}).value();
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].terms.slots_max, 2U);
    EXPECT_GE(jobs[0].terms.rounds * 2 * jobs[0].terms.steps * 32, 1'000'000U);
}

TEST_F(JobPlanTest, AJobFileMayUseTheOwnersUnitsAndOptionsOverrideIt) {
    publish_terms(0);
    add_nodes(4, Amount());
    spill(place_ / "wishes.yaml",
          "name: wishes\nmodel: model.yaml\ndataset: text.txt\ntokens: 1e6\nnodes: 4\n"
          "max_cost: 50\nprice_per_pflop: 20   # mine\ncheckpoint_every: 7\n");
    const std::string file = (place_ / "wishes.yaml").string();
    const auto quote = [&](const std::vector<std::string>& more) {
        const auto outcome = gym(with({"job", "quote", file, "--json"}, more));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
        return registry::parse_submitted_spec(
                   std::string(parse_line(outcome.out).at("spec").as_string()), "quoted")
            .value()
            .spec;
    };
    const auto written = quote({});
    EXPECT_EQ(written.name, "wishes");
    EXPECT_EQ(written.terms.slots_max, 4U);
    EXPECT_EQ(written.terms.checkpoint_every, 7U);
    const auto changed =
        quote({"--nodes", "2", "--tokens", "2e6", "--price", "21", "--name", "other: #1", "--set",
               "deadlines.unit_ms=900000", "--set", "steps_per_round=50", "--set",
               "model.optimizer.learning_rate=0.5", "--max-cost", "40"});
    EXPECT_EQ(changed.name, "other: #1");
    EXPECT_EQ(changed.terms.slots_max, 2U);
    EXPECT_EQ(changed.terms.steps, 50U);
    EXPECT_GE(changed.terms.rounds * 2 * 50 * 32, 2'000'000U);
    EXPECT_EQ(changed.terms.lifecycle.unit_ms, 900'000);
    EXPECT_EQ(changed.terms.price_wei_per_pflop.to_tokens(), "21");
    EXPECT_LE(changed.budget_wei, Amount::parse_tokens("40").value());
    const auto rounds = gym({"job", "quote", job_file(), "--tokens", "1e6", "--json"});
    ASSERT_EQ(rounds.exit_code, 0) << rounds.err;
    EXPECT_GT(parse_line(rounds.out).at("rounds").to_number<int>(), 3) << "tokens replace rounds";
}

TEST_F(JobPlanTest, APresetIsAModelWhoseScheduleEndsWithTheJob) {
    publish_terms(0);
    add_nodes(2, Amount());
    const std::vector<std::string> preset{
        "job",      "quote", "--model", "gpt-nano", "--data",     (place_ / "text.txt").string(),
        "--tokens", "1e6",   "--price", "20",       "--no-bench", "--json"};
    const auto total_steps = [&](const std::vector<std::string>& more) {
        const auto outcome = gym(with(preset, more));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        auto spec = registry::parse_submitted_spec(
            std::string(parse_line(outcome.out).at("spec").as_string()), "quoted");
        EXPECT_TRUE(spec.ok()) << spec.error().message;
        auto optimizer = spec->spec.model->map("optimizer");
        const auto steps = optimizer->integer("total_steps", 1, 1'000'000).value();
        return std::pair(
            steps, static_cast<std::int64_t>(spec->spec.terms.rounds * spec->spec.terms.steps));
    };
    const auto follows = total_steps({});
    EXPECT_EQ(follows.first, follows.second);
    EXPECT_EQ(total_steps({"--set", "model.optimizer.total_steps=77"}).first, 77);
    const auto momentum = [&](const std::vector<std::string>& more) {
        auto spec = registry::parse_submitted_spec(
            std::string(parse_line(gym(with(preset, more)).out).at("spec").as_string()), "quoted");
        EXPECT_TRUE(spec.ok());
        return program::read_train_config(*spec->spec.model)->outer.momentum;
    };
    EXPECT_EQ(momentum({}), 0.4) << "of few rounds";
    EXPECT_EQ(momentum({"--set", "model.outer.momentum=0.8"}), 0.8);
    const auto unknown = gym({"job", "quote", "--model", "gpt22", "--data", "text.txt"});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_NE(
        unknown.err.find("--model: 'gpt22' is neither a preset nor a file; did you mean gpt2"),
        std::string::npos);
}

TEST_F(JobPlanTest, WishesThatCannotBeHadAreRefusedWithTheirReasons) {
    publish_terms(0);
    add_nodes(2, Amount());
    const auto refused_with = [&](const std::vector<std::string>& command, const char* part) {
        const auto outcome = gym(command);
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err << outcome.out;
        EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    };
    const auto refused = [&](const std::vector<std::string>& more, const char* part) {
        refused_with(with(wishes("submit"), more), part);
    };
    refused({"--price", "20", "--max-cost", "0.000001"}, "allow --max-cost ");
    refused(
        {"--price", "1e-3"},
        "--price: '1e-3' is not a price: write only digits and a point, without sign, exponent or "
        "unit. It is GYM for 10^15 operations, like --price 10");
    refused({"--price", "0"}, "it must be more than 0. It is GYM for 10^15 operations");
    refused_with(wishes("submit", "many"), "--tokens: 'many' is not a whole number");
    refused({"--price", "20", "--set", "rounds"}, "is not KEY=VALUE");
    refused({"--price", "20", "--set", "roundz=3"}, "'roundz' is not a known key");
    refused({"--price", "20", "--within", "1s"}, "longer than 1.0 s");
    refused_with(wishes("submit", "1e6", "9000"), "is not a number from 1 to 8192");
    const auto nothing = gym({"job", "submit"});
    EXPECT_EQ(nothing.exit_code, 2);
    EXPECT_NE(nothing.err.find("name a job file, or a model and data"), std::string::npos);
    EXPECT_EQ(gym({"job", "quote", job_file(), "--cloud-price", "cheap"}).exit_code, 2);
    EXPECT_EQ(count("registry.job"), 0U);
}

TEST_F(JobPlanTest, AQuoteSaysWhereThePriceComesFrom) {
    publish_terms(0);
    add_nodes(2, Amount());
    const auto price = [&](const std::vector<std::string>& more) {
        const auto outcome = gym(with(wishes("quote"), with({"--json", "--no-bench"}, more)));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return parse_line(outcome.out).at("price").as_object();
    };
    EXPECT_EQ(price({}).at("from").as_string(), "default");
    EXPECT_EQ(price({}).at("wei_per_pflop").as_string(), "10000000000000000000");
    EXPECT_EQ(price({"--price", "3"}).at("from").as_string(), "owner");
    const json::object low = price({"--max-cost", "0.0001"});
    EXPECT_EQ(low.at("lowered_from_wei").as_string(), "10000000000000000000");
    EXPECT_NE(gym(with(wishes("quote"), {"--no-bench", "--max-cost", "0.0001"}))
                  .out.find("(lowered to what your money pays for sure from 10, the default"),
              std::string::npos);
    // A job that workers took makes the price; one that nobody trained does not.
    deposit(owner_, "100", "d1");
    ASSERT_EQ(gym({"job", "submit", job_file(), "--licence", "MIT"}).exit_code, 0);
    EXPECT_EQ(price({}).at("from").as_string(), "default");
    const Digest first = backend().jobs({}).value().front().id;
    train_a_round(first);
    EXPECT_EQ(price({}).at("from").as_string(), "median job");
    EXPECT_EQ(price({}).at("wei_per_pflop").as_string(), "2000000000000000000");
    // A newer job that trained no more, at a higher price, does not move it.
    deposit(owner_, "100", "d2");
    const auto dear = gym({"job", "submit", job_file(), "--price", "5", "--licence", "MIT"});
    ASSERT_EQ(dear.exit_code, 0) << dear.err;
    const auto both = backend().jobs({}).value();
    for (const registry::Job& job : both)
        if (job.id != first) train_a_round(job.id);
    EXPECT_EQ(price({}).at("wei_per_pflop").as_string(), "2000000000000000000");
}

TEST_F(JobPlanTest, AnApiThatDoesNotAnswerIsSaidWithItsExitCode) {
    const auto silent = gym(with(wishes("quote"), {"--api", "http://127.0.0.1:1", "--no-bench"}));
    EXPECT_EQ(silent.exit_code, 4) << silent.err;
    EXPECT_NE(silent.err.find("the network's prices are not known: "), std::string::npos)
        << silent.err;
    EXPECT_NE(silent.err.find("127.0.0.1:1"), std::string::npos) << silent.err;
    EXPECT_EQ(gym(with(wishes("quote"), {"--api", "http://127.0.0.1:1", "--no-bench", "--price",
                                         "2", "--max-cost", "50"}))
                  .exit_code,
              0)
        << "with a price and money nothing of the network is needed";
}

TEST_F(JobPlanTest, AFolderIsBuiltAndSubmittedWithoutAJobFile) {
    publish_terms(0);
    add_nodes(2, Amount());
    deposit(owner_, "100", "d1");
    std::filesystem::create_directories(place_ / "corpus");
    spill(place_ / "corpus/a.txt", std::string(3'000, 'a') + " and so on");
    spill(place_ / "corpus/b.jsonl", "{\"text\":\"" + std::string(900, 'b') + "\"}\n");
    const std::vector<std::string> job{"--model",    (place_ / "model.yaml").string(),
                                       "--data",     (place_ / "corpus/").string(),
                                       "--tokens",   "1e6",
                                       "--max-cost", "50",
                                       "--no-bench", "--json"};
    const auto quote = gym(with({"job", "quote"}, job));
    ASSERT_EQ(quote.exit_code, 0) << quote.err;
    auto order = with({"job", "submit"}, job);
    std::erase(order, "--no-bench");
    const auto submitted = gym(with(order, {"--licence", "private"}));
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err << submitted.out;
    const json::object made = parse_line(submitted.out);
    EXPECT_EQ(made.at("name").as_string(), "model on corpus");
    EXPECT_EQ(made.at("data_licence").as_string(), "LicenseRef-private");
    EXPECT_EQ(made.at("dataset_root"), parse_line(quote.out).at("dataset_root"));
    const auto dataset = backend().datasets({}).value().front();
    EXPECT_EQ(dataset.name, "corpus");
    EXPECT_EQ(dataset.tokens, 3'010U + 2 + 900) << "no JSON among them";
}

TEST_F(JobPlanTest, AQuoteWarnsOfALicenceAndTheSubmissionIsRefused) {
    publish_terms(0);
    add_nodes(2, Amount());
    deposit(owner_, "100", "d1");
    const Digest root = backend()
                            .add_dataset({.owner = address_of(2),
                                          .name = "theirs",
                                          .licence = "CC-BY-NC-4.0",
                                          .file = dataset_file(std::string(2'000, 'n'))})
                            .value()
                            .dataset.root;
    const std::vector<std::string> job{"--model",  (place_ / "model.yaml").string(),
                                       "--data",   root.hex(),
                                       "--tokens", "1e6",
                                       "--price",  "1"};
    const auto warned = gym(with({"job", "quote", "--no-bench"}, job));
    ASSERT_EQ(warned.exit_code, 0) << warned.err;
    EXPECT_NE(warned.out.find("warning            the data is under CC-BY-NC-4.0, and CC-BY-NC-4.0 "
                              "forbids commercial use: the job is refused unless its owner"),
              std::string::npos)
        << warned.out;
    const auto refused = gym(with({"job", "submit"}, job));
    EXPECT_EQ(refused.exit_code, 5) << refused.err;
    EXPECT_NE(refused.err.find("(theirs) is under CC-BY-NC-4.0"), std::string::npos) << refused.err;
    EXPECT_EQ(backend().account(owner_).value().available.to_tokens(), "100") << "nothing locked";
    const auto other = with(job, {"--use", "non-commercial", "--json"});
    EXPECT_TRUE(parse_line(gym(with({"job", "quote", "--no-bench"}, other)).out)
                    .at("warnings")
                    .as_array()
                    .empty());
    EXPECT_EQ(gym(with({"job", "submit"}, other)).exit_code, 0);
}

TEST_F(JobPlanTest, DataOfAnotherVocabularyIsWarnedOfOrRefused) {
    publish_terms(0);
    add_nodes(2, Amount());
    const std::vector<std::string> wide = with(
        wishes("quote"), {"--no-bench", "--price", "1", "--set", "model.model.vocabulary=50257"});
    EXPECT_NE(gym(wide).out.find("warning            a token of the data is a byte, and the model "
                                 "has 50,257 tokens"),
              std::string::npos);
    const auto narrow =
        gym({"job", "quote", "--model", (place_ / "model.yaml").string(), "--data", dataset_.hex(),
             "--set", "model.model.vocabulary=200", "--tokens", "1e6", "--price", "1"});
    EXPECT_EQ(narrow.exit_code, 2) << narrow.out;
    EXPECT_NE(narrow.err.find("(text) has a vocabulary of 256 tokens, the model one of 200"),
              std::string::npos)
        << narrow.err;
}

TEST_F(JobPlanTest, ThisMachineIsMeasuredOnceAndNotIfNotWanted) {
    const auto note = place_ / ".gym/speed.json";
    std::filesystem::remove(note);
    const json::object without =
        parse_line(gym({"job", "quote", job_file(), "--no-bench", "--json"}).out);
    EXPECT_TRUE(without.at("alone_minutes").is_null());
    EXPECT_FALSE(std::filesystem::exists(note));
    const json::object measured = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    EXPECT_GT(measured.at("machine_flops_per_second").to_number<std::uint64_t>(), 0U);
    ASSERT_TRUE(std::filesystem::exists(note));
    const json::object again = parse_line(gym({"job", "quote", job_file(), "--json"}).out);
    EXPECT_EQ(again.at("machine_flops_per_second"), measured.at("machine_flops_per_second"));
    spill(note, "no note");
    EXPECT_EQ(gym({"job", "quote", job_file(), "--json"}).exit_code, 0) << "it is measured again";
}

}  // namespace
}  // namespace gym::api
