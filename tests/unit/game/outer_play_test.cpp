#include <gtest/gtest.h>

#include <bit>

#include "gym/game/strategy.hpp"
#include "outer_liars.hpp"
#include "random_outer_challenger.hpp"
#include "random_seed.hpp"
#include "rules_common.hpp"

// Whole games about aggregates: a lying coordinator against an honest challenger, and the other way
// round.

namespace gym::game {
namespace {

using testing::kSamples;
using testing::must;
using testing::Outcome;
using testing::OuterLiar;
using testing::RandomOuterChallenger;
using testing::SampleOuter;

/// A sample program, and whether some of the deltas are held.
using OuterCase = std::tuple<dispute::testing::Sample, bool>;

class OuterGames : public ::testing::TestWithParam<OuterCase> {
  protected:
    static SampleOuter sample_of(const OuterCase& which) {
        SampleOuter sample(std::get<0>(which));
        if (std::get<1>(which)) sample.add_held();
        return sample;
    }
    Outcome play(OuterLiar& liar) { return play(liar, sample_.facts(liar)); }
    Outcome play(OuterLiar& liar, const OuterFacts& facts) {
        return testing::play(testing::transcript_of(facts), liar.player(),
                             testing::challenger_of(*honest_), &sample_.domain);
    }
    /// Whoever includes these has no commitment to show for one of them.
    void expect_silence(const std::vector<OuterDelta>& list) {
        OuterLiar liar(*asserter_);
        liar.list = list;
        const Outcome outcome = play(liar);
        EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
        EXPECT_EQ(outcome.moves, "declareOuter pickIncluded ");
    }
    /// A challenger with `own` data against the honest asserter.
    Outcome challenge(OuterWork& own) {
        return testing::play(testing::transcript_of(sample_.facts(*asserter_)),
                             testing::asserter_of(*asserter_), testing::challenger_of(own),
                             &sample_.domain);
    }
    [[nodiscard]] std::uint32_t parameters() const { return honest_->trace().header.parameters; }
    [[nodiscard]] std::uint64_t elements(std::uint32_t parameter) const {
        return sample_.base.tensors.at(parameter).bytes.size() / 4;
    }
    Digest random_digest() {
        Digest digest;
        for (std::uint8_t& byte : digest.data)
            byte = static_cast<std::uint8_t>(rng_());
        return digest;
    }
    void begin_again() {
        honest_ = sample_.rerun();
        asserter_ = sample_.rerun();
    }

    SampleOuter sample_ = sample_of(GetParam());
    std::unique_ptr<RerunOuter> honest_ = sample_.rerun(), asserter_ = sample_.rerun();
    std::mt19937_64 rng_{gym::testing::random_seed()};
};
INSTANTIATE_TEST_SUITE_P(Samples, OuterGames,
                         ::testing::Combine(::testing::ValuesIn(kSamples), ::testing::Bool()),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param).name) +
                                    (std::get<1>(test.param) ? "_held" : "");
                         });

TEST_P(OuterGames, AWrongElementIsFoundWhereverItIs) {
    for (const OuterTree tree : {OuterTree::kBase, OuterTree::kMomentum}) {
        for (std::uint32_t i = 0; i < parameters(); ++i) {
            (void)must(honest_->run(sample_.included));
            OuterLiar liar(*asserter_);
            const std::uint64_t element = rng_() % elements(i);
            liar.lie_about(tree, i, 4 * element + rng_() % 4);
            const Outcome outcome = play(liar);
            ASSERT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
            ASSERT_EQ(name_of(outcome.last), "proveOuter") << outcome.moves;
            EXPECT_EQ(outcome.finding.element, element);
            const auto& proof = std::get<move::ProveOuter>(outcome.last);
            EXPECT_EQ(proof.outer.tree, tree);
            EXPECT_EQ(proof.op.primitive, i);
            const auto word = [&](OuterWork& work) {
                std::uint32_t bits = 0;
                std::memcpy(&bits, must(work.tensor(tree, i))->bytes().data() + 4 * element, 4);
                return rules::word_of(bits);
            };
            EXPECT_EQ(outcome.finding.claimed, word(liar));
            EXPECT_EQ(outcome.finding.computed, word(*honest_));
        }
    }
}

