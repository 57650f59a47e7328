#include "gym/api/postgres.hpp"

#include <algorithm>
#include <utility>

#include "gym/api/uploads.hpp"
#include "gym/blob/read_once.hpp"
#include "gym/blob/view_reader.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/duration_text.hpp"
#include "gym/common/memory.hpp"
#include "gym/common/printable.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/dispute/network_limit.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/licence/licence.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/dispute_window.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/protocol/price_floor.hpp"
#include "gym/protocol/unit_fit.hpp"
#include "gym/quality/nearest.hpp"
#include "gym/quality/novelty.hpp"
#include "gym/registry/evaluation_bound.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/orders.hpp"
#include "gym/registry/size_limits.hpp"
#include "gym/rewards/accounts.hpp"
#include "gym/rewards/formulas.hpp"
#include "postgres_calls.hpp"

namespace gym::api {
namespace {

constexpr const char* kSpecName = "job";

/// Everything about a job that can be refused without the database.
struct CheckedSpec {
    registry::NewJob job;
    std::uint64_t window_tokens = 0;  ///< one training example
    std::uint32_t vocabulary = 0;
    Amount max_data_price_wei;
    std::uint64_t flops_per_step = 0, tokens_per_step = 0;
    protocol::RoundShape shape;
    records::JobOrder order;  ///< that the owner must have signed
    std::optional<registry::InitialWeights> init;
    engine::StateLayout parameters;
    protocol::JobBytes bytes;
    licence::Use use = licence::Use::kCommercial;
};

/// Credits are whole base units, rounded down: a price that makes a unit worth less than one is
/// work for nothing.
Status check_price(const registry::JobTerms& terms, const program::Program& program,
                   const Amount& price_min) {
    const Amount& price = terms.price_wei_per_pflop;
    if (const std::string why = protocol::below_floor(price, price_min); !why.empty())
        return fail(ErrorCode::kInvalidArgument, why);
    GYM_TRY(const Amount flops,
            Amount(program::flops_per_step(program)).mul_div(Amount(terms.steps), Amount(1)));
    GYM_TRY(const Amount unit, price.mul_div(flops, Amount(rewards::kFlopsPerPflop)));
    if (!unit.is_zero()) return {};
    return fail(ErrorCode::kInvalidArgument,
                "'price_per_pflop' is " + price.to_tokens() + ": a unit of " + flops.to_string() +
                    " FLOPs would earn less than one base unit, that is nothing");
}

/// FLOPs of a step, and of a window of validation.
Result<registry::EvaluationWork> evaluation_work(const program::Program& train,
                                                 std::uint32_t batch) {
    GYM_TRY(const auto evaluation, program::evaluation_program(train));
    return registry::EvaluationWork{
        static_cast<double>(program::flops_per_step(train)),
        static_cast<double>(program::flops_per_step(evaluation)) / batch};
}

Result<CheckedSpec> check_spec(const Submission& submission, const Amount& price_min) {
    GYM_TRY(auto submitted, registry::parse_submitted_spec(submission.spec_yaml, kSpecName));
    GYM_TRY(const auto config, program::read_train_config(*submitted.spec.model));
    GYM_CHECK(submitted.spec.model->finish());
    // Building the program checks everything that a model file can get wrong.
    GYM_TRY(const auto built, program::train_program(config));
    GYM_CHECK(check_price(submitted.spec.terms, built, price_min));
    if (const std::string limit = dispute::network_limit(built); !limit.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "no network can train this model: " + limit +
                        "; train it with `gym program run`, or take a smaller one (`gym model "
                        "list`)");
    const registry::JobTerms& terms = submitted.spec.terms;
    GYM_TRY(const auto evaluation, evaluation_work(built, config.batch));
    GYM_CHECK(registry::check_evaluation(terms, evaluation));
    const registry::AggregateSize largest = registry::largest_aggregate(terms);
    GYM_TRY(const program::OwnFlops own,
            program::own_flops(built, largest.deltas, {largest.held, largest.withdrawn, 0},
                               terms.evaluate_windows));
    CheckedSpec out;
    out.flops_per_step = program::flops_per_step(built);
    out.tokens_per_step = std::uint64_t{config.batch} * config.model.context;
    out.shape = {terms.slots_max, terms.steps, own.sum(),
                 terms.elastic.overlap != 0 ? own.evaluation : 0};
    out.window_tokens = std::uint64_t{config.model.context} + 1;
    out.vocabulary = config.model.vocabulary;
    out.job.id = registry::make_job_id(submission.owner, submission.idempotency_key);
    out.job.owner = submission.owner;
    out.job.name = submitted.spec.name;
    out.job.spec_yaml = submission.spec_yaml;
    out.job.dataset_root = submitted.dataset_root;
    out.job.terms = submitted.spec.terms;
    out.job.budget_wei = submitted.spec.budget_wei;
    out.job.access = submitted.spec.access;
    out.max_data_price_wei = submitted.spec.max_data_price_wei;
    out.order = registry::job_order(submitted, submission.spec_yaml, submission.owner,
                                    records::order_nonce(submission.idempotency_key));
    out.init = submitted.init;
    out.parameters = engine::parameter_layout(built);
    GYM_TRY(out.bytes.delta, engine::delta_bytes(built));
    GYM_TRY(out.bytes.state, engine::state_bytes_max(built));
    out.use = submitted.spec.use;
    return out;
}

/// The dataset exists and has a window for training and one for validation.
Status check_dataset(db::Transaction& tx, const CheckedSpec& spec) {
    const auto dataset =
        registry::get_dataset(tx, spec.job.dataset_root, registry::Viewer::account(spec.job.owner));
    if (!dataset.ok()) {
        if (dataset.error().code != ErrorCode::kNotFound) return dataset.error();
        return fail(
            ErrorCode::kNotFound,
            "dataset " + spec.job.dataset_root.hex() +
                " is not registered; register it with `gym data register` or POST /v1/datasets (a "
                "job trains on datasets that its owner may see)");
    }
    GYM_CHECK(calls::check_data_licence(*dataset, spec.job.owner, spec.use));
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

/// A job that begins from weights reads tokens as they did, as far as this is known.
Status check_tokenizer(db::Transaction& tx, const CheckedSpec& spec,
                       const calls::FoundWeights& weights) {
    if (!weights.tokenizer) return {};
    GYM_TRY(const auto data, registry::get_dataset(tx, spec.job.dataset_root));
    if (!data.tokenizer || *data.tokenizer == *weights.tokenizer) return {};
    const std::string whose =
        spec.init->job ? "job " + spec.init->job->hex() : "state " + spec.init->root.hex();
    return fail(ErrorCode::kMismatch,
                "'init': " + whose + " was trained on tokens of the tokenizer " +
                    weights.tokenizer->hex() + ", and dataset " + data.root.hex() +
                    " was made with " + data.tokenizer->hex());
}

/// The owner has agreed to the price that the job now has.
Status check_data_price(const registry::Job& job, const Amount& most) {
    const Amount& price = job.data_price_wei_per_mtoken;
    if (price <= most) return {};
    return fail(ErrorCode::kConflict,
                "dataset " + job.dataset_root.hex() + " costs " + price.to_tokens() +
                    " GYM per million tokens of text, the job agrees to " +
                    (most.is_zero() ? "none" : most.to_tokens() + " at the most") +
                    ": to accept the price, write 'max_data_price: " + price.to_tokens() +
                    "' in the job file or pass --max-data-price to `gym job submit`");
}

/// A model whose blobs the coordinator would not take: it would pause the job.
Status check_sizes(db::Transaction& tx, const CheckedSpec& spec) {
    GYM_TRY(const auto limits, registry::published_size_limits(tx));
    if (!limits) return {};  // then the coordinator pauses the job and says why
    const std::string why = protocol::too_large(spec.bytes, spec.job.terms.workers_min, *limits);
    return why.empty() ? Status() : Status(fail(ErrorCode::kInvalidArgument, why));
}

/// A job of which the coordinator would start no round: its faults would be found too late for the
/// chain.
Status check_window(db::Transaction& tx, const CheckedSpec& spec) {
    GYM_TRY(const auto window_ms, registry::published_dispute_window(tx));
    if (!window_ms) return {};  // then the coordinator ends the job and says why
    const std::string why = protocol::outlasts_window(spec.job.terms.lifecycle, *window_ms);
    return why.empty() ? Status() : Status(fail(ErrorCode::kInvalidArgument, why));
}

/// A job of which the coordinator would give no unit to as many workers as a round needs: by its
/// deadline they could not be done.
Status check_speed(db::Transaction& tx, const CheckedSpec& spec, UnixMs live_since_ms) {
    const registry::JobTerms& terms = spec.job.terms;
    const protocol::UnitLength unit{
        spec.flops_per_step, terms.elastic.adapt_steps ? 1 : terms.steps, terms.lifecycle.unit_ms};
    GYM_TRY(const auto speed, registry::speed_of_fastest(tx, terms.workers_min, live_since_ms));
    if (!speed || protocol::is_in_time(unit, *speed)) return {};  // or nobody is there to compare
    const std::uint32_t in_time = protocol::steps_in_time(unit, *speed);
    const double flops = static_cast<double>(unit.flops_per_step) * unit.steps;
    return fail(
        ErrorCode::kInvalidArgument,
        "'deadlines.unit_ms' is " + std::to_string(unit.unit_ms) + ": " +
            (unit.steps == 1 ? "one step" : "a unit of " + std::to_string(unit.steps) + " steps") +
            " takes " + duration_text(flops / static_cast<double>(*speed)) +
            " on the slowest of the " + std::to_string(terms.workers_min) +
            " workers that a round needs at least (" + speed_text(static_cast<double>(*speed)) +
            "); allow more time" +
            (in_time == 0 ? "" : ", or at most " + std::to_string(in_time) + " 'steps_per_round'"));
}

/// A budget that no round fits into would be locked for nothing.
Status check_budget(db::Transaction& tx, const CheckedSpec& spec, const registry::Job& job) {
    GYM_TRY(const auto rates, calls::cost_rates(tx));
    if (!rates) return {};  // then the coordinator pauses the job and says why
    const protocol::WorkPrice price{job.terms.price_wei_per_pflop, spec.flops_per_step,
                                    spec.tokens_per_step, job.data_price_wei_per_mtoken,
                                    job.data_quality_ppm};
    GYM_TRY(const Amount one, protocol::rounds_bound(price, *rates, spec.shape, 1));
    if (one <= job.budget_wei) return {};
    GYM_TRY(const Amount all, protocol::rounds_bound(price, *rates, spec.shape, job.terms.rounds));
    return fail(ErrorCode::kInvalidArgument,
                "'budget' is " + job.budget_wei.to_tokens() +
                    " GYM and covers no round: one may "
                    "cost " +
                    one.to_tokens() + ", all " + std::to_string(job.terms.rounds) + " " +
                    all.to_tokens() + " (`gym job quote`); the unspent rest returns");
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

/// @errors kPermissionDenied for a stranger's job, kConflict for one that has ended.
Status check_steerable(const registry::Job& job, const Address& owner) {
    if (job.owner != owner)
        return fail(ErrorCode::kPermissionDenied, "the job belongs to " + job.owner.hex());
    if (job.ended_at_ms)
        return fail(ErrorCode::kConflict, "job " + job.id.hex() + " has ended: " +
                                              std::string(registry::to_string(job.status)));
    return {};
}

/// True if this very funding was ordered before. @errors kConflict if another one was.
Result<bool> is_ordered(db::Transaction& tx, const records::JobFunding& funding) {
    GYM_TRY(const auto before,
            tx.exec_optional("SELECT job_id, amount_wei FROM registry.job_funding WHERE owner = $1 "
                             "AND nonce = $2",
                             {funding.owner, funding.nonce}));
    if (!before) return false;
    if (before->get<Digest>("job_id") == funding.job &&
        before->get<Amount>("amount_wei") == funding.amount_wei)
        return true;
    return fail(ErrorCode::kConflict, "the Idempotency-Key was used with another job or amount");
}

}  // namespace

Result<Submitted> PostgresBackend::submit_job(const Submission& submission) {
    const UnixMs now_ms = clock_.now_ms();
    GYM_CHECK(calls::check_order(database_, options_, submission, now_ms));
    GYM_TRY(const CheckedSpec spec, check_spec(submission, options_.price_per_pflop_min));
    // The order's terms are those of the text.
    GYM_CHECK(records::check_seal(options_.network, spec.order, submission.seal));
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<Submitted> {
        Submitted out;
        GYM_CHECK(calls::take_owners_turn(tx, submission.owner));
        GYM_TRY(out.replayed, claim_key(tx, submission, spec.job.id, now_ms));
        if (out.replayed) {
            GYM_TRY(out.job, registry::get_job(tx, spec.job.id));
            return out;
        }
        // Not of a repetition: its order was accepted in time.
        GYM_CHECK(records::check_expiry(submission.seal, now_ms));
        // Before the money: who has ordered the same job needs no more.
        GYM_CHECK(calls::check_not_running(tx, submission));
        GYM_CHECK(check_sizes(tx, spec));
        GYM_CHECK(check_window(tx, spec));
        GYM_CHECK(check_speed(tx, spec, now_ms - options_.node_live_ms));
        GYM_CHECK(check_dataset(tx, spec));
        registry::NewJob job = spec.job;
        bool uploaded = false;
        if (spec.init) {
            GYM_TRY(const auto found,
                    calls::find_weights(tx, job.owner, *spec.init, spec.parameters, spec.use));
            GYM_CHECK(check_tokenizer(tx, spec, found));
            job.init = found.state;
            uploaded = found.uploaded;
            job.init_own = found.brought;
        }
        GYM_CHECK(registry::store_order(tx, job.id, spec.order, submission.seal, now_ms));
        GYM_TRY(out.job, registry::submit_job(tx, job, now_ms));
        // Of the stored job, whose price is fixed: an earlier answer may be out of date.
        GYM_CHECK(check_data_price(out.job, spec.max_data_price_wei));
        GYM_CHECK(check_budget(tx, spec, out.job));
        GYM_CHECK(calls::check_covered(tx, options_.asset, job.owner, "the job's budget",
                                       job.budget_wei));
        GYM_CHECK(calls::charge_key(tx, submission.key_id, job.budget_wei));
        if (uploaded)
            GYM_CHECK(calls::take_over(blobs_, options_.uploads, job.owner, job.init->blob));
        else if (job.init)
            GYM_CHECK(calls::keep_weights(tx, blobs_, job.init->blob));
        return out;
    });
}

Result<registry::Job> PostgresBackend::request_job(const Address& owner, const Digest& id,
                                                   registry::JobRequest request) {
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<registry::Job> {
        GYM_TRY(const registry::Job job, registry::get_job(tx, id));
        GYM_CHECK(check_steerable(job, owner));
        GYM_CHECK(registry::request_job(tx, id, request));
        return registry::get_job(tx, id);
    });
}

Result<registry::Job> PostgresBackend::fund_job(const Funding& funding) {
    const UnixMs now_ms = clock_.now_ms();
    const records::JobFunding order{.owner = funding.owner,
                                    .job = funding.job_id,
                                    .amount_wei = funding.amount,
                                    .nonce = records::order_nonce(funding.idempotency_key)};
    GYM_CHECK(records::check_seal(options_.network, order, funding.seal));
    return calls::write(database_, options_, [&](db::Transaction& tx) -> Result<registry::Job> {
        GYM_CHECK(calls::take_owners_turn(tx, funding.owner));
        GYM_TRY(const registry::Job job, registry::get_job(tx, funding.job_id));
        GYM_CHECK(check_steerable(job, funding.owner));
        GYM_TRY(const bool ordered, is_ordered(tx, order));
        if (ordered) return job;
        GYM_CHECK(records::check_expiry(funding.seal, now_ms));
        GYM_CHECK(registry::store_funding(tx, order, funding.seal, now_ms));
        GYM_CHECK(calls::check_covered(tx, options_.asset, funding.owner,
                                       "the sum to add to the job's budget", funding.amount));
        GYM_CHECK(calls::charge_key(tx, funding.key_id, funding.amount));
        return registry::get_job(tx, job.id);
    });
}

// Registration of datasets: what of the tokens was there before (src/quality) is asked of the
// registry under the lock of all registrations, so that of two copies only the first is new.

namespace {

static_assert(quality::kLookupKeysMax <= registry::kDatasetKeysMax);
constexpr std::size_t kNameBytesMax = 128;

/// The terms, without looking at the tokens.
Status check_offer(const DatasetOffer& offer) {
    if (offer.name.empty() || offer.name.size() > kNameBytesMax)
        return fail(ErrorCode::kInvalidArgument, "the dataset's name must be 1 to 128 bytes long");
    if (!is_printable(offer.name))
        return fail(ErrorCode::kInvalidArgument,
                    "the dataset's name has a control character: others read it on a terminal");
    if (offer.access)
        GYM_CHECK(registry::check_visibility(offer.licence, offer.access->visibility));
    const Amount most = registry::dataset_price_max();
    if (offer.price_wei_per_mtoken <= most) return {};
    return fail(ErrorCode::kOutOfRange, "the price is " + offer.price_wei_per_mtoken.to_tokens() +
                                            " GYM per million tokens of text, at most " +
                                            most.to_tokens());
}

registry::Dataset record_of(const DatasetOffer& offer, std::string licence,
                            const blob::DatasetSummary& file) {
    registry::Dataset out;
    out.root = file.root;
    out.owner = offer.owner;
    out.name = offer.name;
    out.licence = std::move(licence);
    out.price_wei_per_mtoken = offer.price_wei_per_mtoken;
    out.access =
        offer.access.value_or(registry::Access{registry::default_visibility(offer.licence), {}});
    out.tokens = file.tokens;
    out.vocabulary = file.vocabulary;
    if (!file.tokenizer.is_zero()) out.tokenizer = file.tokenizer;
    return out;
}

/// What registration needs of a token file, read once in bounded memory.
struct ReadFile {
    blob::DatasetSummary summary;
    quality::DatasetSketch sketch;
};
Result<ReadFile> read_offered(const blob::BlobReader& file, const DatasetOffer& offer) {
    quality::Sketcher sketcher;
    ReadFile out;
    GYM_TRY(out.summary, blob::scan_dataset(file, [&](TokenView tokens) -> Status {
                sketcher.add(tokens);
                return {};
            }));
    if (offer.root && *offer.root != out.summary.root)
        return fail(ErrorCode::kMismatch, "the dataset's root is " + out.summary.root.hex() +
                                              ", not " + offer.root->hex());
    out.sketch = sketcher.finish();
    return out;
}

Status check_complete(db::Transaction& tx, const Address& owner, const Digest& blob) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT 1 FROM api.upload WHERE owner = $1 AND root = "
                                             "$2 AND completed_at_ms IS NOT NULL",
                                             {owner, blob}));
    if (row) return {};
    return fail(ErrorCode::kNotFound, "'upload': you have no complete upload of blob " +
                                          blob.hex() + "; PUT /v1/blobs/{root} sends it");
}

