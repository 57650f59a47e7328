#include "gym/registry/jobs.hpp"

#include <algorithm>
#include <array>

#include "access_rows.hpp"
#include "delta_bytes_row.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/registry/pauses.hpp"
#include "worker_memory_row.hpp"

namespace gym::registry {
namespace {

constexpr std::array<std::string_view, 6> kStatusNames = {"submitted", "running",   "paused",
                                                          "completed", "cancelled", "failed"};
constexpr std::array<std::string_view, 3> kRequestNames = {"pause", "resume", "cancel"};
constexpr std::uint32_t kJobListMax = 1000;

constexpr std::string_view kJobColumns =
    "j.rounds, j.slots_max, j.workers_min, j.steps, j.checkpoint_every, "
    "j.evaluate_windows, j.delta_norm_max, j.delta_norm_factor, j.price_wei_per_pflop, j.unit_ms, "
    "j.report_ms, j.reveal_ms, j.defence_ms, j.challenge_ms, j.draws_max, "
    "j.sampling_floor_ppm, j.sampling_aggregate_ppm, j.quorum_ppm, j.grace_ms, "
    "j.adapt_steps, j.hold_drawn, j.accept_late, j.overlap, j.subtract, j.seed, j.program_root, "
    "j.program_blob, "
    "j.evaluate_program_root, "
    "j.evaluate_program_blob, j.logits_program_root, j.logits_program_blob, "
    "j.base_state_root, j.base_state_blob, j.momentum_root, j.momentum_blob, "
    "j.tokens_per_step, j.flops_per_step, j.parameters, j.worker_memory_bytes, "
    "j.worker_gpu_memory_bytes, "
    "j.delta_bytes, j.state_bytes, j.id, "
    "j.owner, j.name, j.dataset_root, j.budget_wei, j.init_root, j.init_blob, "
    "j.init_own, j.visibility, j.data_price_wei_per_mtoken, j.data_quality_ppm, "
    "j.status, j.status_reason, j.request, j.request_reason, j.submitted_at_ms, "
    "j.started_at_ms, j.ended_at_ms, "
    "(SELECT count(*) FROM registry.round r WHERE r.job_id = j.id "
    "AND r.round <= j.rounds AND r.state IN ('aggregated', 'closed')) AS rounds_done, (SELECT "
    "string_agg(a, ''::bytea "
    "ORDER BY a) FROM unnest(j.allowed::bytea[]) a) AS allowed_joined, (SELECT d.owner FROM "
    "registry.dataset d WHERE d.root = j.dataset_root) AS data_owner FROM registry.job j ";

/// One job.
std::string select_job() {
    return "SELECT j.spec_yaml, " + std::string(kJobColumns);
}
/// Any number of them, without their job files: one has up to a megabyte.
std::string select_jobs() {
    return "SELECT '' AS spec_yaml, " + std::string(kJobColumns);
}

JobTerms to_terms(const db::Row& row) {
    JobTerms terms;
    terms.rounds = row.get<std::uint64_t>("rounds");
    terms.slots_max = row.get<std::uint32_t>("slots_max");
    terms.workers_min = row.get<std::uint32_t>("workers_min");
    terms.steps = row.get<std::uint32_t>("steps");
    terms.checkpoint_every = row.get<std::uint32_t>("checkpoint_every");
    terms.evaluate_windows = row.get<std::uint32_t>("evaluate_windows");
    terms.delta_norm_max = row.get<std::optional<double>>("delta_norm_max");
    terms.delta_norm_factor = row.get<std::optional<double>>("delta_norm_factor");
    terms.price_wei_per_pflop = row.get<Amount>("price_wei_per_pflop");
    terms.lifecycle.unit_ms = row.get<std::int64_t>("unit_ms");
    terms.lifecycle.report_ms = row.get<std::int64_t>("report_ms");
    terms.lifecycle.reveal_ms = row.get<std::int64_t>("reveal_ms");
    terms.lifecycle.defence_ms = row.get<std::int64_t>("defence_ms");
    terms.lifecycle.challenge_ms = row.get<std::int64_t>("challenge_ms");
    terms.lifecycle.draws_max = row.get<std::uint32_t>("draws_max");
    terms.sampling.floor_ppm = row.get<std::uint32_t>("sampling_floor_ppm");
    terms.sampling.aggregate_ppm = row.get<std::uint32_t>("sampling_aggregate_ppm");
    terms.elastic.quorum_ppm = row.get<std::uint32_t>("quorum_ppm");
    terms.lifecycle.grace_ms = row.get<std::int64_t>("grace_ms");
    terms.elastic.adapt_steps = row.get<bool>("adapt_steps");
    terms.elastic.hold_drawn = row.get<bool>("hold_drawn");
    terms.elastic.accept_late = row.get<bool>("accept_late");
    terms.elastic.subtract = row.get<bool>("subtract");
    terms.elastic.overlap = static_cast<std::uint32_t>(row.get<std::int32_t>("overlap"));
    return terms;
}

std::optional<JobArtifacts> to_artifacts(const db::Row& row) {
    if (row.is_null("seed")) return std::nullopt;
    JobArtifacts out;
    out.seed = row.get<Digest>("seed");
    out.program_root = row.get<Digest>("program_root");
    out.program_blob = row.get<Digest>("program_blob");
    out.evaluate_program_root = row.get<Digest>("evaluate_program_root");
    out.evaluate_program_blob = row.get<Digest>("evaluate_program_blob");
    out.logits_program_root = row.get<Digest>("logits_program_root");
    out.logits_program_blob = row.get<Digest>("logits_program_blob");
    out.base_state_root = row.get<Digest>("base_state_root");
    out.base_state_blob = row.get<Digest>("base_state_blob");
    out.momentum_root = row.get<Digest>("momentum_root");
    out.momentum_blob = row.get<Digest>("momentum_blob");
    out.tokens_per_step = row.get<std::uint64_t>("tokens_per_step");
    out.flops_per_step = row.get<std::uint64_t>("flops_per_step");
    out.parameters = row.get<std::uint64_t>("parameters");
    out.worker_memory = worker_memory_of(row);
    out.delta_bytes = delta_bytes_of(row);
    out.state_bytes = row.get<std::optional<std::uint64_t>>("state_bytes").value_or(0);
    return out;
}

/// The schema allows no other names than these.
std::optional<JobRequest> to_request(const std::optional<std::string>& name) {
    for (std::size_t i = 0; name && i < kRequestNames.size(); ++i)
        if (*name == kRequestNames[i]) return static_cast<JobRequest>(i);
    return std::nullopt;
}

Result<Job> to_job(const db::Row& row) {
    Job job;
    job.id = row.get<Digest>("id");
    job.owner = row.get<Address>("owner");
    job.name = row.get<std::string>("name");
    job.spec_yaml = row.get<std::string>("spec_yaml");
    job.dataset_root = row.get<Digest>("dataset_root");
    job.terms = to_terms(row);
    job.budget_wei = row.get<Amount>("budget_wei");
    if (!row.is_null("init_root"))
        job.init = StateRef{row.get<Digest>("init_root"), row.get<Digest>("init_blob")};
    job.init_own = row.get<bool>("init_own");
    GYM_TRY(job.access.visibility, parse_visibility(row.get<std::string>("visibility")));
    job.access.allowed = split_addresses(row.get<std::optional<Bytes>>("allowed_joined"));
    job.data_owner = row.get<Address>("data_owner");
    job.data_price_wei_per_mtoken = row.get<Amount>("data_price_wei_per_mtoken");
    job.data_quality_ppm = row.get<std::uint32_t>("data_quality_ppm");
    GYM_TRY(job.status, parse_job_status(row.get<std::string>("status")));
    job.status_reason = row.get<std::string>("status_reason");
    job.request = to_request(row.get<std::optional<std::string>>("request"));
    job.request_reason = row.get<std::string>("request_reason");
    job.artifacts = to_artifacts(row);
    job.submitted_at_ms = row.get<UnixMs>("submitted_at_ms");
    job.started_at_ms = row.get<std::optional<UnixMs>>("started_at_ms");
    job.ended_at_ms = row.get<std::optional<UnixMs>>("ended_at_ms");
    job.rounds_done = row.get<std::uint64_t>("rounds_done");
    return job;
}

bool same_submission(const Job& stored, const NewJob& job) {
    return stored.owner == job.owner && stored.name == job.name &&
           stored.spec_yaml == job.spec_yaml && stored.dataset_root == job.dataset_root &&
           stored.terms == job.terms && stored.init == job.init;
}

Status expect_changed(const db::Rows& rows, const Digest& id) {
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kNotFound, "there is no job " + id.hex());
}

}  // namespace

