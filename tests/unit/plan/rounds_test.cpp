// A small plan's losses on real text, trained as a network trains it: they fall from round to
// round.
#include <gtest/gtest.h>

#include <sstream>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/plan/draft.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "local_rounds.hpp"
#include "sample_facts.hpp"

namespace gym::plan {
namespace {

/// Prose of this repository, of some 100,000 bytes.
blob::Dataset prose() {
    Bytes text;
    for (const char* name : {"PROTOCOL.md", "JOBS.md", "REWARDS.md"}) {
        const Bytes part =
            read_file(std::string(GYM_TEST_DOCS) + "/" + name, std::uint64_t{1} << 24).value();
        text.insert(text.end(), part.begin(), part.end());
    }
    return blob::Dataset::build_from_text(text).value();
}

/// A job file that wants a preset trained on so many tokens.
std::string wishes(const char* preset, std::uint64_t tokens) {
    std::string out =
        "name: small\ndataset: text.txt\ntokens: " + std::to_string(tokens) + "\nmodel:\n";
    std::istringstream lines(program::train_config_text(program::preset_config(preset).value()));
    for (std::string line; std::getline(lines, line);)
        out += "  " + line + "\n";
    return out;
}

/// The losses after each round, of a job as its plan completes it.
std::vector<double> losses_of(std::uint64_t tokens, std::size_t workers) {
    Draft draft = read_draft(YamlText(wishes("gpt-nano", tokens), "job.yaml")).value();
    const auto config = program::read_train_config(*draft.spec.model).value();
    ModelWork work = model_work(config).value();
    leave_open({.schedule = true, .outer = true}, config.optimizer, draft, work);
    const Plan plan =
        make_plan(draft.wishes, draft.fixed, work, testing::sample_facts(workers)).value();
    EXPECT_TRUE(plan.notes.empty());
    auto spec = registry::parse_job_spec(complete(draft, plan).value(), "completed").value();
    gym::testing::LocalRounds job;
    job.rounds = spec.terms.rounds;
    job.slots = spec.terms.slots_max;
    job.steps = spec.terms.steps;
    job.evaluate_windows = spec.terms.evaluate_windows;
    job.seed = commit::sha256(as_bytes("small plan"));
    auto losses =
        gym::testing::train_rounds(program::read_train_config(*spec.model).value(), prose(), job);
    EXPECT_TRUE(losses.ok()) << losses.error().message;
    return losses.value();
}

TEST(PlanRounds, TheLossesOfASmallPlanFall) {
    constexpr std::uint64_t kTokensOfAStep = 4 * 64;
    struct Case {
        std::uint64_t steps;
        std::size_t workers;
    };
    for (const auto& [steps, workers] : {Case{100, 1}, Case{100, 2}, Case{200, 1}}) {
        const auto losses = losses_of(kTokensOfAStep * steps * workers, workers);
        ASSERT_EQ(losses.size(), kRoundsWanted + 1U);
        for (std::size_t i = 1; i < losses.size(); ++i)
            EXPECT_LT(losses[i], losses[i - 1])
                << "after round " << i << " of " << steps << " steps, " << workers << " workers";
        EXPECT_LT(losses.back(), 3) << "of ln 256 = 5.5";
    }
}

}  // namespace
}  // namespace gym::plan
