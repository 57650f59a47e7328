#include "data/measure_command.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/database_options.hpp"
#include "cli/inputs.hpp"
#include "cli/network_options.hpp"
#include "cli/record_json.hpp"
#include "cli/rows.hpp"
#include "data/dataset_print.hpp"
#include "data/evaluation_file.hpp"
#include "data/evaluation_records.hpp"
#include "data/measure_run.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/float_bits.hpp"
#include "gym/registry/evaluations.hpp"
#include "gym/vault/sealed_store.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct MeasureOptions {
    std::string dataset;
    std::string evaluation;
    std::string blobs;
    std::string blob_key_file;
    bool record = false;
    bool check = false;
    ApiOptions api;
    DatabaseOptions database;
    engine::EngineOptions engine;
};

/// The network's store; sealed if there is a key.
Result<std::unique_ptr<const blob::BlobStore>> open_store(const MeasureOptions& options) {
    const std::string beside = options.blobs + ".key";
    std::error_code error;
    if (options.blob_key_file.empty() && !std::filesystem::exists(beside, error)) {
        GYM_TRY(auto plain, blob::DirectoryStore::open(options.blobs));
        return std::unique_ptr<const blob::BlobStore>(
            std::make_unique<blob::DirectoryStore>(std::move(plain)));
    }
    GYM_TRY(auto sealed,
            vault::SealedStore::open(options.blobs, std::filesystem::path(options.blob_key_file)));
    return std::unique_ptr<const blob::BlobStore>(
        std::make_unique<vault::SealedStore>(std::move(sealed)));
}

/// A file, or what a network's blob store has of a registered root.
Result<blob::Dataset> load_dataset(const MeasureOptions& options) {
    std::error_code error;
    const bool is_file = std::filesystem::exists(options.dataset, error);
    const auto root = Digest::parse(options.dataset);
    if (is_file || !root.ok()) return read_dataset(options.dataset);
    if (options.blobs.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "--blobs: the folder of the network's blob store is needed to find the tokens "
                    "of " +
                        root->hex() + ", or give its token file instead of the root");
    GYM_TRY(const auto record, options.api.client().dataset(*root));
    if (!record) return fail(ErrorCode::kNotFound, "dataset " + root->hex() + " is not registered");
    GYM_TRY(const auto store, open_store(options));
    GYM_TRY(const Bytes file, store->get((*record)->blob));
    return blob::Dataset::decode(file, *root);
}

/// The published reference of an evaluation, so that it need not be measured again.
measure::ReferenceLosses reference_of(const registry::Evaluation& published) {
    return {{published.base_state_root, published.before_bits},
            {published.baseline_state_root, published.baseline_bits}};
}

/// Whatever would refuse the measurement, before hours of work.
Result<measure::ReferenceLosses> check_recordable(db::Database& database, const Digest& evaluation,
                                                  const Digest& dataset) {
    return database.transact([&](db::Transaction& tx) -> Result<measure::ReferenceLosses> {
        GYM_TRY(const registry::Evaluation published, registry::get_evaluation(tx, evaluation));
        GYM_TRY(const registry::Dataset record, registry::get_dataset(tx, dataset));
        if (record.measurement)
            return fail(ErrorCode::kConflict, "dataset " + dataset.hex() + " is measured already");
        GYM_TRY(const auto rightful, registry::evaluation_for(tx, dataset));
        if (rightful == evaluation) return reference_of(published);
        return fail(
            ErrorCode::kConflict,
            "a dataset is measured with the newest evaluation of its vocabulary that was "
            "in force when it was registered: " +
                (rightful ? rightful->hex() + ", not " + evaluation.hex() : "there is none"));
    });
}

Status record(db::Database& database, const Measured& found) {
    registry::NewMeasurement row;
    row.dataset = found.dataset;
    row.evaluation = found.evaluation;
    row.state_root = found.after.state_root;
    row.after_bits = found.after.loss_bits;
    row.measured_at_ms = SystemClock().now_ms();
    GYM_TRY(const registry::Dataset stored, database.transact([&](db::Transaction& tx) {
        return registry::record_measurement(tx, row);
    }));
    if (stored.usefulness_ppm == found.usefulness_ppm) return {};
    return fail(ErrorCode::kInternal, "the database computed a usefulness of " +
                                          std::to_string(stored.usefulness_ppm) + " ppm, not " +
                                          std::to_string(found.usefulness_ppm));
}

/// The base state, and its two losses: measured, or `published` ones that begin with it.
Result<measure::ReferenceLosses> reference_losses(
    const measure::Evaluation& evaluation, const measure::Base& base,
    const std::optional<measure::ReferenceLosses>& published,
    const measure::MeasureOptions& options) {
    if (!published) return measure::measure_reference(evaluation, base, options);
    if (published->before.state_root == base.state_root) return *published;
    return fail(ErrorCode::kMismatch, "the evaluation's base state has root " +
                                          base.state_root.hex() + ", the published one " +
                                          published->before.state_root.hex());
}

