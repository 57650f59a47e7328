// What is asked of an order before it is stored, and of a job's before anybody reads the job's
// text, which is work. gym-rewards asks again, and locks the money (src/rewards/orders.cpp).
#include "gym/commit/sha256.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/orders.hpp"
#include "gym/rewards/accounts.hpp"
#include "postgres_calls.hpp"

namespace gym::api::calls {

namespace {

Error insufficient(const std::string& what, const Amount& amount, const Amount& held) {
    const auto missing = amount.minus(held);
    if (!missing.ok()) return missing.error();
    return fail(ErrorCode::kInsufficientFunds,
                what + " is " + amount.to_tokens() + " GYM, " + held.to_tokens() +
                    " are available: deposit " + missing->to_tokens() +
                    " more (`gym wallet deposit`) and wait until the deposit is final (`gym wallet "
                    "balance`), or lower the sum");
}

}  // namespace

Status take_owners_turn(db::Transaction& tx, const Address& owner) {
    const Digest name = commit::sha256(as_bytes("gym.orders.v1" + owner.hex()));
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(number); ++i)
        number = number << 8 | name.data[i];
    GYM_CHECK(tx.exec("SELECT pg_advisory_xact_lock($1)", {static_cast<std::int64_t>(number)}));
    return {};
}

Result<Amount> available_for(db::Transaction& tx, const std::string& asset, const Address& owner,
                             const Amount& own) {
    GYM_TRY(const auto held, ledger::balance(tx, rewards::available_account(asset, owner)));
    GYM_TRY(const Amount ordered,
            registry::ordered_amount(tx, owner, registry::OrderState::kWaiting));
    GYM_TRY(const Amount others, ordered.minus(own));
    return held.spendable().minus(others).value_or({});
}

Status check_covered(db::Transaction& tx, const std::string& asset, const Address& owner,
                     const std::string& what, const Amount& amount) {
    GYM_TRY(const Amount held, available_for(tx, asset, owner, amount));
    return amount <= held ? Status() : Status(insufficient(what, amount, held));
}

Status charge_key(db::Transaction& tx, const std::string& key_id, const Amount& amount) {
    if (key_id.empty()) return {};
    GYM_TRY(const db::Rows charged,
            tx.exec("UPDATE api.api_key SET spent_wei = spent_wei + $2 WHERE id = $1 AND "
                    "(spend_max_wei IS NULL OR spent_wei + $2 <= spend_max_wei)",
                    {key_id, amount}));
    if (charged.affected() == 1) return {};
    GYM_TRY(const db::Row key,
            tx.exec_one("SELECT spent_wei, coalesce(spend_max_wei, 0) AS spend_max_wei FROM "
                        "api.api_key WHERE id = $1",
                        {key_id}));
    return fail(ErrorCode::kPermissionDenied,
                "orders of this API key may come to " +
                    key.get<Amount>("spend_max_wei").to_tokens() + " GYM, " +
                    key.get<Amount>("spent_wei").to_tokens() + " of them are used, this one is " +
                    amount.to_tokens() +
                    ": use another key, or ask the operator for one with a higher limit");
}

Status check_not_running(db::Transaction& tx, const Submission& submission) {
    if (submission.again) return {};
    const Digest job_id = registry::make_job_id(submission.owner, submission.idempotency_key);
    GYM_TRY(const auto row,
            tx.exec_optional(
                "SELECT j.id, j.status FROM api.idempotency i JOIN registry.job j ON "
                "j.id = i.job_id WHERE i.owner = $1 AND i.request_hash = $2 AND "
                "i.job_id <> $3 AND j.ended_at_ms IS NULL ORDER BY i.created_at_ms "
                "LIMIT 1",
                {submission.owner, commit::sha256(as_bytes(submission.spec_yaml)), job_id}));
    if (!row) return {};
    return fail(ErrorCode::kConflict, "the same job was submitted before and is " +
                                          row->get<std::string>("status") + ": " +
                                          row->get<Digest>("id").hex() +
                                          "; to submit it a second time, pass --again to `gym "
                                          "job submit`");
}

Status check_order(db::Database& database, const PostgresBackend::Options& options,
                   const Submission& submission, UnixMs now_ms) {
    const auto order = records::job_order(submission.terms, submission.spec_yaml, submission.owner,
                                          records::order_nonce(submission.idempotency_key));
    GYM_CHECK(records::check_seal(options.network, order, submission.seal));
    return read(database, options, [&](db::Transaction& tx) -> Status {
        GYM_TRY(const auto before,
                tx.exec_optional("SELECT 1 FROM api.idempotency WHERE owner = $1 AND key = $2",
                                 {submission.owner, submission.idempotency_key}));
        if (before) return {};  // its money is locked, and its order was accepted in time
        GYM_CHECK(records::check_expiry(submission.seal, now_ms));
        GYM_TRY(const Amount held, available_for(tx, options.asset, submission.owner));
        // Who holds too little hears first what else is wrong with the job.
        if (!held.is_zero() || order.budget_wei.is_zero()) return {};
        GYM_CHECK(check_not_running(tx, submission));
        return insufficient("the job's budget", order.budget_wei, held);
    });
}

}  // namespace gym::api::calls
