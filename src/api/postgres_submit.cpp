#include "gym/api/postgres.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/program/gpt_yaml.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/rewards/accounting.hpp"
#include "postgres_calls.hpp"

namespace gym::api {
namespace {

constexpr const char* kSpecName = "job";

/// Everything about a job that can be refused without the database.
struct CheckedSpec {
    registry::NewJob job;
    std::uint64_t window_tokens = 0;  ///< one training example
    std::uint32_t vocabulary = 0;
};

Result<CheckedSpec> check_spec(const Submission& submission) {
    GYM_TRY(auto submitted, registry::parse_submitted_spec(submission.spec_yaml, kSpecName));
    GYM_TRY(const auto config, program::read_train_config(*submitted.spec.model));
    GYM_CHECK(submitted.spec.model->finish());
    // Building the program checks everything that a model file can get wrong.
    GYM_TRY([[maybe_unused]] const auto built, program::train_program(config));
    CheckedSpec out;
    out.window_tokens = std::uint64_t{config.model.context} + 1;
    out.vocabulary = config.model.vocabulary;
    out.job.id = registry::make_job_id(submission.owner, submission.idempotency_key);
    out.job.owner = submission.owner;
    out.job.name = submitted.spec.name;
    out.job.spec_yaml = submission.spec_yaml;
    out.job.dataset_root = submitted.dataset_root;
    out.job.terms = submitted.spec.terms;
    out.job.budget_wei = submitted.spec.budget_wei;
    return out;
}

/// The dataset exists and has a window for training and one for validation.
Status check_dataset(db::Transaction& tx, const CheckedSpec& spec) {
    const auto dataset = registry::get_dataset(tx, spec.job.dataset_root);
    if (!dataset.ok()) {
        if (dataset.error().code != ErrorCode::kNotFound) return dataset.error();
        return fail(ErrorCode::kNotFound, "dataset " + spec.job.dataset_root.hex() +
                                              " is not registered; POST /v1/datasets takes it");
    }
    const std::uint64_t validation = dataset->tokens / 10;
    if (validation < spec.window_tokens)
        return fail(ErrorCode::kInvalidArgument, "the dataset's validation tenth has " +
                                                     std::to_string(validation) +
                                                     " tokens, one window of the model needs " +
                                                     std::to_string(spec.window_tokens));
    if (dataset->vocabulary > spec.vocabulary)
        return fail(ErrorCode::kInvalidArgument,
                    "the dataset has a vocabulary of " + std::to_string(dataset->vocabulary) +
                        ", the model one of " + std::to_string(spec.vocabulary));
    return {};
}

/// True if this very request was answered before. @errors kConflict if another one was.
Result<bool> claim_key(db::Transaction& tx, const Submission& submission, const Digest& job_id,
                       UnixMs now_ms) {
    const Digest hash = commit::sha256(as_bytes(submission.spec_yaml));
    // Waits for a concurrent request with the same key, then sees its row.
    GYM_TRY(const db::Rows inserted,
            tx.exec("INSERT INTO api.idempotency (owner, key, request_hash, job_id, created_at_ms) "
                    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, key) DO NOTHING",
                    {submission.owner, submission.idempotency_key, hash, job_id, now_ms}));
    if (inserted.affected() == 1) return false;
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT request_hash FROM api.idempotency WHERE owner = $1 AND key = $2",
                        {submission.owner, submission.idempotency_key}));
    if (row.get<Digest>("request_hash") == hash) return true;
    return fail(ErrorCode::kConflict, "the Idempotency-Key was used with another job");
}

Status lock_budget(db::Transaction& tx, const registry::NewJob& job, const std::string& asset,
                   UnixMs now_ms) {
    GYM_TRY(const auto from,
            ledger::open_account(tx, rewards::available_account(asset, job.owner)));
    GYM_TRY(const auto to, ledger::open_account(tx, rewards::escrow_account(asset, job.id)));
    ledger::TransferRequest request;
    request.id = ledger::transfer_id("job-budget:" + job.id.hex());
    request.debit = from;
    request.credit = to;
    request.amount = job.budget_wei;
    request.reason = "job budget";
    GYM_TRY(const auto statuses, ledger::submit(tx, std::span(&request, 1), now_ms));
    if (ledger::done(statuses.front())) return {};
    if (statuses.front() == ledger::TransferStatus::kInsufficient)
        return fail(ErrorCode::kInsufficientFunds,
                    "the budget is " + job.budget_wei.to_tokens() +
                        " tokens, more than what is available; `gym wallet deposit` adds to it");
    return fail(ErrorCode::kInternal,
                "the ledger refused the job's budget: " + std::string(to_string(statuses.front())));
}

}  // namespace

Result<Submitted> PostgresBackend::submit_job(const Submission& submission) {
    GYM_TRY(const CheckedSpec spec, check_spec(submission));
    const UnixMs now_ms = clock_.now_ms();
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<Submitted> {
        Submitted out;
        GYM_TRY(out.replayed, claim_key(tx, submission, spec.job.id, now_ms));
        if (out.replayed) {
            GYM_TRY(out.job, registry::get_job(tx, spec.job.id));
            return out;
        }
        GYM_CHECK(check_dataset(tx, spec));
        GYM_TRY(out.job, registry::submit_job(tx, spec.job, now_ms));
        GYM_CHECK(lock_budget(tx, spec.job, options_.asset, now_ms));
        return out;
    });
}

Result<registry::Job> PostgresBackend::request_job(const Address& owner, const Digest& id,
                                                   registry::JobRequest request) {
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<registry::Job> {
        GYM_TRY(const registry::Job job, registry::get_job(tx, id));
        if (job.owner != owner)
            return fail(ErrorCode::kPermissionDenied, "the job belongs to " + job.owner.hex());
        GYM_CHECK(registry::request_job(tx, id, request));
        return registry::get_job(tx, id);
    });
}

Result<registry::Dataset> PostgresBackend::add_dataset(const Address& owner,
                                                       const std::string& name, ByteView file) {
    GYM_TRY(const auto decoded, blob::Dataset::decode(file, std::nullopt));
    registry::Dataset dataset;
    dataset.root = decoded.root();
    dataset.owner = owner;
    dataset.name = name;
    dataset.tokens = decoded.tokens().size();
    dataset.vocabulary = decoded.vocabulary();
    dataset.registered_at_ms = clock_.now_ms();
    // First the bytes, then the row that promises them.
    GYM_TRY(dataset.blob, blobs_.put(file));
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<registry::Dataset> {
        GYM_CHECK(registry::register_dataset(tx, dataset));
        return registry::get_dataset(tx, dataset.root);
    });
}

}  // namespace gym::api