/// Compares the sketch with all that is registered: fills in novelty and nearest dataset.
Status compare(db::Transaction& tx, const quality::DatasetSketch& sketch,
               registry::Dataset& dataset) {
    quality::KeyOwners owners;
    quality::Registered registered;
    GYM_TRY(registered.level_max, registry::sample_level_max(tx));
    registered.known =
        [&](std::span<const std::uint64_t> keys) -> Result<std::vector<std::uint64_t>> {
        GYM_TRY(const auto known, registry::known_keys(tx, keys));
        std::vector<std::uint64_t> out;
        out.reserve(known.size());
        for (const registry::KnownKey& one : known) {
            owners.emplace(one.key, one.dataset);
            out.push_back(one.key);
        }
        return out;
    };
    GYM_TRY(const quality::Novelty novelty, quality::novelty(sketch, registered));
    dataset.novelty_ppm = novelty.ppm;
    dataset.nearest.reset();
    const auto found = quality::nearest(sketch, owners);
    if (!found) return {};
    GYM_TRY(const Digest root, registry::dataset_root(tx, found->dataset));
    dataset.nearest = registry::NearestDataset{root, found->ppm};
    return {};
}

/// The record as it stands, if the root is registered. @errors kConflict with other terms, or
/// another visibility than its owner asks for.
Result<std::optional<AddedDataset>> registered_before(db::Transaction& tx,
                                                      const registry::Dataset& offered,
                                                      bool names_access) {
    GYM_TRY(auto stored, registry::find_dataset(tx, offered.root));
    if (!stored) return std::optional<AddedDataset>();
    GYM_CHECK(registry::check_same_offer(*stored, offered));
    if (names_access && stored->access.visibility != offered.access.visibility)
        return fail(ErrorCode::kConflict, "dataset " + stored->root.hex() +
                                              " is registered already and " +
                                              std::string(to_string(stored->access.visibility)) +
                                              ": `gym data visibility` changes that");
    GYM_CHECK(registry::add_names(tx, {&*stored, 1}));
    return std::optional(AddedDataset{*std::move(stored), false});
}

