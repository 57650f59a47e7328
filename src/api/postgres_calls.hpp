#pragma once

#include "gym/api/postgres.hpp"
#include "gym/api/uploads.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/licence/licence.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"

/// How the backend talks to the database: briefly, because a person waits for the answer.
namespace gym::api::calls {

template <class F>
auto read(db::Database& database, const PostgresBackend::Options& options, F&& body) {
    db::TransactOptions transact;
    transact.isolation = db::Isolation::kRepeatableRead;  // one picture for all statements
    transact.read_only = true;
    transact.idempotent = true;
    transact.give_up_after = options.give_up_after;
    return database.transact(std::forward<F>(body), transact);
}

/// `body` finds its own work when it is run again.
template <class F>
auto write(db::Database& database, const PostgresBackend::Options& options, F&& body) {
    db::TransactOptions transact;
    transact.idempotent = true;
    transact.give_up_after = options.give_up_after;
    return database.transact(std::forward<F>(body), transact);
}

/// Whether write() would take the body, which changes nothing here: its transaction is taken back.
/// A blob store forgets nothing, so what will be refused must be refused before its bytes are
/// stored.
/// @errors those of the body.
template <class F>
Status rehearse(db::Database& database, const PostgresBackend::Options& options, F&& body) {
    const Error taken_back = fail(ErrorCode::kCancelled, "a rehearsal");
    const Status outcome = write(database, options, [&](db::Transaction& tx) -> Status {
        GYM_CHECK(body(tx));
        return taken_back;
    });
    return outcome.error().code == taken_back.code ? Status() : outcome;
}

/// What an owner can order for: what it has available, less what its waiting orders come to.
/// @param own of these the order that is asked about.
Result<Amount> available_for(db::Transaction& tx, const std::string& asset, const Address& owner,
                             const Amount& own = {});

/// Orders of one owner are stored one after the other, so that each sees those before it: others
/// wait until the transaction ends.
Status take_owners_turn(db::Transaction& tx, const Address& owner);

/// That the owner has the money of an order for `amount` that was just stored, in the owner's turn.
/// `what` names the sum in the error. @errors kInsufficientFunds, with advice.
Status check_covered(db::Transaction& tx, const std::string& asset, const Address& owner,
                     const std::string& what, const Amount& amount);

/// Counts an order against the limit of the API key that brings it, if it has one. A refused order
/// counts, too. @errors kPermissionDenied.
Status charge_key(db::Transaction& tx, const std::string& key_id, const Amount& amount);

/// That the owner has signed this very text with these terms, in time, and has money at all. Reads
/// the text's bytes, not what they say.
/// @errors kMismatch, kPermissionDenied, kInvalidArgument, kInsufficientFunds: those of a
/// submission.
Status check_order(db::Database& database, const PostgresBackend::Options& options,
                   const Submission& submission, UnixMs now_ms);

/// Whoever sends the text of a job that runs with another key has most likely forgotten the first.
/// @errors kConflict naming the job, unless the submission asks for a second one.
Status check_not_running(db::Transaction& tx, const Submission& submission);

/// Rates that bound a job's costs; absent until coordinator and gym-rewards have published them.
Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx);
Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx,
                                                      const rewards::PublishedFee& fee);

/// Others than their owner may train on a dataset, or on each part of a mix, as far as its licence
/// permits the job's use. @errors kPermissionDenied saying which licence forbids what.
Status check_data_licence(const registry::Dataset& dataset, const Address& submitter,
                          licence::Use use);

/// Weights that a job begins from.
struct FoundWeights {
    registry::StateRef state;
    /// The tokenizer whose tokens they were trained on, as far as it is known.
    std::optional<Digest> tokenizer;
    bool uploaded = false;  ///< by the owner: to be taken over into the blob store
    bool brought = false;   ///< uploaded by the owner, now or for an earlier job
};
/// That a model's licence gives others no more than the licences of the data and weights that it
/// was trained on, where the network has trained it. @errors kPermissionDenied.
Status check_model_licence(db::Transaction& tx, const registry::ModelVersion& model);

/// The weights that a job of `owner` begins from, if it may and they fit: an upload, a registered
/// model or what a job trained.
/// @param needed the program's parameters. @param use of the job.
/// @errors kNotFound (no such state, job or round, or none that the owner may see);
/// kPermissionDenied (the licence of another owner's model or data forbids it, also where other
/// jobs trained on from there); as engine::Differences.
Result<FoundWeights> find_weights(db::Transaction& tx, const Address& owner,
                                  const registry::InitialWeights& init,
                                  const engine::StateLayout& needed, licence::Use use);

/// What a job has trained.
struct TrainedState {
    registry::StateRef state;
    std::uint64_t round = 0;
};
/// The base state of a job after `round` (0: the initial one), by default after its last one.
/// @errors kNotFound.
Result<TrainedState> trained_state(db::Transaction& tx, const registry::Job& job,
                                   const std::optional<std::uint64_t>& round);
/// The parameters of a job's program, made again from its job file.
Result<engine::StateLayout> parameters_of(const registry::Job& job);

/// Moves an uploaded blob to where the coordinator finds it, if it is not there.
Status take_over(blob::BlobStore& blobs, const std::optional<UploadFiles>& files,
                 const Address& owner, const Digest& blob);

/// Keeps what another job has trained in the store, since a row is about to name it.
/// @errors kNotFound where it was pruned, saying which rounds' weights are kept.
Status keep_weights(db::Transaction& tx, blob::BlobStore& blobs, const Digest& blob);

Result<JobCost> cost_of(db::Transaction& tx, const registry::Job& job, const std::string& asset);

/// A statement whose rows are a name and a count.
inline Result<std::map<std::string, std::uint64_t>> count_by(db::Transaction& tx,
                                                             std::string_view sql,
                                                             db::Params params = {}) {
    GYM_TRY(const db::Rows rows, tx.exec(sql, params));
    std::map<std::string, std::uint64_t> out;
    for (const db::Row row : rows)
        out[row.get<std::string>(0)] = row.get<std::uint64_t>(1);
    return out;
}

}  // namespace gym::api::calls
