#include "gym/rewards/epoch_file.hpp"
#include "gym/rewards/settlement.hpp"

#include <map>

#include "books.hpp"
#include "credit_rows.hpp"
#include "gym/ledger/sealer.hpp"

// Closing an epoch: one transaction from final credits to a payout root.
namespace gym::rewards {

using ledger::transfer_id;

namespace {

// Which rounds an epoch pays.

/// The finished rounds whose credits an epoch cannot pay, as two columns.
struct LeftOut {
    std::vector<Digest> jobs;
    std::vector<std::uint64_t> rounds;

    /// The columns as parameters of `unnest($1::bytea[], $2::bigint[])`.
    [[nodiscard]] std::vector<db::Param> params() const;
};

struct EpochRounds {
    bool pays = false;  ///< a round with credits is among those that are not left out
    LeftOut left_out;
};

struct WaitingRound {
    Digest job_id;
    std::uint64_t round = 0;
    std::uint64_t credits = 0;
    std::map<Address, Amount> spent;   ///< by payer: the job's owner, the emission account
    std::map<Address, Amount> locked;  ///< of each payer on chain, by the events that are booked
};

Result<std::vector<WaitingRound>> read_waiting(db::Transaction& transaction) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(
                "SELECT w.*, coalesce(l.locked, 0) AS locked FROM ("
                "SELECT f.job_id, f.round, f.registry_epoch, coalesce(c.payer, j.owner) AS payer, "
                "count(*) AS credits, sum(c.amount) AS amount FROM rewards.finished_round f "
                "JOIN rewards.credit c ON c.job_id = f.job_id AND c.round = f.round "
                "JOIN registry.job j ON j.id = f.job_id "
                "WHERE c.state = 'posted' AND c.epoch IS NULL "
                "GROUP BY f.job_id, f.round, f.registry_epoch, coalesce(c.payer, j.owner)) AS w "
                "LEFT JOIN rewards.owner_lock l ON l.owner = w.payer "
                "ORDER BY w.registry_epoch, w.payer"));
    std::vector<WaitingRound> out;
    for (const db::Row row : rows) {
        const auto job = row.get<Digest>("job_id");
        const auto round = row.get<std::uint64_t>("round");
        if (out.empty() || out.back().job_id != job || out.back().round != round)
            out.push_back({job, round, 0, {}, {}});
        out.back().credits += row.get<std::uint64_t>("credits");
        const auto payer = row.get<Address>("payer");
        out.back().spent[payer] = row.get<Amount>("amount");
        out.back().locked[payer] = row.get<Amount>("locked");
    }
    return out;
}

/// The rest of the growth limit: a disabled root's sums are in the next root again.
Result<Amount> growth_left(db::Transaction& transaction, const Amount& limit) {
    GYM_TRY(const db::Row row,
            transaction.exec_one(
                "SELECT coalesce(max(total_cumulative), 0) - coalesce(max(total_cumulative) FILTER "
                "(WHERE state = 'submitted'), 0) AS disabled FROM rewards.settlement"));
    const auto disabled = row.get<Amount>("disabled");
    return disabled < limit ? limit.minus(disabled) : Result<Amount>(Amount());
}

/// The sums that an epoch pays so far.
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
            if (spent[payer] > round.locked.at(payer))
                return payer.hex() + " has locked " + round.locked.at(payer).to_tokens() +
                       " tokens on chain (JobEscrow.lockedOf), and owes more";
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

std::vector<db::Param> LeftOut::params() const {
    std::vector<db::Param> job_params(jobs.begin(), jobs.end());
    std::vector<db::Param> round_params(rounds.begin(), rounds.end());
    return {db::Param::array(job_params), db::Param::array(round_params)};
}

/// Whether a credit of a finished round waits for an epoch.
Result<bool> any_credit_waits(db::Transaction& transaction) {
    GYM_TRY(const db::Row row,
            transaction.exec_one(
                "SELECT EXISTS (SELECT FROM rewards.credit c JOIN rewards.finished_round f "
                "ON f.job_id = c.job_id AND f.round = c.round "
                "WHERE c.state = 'posted' AND c.epoch IS NULL)"));
    return row.get<bool>(0);
}

/// Goes through the finished rounds that have unpaid credits, oldest first, and takes each one that
/// still fits: contract limits are on sums, so one owner's large round would otherwise hold up the
/// pay of everybody. Notes in rewards.finished_round.held why a round fits no epoch at all.
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

// Its payments.

struct Previous {
    std::uint64_t epoch = 0;
    std::optional<Digest> file_root;
    bool is_disabled = false;  ///< what it was to pay waits for the next root
};

