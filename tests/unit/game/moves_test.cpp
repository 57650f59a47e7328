#include "gym/game/moves.hpp"

#include <gtest/gtest.h>

#include <set>

#include "gym/game/rules.hpp"
#include "move_samples.hpp"
#include "random_seed.hpp"

namespace gym::game {
namespace {

using namespace testing;  // NOLINT: samples

TEST(Hashes, AreThoseOfTheContracts) {
    EXPECT_EQ(hash_of(sample_cursor()).hex(),
              "0xb1fe859db50f7c6ea4586032e85b0f6dc272459479ac7fc3266434eec54026e0");
    EXPECT_EQ(hash_of(sample_facts()).hex(),
              "0xabc31ae9d09219aa474e0dbdeac8de34a0ab9f39216419880a2306c311777510");
    EXPECT_EQ(hash_of(sample_step()).hex(),
              "0x26f6e793c7764456b4dbd7d263810cb9322ea44698628d35809f8578d608293a");
    EXPECT_EQ(hash_of(sample_op()).hex(),
              "0x372ae7d9b72d1f362a7d2bf9669697346758b1bad7d94a48b40300dd95c91268");
    EXPECT_EQ(hash_of(sample_outer_facts()).hex(),
              "0x320a02092534db4ce19afbcd04a6730fdf425d218a5288ea07cdc8a87e2f6d6a");
    EXPECT_EQ(hash_of(sample_outer()).hex(),
              "0x696c90f2130e9f4a4f4d5847895a53c6669c5312c7f240bdcce27baf6924e236");
    EXPECT_EQ(hash_of(UnitFacts(sample_outer_facts())), hash_of(sample_outer_facts()));
    // Of "gym.data_request.v1" and then the encoding.
    EXPECT_EQ(hash_of(sample_request()).hex(),
              "0xd860939109a66fde438795b0a0cb42ad195a9b4c6930f3834b8f9a9eae8df0ef");
    EXPECT_EQ(hash_of(UnitFacts(sample_request())), hash_of(sample_request()));
    EXPECT_EQ(steps_frame(filled(32), filled(33)).hex(),
              "0x7ad60f34e5e7c550944ba648e679bbcd7259c28327bbbee80a775522a9a85bc7");
}

template <class T>
void expect_every_member_counts(const T& sample) {
    std::set<Digest> seen{hash_of(sample)};
    T copy = sample;
    Rng rng(7);
    std::size_t members = 1;
    std::apply(
        [&](auto&... member) {
            const auto change = [&](auto& one) {
                const auto before = one;
                while (one == before)
                    randomise(rng, one);
                seen.insert(hash_of(copy));
                one = before;
                ++members;
            };
            (change(member), ...);
        },
        abi::members(copy));
    EXPECT_EQ(seen.size(), members);
    EXPECT_EQ(copy, sample);
}

TEST(Hashes, ChangeWithEveryMember) {
    expect_every_member_counts(sample_cursor());
    expect_every_member_counts(sample_facts());
    expect_every_member_counts(sample_step());
    expect_every_member_counts(sample_op());
    expect_every_member_counts(sample_outer_facts());
    expect_every_member_counts(sample_outer());
    expect_every_member_counts(sample_request());
}

TEST(Moves, KnowWhoseTheyAre) {
    std::set<std::string_view> names;
    Rng rng(1);
    int answers = 0, proofs = 0;
    for (std::size_t i = 0; i < std::variant_size_v<Move>; ++i) {
        const Move move = random_move(rng, i);
        names.insert(name_of(move));
        answers += is_answer(move) ? 1 : 0;
        proofs += is_proof(move) ? 1 : 0;
        EXPECT_FALSE(is_answer(move) && is_proof(move));
        EXPECT_EQ(is_proof(move), name_of(move).starts_with("prove"));
        if (name_of(move).starts_with("pick")) {
            EXPECT_FALSE(is_answer(move));
        }
    }
    EXPECT_EQ(names.size(), std::variant_size_v<Move>);
    EXPECT_EQ(answers, 12);
    EXPECT_EQ(proofs, 14);
}

TEST(AnswerLevels, AreAsFewAnswersAsPossibleOfAboutTheSameSize) {
    // Descent.levels().
    EXPECT_EQ(answer_levels(0, 7), 0U);
    for (unsigned height = 1; height <= 7; ++height)
        EXPECT_EQ(answer_levels(height, 7), height);
    EXPECT_EQ(answer_levels(8, 7), 4U);
    EXPECT_EQ(answer_levels(15, 7), 5U);
    EXPECT_EQ(answer_levels(48, 7), 7U);
    EXPECT_EQ(answer_levels(7, 6), 4U);
}

}  // namespace
}  // namespace gym::game
