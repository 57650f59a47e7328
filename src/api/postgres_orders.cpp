// What is asked of a job's order before anybody reads the job's text, which is work.
#include "gym/commit/sha256.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/rewards/accounts.hpp"
#include "postgres_calls.hpp"

namespace gym::api::calls {

Error insufficient(db::Transaction& tx, const ledger::AccountKey& available,
                   const std::string& what, const Amount& amount) {
    const auto balance = ledger::balance(tx, available);
    if (!balance.ok()) return balance.error();
    const Amount held = balance->spendable();
    const auto missing = amount.minus(held);
    if (!missing.ok()) return missing.error();
    return fail(ErrorCode::kInsufficientFunds,
                what + " is " + amount.to_tokens() + " GYM, " + held.to_tokens() +
                    " are available: deposit " + missing->to_tokens() +
                    " more (`gym wallet deposit`) and wait until the deposit is final (`gym wallet "
                    "balance`), or lower the sum");
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
        const auto available = rewards::available_account(options.asset, submission.owner);
        GYM_TRY(const auto held, ledger::balance(tx, available));
        // Who holds too little hears first what else is wrong with the job.
        if (!held.spendable().is_zero() || order.budget_wei.is_zero()) return {};
        GYM_CHECK(check_not_running(tx, submission));
        return insufficient(tx, available, "the job's budget", order.budget_wei);
    });
}

}  // namespace gym::api::calls
