#include "data/data_file_commands.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "data/build_print.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/data/manifest.hpp"
#include "gym/data/mix.hpp"
#include "gym/data/steps.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct FileOptions {
    std::vector<std::string> inputs;
    std::string file;
    std::string manifest;
    std::string root;
    std::string output;
    std::uint64_t tokens = 0;
    bool whole_documents = false;
    bool best_effort = false;
};

Status list_steps(const CliContext& context, const FileOptions&) {
    if (context.json) {
        for (const data::StepInfo& info : data::all_steps())
            context.print_json(
                {{"step", info.name}, {"about", info.about}, {"source", info.source}});
        for (const data::Preset& preset : data::all_presets())
            context.print_json(
                {{"preset", preset.name}, {"steps", preset.steps}, {"about", preset.about}});
        return {};
    }
    print_line("steps, in the order in which they are applied:");
    for (const data::StepInfo& info : data::all_steps()) {
        print_line("  {}", info.name);
        print_line("      {}", info.about);
        if (!info.source.empty()) print_line("      after {}", info.source);
    }
    print_line("presets (gopher stands for gopher-quality,gopher-repetition):");
    for (const data::Preset& preset : data::all_presets())
        print_line("  {:<10} {}{}", preset.name, preset.about,
                   preset.steps.empty() ? "" : ": " + std::string(preset.steps));
    return {};
}

/// Of a token file without a manifest only the root says which tokens it should have.
Status verify_tokens(const CliContext& context, const FileOptions& options,
                     const std::string& manifest_file) {
    GYM_TRY(const auto dataset, blob::scan_dataset(options.file));
    if (options.root.empty())
        return fail(ErrorCode::kNotFound,
                    options.file + " is whole, with the dataset root " + dataset.root.hex() +
                        ", but there is no manifest " + manifest_file +
                        " to check it against (`gym data build --text` writes none): name the root "
                        "that it must have with --root, or the manifest with --manifest");
    GYM_TRY(const Digest expected, Digest::parse(options.root));
    if (expected != dataset.root)
        return fail(ErrorCode::kMismatch, options.root + " is not the dataset's root, " +
                                              dataset.root.hex() + "; there is no manifest " +
                                              manifest_file);
    if (context.json) {
        json::object out = to_json(dataset, options.file);
        out["manifest_root"] = nullptr;
        context.print_json(out);
        return {};
    }
    print_summary(context, dataset, options.file);
    print_row("manifest", "none: only the root was checked");
    return {};
}

Status verify_file(const CliContext& context, const FileOptions& options) {
    const std::string manifest_file =
        options.manifest.empty() ? data::manifest_path(options.file).string() : options.manifest;
    std::error_code unknown;
    if (options.manifest.empty() && !std::filesystem::exists(manifest_file, unknown))
        return verify_tokens(context, options, manifest_file);
    GYM_TRY(const data::Manifest manifest, data::verify(options.file, manifest_file));
    if (!options.root.empty()) {
        GYM_TRY(const Digest expected, Digest::parse(options.root));
        if (expected != manifest.root && expected != manifest.end.dataset_root)
            return fail(ErrorCode::kMismatch, options.root + " is neither the dataset's root, " +
                                                  manifest.end.dataset_root.hex() +
                                                  ", nor the manifest's, " + manifest.root.hex());
    }
    if (context.json) {
        json::object removed;
        for (const auto& [step, documents] : manifest.end.removed)
            removed[step] = documents;
        context.print_json({{"dataset_root", manifest.end.dataset_root.hex()},
                            {"manifest_root", manifest.root.hex()},
                            {"documents", manifest.end.documents},
                            {"tokens", manifest.end.tokens},
                            {"tokenizer", manifest.head.tokenizer},
                            {"options", json::parse(manifest.head.options)},
                            {"removed", std::move(removed)}});
        return {};
    }
    print_row("dataset root", "{}", manifest.end.dataset_root.hex());
    print_row("manifest root", "{}", manifest.root.hex());
    print_row("documents", "{}, every one as the manifest says", manifest.end.documents);
    print_row("tokens", "{}", manifest.end.tokens);
    print_row("tokenizer", "{}", manifest.head.tokenizer);
    return {};
}

