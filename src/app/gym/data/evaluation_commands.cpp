#include "data/evaluation_commands.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/database_options.hpp"
#include "cli/record_json.hpp"
#include "cli/rows.hpp"
#include "data/evaluation_file.hpp"
#include "data/measure_run.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/float_bits.hpp"
#include "gym/registry/evaluations.hpp"

namespace gym::app {
namespace {

struct EvaluationOptions {
    std::string file;
    DatabaseOptions database;
    engine::EngineOptions engine;
};

registry::Evaluation record_of(const OpenedEvaluation& opened,
                               const measure::ReferenceLosses& losses) {
    registry::Evaluation out;
    out.id = opened.evaluation.id();
    out.terms = opened.evaluation.terms();
    out.model_yaml = opened.model_yaml;
    out.base_state_root = losses.before.state_root;
    out.before_bits = losses.before.loss_bits;
    out.baseline_state_root = losses.baseline.state_root;
    out.baseline_bits = losses.baseline.loss_bits;
    out.published_at_ms = SystemClock().now_ms();
    return out;
}

/// Before the reference is measured: the registry would refuse the evaluation afterwards.
Status check_reference(db::Database& database, const Digest& root) {
    const auto found = database.transact(
        [&](db::Transaction& tx) { return registry::find_dataset(tx, root); }, {.read_only = true});
    if (!found.ok()) return found.error();
    if (*found) return {};
    return fail(
        ErrorCode::kNotFound,
        "the reference text, dataset " + root.hex() +
            ", is not registered: `gym data register` it, so that copies of it are not new");
}

void print(const CliContext& context, const registry::Evaluation& stored, bool is_new) {
    if (context.json) {
        context.print_json({{"evaluation", stored.id.hex()},
                            {"new", is_new},
                            {"held_out", stored.terms.held_out.hex()},
                            {"base_state_root", stored.base_state_root.hex()},
                            {"before_bits", bits_text(stored.before_bits)},
                            {"before", number_of_bits(stored.before_bits)},
                            {"baseline_state_root", stored.baseline_state_root.hex()},
                            {"baseline_bits", bits_text(stored.baseline_bits)},
                            {"baseline", number_of_bits(stored.baseline_bits)},
                            {"datasets_before", stored.datasets_before}});
        return;
    }
    print_row("evaluation", "{}, {}", stored.id.hex(),
              is_new ? "published" : "published before, with the same results");
    print_row("held-out text", "commitment {}", stored.terms.held_out.hex());
    print_row("loss before", "{}", loss_text(stored.before_bits));
    print_row("baseline", "{}", loss_text(stored.baseline_bits));
    print_row("measures", "datasets of vocabulary {} registered after number {}",
              stored.terms.vocabulary, stored.datasets_before);
}

Status publish(const CliContext& context, const EvaluationOptions& options) {
    GYM_TRY(const OpenedEvaluation opened, open_evaluation(options.file));
    GYM_TRY(const auto database, options.database.open("gym-publish-evaluation"));
    GYM_CHECK(check_reference(*database, opened.evaluation.terms().reference_root));
    const MeasureRun how(options.engine);
    GYM_TRY(const measure::Base base, measure::make_base(opened.evaluation, how.options()));
    GYM_TRY(const measure::ReferenceLosses losses,
            measure::measure_reference(opened.evaluation, base, how.options()));
    const registry::Evaluation record = record_of(opened, losses);
    bool is_new = false;
    GYM_TRY(const registry::Evaluation stored,
            database->transact([&](db::Transaction& tx) -> Result<registry::Evaluation> {
                GYM_TRY(is_new, registry::publish_evaluation(tx, record));
                return registry::get_evaluation(tx, record.id);
            }));
    print(context, stored, is_new);
    return {};
}

Status retire(const CliContext& context, const EvaluationOptions& options) {
    GYM_TRY(const OpenedEvaluation opened, open_evaluation(options.file));
    GYM_TRY(const auto database, options.database.open("gym-retire-evaluation"));
    const Digest id = opened.evaluation.id();
    registry::Retirement opening;
    opening.salt = opened.evaluation.salt();
    opening.held_out_root = opened.evaluation.held_out().root();
    opening.retired_at_ms = SystemClock().now_ms();
    GYM_TRY(const registry::Evaluation stored,
            database->transact([&](db::Transaction& tx) -> Result<registry::Evaluation> {
                GYM_CHECK(registry::retire_evaluation(tx, id, opening));
                return registry::get_evaluation(tx, id);
            }));
    const std::uint64_t until = stored.retired ? stored.retired->datasets_until : 0;
    if (context.json) {
        context.print_json({{"evaluation", id.hex()},
                            {"salt", opening.salt.hex()},
                            {"held_out_root", opening.held_out_root.hex()},
                            {"datasets_until", until}});
        return {};
    }
    print_row("evaluation", "{}, retired", id.hex());
    print_row("held-out text", "root {}, salt {}", opening.held_out_root.hex(), opening.salt.hex());
    print_row("measures", "datasets up to number {}", until);
    print_row("now publish",
              "{} and the held-out text, so that anybody can repeat all of its measurements",
              options.file);
    return {};
}

}  // namespace

void add_evaluation_commands(CLI::App& group, CliContext& context) {
    const auto add = [&](const char* name, const char* about, auto run) {
        auto options = std::make_shared<EvaluationOptions>();
        CLI::App* command = group.add_subcommand(name, about);
        command
            ->add_option("file", options->file,
                         "Evaluation file (deploy/config/evaluation.yaml explains every key)")
            ->required();
        options->database.add_to(*command);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return std::pair(command, options);
    };
    const auto [command, options] = add("publish-evaluation",
                                        "Measure an evaluation's reference and publish its id, for "
                                        "datasets registered afterwards (user: gym_evaluator)",
                                        publish);
    add_engine_options(*command, options->engine);
    add("retire-evaluation",
        "Open an evaluation's commitment; it measures no dataset registered later", retire);
}

}  // namespace gym::app