std::string_view to_string(JobStatus status) noexcept {
    return kStatusNames[static_cast<std::size_t>(status)];
}

std::string_view to_string(JobRequest request) noexcept {
    return kRequestNames[static_cast<std::size_t>(request)];
}

Result<JobStatus> parse_job_status(std::string_view name) {
    for (std::size_t i = 0; i < kStatusNames.size(); ++i)
        if (kStatusNames[i] == name) return static_cast<JobStatus>(i);
    return fail(ErrorCode::kMalformed, "no job status is called '" + std::string(name) + "'");
}

Digest make_job_id(const Address& owner, std::string_view idempotency_key) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("gym.job.v1")).fixed(owner).string(idempotency_key);
    return commit::sha256(encoder.view());
}

Result<Job> submit_job(db::Transaction& tx, const NewJob& job, UnixMs now_ms) {
    const JobTerms& terms = job.terms;
    const protocol::LifecycleParams& life = terms.lifecycle;
    std::optional<Digest> init_root, init_blob;
    if (job.init) {
        init_root = job.init->root;
        init_blob = job.init->blob;
    }
    GYM_TRY(
        const db::Rows inserted,
        tx.exec("INSERT INTO registry.job (id, owner, name, spec_yaml, dataset_root, budget_wei, "
                "rounds, slots_max, workers_min, steps, checkpoint_every, evaluate_windows, "
                "delta_norm_max, price_wei_per_pflop, unit_ms, report_ms, reveal_ms, "
                "defence_ms, challenge_ms, draws_max, sampling_floor_ppm, "
                "sampling_aggregate_ppm, submitted_at_ms, init_root, init_blob, visibility, "
                "allowed, quorum_ppm, grace_ms, adapt_steps, init_own, hold_drawn, "
                "delta_norm_factor, accept_late, overlap, subtract) VALUES ($1, $2, "
                "$3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, "
                "$20, $21, $22, $23, $24, $25, $26, $27::registry.address[], $28, $29, $30, $31, "
                "$32, $33, $34, $35, $36) "
                "ON CONFLICT (id) DO NOTHING",
                {job.id,
                 job.owner,
                 job.name,
                 job.spec_yaml,
                 job.dataset_root,
                 job.budget_wei,
                 terms.rounds,
                 terms.slots_max,
                 terms.workers_min,
                 terms.steps,
                 terms.checkpoint_every,
                 terms.evaluate_windows,
                 terms.delta_norm_max,
                 terms.price_wei_per_pflop,
                 life.unit_ms,
                 life.report_ms,
                 life.reveal_ms,
                 life.defence_ms,
                 life.challenge_ms,
                 life.draws_max,
                 terms.sampling.floor_ppm,
                 terms.sampling.aggregate_ppm,
                 now_ms,
                 init_root,
                 init_blob,
                 to_string(job.access.visibility),
                 db::Param::array(job.access.allowed),
                 terms.elastic.quorum_ppm,
                 life.grace_ms,
                 terms.elastic.adapt_steps,
                 job.init_own,
                 terms.elastic.hold_drawn,
                 terms.delta_norm_factor,
                 terms.elastic.accept_late,
                 terms.elastic.overlap,
                 terms.elastic.subtract}));
    GYM_TRY(Job stored, get_job(tx, job.id));
    if (inserted.affected() == 0 && !same_submission(stored, job))
        return fail(ErrorCode::kConflict,
                    "job " + job.id.hex() + " was submitted already with other content");
    return stored;
}

