#include "job/job_request.hpp"

#include <CLI/CLI.hpp>
#include <system_error>

#include "cli/network_options.hpp"
#include "gym/common/file.hpp"
#include "gym/common/yaml_text.hpp"
#include "gym/plan/units.hpp"
#include "gym/program/presets.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytesMax = 128;
constexpr const char* kOptionsOrigin = "the job";

/// Sets `key`, and removes what `key` takes the place of.
Status put(YamlText& text, const char* key, const std::string& value,
           std::initializer_list<const char*> instead = {}) {
    for (const char* old : instead) {
        GYM_TRY(const bool there, text.has(old));
        if (there) GYM_CHECK(text.erase(old));
    }
    return text.set(key, value);
}

Error in_option(const char* option, const Error& error) {
    return fail(error.code, std::string(option) + ": " + error.message);
}

Status put_wishes(YamlText& text, const JobRequest& request) {
    if (!request.tokens.empty()) {
        const auto tokens = plan::parse_count(request.tokens);
        if (!tokens.ok()) return in_option("--tokens", tokens.error());
        GYM_CHECK(put(text, plan::kTokensKey, request.tokens, {"rounds"}));
    }
    if (!request.nodes.empty()) {
        const auto nodes = plan::parse_count(request.nodes);
        if (!nodes.ok() || *nodes > registry::kJobSlotsMax)
            return fail(ErrorCode::kInvalidArgument, "--nodes: '" + request.nodes +
                                                         "' is not a number from 1 to " +
                                                         std::to_string(registry::kJobSlotsMax));
        GYM_CHECK(put(text, plan::kNodesKey, std::to_string(*nodes), {"slots", "workers_min"}));
    }
    if (!request.max_cost.empty()) {
        const auto money = Amount::parse_tokens(request.max_cost);
        if (!money.ok() || money->is_zero())
            return fail(ErrorCode::kInvalidArgument,
                        "--max-cost: '" + request.max_cost +
                            "' is not an amount of GYM above zero (like 12.5)");
        GYM_CHECK(put(text, plan::kMaxCostKey, request.max_cost, {"budget"}));
    }
    if (!request.within.empty()) {
        const auto seconds = plan::parse_duration_s(request.within);
        if (!seconds.ok()) return in_option("--within", seconds.error());
        GYM_CHECK(put(text, plan::kWithinKey, request.within));
    }
    return {};
}

/// A path of the command line is relative to where the user is, not to the job file.
Result<std::string> absolute_path(const std::string& path) {
    std::error_code error;
    const fs::path out = fs::absolute(path, error);
    if (error) return fail(ErrorCode::kIo, path + ": " + error.message());
    return out.lexically_normal().string();
}

bool is_file(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

Status put_model(JobText& job, const std::string& model) {
    if (is_file(model)) {
        GYM_TRY(const std::string path, absolute_path(model));
        return put(job.text, "model", yaml_quoted(path));
    }
    if (program::find_preset(model) != nullptr) return put(job.text, "model", yaml_quoted(model));
    return in_option(
        "--model",
        program::with_presets(fail(ErrorCode::kNotFound, "cannot open " + model + ": no such file"),
                              model));
}

Status put_data(JobText& job, const std::string& data) {
    if (!is_file(data)) return put(job.text, "dataset", yaml_quoted(data), {"data"});
    GYM_TRY(const std::string path, absolute_path(data));
    return put(job.text, "dataset", yaml_quoted(path), {"data"});
}

/// A job, a root and a registered model's name as they are; else a path, whether it is there or
/// not: what is missing is said later.
Status put_init(JobText& job, const std::string& init) {
    std::error_code unknown;
    const bool known = init.starts_with(registry::kInitJobPrefix) ||
                       registry::parse_init(init).ok() ||
                       (!fs::exists(init, unknown) && registry::parse_model_reference(init).ok());
    GYM_TRY(const std::string named, known ? Result<std::string>(init) : absolute_path(init));
    return put(job.text, std::string(registry::kInitKey).c_str(), yaml_quoted(named));
}

/// "gpt2 on corpus.txt"
std::string default_name(const JobRequest& request) {
    const auto last = [](const std::string& path) {
        const fs::path trimmed = fs::path(path).lexically_normal();
        return (trimmed.has_filename() ? trimmed : trimmed.parent_path()).filename().string();
    };
    std::string model = last(request.model);
    if (model.ends_with(".yaml")) model.resize(model.size() - 5);
    return (model + " on " + last(request.data)).substr(0, kNameBytesMax);
}

constexpr std::string_view kModelPrefix = "model.";

Status put_set(YamlText& text, const std::string& one) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
        return fail(ErrorCode::kInvalidArgument,
                    "--set: '" + one + "' is not KEY=VALUE, like deadlines.unit_ms=900000");
    const Status set = text.set(one.substr(0, equals), one.substr(equals + 1));
    return set.ok() ? Status() : Status(in_option("--set", set.error()));
}

