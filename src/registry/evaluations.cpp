#include "gym/registry/evaluations.hpp"

#include <algorithm>

namespace gym::registry {
namespace {

constexpr std::uint32_t kEvaluationListMax = 1000;

constexpr std::string_view kEvaluationColumns =
    "SELECT id, number, program_root, seed, vocabulary, base_steps, steps, windows, reference, "
    "held_out, model_yaml, base_state_root, before_bits, baseline_state_root, baseline_bits, "
    "datasets_before, published_at_ms, salt, held_out_root, datasets_until, retired_at_ms "
    "FROM registry.evaluation ";

std::optional<Retirement> to_retirement(const db::Row& row) {
    if (row.is_null("salt")) return std::nullopt;
    return Retirement{row.get<Digest>("salt"), row.get<Digest>("held_out_root"),
                      row.get<std::uint64_t>("datasets_until"), row.get<UnixMs>("retired_at_ms")};
}

Evaluation to_evaluation(const db::Row& row) {
    Evaluation out;
    out.id = row.get<Digest>("id");
    out.terms.program_root = row.get<Digest>("program_root");
    out.terms.seed = row.get<Digest>("seed");
    out.terms.vocabulary = row.get<std::uint32_t>("vocabulary");
    out.terms.base_steps = row.get<std::uint32_t>("base_steps");
    out.terms.steps = row.get<std::uint32_t>("steps");
    out.terms.windows = row.get<std::uint32_t>("windows");
    out.terms.reference_root = row.get<Digest>("reference");
    out.terms.held_out = row.get<Digest>("held_out");
    out.model_yaml = row.get<std::string>("model_yaml");
    out.base_state_root = row.get<Digest>("base_state_root");
    out.before_bits = row.get<std::uint32_t>("before_bits");
    out.baseline_state_root = row.get<Digest>("baseline_state_root");
    out.baseline_bits = row.get<std::uint32_t>("baseline_bits");
    out.number = row.get<std::uint64_t>("number");
    out.datasets_before = row.get<std::uint64_t>("datasets_before");
    out.published_at_ms = row.get<UnixMs>("published_at_ms");
    out.retired = to_retirement(row);
    return out;
}

Status check_same_results(const Evaluation& stored, const Evaluation& offered) {
    if (stored.base_state_root == offered.base_state_root &&
        stored.before_bits == offered.before_bits &&
        stored.baseline_state_root == offered.baseline_state_root &&
        stored.baseline_bits == offered.baseline_bits)
        return {};
    return fail(ErrorCode::kConflict, "evaluation " + stored.id.hex() +
                                          " is published with another base state or other losses");
}

}  // namespace

Result<bool> publish_evaluation(db::Transaction& tx, const Evaluation& evaluation) {
    const quality::EvaluationTerms& terms = evaluation.terms;
    // The database sets number and datasets_before.
    GYM_TRY(const db::Rows inserted,
            tx.exec("INSERT INTO registry.evaluation (id, program_root, seed, vocabulary, "
                    "base_steps, steps, windows, reference, held_out, model_yaml, base_state_root, "
                    "before_bits, baseline_state_root, baseline_bits, published_at_ms) "
                    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) "
                    "ON CONFLICT (id) DO NOTHING",
                    {evaluation.id, terms.program_root, terms.seed, terms.vocabulary,
                     terms.base_steps, terms.steps, terms.windows, terms.reference_root,
                     terms.held_out, evaluation.model_yaml, evaluation.base_state_root,
                     evaluation.before_bits, evaluation.baseline_state_root,
                     evaluation.baseline_bits, evaluation.published_at_ms}));
    if (inserted.affected() == 1) return true;
    GYM_TRY(const Evaluation stored, get_evaluation(tx, evaluation.id));
    GYM_CHECK(check_same_results(stored, evaluation));
    return false;
}

Result<Evaluation> get_evaluation(db::Transaction& tx, const Digest& id) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kEvaluationColumns) + "WHERE id = $1", {id}));
    if (!row) return fail(ErrorCode::kNotFound, "evaluation " + id.hex() + " is not published");
    return to_evaluation(*row);
}

Result<std::vector<Evaluation>> list_evaluations(db::Transaction& tx, std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kEvaluationColumns) + "ORDER BY number DESC LIMIT $1",
                    {std::min(limit, kEvaluationListMax)}));
    std::vector<Evaluation> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_evaluation(row));
    return out;
}

Result<std::optional<Digest>> evaluation_for(db::Transaction& tx, const Digest& dataset) {
    GYM_TRY(const db::Row row, tx.exec_one("SELECT registry.evaluation_for($1) AS id", {dataset}));
    if (row.is_null("id")) return std::optional<Digest>();
    return std::optional(row.get<Digest>("id"));
}

Status retire_evaluation(db::Transaction& tx, const Digest& id, const Retirement& opening) {
    GYM_TRY(const db::Rows updated,
            tx.exec("UPDATE registry.evaluation SET salt = $2, held_out_root = $3, "
                    "retired_at_ms = $4 WHERE id = $1",
                    {id, opening.salt, opening.held_out_root, opening.retired_at_ms}));
    if (updated.affected() == 1) return {};
    return fail(ErrorCode::kNotFound, "evaluation " + id.hex() + " is not published");
}

Result<Dataset> record_measurement(db::Transaction& tx, const NewMeasurement& measurement) {
    GYM_TRY(const Dataset dataset, get_dataset(tx, measurement.dataset));
    GYM_TRY([[maybe_unused]] const Evaluation evaluation,
            get_evaluation(tx, measurement.evaluation));
    if (dataset.measurement)
        return fail(ErrorCode::kAlreadyExists, "dataset " + dataset.root.hex() +
                                                   " was measured already, with evaluation " +
                                                   dataset.measurement->evaluation.hex());
    // The database puts the evaluation's two losses beside this one, and computes the usefulness.
    GYM_CHECK(
        tx.exec("INSERT INTO registry.measurement (dataset, evaluation, state_root, "
                "after_bits, measured_at_ms) VALUES ($1, $2, $3, $4, $5)",
                {measurement.dataset, measurement.evaluation, measurement.state_root,
                 measurement.after_bits, measurement.measured_at_ms}));
    return get_dataset(tx, measurement.dataset);
}

}  // namespace gym::registry