/// The newest epoch, or nothing if a new one must wait: one is under way, or its root is not active
/// yet (the contract takes one pending root at a time).
Result<std::optional<Previous>> read_previous(db::Transaction& transaction, UnixMs now) {
    GYM_TRY(const auto row,
            transaction.exec_optional(
                "SELECT epoch, state, file_root, active_at_ms FROM rewards.settlement "
                "ORDER BY epoch DESC LIMIT 1"));
    if (!row) return std::optional(Previous{});
    GYM_TRY(const EpochState state, parse_epoch_state(row->get<std::string>("state")));
    const bool waits = state == EpochState::kClosed || state == EpochState::kReleased ||
                       (state == EpochState::kSubmitted && row->get<UnixMs>("active_at_ms") > now);
    if (waits) return std::optional<Previous>();
    return std::optional(Previous{row->get<std::uint64_t>("epoch"), row->get<Digest>("file_root"),
                                  state == EpochState::kDisabled});
}

Result<std::vector<Credit>> read_credits(db::Transaction& transaction, const LeftOut& left_out) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(
                receipt_select() +
                    "JOIN rewards.finished_round f ON f.job_id = c.job_id AND f.round = c.round "
                    "WHERE c.state = 'posted' AND c.epoch IS NULL AND NOT EXISTS (SELECT FROM "
                    "unnest($1::bytea[], $2::bigint[]) AS o (job_id, round) "
                    "WHERE o.job_id = c.job_id AND o.round = c.round) ORDER BY c.id",
                left_out.params()));
    std::vector<Credit> credits;
    for (const db::Row row : rows) {
        GYM_TRY(Receipt receipt, to_receipt(row));
        credits.push_back(std::move(receipt.credit));
    }
    return credits;
}

Result<std::vector<FileRound>> read_rounds(db::Transaction& transaction, const LeftOut& left_out) {
    GYM_TRY(const db::Rows rows,
            transaction.exec("SELECT f.job_id, f.round, f.registry_epoch, r.commitments_root, "
                             "f.uptime_from_ms, f.uptime_to_ms FROM rewards.finished_round f "
                             "JOIN registry.round r ON r.job_id = f.job_id AND r.round = f.round "
                             "WHERE f.epoch IS NULL AND NOT EXISTS (SELECT FROM "
                             "unnest($1::bytea[], $2::bigint[]) AS o (job_id, round) "
                             "WHERE o.job_id = f.job_id AND o.round = f.round) "
                             "ORDER BY f.registry_epoch",
                             left_out.params()));
    std::vector<FileRound> rounds;
    for (const db::Row row : rows) {
        FileRound round{row.get<Digest>("job_id"), row.get<std::uint64_t>("round"),
                        row.get<std::uint64_t>("registry_epoch"),
                        row.get<std::optional<Digest>>("commitments_root")};
        if (const auto from = row.get<std::optional<UnixMs>>("uptime_from_ms"))
            round.uptime = {*from, row.get<UnixMs>("uptime_to_ms")};
        rounds.push_back(round);
    }
    return rounds;
}

Result<std::map<Address, Amount>> read_cumulative(db::Transaction& transaction) {
    GYM_TRY(const db::Rows rows,
            transaction.exec("SELECT DISTINCT ON (earner) earner, cumulative FROM rewards.payout "
                             "ORDER BY earner, epoch DESC"));
    std::map<Address, Amount> totals;
    for (const db::Row row : rows)
        totals[row.get<Address>("earner")] = row.get<Amount>("cumulative");
    return totals;
}

Status add(std::map<Address, Amount>& to, const Address& who, const Amount& amount) {
    GYM_TRY(to[who], to[who].plus(amount));
    return {};
}

struct Closing {
    EpochFile file;
    std::map<Address, Amount> earned;  ///< of this epoch
};

Result<Closing> make_file(Books& books, const Previous& previous, const LeftOut& left_out) {
    GYM_TRY(auto credits, read_credits(books.transaction, left_out));
    Closing closing;
    std::map<Address, Amount> spent;
    for (const Credit& credit : credits) {
        GYM_TRY(const registry::Job job, books.job(credit.job_id));
        GYM_CHECK(add(spent, credit.payer.value_or(job.owner), credit.amount));
        GYM_CHECK(add(closing.earned, credit.earner, credit.amount));
    }
    GYM_TRY(auto cumulative, read_cumulative(books.transaction));
    for (const auto& [earner, amount] : closing.earned)
        GYM_CHECK(add(cumulative, earner, amount));

    EpochFile& file = closing.file;
    file.epoch = previous.epoch + 1;
    file.previous = previous.file_root;
    file.domain = books.config.domain;
    file.credits = std::move(credits);
    GYM_TRY(file.rounds, read_rounds(books.transaction, left_out));
    GYM_TRY(file.ledger_seal, ledger::seal_head(books.transaction));
    for (const auto& [owner, amount] : spent)
        file.releases.push_back({owner, amount});
    for (const auto& [earner, amount] : cumulative) {
        file.payouts.push_back({earner, amount});
        GYM_TRY(file.total_cumulative, file.total_cumulative.plus(amount));
    }
    GYM_TRY(const PayoutTree tree, PayoutTree::build(file.domain, file.payouts));
    file.payout_root = tree.root();
    return closing;
}