TEST_P(OuterGames, TheFirstOfManyDifferencesIsFound) {
    OuterLiar liar(*asserter_);
    const std::uint32_t first = static_cast<std::uint32_t>(rng_() % parameters());
    const std::uint64_t element = rng_() % elements(first);
    for (std::uint32_t i = first; i < parameters(); ++i)
        liar.lie_about(OuterTree::kBase, i, i == first ? 4 * element : 0, 4 * elements(i));
    for (std::uint32_t i = 0; i < parameters(); ++i)
        liar.lie_about(OuterTree::kMomentum, i, 0, 4 * elements(i));
    const Outcome outcome = play(liar);
    ASSERT_EQ(name_of(outcome.last), "proveOuter") << outcome.moves << outcome.reason.message;
    EXPECT_EQ(outcome.finding.element, element);
    EXPECT_EQ(std::get<move::ProveOuter>(outcome.last).op.primitive, first);
}

/// Nobody asks for them unless something is computed from them.
TEST_P(OuterGames, AWrongColumnIsFound) {
    for (std::uint32_t position = 0; position < sample_.included.size(); ++position) {
        OuterLiar liar(*asserter_);
        const auto parameter = static_cast<std::uint32_t>(rng_() % parameters());
        const std::uint64_t element = rng_() % elements(parameter);
        liar.lie_about(OuterTree::kMomentum, parameter, 4 * element);
        liar.values = must(asserter_->column(parameter, element));
        for (std::size_t i = std::size_t{4} * position; i < liar.values->size(); ++i)
            liar.values->at(i) ^= 0x41;
        const Outcome outcome = play(liar);
        ASSERT_EQ(name_of(outcome.last), "proveColumn") << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element, position);
        std::uint32_t right = 0;
        std::memcpy(&right,
                    &must(asserter_->column(parameter, element)).at(std::size_t{4} * position), 4);
        EXPECT_EQ(outcome.finding.computed, rules::word_of(right));
        EXPECT_EQ(outcome.finding.claimed, rules::word_of(right ^ 0x41414141));
    }
}

TEST_P(OuterGames, AnotherTensorUnderTheRecordsStateIsFound) {
    for (std::uint32_t leaf = 0; leaf < 2 * parameters(); ++leaf) {
        OuterLiar liar(*asserter_);
        liar.lie_about_joint(leaf, random_digest());
        const Outcome outcome = play(liar);
        ASSERT_EQ(name_of(outcome.last), "proveOuterSlot")
            << outcome.moves << outcome.reason.message;
        EXPECT_EQ(outcome.finding.element, leaf);
        EXPECT_EQ(outcome.finding.claimed, liar.joint->at(leaf));
    }
}

TEST_P(OuterGames, ADeltaThatNobodyCommittedToCannotBeShown) {
    std::vector<OuterDelta> list = sample_.included;
    list[1].root = sample_.add_delta();  // of nobody
    expect_silence(list);
    list = sample_.included;
    std::swap(list[0].root, list[2].root);  // of other slots
    expect_silence(list);
    list = sample_.included;
    list[2].slot = 8'000;
    expect_silence(list);
    list = sample_.included;
    std::swap(list[1], list[2]);  // a set of slots has one order
    expect_silence(list);
    list = sample_.included;
    list.insert(list.begin() + 1, {3, sample_.included[0].root});  // once more
    expect_silence(list);
    list = sample_.included;
    list.push_back({SampleOuter::kSlots[4], sample_.add_delta(), true});  // held, of nobody
    expect_silence(list);
}

