#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "evm.hpp"
#include "gym/game/calldata.hpp"
#include "mutations.hpp"
#include "random_outer.hpp"
#include "random_seed.hpp"

// decide() against the contracts of rules: the same refusals, the same cursors and findings.

namespace gym::game::testing {
namespace {

using dispute::testing::SampleUnit;
using gym::testing::Evm;
using gym::testing::EvmAnswer;
using gym::testing::random_seed;
using gym::testing::test_scale;

constexpr std::uint64_t kGames = 150;
constexpr std::uint64_t kMutationsPerMove = 4;

/// The contracts of rules on a private chain.
class RulesOnChain {
  public:
    RulesOnChain()
        : trees_(evm_.deploy("TreeRules")),
          steps_(evm_.deploy("StepRules")),
          faults_(evm_.deploy("FaultRules")),
          elements_(evm_.deploy("ElementRules", {evm_.one_step()})),
          outer_(evm_.deploy("OuterRules")),
          outer_proofs_(evm_.deploy("OuterProofs")),
          opening_(evm_.deploy("OpeningRules", {evm_.harness(), kWindowBlocks, kNoticeBlocks})) {}

    /// Of commitments; the log itself is not asked.
    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::signing_domain(kChainId, evm_.harness());
    }

    /// The contracts' answer to each case.
    std::vector<EvmAnswer> ask(const std::vector<Case>& cases) {
        std::map<Address, std::vector<std::size_t>> by_contract;
        for (std::size_t i = 0; i < cases.size(); ++i)
            by_contract[contract_of(name_of(cases[i].move))].push_back(i);
        std::vector<EvmAnswer> answers(cases.size());
        for (const auto& [contract, indices] : by_contract) {
            std::vector<Bytes> calls;
            for (const std::size_t i : indices)
                calls.push_back(encode_call({{}, cases[i].at, cases[i].move}));
            const auto given = evm_.many(contract, calls);
            for (std::size_t k = 0; k < indices.size(); ++k)
                answers[indices[k]] = given[k];
        }
        return answers;
    }

  private:
    [[nodiscard]] const Address& contract_of(std::string_view name) const {
        static const std::set<std::string_view> kTrees{"declareStates", "answerSteps", "answer",
                                                       "pick",          "pickStep",    "pickDelta"};
        static const std::set<std::string_view> kFaults{"proveRecord", "proveInput", "proveSlot",
                                                        "proveGradient"};
        static const std::set<std::string_view> kOuter{
            "declareOuter",    "showIncluded", "postColumn", "pickOuter", "pickIncluded",
            "pickOuterTensor", "pickElement",  "pickRow",    "postRow",   "pickPart"};
        static const std::set<std::string_view> kOuterProofs{
            "proveColumn", "proveOuter", "proveOuterSlot", "proveRow", "proveUpdate", "provePart"};
        if (name == "proveSigner" || name == "showWithheld") return opening_;
        if (kOuter.contains(name)) return outer_;
        if (kOuterProofs.contains(name)) return outer_proofs_;
        if (kTrees.contains(name)) return trees_;
        if (kFaults.contains(name)) return faults_;
        return name.starts_with("prove") ? elements_ : steps_;
    }

    static constexpr std::uint64_t kWindowBlocks = 7'200, kNoticeBlocks = 300;
    static constexpr std::uint64_t kChainId = 31'337;
    Evm evm_;
    Address trees_, steps_, faults_, elements_, outer_, outer_proofs_, opening_;
};

/// A contract's answer in the form of decide().
Ruling ruling_of(const Move& move, const Bytes& data) {
    const std::string text =
        is_proof(move) ? "(uint256,bytes32,bytes32)" : abi::Type<Cursor>::text();
    const auto values = chain::abi_decode({chain::AbiType::parse(text).value()}, data).value();
    if (!is_proof(move)) {
        Cursor cursor;
        EXPECT_TRUE(abi::Type<Cursor>::read(values[0], cursor).ok());
        return cursor;
    }
    const auto members = values[0].list().value();
    return Finding{members[0].u64().value(), members[1].digest().value(),
                   members[2].digest().value()};
}

class RulesDifferential : public ::testing::Test {
  protected:
    static RulesOnChain& chain() {
        static RulesOnChain one;
        return one;
    }