Status store(Books& books, const Closing& closing) {
    const EpochFile& file = closing.file;
    const std::string json = encode_epoch_file(file);
    std::optional<std::uint64_t> seal_number;
    std::optional<Digest> seal_hash;
    if (file.ledger_seal) {
        seal_number = file.ledger_seal->number;
        seal_hash = file.ledger_seal->hash;
    }
    GYM_CHECK(books.transaction.exec(
        "INSERT INTO rewards.settlement (epoch, state, payout_root, total_cumulative, file, "
        "file_root, seal_number, seal_hash, closed_at_ms, changed_at_ms) "
        "VALUES ($1, 'closed', $2, $3, $4, $5, $6, $7, $8, $8)",
        {file.epoch, file.payout_root, file.total_cumulative, json, epoch_file_root(json),
         seal_number, seal_hash, books.now}));
    std::vector<std::string> ids;
    for (const Credit& credit : file.credits)
        ids.push_back(credit.id);
    GYM_TRY(
        const db::Rows marked,
        books.transaction.exec("UPDATE rewards.credit SET epoch = $1 WHERE id = ANY($2::uuid[])",
                               {file.epoch, db::Param::array(ids)}));
    GYM_ASSERT(marked.affected() == ids.size(), "each credit of the file is paid by this epoch");
    for (const FileRound& round : file.rounds)
        GYM_CHECK(books.transaction.exec(
            "UPDATE rewards.finished_round SET epoch = $1 WHERE job_id = $2 AND round = $3",
            {file.epoch, round.job_id, round.round}));
    for (const FileRelease& release : file.releases)
        GYM_CHECK(books.transaction.exec("INSERT INTO rewards.release VALUES ($1, $2, $3)",
                                         {file.epoch, release.owner, release.amount}));
    return {};
}

/// earned -> payable, and the totals that the root pays.
Status make_payable(Books& books, const Closing& closing) {
    const std::string asset = books.config.asset();
    const std::string epoch = std::to_string(closing.file.epoch);
    for (const Payout& payout : closing.file.payouts) {
        const auto found = closing.earned.find(payout.earner);
        if (found == closing.earned.end()) continue;
        GYM_CHECK(books.must_move(transfer_id("close:" + epoch + ":" + payout.earner.hex()),
                                  earned_account(asset, payout.earner),
                                  payable_account(asset, payout.earner), found->second,
                                  "close of epoch " + epoch));
        GYM_CHECK(books.transaction.exec(
            "INSERT INTO rewards.payout VALUES ($1, $2, $3, $4)",
            {closing.file.epoch, payout.earner, found->second, payout.cumulative}));
    }
    return {};
}

}  // namespace

Result<std::optional<std::uint64_t>> Settlement::close_epoch() {
    using Closed = std::optional<std::uint64_t>;
    // The chain is asked only when there is something to close.
    GYM_TRY(const bool is_due, database_.transact(
                                   [&](db::Transaction& transaction) -> Result<bool> {
                                       GYM_TRY(const auto previous,
                                               read_previous(transaction, clock_.now_ms()));
                                       if (!previous || previous->is_disabled)
                                           return previous.has_value();
                                       return any_credit_waits(transaction);
                                   },
                                   idempotent()));
    if (!is_due) return Closed();
    GYM_TRY(const PayoutLimits limits, chain_.limits());
    return database_.transact(
        [&](db::Transaction& transaction) -> Result<Closed> {
            // One closer at a time, and none while a feed is being booked.
            GYM_CHECK(transaction.exec("SELECT FROM rewards.cursor ORDER BY name FOR UPDATE"));
            Books books{transaction, config_, clock_.now_ms()};
            GYM_TRY(const auto previous, read_previous(transaction, books.now));
            if (!previous) return Closed();
            GYM_TRY(const EpochRounds rounds, choose_rounds(transaction, config_, limits));
            if (!rounds.pays && !previous->is_disabled) return Closed();
            GYM_TRY(const Closing closing, make_file(books, *previous, rounds.left_out));
            GYM_CHECK(store(books, closing));
            GYM_CHECK(make_payable(books, closing));
            return Closed(closing.file.epoch);
        },
        idempotent());
}

}  // namespace gym::rewards