Status add_budget(db::Transaction& tx, const Digest& id, const Amount& amount) {
    GYM_TRY(const db::Rows rows,
            // What paused a job begins its sentence; its owner's pause ends by request_job().
            tx.exec("UPDATE registry.job SET budget_wei = budget_wei + $2, request = CASE WHEN "
                    "status = 'paused' AND request IS NULL AND (starts_with(status_reason, $3) OR "
                    "starts_with(status_reason, $4)) THEN 'resume' "
                    "WHEN request_reason <> '' THEN NULL ELSE request END, request_reason = '' "
                    "WHERE id = $1",
                    {id, amount, kBudgetPause, kSizePause}));
    return expect_changed(rows, id);
}

Result<Job> get_job(db::Transaction& tx, const Digest& id) {
    GYM_TRY(const auto row, tx.exec_optional(select_job() + "WHERE j.id = $1", {id}));
    if (!row) return fail(ErrorCode::kNotFound, "there is no job " + id.hex());
    return to_job(*row);
}

Result<Job> lock_job(db::Transaction& tx, const Digest& id) {
    // Two statements: the second one sees what was committed while the first one waited.
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT FROM registry.job WHERE id = $1 FOR UPDATE", {id}));
    if (!row) return fail(ErrorCode::kNotFound, "there is no job " + id.hex());
    return get_job(tx, id);
}