/// It is posted, so the challenger knows the place of what it cannot open itself.
TEST_P(OuterGames, ALeafThatNobodyCanOpenCannotBeShown) {
    for (std::size_t i = 0; i < sample_.included.size(); ++i) {
        OuterLiar liar(*asserter_);
        liar.lie_about_leaf(i, i == 0 ? commit::absent_leaf() : random_digest());
        const Outcome outcome = play(liar);
        EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
        EXPECT_EQ(outcome.moves, "declareOuter pickIncluded ");
    }
}

/// Of a list that is not posted whole, it goes down to the first leaf that is not in its own.
TEST_P(OuterGames, ALeafOfALongListThatNobodyCanOpenCannotBeShown) {
    OuterLiar liar(*asserter_), long_list(*honest_);
    (void)liar.lie_about_roots();
    liar.list.emplace();
    for (std::uint32_t slot = 0; slot < 200; ++slot)
        liar.list->push_back({slot, random_digest()});
    long_list.list = liar.list;
    liar.posted_leaves.emplace();
    liar.lie_about_leaf(147, random_digest());
    const Outcome outcome =
        testing::play(testing::transcript_of(sample_.facts(liar)), liar.player(),
                      testing::challenger_of(long_list), &sample_.domain);
    EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
    EXPECT_EQ(outcome.moves, "declareOuter pick answer pickIncluded ");
}

TEST_P(OuterGames, AListWithoutASetOfSlotsCannotBeDeclared) {
    const auto expect_nothing = [&](const std::vector<OuterDelta>& list) {
        OuterLiar liar(*asserter_);
        liar.list = list;
        const Outcome outcome = play(liar);
        EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
        EXPECT_EQ(outcome.moves, "");
    };
    std::vector<OuterDelta> list = sample_.included;
    list[1] = list[0];
    expect_nothing(list);
    for (const std::uint32_t slot : {kDeclaredSlotsMax, 65'000U}) {
        list = sample_.included;
        list[2].slot = slot;
        expect_nothing(list);
    }
}

TEST_P(OuterGames, TooHighAHeldCountIsADeltaThatCannotBeShown) {
    std::vector<OuterDelta> list = sample_.included;
    list[2].held = true;
    std::ranges::sort(list, {},
                      [](const OuterDelta& one) { return std::pair(one.held, one.slot); });
    expect_silence(list);
}

/// A commitment counts for the round that it names.
TEST_P(OuterGames, ADeltaOfAnotherRoundThanIsSaidCannotBeShown) {
    std::vector<OuterDelta> list = sample_.included;
    list.push_back({SampleOuter::kSlots[3], sample_.epoch[3].commitment.delta_root, true});
    expect_silence(list);
    list = sample_.included;
    list[0].root = sample_.previous_epoch[0].commitment.delta_root;
    expect_silence(list);
}

TEST_P(OuterGames, HeldDeltasThatCountFullyAreFound) {
    if (!std::get<1>(GetParam())) sample_.add_held();
    begin_again();
    OuterLiar liar(*asserter_);
    liar.lie_about_weights();
    const Outcome outcome = play(liar);
    EXPECT_EQ(outcome.end, Outcome::End::kProof) << outcome.moves << outcome.reason.message;
    EXPECT_EQ(name_of(outcome.last), "proveOuter") << outcome.moves;
}

/// Of a round without an epoch, or of another record than the chain has, nothing can be shown.
TEST_P(OuterGames, HeldDeltasOfNoPostedRoundCannotBeShown) {
    if (!std::get<1>(GetParam())) sample_.add_held();
    begin_again();
    OuterLiar liar(*asserter_);
    OuterFacts facts = sample_.facts(liar);
    facts.previous_record = facts.previous_epoch_root = {};
    facts.previous_epoch_leaves = 0;
    const Outcome outcome = play(liar, facts);
    EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent) << outcome.reason.message;
    EXPECT_EQ(outcome.moves, "declareOuter pickIncluded ");
}