Result<AddedDataset> add_new(db::Transaction& tx, const quality::DatasetSketch& sketch,
                             registry::Dataset dataset, bool names_access,
                             const registry::DatasetQuota& quota) {
    GYM_CHECK(registry::lock_registrations(tx));
    GYM_TRY(const auto before, registered_before(tx, dataset, names_access));
    if (before) return *before;
    GYM_CHECK(registry::check_dataset_quota(tx, dataset, quota));
    GYM_CHECK(compare(tx, sketch, dataset));
    AddedDataset out;
    GYM_TRY(out.is_new, registry::register_dataset(tx, dataset));
    GYM_TRY(out.dataset,
            registry::get_dataset(tx, dataset.root, registry::Viewer::account(dataset.owner)));
    GYM_CHECK(registry::add_keys(tx, quality::distinct_keys(sketch), out.dataset.number));
    return out;
}

}  // namespace

Result<std::unique_ptr<const blob::BlobReader>> PostgresBackend::open_upload(const Address& owner,
                                                                             const Digest& blob) {
    if (!options_.uploads)
        return fail(ErrorCode::kNotFound, "'upload': this gym-api takes no uploads");
    GYM_CHECK(calls::read(database_, options_,
                          [&](db::Transaction& tx) { return check_complete(tx, owner, blob); }));
    return options_.uploads->open(owner, blob);
}