Result<std::vector<Job>> list_jobs(db::Transaction& tx, const JobFilter& filter) {
    std::optional<std::string_view> status;
    if (filter.status) status = to_string(*filter.status);
    GYM_TRY(const db::Rows rows,
            tx.exec(select_jobs() +
                        "WHERE ($1::bytea IS NULL OR owner = $1) AND ($2::text IS NULL OR status = "
                        "$2) AND registry.may_see($5::boolean, $6::bytea, owner, visibility, "
                        "allowed) ORDER BY submitted_at_ms DESC, id LIMIT $3 OFFSET $4",
                    {filter.owner, status, std::min(filter.limit, kJobListMax), filter.offset,
                     filter.viewer.sees_all(), filter.viewer.address()}));
    std::vector<Job> jobs;
    for (const db::Row row : rows) {
        GYM_TRY(Job job, to_job(row));
        jobs.push_back(std::move(job));
    }
    return jobs;
}

Result<Job> get_job_of_model(db::Transaction& tx, const Digest& id, const Viewer& viewer) {
    GYM_TRY(const auto row,
            tx.exec_optional(select_job() +
                                 "WHERE j.id = $1 AND registry.may_see($2::boolean, $3::bytea, "
                                 "j.owner, j.visibility, j.allowed)",
                             {id, viewer.sees_all(), viewer.address()}));
    if (!row) return fail(ErrorCode::kNotFound, "there is no job " + id.hex());
    return to_job(*row);
}

Status set_job_access(db::Transaction& tx, const Digest& id, const Address& owner,
                      const Access& access) {
    GYM_TRY(const Job job, get_job_of_model(tx, id, Viewer::account(owner)));
    if (job.owner != owner)
        return fail(ErrorCode::kPermissionDenied,
                    "job " + id.hex() + " belongs to " + job.owner.hex());
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.job SET visibility = $2, allowed = $3::registry.address[] "
                    "WHERE id = $1",
                    {id, to_string(access.visibility), db::Param::array(access.allowed)}));
    return expect_changed(rows, id);
}

Status request_job(db::Transaction& tx, const Digest& id, JobRequest request) {
    GYM_TRY(const Job job, get_job(tx, id));
    if (job.ended_at_ms)
        return fail(ErrorCode::kConflict,
                    "job " + id.hex() + " has ended: " + std::string(to_string(job.status)));
    if (request == JobRequest::kPause && job.rounds_done >= job.terms.rounds)
        return fail(ErrorCode::kConflict, "all rounds of job " + id.hex() +
                                              " are trained: there is nothing left to pause; it "
                                              "ends when its last units are final");
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.job SET request = $2, request_reason = '' WHERE id = $1",
                    {id, to_string(request)}));
    return expect_changed(rows, id);
}