/// The coordinator posts the epoch's root: what is under it need not be a worker's.
TEST_P(OuterGames, ACommitmentThatIsNoWorkersIsFound) {
    const bool held = std::get<1>(GetParam());
    const auto play_with = [&](const protocol::SignedCommitment& forged) {
        (held ? sample_.previous_epoch : sample_.epoch)[2] = forged;
        (held ? sample_.included.back() : sample_.included[1]).root = forged.commitment.delta_root;
        begin_again();
        OuterLiar liar(*asserter_);
        const Outcome outcome = play(liar);
        EXPECT_EQ(outcome.moves, "declareOuter pickIncluded showIncluded proveSigner ")
            << outcome.reason.message;
        return outcome.finding.element;
    };
    const std::uint32_t slot = SampleOuter::kSlots[2];
    protocol::UnitCommitment says = sample_.commitment(slot, sample_.add_delta(), held);
    protocol::SignedCommitment forged = sample_.sign(says, slot);
    forged.signature.data[64] = 0;
    EXPECT_EQ(play_with(forged), kSignatureField);
    EXPECT_EQ(play_with(sample_.sign(says, 99)), 1U);
    says.steps += 1;
    EXPECT_EQ(play_with(sample_.sign(says, slot)), 3U);
    says.steps -= 1;
    says.final_state_root = {};
    EXPECT_EQ(play_with(sample_.sign(says, slot)), 6U);
}

class LateGames : public OuterGames {
  protected:
    void make_late(bool taken) {
        if (!std::get<1>(GetParam())) sample_.add_held();
        sample_.make_late(taken);
        begin_again();
    }
};
INSTANTIATE_TEST_SUITE_P(Samples, LateGames,
                         ::testing::Combine(::testing::ValuesIn(kSamples), ::testing::Bool()),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param).name) +
                                    (std::get<1>(test.param) ? "_held" : "");
                         });

/// Each of its deltas can be shown, and nothing is wrong with any.
TEST_P(LateGames, AnHonestAggregateWithALateDeltaIsNotLost) {
    make_late(true);
    EXPECT_EQ(challenge(*honest_).moves, "declareOuter ");
    const auto declared = [&] {
        GameTranscript transcript = testing::transcript_of(sample_.facts(*asserter_));
        EXPECT_TRUE(transcript.play(must(plan_answer(*asserter_, transcript))).ok());
        return transcript;
    };
    const Bytes slots = slots_of(sample_.included);
    for (std::uint32_t i = 0; i < sample_.included.size(); ++i) {
        GameTranscript transcript = declared();
        const Move pick = move::PickIncluded{*transcript.outer(), slots, i};
        ASSERT_TRUE(transcript.play(pick).ok());
        ASSERT_TRUE(transcript.play(must(plan_answer(*asserter_, transcript))).ok());
        const bool late = i + 1 == sample_.included.size();
        EXPECT_EQ(transcript.at().height, late                       ? kLateHeight
                                          : sample_.included[i].held ? kHeldHeight
                                                                     : 0);
        const auto proof = plan_challenge(*honest_, transcript);
        ASSERT_FALSE(proof.ok());
        EXPECT_NE(proof.error().message.find("there is no fault"), std::string::npos)
            << proof.error().message;
    }
}

TEST_P(LateGames, ALateDeltaOfARoundThatTakesNoneIsFound) {
    make_late(false);
    OuterLiar liar(*asserter_);
    const Outcome outcome = play(liar);
    EXPECT_EQ(outcome.moves, "declareOuter pickIncluded showIncluded proveSigner ")
        << outcome.reason.message;
    EXPECT_EQ(outcome.finding.element, kNotTakenLateField);
}

TEST_P(LateGames, ALateCommitmentThatIsNoWorkersIsFound) {
    make_late(true);
    protocol::SignedCommitment& late = sample_.epoch.back();
    late = sample_.sign(late.commitment, 99);
    begin_again();
    OuterLiar liar(*asserter_);
    const Outcome outcome = play(liar);
    EXPECT_EQ(outcome.moves, "declareOuter pickIncluded showIncluded proveSigner ")
        << outcome.reason.message;
    EXPECT_EQ(outcome.finding.element, 1U);
}