Result<AddedDataset> PostgresBackend::add_dataset(const DatasetOffer& offer) {
    GYM_CHECK(check_offer(offer));
    if (!offer.upload) {
        const auto put = [&]() -> Status {
            GYM_TRY([[maybe_unused]] const Digest root, blobs_.put(offer.file));
            return {};
        };
        return register_file(offer, blob::blob_root(offer.file), blob::ViewReader(offer.file), put);
    }
    const auto turn = reading_->take(offer.owner, clock_.now_ms());
    if (!turn)
        return fail(ErrorCode::kUnavailable, "another uploaded file is being read; ask again");
    const Digest& blob = *offer.upload;
    GYM_TRY(const auto file, open_upload(offer.owner, blob));
    if (file->size() > options_.dataset_bytes_max)
        return fail(ErrorCode::kOutOfRange, "a token file of " + memory_text(file->size()) +
                                                "; this network takes at most " +
                                                memory_text(options_.dataset_bytes_max));
    const auto adopt = [&] { return blobs_.adopt(blob, *file); };
    return register_file(offer, blob, *file, adopt);
}

Result<AddedDataset> PostgresBackend::register_file(const DatasetOffer& offer, const Digest& blob,
                                                    const blob::BlobReader& file,
                                                    FunctionRef<Status()> store) {
    GYM_TRY(std::string licence, licence::canonical(offer.licence));
    // Seconds for large files: outside of the lock that others wait for.
    GYM_TRY(const ReadFile read, read_offered(file, offer));
    registry::Dataset dataset = record_of(offer, std::move(licence), read.summary);
    dataset.blob = blob;
    dataset.usefulness_ppm = options_.usefulness_default_ppm;
    dataset.registered_at_ms = clock_.now_ms();
    const bool names_access = offer.access.has_value();
    GYM_TRY(
        const auto before,
        calls::read(
            database_, options_, [&](db::Transaction& tx) -> Result<std::optional<AddedDataset>> {
                GYM_TRY(auto found, registered_before(tx, dataset, names_access));
                // What is refused does not fill the disk.
                if (!found)
                    GYM_CHECK(registry::check_dataset_quota(tx, dataset, options_.dataset_quota));
                return found;
            }));
    // Before the row that promises the bytes; also if the row is there, in case they were lost.
    GYM_CHECK(store());
    if (before) return *before;
    const quality::DatasetSketch& sketch = read.sketch;
    dataset.sample = registry::DatasetSample{
        sketch.level, static_cast<std::uint32_t>(sketch.chunks.size()), sketch.compared_tokens};
    return calls::write(database_, options_, [&](db::Transaction& tx) {
        return add_new(tx, sketch, dataset, names_access, options_.dataset_quota);
    });
}

}  // namespace gym::api