Status request_pause_for_owner(db::Transaction& tx, const Digest& id, const std::string& reason) {
    // One statement: its condition is checked on what a concurrent writer left.
    GYM_CHECK(
        tx.exec("UPDATE registry.job SET request = 'pause', request_reason = $2 WHERE id = $1 "
                "AND status = 'running' AND (request IS NULL OR request = 'resume')",
                {id, reason}));
    return {};
}

Result<std::vector<Digest>> active_jobs(db::Transaction& tx) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT id FROM registry.job WHERE ended_at_ms IS NULL OR EXISTS (SELECT FROM "
                    "registry.round r WHERE r.job_id = id AND r.state <> 'closed') "
                    "ORDER BY submitted_at_ms, id"));
    std::vector<Digest> ids;
    for (const db::Row row : rows)
        ids.push_back(row.get<Digest>(0));
    return ids;
}

Status start_job(db::Transaction& tx, const Digest& id, const JobArtifacts& artifacts,
                 UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.job SET status = 'running', status_reason = '', seed = $2, "
                    "program_root = $3, program_blob = $4, evaluate_program_root = $5, "
                    "evaluate_program_blob = $6, logits_program_root = $7, logits_program_blob = "
                    "$8, base_state_root = $9, base_state_blob = $10, momentum_root = $11, "
                    "momentum_blob = $12, tokens_per_step = $13, flops_per_step = $14, "
                    "parameters = $15, worker_memory_bytes = $16, delta_bytes = $17, "
                    "state_bytes = $18, worker_gpu_memory_bytes = $19, started_at_ms = $20 WHERE "
                    "id = $1 AND status = 'submitted'",
                    {id,
                     artifacts.seed,
                     artifacts.program_root,
                     artifacts.program_blob,
                     artifacts.evaluate_program_root,
                     artifacts.evaluate_program_blob,
                     artifacts.logits_program_root,
                     artifacts.logits_program_blob,
                     artifacts.base_state_root,
                     artifacts.base_state_blob,
                     artifacts.momentum_root,
                     artifacts.momentum_blob,
                     artifacts.tokens_per_step,
                     artifacts.flops_per_step,
                     artifacts.parameters,
                     artifacts.worker_memory.cpu_bytes,
                     artifacts.delta_bytes,
                     artifacts.state_bytes,
                     artifacts.worker_memory.gpu_bytes,
                     now_ms}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "job " + id.hex() + " does not wait for its start");
}

Status set_job_status(db::Transaction& tx, const Digest& id, JobStatus status,
                      const std::string& reason, UnixMs now_ms,
                      std::optional<JobRequest> answered) {
    const bool ends = status == JobStatus::kCompleted || status == JobStatus::kCancelled ||
                      status == JobStatus::kFailed;
    std::optional<UnixMs> ended_at;
    if (ends) ended_at = now_ms;
    std::optional<std::string_view> request;
    if (answered) request = to_string(*answered);
    GYM_TRY(
        const db::Rows rows,
        tx.exec(
            "UPDATE registry.job SET status = $2, status_reason = $3, ended_at_ms = $4::bigint, "
            "request = CASE WHEN $4::bigint IS NULL AND request IS DISTINCT FROM $5::text "
            "THEN request END, "
            "request_reason = CASE WHEN $4::bigint IS NULL AND request IS DISTINCT FROM $5::text "
            "THEN request_reason ELSE '' END WHERE id = $1",
            {id, to_string(status), reason, ended_at, request}));
    return expect_changed(rows, id);
}

Result<bool> pause_untrusted(db::Transaction& tx, const Digest& id, const std::string& reason) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.job SET status = 'paused', status_reason = $2 WHERE id = $1 "
                    "AND status IN ('running', 'paused') AND status_reason <> $2",
                    {id, reason}));
    return rows.affected() == 1;
}

}  // namespace gym::registry
