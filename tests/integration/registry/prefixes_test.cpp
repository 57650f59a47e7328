// Rows of prefixes, and what the database refuses whoever writes them.
#include "gym/registry/prefixes.hpp"

#include "registry_fixture.hpp"

namespace gym::registry::testing {
namespace {

using protocol::PrefixState;

class RegistryPrefixes : public RegistryDatabase {
  protected:
    const std::vector<Digest> units_ = open_round_with_units();
    const Digest unit_ = units_[0];
    const std::string where_ = " WHERE unit_id = '\\x" + unit_.hex().substr(2) + "'";

    protocol::SignedPrefix prefix(std::uint32_t steps, std::uint64_t link = 0) {
        protocol::SignedPrefix out;
        out.prefix.steps = steps;
        out.prefix.link = digest(100 + (link == 0 ? steps : link));
        return out;
    }
    Status keep(const Digest& unit, const protocol::SignedPrefix& prefix, UnixMs at_ms) {
        return coordinator->transact(
            [&](db::Transaction& tx) { return keep_prefix(tx, unit, prefix, at_ms); });
    }
    void expire(const Digest& unit) {
        run([&](db::Transaction& tx) -> Status {
            GYM_CHECK(advance(tx, unit, protocol::event::TimePassed{}, params,
                              kNow + params.unit_ms + 1));
            return {};
        });
    }
    void decide(const Digest& unit, const PrefixVerdict& verdict) {
        run([&](db::Transaction& tx) -> Status {
            GYM_CHECK(draw_prefix(tx, unit, address(9), kNow + 5));
            GYM_CHECK(store_prefix_report(tx, unit, {digest(103), {}}, kNow + 4));
            return decide_prefix(tx, unit, verdict, kNow + 5);
        });
    }
    ErrorCode write(const std::string& set) {
        return sql(*coordinator, "UPDATE registry.unit_prefix SET " + set + where_);
    }
    std::vector<DecidedPrefix> feed() {
        return coordinator
            ->transact([](db::Transaction& tx) { return read_decided_prefixes(tx, 0, 10); })
            .value();
    }
};

TEST_F(RegistryPrefixes, OnlyGrowWhileTheirUnitIsAssigned) {
    ASSERT_TRUE(keep(unit_, prefix(3), kNow).ok());
    EXPECT_TRUE(keep(unit_, prefix(3), kNow).ok()) << "the same again";
    EXPECT_EQ(keep(unit_, prefix(4), kNow + 999).error().code, ErrorCode::kOutOfRange);
    ASSERT_TRUE(keep(unit_, prefix(4), kNow + 1'000).ok());
    EXPECT_EQ(keep(unit_, prefix(3), kNow + 5'000).error().code, ErrorCode::kConflict);
    EXPECT_EQ(keep(unit_, prefix(4, 9), kNow + 5'000).error().code, ErrorCode::kConflict);
    EXPECT_EQ(keep(digest(77), prefix(1), kNow).error().code, ErrorCode::kNotFound);
    EXPECT_NE(write("steps = 2"), ErrorCode::kCancelled) << "by hand neither";
    EXPECT_NE(write("link = '\\x" + digest(9).hex().substr(2) + "'"), ErrorCode::kCancelled);
    EXPECT_NE(write("state = 'drawn', draws = 1"), ErrorCode::kCancelled)
        << "its unit has not expired";
    expire(unit_);
    EXPECT_EQ(keep(unit_, prefix(5), kNow + 9'000).error().code, ErrorCode::kConflict);
    EXPECT_NE(write("steps = 5"), ErrorCode::kCancelled);
    EXPECT_NE(sql(*coordinator, "DELETE FROM registry.unit_prefix" + where_),
              ErrorCode::kCancelled);
}

TEST_F(RegistryPrefixes, AreForgottenWithACommitment) {
    ASSERT_TRUE(keep(unit_, prefix(3), kNow).ok());
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(commit(tx, unit_));
        return drop_prefix(tx, unit_);
    });
    const auto found =
        coordinator->transact([&](db::Transaction& tx) { return find_prefix(tx, unit_); });
    EXPECT_FALSE(found.value().has_value());
    EXPECT_EQ(keep(unit_, prefix(4), kNow + 1'000).error().code, ErrorCode::kConflict);
}

TEST_F(RegistryPrefixes, AreDecidedOnceAndFedWithoutGaps) {
    for (const std::size_t i : {0U, 1U, 2U}) {
        ASSERT_TRUE(keep(units_[i], prefix(3), kNow).ok());
        expire(units_[i]);
    }
    decide(units_[0], {PrefixState::kVerified, 300, true, ""});
    decide(units_[1], {PrefixState::kUnpaid, 0, false, "nobody came"});
    decide(units_[2], {PrefixState::kVerified, 300, false, ""});
    const auto decided = feed();
    ASSERT_EQ(decided.size(), 2U);
    EXPECT_EQ(decided[0].seq, 1U);
    EXPECT_EQ(decided[0].unit, units_[0]);
    EXPECT_EQ(decided[0].owner, address(1));
    EXPECT_EQ(decided[0].verifier, address(9));
    EXPECT_EQ(decided[0].verifier_owner, address(9));
    EXPECT_EQ(decided[1].seq, 2U);
    EXPECT_EQ(decided[1].unit, units_[2]);
    EXPECT_FALSE(decided[1].verifier.has_value());
    const auto again = coordinator->transact([&](db::Transaction& tx) {
        return decide_prefix(tx, unit_, {PrefixState::kUnpaid, 0, false, "x"}, kNow);
    });
    EXPECT_EQ(again.error().code, ErrorCode::kConflict);
    EXPECT_NE(write("flops = 400"), ErrorCode::kCancelled);
    const auto due =
        coordinator->transact([&](db::Transaction& tx) { return due_prefixes(tx, new_job().id); });
    EXPECT_TRUE(due.value().empty());
}

TEST_F(RegistryPrefixes, ARefutedOneEndsTheRunAndItsVerifierIsPaidForADifferenceAlone) {
    ASSERT_TRUE(keep(unit_, prefix(4), kNow).ok());  // the verifier finds the link of three steps
    expire(unit_);
    run([&](db::Transaction& tx) -> Status {
        GYM_CHECK(tx.exec("UPDATE registry.node SET valid_value = 7"));
        return {};
    });
    const auto paid_for_agreement = coordinator->transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(draw_prefix(tx, unit_, address(9), kNow + 5));
        GYM_CHECK(store_prefix_report(tx, unit_, {digest(103), {}}, kNow + 4));
        return decide_prefix(tx, unit_, {PrefixState::kVerified, 400, true, ""}, kNow + 5);
    });
    EXPECT_FALSE(paid_for_agreement.ok());
    decide(unit_, {PrefixState::kRefuted, 400, true, "it differs"});
    run([&](db::Transaction& tx) -> Status {
        GYM_TRY(const Node worker, get_node(tx, address(1)));
        EXPECT_TRUE(worker.valid_value.is_zero());
        GYM_TRY(const Node other, get_node(tx, address(2)));
        EXPECT_EQ(other.valid_value, Amount(7));
        return {};
    });
    ASSERT_EQ(feed().size(), 1U);
    EXPECT_FALSE(feed()[0].verified);
}

TEST_F(RegistryPrefixes, AreNotShownBeforeTheyAreDecided) {
    ASSERT_TRUE(keep(unit_, prefix(3), kNow).ok());
    expire(unit_);
    const auto shown = [&] {
        return api
            ->transact(
                [&](db::Transaction& tx) { return published_prefixes(tx, new_job().id, 1, {}); })
            .value();
    };
    EXPECT_TRUE(shown().empty());
    EXPECT_NE(sql(*api, "SELECT link FROM registry.unit_prefix"), ErrorCode::kCancelled)
        << "a verifier could copy it";
    decide(unit_, {PrefixState::kVerified, 300, true, ""});
    ASSERT_EQ(shown().size(), 1U);
    EXPECT_EQ(shown()[0].link, digest(103));
    EXPECT_EQ(shown()[0].report->link, digest(103));
    EXPECT_EQ(shown()[0].steps, 3U);
}

}  // namespace
}  // namespace gym::registry::testing
