#include "data/build_print.hpp"

#include <boost/json/array.hpp>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/common/memory.hpp"
#include "gym/data/document_licences.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

data::StepCount count_of(const data::BuildReport& report, const std::string& step) {
    const auto found = report.counts.steps.find(step);
    return found == report.counts.steps.end() ? data::StepCount{} : found->second;
}

json::array steps_json(const data::BuildOptions& options, const data::BuildReport& report) {
    json::array out;
    std::uint64_t documents = report.counts.documents_read;
    for (const std::string& name : data::stages_of(options.steps)) {
        const data::StepCount count = count_of(report, name);
        json::object reasons;
        for (const auto& [reason, removed] : count.reasons)
            reasons[reason] = removed;
        out.push_back({{"step", name},
                       {"documents_in", documents},
                       {"removed", count.removed},
                       {"changed", count.changed},
                       {"reasons", std::move(reasons)}});
        documents -= count.removed;
    }
    return out;
}

/// Documents by licence; null: they name none.
json::array licences_json(const data::LicenceCounts& licences) {
    json::array out;
    for (const auto& [text, documents] : licences)
        out.push_back({{"licence", text.empty() ? json::value(nullptr) : json::value(text)},
                       {"documents", documents}});
    return out;
}

std::string reasons_text(const data::StepCount& count) {
    std::string out;
    for (const auto& [reason, removed] : count.reasons)
        out += (out.empty() ? "" : ", ") + reason + " " + std::to_string(removed);
    return out;
}

void print_steps(const data::BuildOptions& options, const data::BuildReport& report) {
    print_line("{:<18} {:>12} {:>10} {:>10}  {}", "step", "documents in", "removed", "changed",
               "reasons");
    std::uint64_t documents = report.counts.documents_read;
    for (const std::string& name : data::stages_of(options.steps)) {
        const data::StepCount count = count_of(report, name);
        print_line("{:<18} {:>12} {:>10} {:>10}  {}", name, documents, count.removed, count.changed,
                   reasons_text(count));
        documents -= count.removed;
    }
    print_line("{:<18} {:>12}", "kept", documents);
}

}  // namespace

json::object to_json(const blob::DatasetSummary& dataset, const std::string& path) {
    json::object out{{"dataset_root", dataset.root.hex()},
                     {"tokens", dataset.tokens},
                     {"train_tokens", dataset.train_tokens()},
                     {"validation_tokens", dataset.validation_tokens()},
                     {"vocabulary", dataset.vocabulary},
                     {"bits_per_token", 8 * dataset.header().token_bytes()},
                     {"file", path},
                     {"file_bytes", dataset.file_bytes}};
    if (!dataset.tokenizer.is_zero()) out["tokenizer"] = dataset.tokenizer.hex();
    return out;
}

void print_summary(const CliContext& context, const blob::DatasetSummary& dataset,
                   const std::string& path) {
    if (context.json) {
        context.print_json(to_json(dataset, path));
        return;
    }
    print_row("dataset root", "{}", dataset.root.hex());
    print_row("tokens", "{} ({} train, {} validation)", dataset.tokens, dataset.train_tokens(),
              dataset.validation_tokens());
    print_row("vocabulary", "{} ({} bits a token)", dataset.vocabulary,
              8 * dataset.header().token_bytes());
    if (!dataset.tokenizer.is_zero()) print_row("tokenizer", "{}", dataset.tokenizer.hex());
    print_row("file", "{} ({} bytes)", path, dataset.file_bytes);
}

Status print_build(const CliContext& context, const data::BuildOptions& options,
                   const data::BuildReport& report) {
    GYM_TRY(const data::LicenceCounts licences,
            data::document_licences(report.manifest, report.dataset.root));
    if (context.json) {
        json::object out = to_json(report.dataset, options.output.string());
        out["manifest"] = report.manifest.string();
        out["manifest_root"] = report.manifest_root.hex();
        out["documents_read"] = report.counts.documents_read;
        out["documents_kept"] = report.counts.documents_kept;
        out["text_bytes_read"] = report.counts.text_bytes_read;
        out["text_bytes_kept"] = report.counts.text_bytes_kept;
        out["continued"] = report.continued;
        out["steps"] = steps_json(options, report);
        out["licences"] = licences_json(licences);
        context.print_json(out);
        return {};
    }
    print_steps(options, report);
    print_row("text", "{} of {}", memory_text(report.counts.text_bytes_kept),
              memory_text(report.counts.text_bytes_read));
    print_summary(context, report.dataset, options.output.string());
    print_row("manifest", "{}", report.manifest.string());
    print_row("manifest root", "{}", report.manifest_root.hex());
    print_row("licences", "{}", data::licences_text(licences));
    return {};
}

}  // namespace gym::app