TEST_P(LateGames, ALateDeltaThatNobodyCommittedToCannotBeShown) {
    make_late(true);
    std::vector<OuterDelta> list = sample_.included;
    list.back().root = sample_.add_delta();
    expect_silence(list);
}

/// Of a round that takes late commitments, a held delta may be under either root.
TEST_P(LateGames, WhoKnowsOneOfTwoEpochsBelievesInTheOther) {
    make_late(true);
    for (const bool before : {false, true}) {
        OuterInputs inputs = sample_.inputs();
        (before ? inputs.previous_epoch : inputs.epoch).clear();
        honest_ = must(RerunOuter::create(std::move(inputs), sample_.source()));
        OuterLiar liar(*asserter_);
        liar.list = sample_.included;
        liar.list->back().root = sample_.add_delta();
        const Outcome outcome = play(liar, sample_.facts(liar));
        EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent);
        EXPECT_EQ(outcome.moves, "declareOuter ");
    }
}

TEST_P(OuterGames, WhoDoesNotKnowTheEpochBelievesInIt) {
    OuterLiar liar(*asserter_);
    liar.list = sample_.included;
    liar.list->at(1).root = sample_.add_delta();
    liar.list->back().root = sample_.add_delta();
    const auto facts = sample_.facts(liar);
    sample_.epoch.clear();
    sample_.previous_epoch.clear();
    honest_ = sample_.rerun();
    const Outcome outcome = play(liar, facts);
    EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent);
    EXPECT_EQ(outcome.moves, "declareOuter ");
}

/// What it knows of the other round it does not believe.
TEST_P(OuterGames, WhoKnowsOneOfTheEpochsFindsWhatIsNotInIt) {
    if (!std::get<1>(GetParam())) sample_.add_held();
    begin_again();
    OuterLiar liar(*asserter_);
    liar.list = sample_.included;
    liar.list->back().root = sample_.add_delta();
    const auto facts = sample_.facts(liar);
    OuterInputs no_epoch = sample_.inputs();
    no_epoch.epoch.clear();
    honest_ = must(RerunOuter::create(no_epoch, sample_.source()));
    EXPECT_EQ(play(liar, facts).moves, "declareOuter pickIncluded ");
    OuterInputs no_record = sample_.inputs();
    no_record.previous_record = nullptr;
    honest_ = must(RerunOuter::create(no_record, sample_.source()));
    EXPECT_EQ(play(liar, facts).moves, "declareOuter ");
}

/// Nobody can open an inner node or an absent leaf as a delta: with an accomplice that committed to
/// one, any value could be posted for it.
TEST_P(OuterGames, AListWithTheSameTreeIsNotTheCommittedOne) {
    const GameTranscript transcript = testing::transcript_of(sample_.facts(*asserter_));
    const auto right = std::get<move::DeclareOuter>(must(plan_answer(*asserter_, transcript)));
    const auto declare = [&](const std::vector<Digest>& deltas) {
        EXPECT_EQ(commit::merkle_root(deltas), right.root);
        move::DeclareOuter move = right;
        move.children = deltas;
        if (deltas.size() == 1) move.children.clear();
        move.held = std::min(move.held, static_cast<std::uint32_t>(deltas.size()));
        std::vector<OuterDelta> list(deltas.size());
        for (std::uint32_t i = 0; i < list.size(); ++i)
            list[i] = {i, {}, i + move.held >= list.size(), 0};
        move.slots = slots_of(list);
        return decide(transcript.at(), move);
    };
    ASSERT_TRUE(declare(right.children).ok());
    std::vector<Digest> with_none = right.children, inner;
    with_none.push_back(commit::absent_leaf());
    std::vector<Digest> padded = right.children;
    padded.resize(std::bit_ceil(padded.size()), commit::absent_leaf());
    for (std::size_t i = 0; i < padded.size(); i += 2)
        inner.push_back(commit::merkle_node(padded[i], padded[i + 1]));
    for (const auto& list : std::vector<std::vector<Digest>>{with_none, inner, {right.root}}) {
        const auto declared = declare(list);
        ASSERT_FALSE(declared.ok()) << list.size();
        EXPECT_EQ(declared.error().code, ErrorCode::kMismatch) << declared.error().message;
    }
}