    /// Compares each case; stops at the first that differs.
    void compare(const std::vector<Case>& cases) {
        const std::vector<EvmAnswer> answers = chain().ask(cases);
        const crypto::Eip712Domain domain = chain().domain();
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const auto decided = decide(cases[i].at, cases[i].move, &domain);
            const std::string what = std::string(name_of(cases[i].move)) + " at " +
                                     std::string(to_string(cases[i].at.stage)) + ": " +
                                     (decided.ok() ? "accepted" : decided.error().message) +
                                     "; the contract: " + to_hex0x(answers[i].data);
            ASSERT_EQ(decided.ok(), answers[i].ok) << what;
            auto& [accepted, refused] = seen_[name_of(cases[i].move)];
            ++(decided.ok() ? accepted : refused);
            if (!decided.ok()) continue;
            ASSERT_EQ(*decided, ruling_of(cases[i].move, answers[i].data)) << what;
        }
    }

    [[nodiscard]] bool all_were_accepted() const {
        return seen_.size() == std::variant_size_v<Move> &&
               std::ranges::all_of(seen_, [](const auto& of) { return of.second.first > 0; });
    }

    /// By move: how many were accepted and refused.
    std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> seen_;
};

TEST_F(RulesDifferential, GamesOfRealUnitsAndWhatIsAlmostAMove) {
    Rng rng(random_seed());
    std::vector<std::unique_ptr<TracedUnit>> units;
    // Datasets of every format, in turn.
    const Digest tokenizer = engine::testing::seed_of("tokenizer");
    for (const auto& sample : dispute::testing::kSamples)
        units.push_back(std::make_unique<TracedUnit>(
            units.size() % 2 == 0 ? SampleUnit(sample) : SampleUnit(sample, {256, tokenizer})));
    units.push_back(std::make_unique<TracedUnit>(
        SampleUnit(dispute::testing::kWideSample, {70'000, tokenizer})));
    std::vector<std::unique_ptr<TracedOuter>> aggregates;
    for (const auto& sample : dispute::testing::kSamples)
        aggregates.push_back(
            std::make_unique<TracedOuter>(sample, chain().domain(), aggregates.size() % 2 == 0));
    TracedOuter update(dispute::testing::kUpdateSample, chain().domain(), true);
    // Some moves are rare: few games may not have all.
    const std::uint64_t games = kGames * test_scale();
    for (std::uint64_t game = 0; game < games || (!all_were_accepted() && game < 10 * games);
         ++game) {
        std::vector<Case> cases =
            RandomGame(rng, *units[game % units.size()], game / units.size()).play();
        const std::vector<Case> outer =
            RandomOuter(rng, *aggregates[game % aggregates.size()], game / aggregates.size())
                .play();
        cases.insert(cases.end(), outer.begin(), outer.end());
        const std::vector<Case> rows = RandomOuter(rng, update, game).play();
        cases.insert(cases.end(), rows.begin(), rows.end());
        const std::vector<Case> withheld = random_withheld(rng, chain().domain());
        cases.insert(cases.end(), withheld.begin(), withheld.end());
        if (game % 4 == 0) {
            const std::vector<Case> more = random_descent(rng);
            cases.insert(cases.end(), more.begin(), more.end());
            const std::vector<Case> parts = random_parts(rng);
            cases.insert(cases.end(), parts.begin(), parts.end());
        }
        const std::size_t moves = cases.size();
        for (std::size_t i = 0; i < moves * kMutationsPerMove; ++i)
            cases.push_back(mutated(rng, cases[i % moves]));
        ASSERT_NO_FATAL_FAILURE(compare(cases)) << "game " << game;
    }
    EXPECT_EQ(seen_.size(), std::variant_size_v<Move>);
    for (const auto& [name, counts] : seen_) {
        std::cout << name << ": " << counts.first << " accepted, " << counts.second << " refused\n";
        EXPECT_GT(counts.first, 0U) << name;
        EXPECT_GT(counts.second, 0U) << name;
    }
}

}  // namespace
}  // namespace gym::game::testing