Status put_sets(JobText& job, const std::vector<std::string>& sets) {
    for (const std::string& one : sets) {
        if (one.starts_with(kModelPrefix))
            job.model_sets.push_back(one);
        else
            GYM_CHECK(put_set(job.text, one));
    }
    return {};
}

Result<JobText> begin(const JobRequest& request) {
    if (request.file.empty()) return JobText{YamlText("", kOptionsOrigin), fs::path()};
    GYM_TRY(const Bytes bytes, read_file(request.file, registry::kJobSpecBytesMax));
    return JobText{YamlText(std::string(bytes.begin(), bytes.end()), request.file),
                   fs::path(request.file).parent_path()};
}

}  // namespace

void JobRequest::add_to(CLI::App& command) {
    command.add_option("file", file, "Job file (examples/job.yaml); options override its keys");
    command.add_option("--model", model, "Model: a preset's name or a model file");
    command.add_option(
        "--data", data,
        "Dataset: a text, a folder, s3://BUCKET/PREFIX/ or https:// URL of documents "
        "(`gym data build` by its default steps), a token file, or a registered "
        "name, NAME@VERSION or root");
    command.add_option(
        "--init", init,
        "Weights to begin from: an exported folder, a safetensors file, a state, "
        "job:ID[@ROUND], a registered model's name, or the root of an uploaded state (default: "
        "random ones)");
    add_tokenizer_options(command, tokenizer);
    command.add_option("--tokens", tokens,
                       "Training tokens, like 1e9 or 300M; rounds and steps follow");
    command.add_option("--nodes", nodes,
                       "Workers of a round; if fewer are live, the plan is for these, in more "
                       "rounds (default: the live ones, at most 8)");
    command.add_option("--max-cost", max_cost, "Most GYM that the job may cost");
    command.add_option("--within", within,
                       "Plan for as many workers as finish in this time, like 6h or 2d");
    command.add_option("--price", price,
                       "GYM for 10^15 operations (default: the median of what the network's jobs "
                       "paid, or 10 where none have; less if --max-cost does not pay that)");
    command
        .add_option("--use", use,
                    "What the trained weights are for: commercial (default) or non-commercial; the "
                    "data's licence must permit it")
        ->check(CLI::IsMember({"commercial", "non-commercial"}));
    command.add_flag("--keep-documents-apart", documents_apart,
                     "Let no token read another document of its window: the model's "
                     "document_separator is the end-of-text token between the data's documents");
    command.add_option("--name", name, "Label of the job (default: MODEL on DATA)");
    command
        .add_option("--set", sets,
                    "Set any other key of the job file, like steps_per_round=50 or "
                    "deadlines.unit_ms=900000; repeatable")
        ->take_all();
}

Result<JobText> job_text(const JobRequest& request) {
    if (request.file.empty() && (request.model.empty() || request.data.empty()))
        return fail(ErrorCode::kInvalidArgument,
                    "name a job file, or a model and data: --model gpt2 --data corpus.txt --tokens "
                    "1e9 --max-cost 50");
    GYM_TRY(JobText job, begin(request));
    job.tokenizer = request.tokenizer;
    job.documents_apart = request.documents_apart;
    if (!request.name.empty())
        GYM_CHECK(put(job.text, "name", yaml_quoted(request.name)));
    else if (request.file.empty())
        GYM_CHECK(put(job.text, "name", yaml_quoted(default_name(request))));
    if (!request.model.empty()) GYM_CHECK(put_model(job, request.model));
    if (!request.data.empty()) GYM_CHECK(put_data(job, request.data));
    if (!request.init.empty()) GYM_CHECK(put_init(job, request.init));
    if (!request.price.empty()) {
        GYM_TRY([[maybe_unused]] const Amount price,
                price_argument("--price", request.price, kWorkPrice));
        GYM_CHECK(put(job.text, "price_per_pflop", request.price));
    }
    if (!request.use.empty()) GYM_CHECK(put(job.text, registry::kUseKey, request.use));
    GYM_CHECK(put_wishes(job.text, request));
    GYM_CHECK(put_sets(job, request.sets));
    return job;
}

Status set_model_keys(YamlText& text, const JobText& job) {
    for (const std::string& one : job.model_sets)
        GYM_CHECK(put_set(text, one));
    return {};
}

}  // namespace gym::app