TEST_P(OuterGames, WhatWasNotCommittedToCannotBeDeclared) {
    OuterLiar liar(*asserter_);
    OuterFacts facts = sample_.facts(liar);
    facts.records_root = random_digest();
    const Outcome outcome = play(liar, facts);
    EXPECT_EQ(outcome.end, Outcome::End::kAsserterSilent);
    EXPECT_EQ(outcome.moves, "");
    // Deltas that are not the record's.
    facts = sample_.facts(liar);
    liar.list = sample_.included;
    liar.list->pop_back();
    EXPECT_EQ(play(liar, facts).end, Outcome::End::kAsserterSilent);
}

/// Other included deltas than the challenger expects, all of them committed to: no fault.
TEST_P(OuterGames, WhatIsIncludedIsTheCoordinatorsChoice) {
    OuterLiar other(*asserter_);
    other.list = {{SampleOuter::kSlots[1], sample_.epoch[1].commitment.delta_root},
                  {SampleOuter::kSlots[4], sample_.epoch[4].commitment.delta_root}};
    const Outcome outcome = play(other);
    EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent) << outcome.moves;
    EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict);
    // And a fault in it is one.
    other.lie_about(OuterTree::kBase, 0, 3);
    EXPECT_EQ(name_of(play(other).last), "proveOuter");
}

TEST_P(OuterGames, AgainstARightAggregateThereIsNoMove) {
    const Outcome outcome = challenge(*honest_);
    EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent);
    EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict) << outcome.reason.message;
    EXPECT_EQ(outcome.moves, "declareOuter ");
}

/// A challenger whose data is wrong anywhere.
TEST_P(OuterGames, AChallengerThatIsWrongHasNoProof) {
    const auto expect_silence = [&](OuterLiar& wrong, const char* moves) {
        const Outcome outcome = challenge(wrong);
        EXPECT_EQ(outcome.end, Outcome::End::kChallengerSilent) << outcome.moves;
        EXPECT_EQ(outcome.reason.code, ErrorCode::kConflict) << outcome.reason.message;
        EXPECT_NE(outcome.moves.find(moves), std::string::npos) << outcome.moves;
    };
    for (const OuterTree tree : {OuterTree::kBase, OuterTree::kMomentum}) {
        OuterLiar wrong(*honest_);
        const auto parameter = static_cast<std::uint32_t>(rng_() % parameters());
        wrong.lie_about(tree, parameter, rng_() % (4 * elements(parameter)));
        expect_silence(wrong, "postColumn ");
        wrong.values = Bytes(4 * sample_.included.size(), 0x11);
        expect_silence(wrong, "postColumn ");
    }
    OuterLiar joint(*honest_);
    joint.lie_about_joint(rng_() % (2 * parameters()), random_digest());
    expect_silence(joint, "pickOuter ");
    // It has not heard of the epoch's commitments, but of others.
    OuterLiar elsewhere(*honest_);
    elsewhere.known_epoch = sample_.epoch;
    elsewhere.known_epoch.pop_back();
    expect_silence(elsewhere, "declareOuter ");
}

