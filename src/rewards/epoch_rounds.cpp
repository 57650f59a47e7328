#include "epoch_rounds.hpp"

#include <map>

namespace gym::rewards {
namespace {

struct WaitingRound {
    Digest job_id;
    std::uint64_t round = 0;
    std::uint64_t credits = 0;
    std::map<Address, Amount> spent;  ///< by who pays: the job's owner, the emission account
};

Result<std::vector<WaitingRound>> read_waiting(db::Transaction& transaction) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(
                "SELECT f.job_id, f.round, coalesce(c.payer, j.owner) AS payer, count(*) AS "
                "credits, sum(c.amount) AS amount FROM rewards.finished_round f "
                "JOIN rewards.credit c ON c.job_id = f.job_id AND c.round = f.round "
                "JOIN registry.job j ON j.id = f.job_id "
                "WHERE c.state = 'posted' AND c.epoch IS NULL "
                "GROUP BY f.job_id, f.round, f.registry_epoch, coalesce(c.payer, j.owner) "
                "ORDER BY f.registry_epoch, payer"));
    std::vector<WaitingRound> out;
    for (const db::Row row : rows) {
        const auto job = row.get<Digest>("job_id");
        const auto round = row.get<std::uint64_t>("round");
        if (out.empty() || out.back().job_id != job || out.back().round != round)
            out.push_back({job, round, 0, {}});
        out.back().credits += row.get<std::uint64_t>("credits");
        out.back().spent[row.get<Address>("payer")] = row.get<Amount>("amount");
    }
    return out;
}

/// What of the growth limit is left: a disabled root's sums are in the next root again.
Result<Amount> growth_left(db::Transaction& transaction, const Amount& limit) {
    GYM_TRY(const db::Row row,
            transaction.exec_one(
                "SELECT coalesce(max(total_cumulative), 0) - coalesce(max(total_cumulative) FILTER "
                "(WHERE state = 'submitted'), 0) AS disabled FROM rewards.settlement"));
    const auto disabled = row.get<Amount>("disabled");
    return disabled < limit ? limit.minus(disabled) : Result<Amount>(Amount());
}

/// What an epoch pays so far.
class Sums {
  public:
    Sums(const PayoutLimits& limits, std::uint64_t credits_max)
        : limits_(limits), credits_max_(credits_max) {}

    /// Adds `round` if it fits. @return why not, empty if it does.
    Result<std::string> add(const WaitingRound& round) {
        Amount total = total_;
        std::map<Address, Amount> spent = spent_;
        for (const auto& [payer, amount] : round.spent) {
            GYM_TRY(total, total.plus(amount));
            GYM_TRY(spent[payer], spent[payer].plus(amount));
            if (spent[payer] > limits_.owner_release)
                return "one owner's release is at most " + limits_.owner_release.to_tokens() +
                       " tokens an epoch (JobEscrow.ownerReleaseCap), " + payer.hex() +
                       " owes more";
        }
        if (total > limits_.release)
            return "a release is at most " + limits_.release.to_tokens() +
                   " tokens an epoch (JobEscrow.releaseCap)";
        if (total > limits_.growth)
            return "a payout root grows by at most " + limits_.growth.to_tokens() +
                   " tokens (RewardsDistributor.growthLimit)";
        if (credits_ != 0 && credits_ + round.credits > credits_max_)
            return "an epoch file has at most " + std::to_string(credits_max_) + " credits";
        total_ = total;
        spent_ = std::move(spent);
        credits_ += round.credits;
        return std::string();
    }

  private:
    const PayoutLimits& limits_;
    std::uint64_t credits_max_;
    Amount total_;
    std::map<Address, Amount> spent_;
    std::uint64_t credits_ = 0;
};

/// For people: a limit has to be raised before this round can be paid. Empty: it waits its turn.
Status note_held(db::Transaction& transaction, const WaitingRound& round, const std::string& why) {
    GYM_CHECK(
        transaction.exec("UPDATE rewards.finished_round SET held = $3 "
                         "WHERE job_id = $1 AND round = $2 AND held <> $3",
                         {round.job_id, round.round, why}));
    return {};
}

}  // namespace

std::vector<db::Param> LeftOut::params() const {
    std::vector<db::Param> job_params(jobs.begin(), jobs.end());
    std::vector<db::Param> round_params(rounds.begin(), rounds.end());
    return {db::Param::array(job_params), db::Param::array(round_params)};
}

Result<bool> any_credit_waits(db::Transaction& transaction) {
    GYM_TRY(const db::Row row,
            transaction.exec_one(
                "SELECT EXISTS (SELECT FROM rewards.credit c JOIN rewards.finished_round f "
                "ON f.job_id = c.job_id AND f.round = c.round "
                "WHERE c.state = 'posted' AND c.epoch IS NULL)"));
    return row.get<bool>(0);
}

Result<EpochRounds> choose_rounds(db::Transaction& transaction, const RewardsConfig& config,
                                  const PayoutLimits& limits) {
    PayoutLimits left = limits;
    GYM_TRY(left.growth, growth_left(transaction, limits.growth));
    GYM_TRY(const auto waiting, read_waiting(transaction));
    Sums sums(left, config.epoch_credits_max);
    EpochRounds out;
    for (const WaitingRound& round : waiting) {
        GYM_TRY(std::string why, sums.add(round));
        if (why.empty()) {
            out.pays = true;
        } else {
            out.left_out.jobs.push_back(round.job_id);
            out.left_out.rounds.push_back(round.round);
            // Alone in an epoch it might fit.
            GYM_TRY(why, Sums(left, config.epoch_credits_max).add(round));
        }
        GYM_CHECK(note_held(transaction, round, why));
    }
    return out;
}

}  // namespace gym::rewards