Result<Measured> run(const MeasureOptions& options, const measure::Evaluation& evaluation,
                     const blob::Dataset& dataset,
                     const std::optional<measure::ReferenceLosses>& published) {
    const MeasureRun how(options.engine);
    GYM_TRY(const measure::Base base, measure::make_base(evaluation, how.options()));
    Measured out;
    out.evaluation = evaluation.id();
    out.dataset = dataset.root();
    GYM_TRY(out.reference, reference_losses(evaluation, base, published, how.options()));
    GYM_TRY(out.after, measure::measure_dataset(evaluation, base, dataset, how.options()));
    GYM_TRY(out.usefulness_ppm,
            quality::usefulness_ppm(measure::losses_of(out.reference, out.after)));
    return out;
}

void print_loss(const char* label, const measure::Scored& scored, const char* what) {
    print_row(label, "{}, {}", loss_text(scored.loss_bits), what);
    print_row("  state root", "{}", scored.state_root.hex());
}

void print(const CliContext& context, const Measured& found, bool recorded,
           const std::optional<std::vector<std::string>>& deviations) {
    if (context.json) {
        json::object out{{"evaluation", found.evaluation.hex()},
                         {"dataset_root", found.dataset.hex()}};
        const auto add = [&](const std::string& name, const measure::Scored& scored) {
            out[name + "_bits"] = bits_text(scored.loss_bits);
            out[name] = number_of_bits(scored.loss_bits);
            out[name + "_state_root"] = scored.state_root.hex();
        };
        add("before", found.reference.before);
        add("after", found.after);
        add("baseline", found.reference.baseline);
        out["usefulness_ppm"] = found.usefulness_ppm;
        out["recorded"] = recorded;
        if (deviations) out["deviations"] = json::array(deviations->begin(), deviations->end());
        context.print_json(out);
        return;
    }
    print_row("evaluation", "{}", found.evaluation.hex());
    print_row("dataset root", "{}", found.dataset.hex());
    print_loss("loss before", found.reference.before, "of the base state");
    print_loss("loss after", found.after, "trained on the dataset");
    print_loss("baseline", found.reference.baseline, "trained on the reference");
    print_row("usefulness", "{}", percent(found.usefulness_ppm));
    if (recorded) print_row("recorded", "applies to jobs submitted from now on");
    if (!deviations) return;
    if (deviations->empty()) print_row("verdict", "equal to the network's records, bit for bit");
    for (const std::string& sentence : *deviations)
        print_row("deviation", "{}", sentence);
}

Result<std::vector<std::string>> deviations_from_records(const MeasureOptions& options,
                                                         const Measured& found) {
    const client::ApiClient api = options.api.client();
    GYM_TRY(const auto dataset, api.dataset(found.dataset));
    if (!dataset)
        return fail(ErrorCode::kNotFound, "dataset " + found.dataset.hex() + " is not registered");
    GYM_TRY(const auto evaluations, api.evaluations());
    return compare_with_records(found, **dataset, evaluations);
}

Status measure_dataset(const CliContext& context, const MeasureOptions& options) {
    GYM_TRY(const OpenedEvaluation opened, open_evaluation(options.evaluation));
    GYM_TRY(const blob::Dataset dataset, load_dataset(options));
    GYM_CHECK(opened.evaluation.check(dataset));
    std::unique_ptr<db::Database> database;
    std::optional<measure::ReferenceLosses> published;
    if (options.record) {
        GYM_TRY(database, options.database.open("gym-measure"));
        GYM_TRY(published, check_recordable(*database, opened.evaluation.id(), dataset.root()));
    }
    GYM_TRY(const Measured found, run(options, opened.evaluation, dataset, published));
    if (database) GYM_CHECK(record(*database, found));
    std::optional<std::vector<std::string>> deviations;
    if (options.check) {
        GYM_TRY(deviations, deviations_from_records(options, found));
    }
    print(context, found, options.record, deviations);
    if (!deviations || deviations->empty()) return {};
    return fail(ErrorCode::kMismatch, std::to_string(deviations->size()) +
                                          " deviation(s); the first: " + deviations->front());
}

}  // namespace

void add_measure_command(CLI::App& data, CliContext& context) {
    auto options = std::make_shared<MeasureOptions>();
    CLI::App* command = data.add_subcommand(
        "measure",
        "Measure a dataset's usefulness: train on it and compare losses on a held-out text");
    command->add_option("dataset", options->dataset, "Token file, text, or root (with --blobs)")
        ->required();
    command
        ->add_option("--evaluation", options->evaluation,
                     "Evaluation file (deploy/config/evaluation.yaml explains every key)")
        ->required();
    command->add_option("--blobs", options->blobs, "Folder of the network's blob store");
    command->add_option("--blob-key-file", options->blob_key_file,
                        "File with the store's key (default: BLOBS.key, if it is there)");
    CLI::Option* record = command->add_flag(
        "--record", options->record,
        "Store the result in the network's database, as a user with the rights of gym_evaluator "
        "(password: PGPASSWORD)");
    command
        ->add_flag(
            "--check", options->check,
            "Compare with the measurement that gym-api publishes; exit with 3 if they differ")
        ->excludes(record);
    options->api.add_to(*command, false);
    options->database.add_to(*command);
    add_engine_options(*command, options->engine);
    command->callback([&context, options] { context.finish(measure_dataset(context, *options)); });
}

}  // namespace gym::app