TEST_P(OuterGames, NoStrategyWinsAgainstAnHonestAsserter) {
    RandomOuterChallenger challenger(*honest_, rng_);
    const OuterFacts facts = sample_.facts(*asserter_);
    std::map<std::string, std::size_t> refused;
    const std::size_t games = 60 * gym::testing::test_scale();
    for (std::size_t game = 0; game < games; ++game) {
        GameTranscript transcript = testing::transcript_of(facts);
        for (std::size_t moves = 0; moves < testing::kMovesMax; ++moves) {
            const bool challenges = transcript.at().answered;
            const auto move = challenges ? Result<Move>(challenger.choose(transcript))
                                         : plan_answer(*asserter_, transcript);
            ASSERT_TRUE(move.ok()) << move.error().message;
            if (is_proof(*move)) {
                const auto ruling = decide(transcript.at(), *move, &sample_.domain);
                ASSERT_FALSE(ruling.ok()) << name_of(*move) << " against an honest asserter";
                EXPECT_EQ(ruling.error().code, ErrorCode::kConflict) << ruling.error().message;
                ++refused[std::string(name_of(*move))];
                break;
            }
            const Status played = transcript.play(*move);
            ASSERT_TRUE(played.ok()) << name_of(*move) << ": " << played.error().message;
        }
    }
    for (const char* name : {"proveSigner", "proveOuterSlot", "proveColumn", "proveOuter"})
        EXPECT_GT(refused[name], 0U) << name;
}

/// Where rounds overlap, all deltas are of the round before, and nobody has committed in its own
/// round when it is signed.
class OverlapGames : public OuterGames {
  protected:
    void SetUp() override { overlap(true); }
    void overlap(bool trains) {
        sample_.overlap(trains);
        begin_again();
        OuterInputs inputs = sample_.inputs();
        inputs.epoch.clear();
        asserter_ = must(RerunOuter::create(std::move(inputs), sample_.source()));
    }
    void expect_wrong_elements_are_found() {
        for (const OuterTree tree : {OuterTree::kBase, OuterTree::kMomentum}) {
            OuterLiar liar(*asserter_);
            const auto parameter = static_cast<std::uint32_t>(rng_() % parameters());
            const std::uint64_t element = rng_() % elements(parameter);
            liar.lie_about(tree, parameter, 4 * element + rng_() % 4);
            const Outcome outcome = play(liar);
            ASSERT_EQ(name_of(outcome.last), "proveOuter")
                << outcome.moves << outcome.reason.message;
            EXPECT_EQ(outcome.finding.element, element);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Samples, OverlapGames,
                         ::testing::Combine(::testing::ValuesIn(kSamples),
                                            ::testing::Values(false)),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param).name);
                         });

TEST_P(OverlapGames, ALieIsProvenAndNothingElse) {
    expect_wrong_elements_are_found();
    EXPECT_EQ(challenge(*honest_).moves, "declareOuter ") << "there is no fault";
}

TEST_P(OverlapGames, ADeltaOfTheRoundItselfCannotBeShown) {
    std::vector<OuterDelta> list = sample_.included;
    ASSERT_EQ(list[1].slot, sample_.epoch[2].commitment.slot);
    list[1].root = sample_.epoch[2].commitment.delta_root;
    expect_silence(list);
    list = sample_.included;
    list[1].root = sample_.add_delta();  // of nobody
    expect_silence(list);
}

/// Behind the last round that trains.
TEST_P(OverlapGames, TheRoundMayHaveNoSlotsAndNoCommitments) {
    overlap(false);
    expect_wrong_elements_are_found();
    EXPECT_EQ(challenge(*honest_).moves, "declareOuter ");
}

TEST(OuterStrategies, AreOfEitherKindOfWork) {
    const SampleOuter sample(kSamples[4]);
    const auto outer = sample.rerun();
    const auto strategy = strategy_of(static_cast<OuterWork&>(*outer));
    GameTranscript transcript = testing::transcript_of(sample.facts(*outer));
    const Move declared = must(strategy->answer(transcript));
    EXPECT_EQ(name_of(declared), "declareOuter");
    ASSERT_TRUE(transcript.play(declared).ok());
    EXPECT_EQ(strategy->challenge(transcript).error().code, ErrorCode::kConflict);
    EXPECT_EQ(transcript.included(), sample.included);

    const auto train = testing::rerun(sample.unit);
    const Facts facts = testing::facts_of(sample.unit, *train, must(train->states())->initial_root);
    EXPECT_EQ(
        name_of(must(
            strategy_of(static_cast<UnitWork&>(*train))->answer(testing::transcript_of(facts)))),
        "declareStates");
}

}  // namespace
}  // namespace gym::game