void print_mix(const CliContext& context, const data::MixReport& report,
               const std::string& output) {
    if (context.json) {
        json::object out = to_json(report.dataset, output);
        out["manifest"] = report.manifest.string();
        out["manifest_root"] = report.manifest_root.hex();
        json::array inputs;
        for (const data::MixShare& share : report.shares)
            inputs.push_back({{"file", share.path.string()},
                              {"dataset_root", share.dataset_root.hex()},
                              {"tokens", share.tokens},
                              {"taken", share.taken},
                              {"asked_ppm", share.asked_ppm},
                              {"achieved_ppm", share.achieved_ppm}});
        out["inputs"] = std::move(inputs);
        context.print_json(out);
        return;
    }
    print_line("{:>10} {:>10} {:>14} {:>14}  {}", "asked", "achieved", "tokens", "of", "input");
    for (const data::MixShare& share : report.shares)
        print_line("{:>10} {:>10} {:>14} {:>14}  {}", data::percent_text(share.asked_ppm),
                   data::percent_text(share.achieved_ppm), share.taken, share.tokens,
                   share.path.string());
    if (report.deviation_ppm > data::kMixDeviationPpmMax)
        print_line("warning: the shares differ by up to {} from those that were asked for",
                   data::percent_text(report.deviation_ppm));
    print_summary(context, report.dataset, output);
    print_row("manifest", "{}", report.manifest.string());
    print_row("manifest root", "{}", report.manifest_root.hex());
}

Status mix_files(const CliContext& context, const FileOptions& options) {
    data::MixOptions mix;
    mix.inputs.reserve(options.inputs.size());
    std::vector<std::string> files;
    files.reserve(options.inputs.size());
    for (const std::string& input : options.inputs) {
        GYM_TRY(data::MixInput parsed, data::parse_mix_input(input));
        files.push_back(parsed.path.string());
        mix.inputs.push_back(std::move(parsed));
    }
    GYM_CHECK(check_output(options.output, files));
    mix.output = options.output;
    mix.tokens = options.tokens;
    mix.whole_documents = options.whole_documents;
    mix.best_effort = options.best_effort;
    GYM_TRY(const data::MixReport report, data::mix(mix));
    print_mix(context, report, options.output);
    return {};
}

}  // namespace

void add_data_file_commands(CLI::App& data, CliContext& context) {
    auto options = std::make_shared<FileOptions>();
    const auto add = [&](const char* name, const char* about, auto run) {
        CLI::App* command = data.add_subcommand(name, about);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    add("steps", "List the steps of `gym data build` with their rules and sources", list_steps);
    CLI::App* verify =
        add("verify", "Check a token file against its manifest or its root", verify_file);
    verify->add_option("file", options->file, "Token file")->required();
    verify->add_option("--manifest", options->manifest, "Manifest (default: FILE.manifest.jsonl)");
    verify->add_option("--root", options->root, "Root that the dataset or the manifest must have");
    CLI::App* mix =
        add("mix", "Make a token file of several, in given shares: a.tokens:0.7 b.tokens:0.3",
            mix_files);
    mix->add_option("inputs", options->inputs, "FILE:WEIGHT, two or more")->required();
    mix->add_option("-o,--output", options->output, "Token file to write")->required();
    mix->add_option("--tokens", options->tokens,
                    "Write exactly so many tokens (default: as many as the shares allow)");
    mix->add_flag("--whole-documents", options->whole_documents,
                  "Split no document; without it, long ones are split so that the shares hold");
    mix->add_flag("--best-effort", options->best_effort,
                  "Accept shares that differ by more than a percentage point from WEIGHT");
}

}  // namespace gym::app
