#include "job/job_file.hpp"

#include <algorithm>
#include <sstream>

#include "cli/inputs.hpp"
#include "gym/common/file.hpp"
#include "gym/common/ppm.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/registry/job_spec.hpp"
#include "program/network_limit.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFlopsPerPflop = 1'000'000'000'000'000;
constexpr std::uint64_t kSecondsPerDay = 86'400;
constexpr std::uint64_t kMtoken = 1'000'000;

Result<std::string> read_yaml(const fs::path& path) {
    GYM_TRY(const Bytes bytes, read_file(path, registry::kJobSpecBytesMax));
    return std::string(bytes.begin(), bytes.end());
}

/// Replaces the line of the top-level key `key` by `lines`.
Result<std::string> replace_key(const std::string& text, const std::string& key,
                                const std::string& lines) {
    std::istringstream input(text);
    std::string line;
    std::string out;
    int found = 0;
    while (std::getline(input, line)) {
        const bool match = line.starts_with(key + ":") || line.starts_with(key + " :");
        found += match ? 1 : 0;
        out += (match ? lines : line) + "\n";
    }
    if (found == 1) return out;
    return fail(ErrorCode::kInvalidArgument,
                "'" + key + "' must stand on a line of its own, not indented, in the job file");
}

/// The text two columns to the right, as the value of a key.
std::string indented(const std::string& text) {
    std::istringstream input(text);
    std::string line;
    std::string out;
    while (std::getline(input, line))
        out += line.empty() ? "\n" : "  " + line + "\n";
    if (!out.empty()) out.pop_back();
    return out;
}

/// @param model a preset's name or a model file.
Status inline_model(const fs::path& folder, const std::string& model, ResolvedJob& job) {
    std::string text;
    if (program::find_preset(model) != nullptr) {
        GYM_TRY(text, program::preset_text(model));
    } else {
        const fs::path path = folder / model;
        auto file = read_yaml(path);
        if (!file.ok()) return program::with_presets(file.error(), model);
        text = *std::move(file);
        // Its own errors name the model file, not the place that it will have in the job file.
        GYM_TRY([[maybe_unused]] const auto config,
                program::parse_train_config(text, path.string()));
    }
    GYM_TRY(job.yaml, replace_key(job.yaml, "model", "model:\n" + indented(text)));
    return {};
}

/// That a network can train the model; what else is wrong with it, the quote and the API say.
Status check_trainable(const ResolvedJob& job) {
    const auto program = program::train_program(job.config);
    if (!program.ok()) return {};
    const std::string limit = network_limit(*program);
    if (limit.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, "no network can train this model: " + limit +
                                                 "; train it with `gym program run`, or take a "
                                                 "smaller one (`gym model list`)");
}

Status load_dataset(const fs::path& folder, const std::string& dataset, ResolvedJob& job) {
    if (const auto root = Digest::parse(dataset); root.ok()) {
        job.dataset_root = *root;
        return {};
    }
    const fs::path path = folder / dataset;
    GYM_TRY(auto loaded, read_dataset(path.string()));
    const std::uint64_t window = std::uint64_t{job.config.model.context} + 1;
    GYM_TRY([[maybe_unused]] const auto windows,
            loaded.window_count(blob::Split::kValidation, window));
    job.dataset_root = loaded.root();
    job.dataset_name = path.filename().string().substr(0, 128);
    job.dataset.emplace(std::move(loaded));
    GYM_TRY(job.yaml,
            replace_key(job.yaml, "dataset", "dataset: \"" + job.dataset_root.hex() + "\""));
    return {};
}

/// Of all units of all rounds, rounded down once.
Result<Amount> data_cost(const ResolvedJob& job, const DataTerms& data) {
    const registry::JobTerms& terms = job.terms;
    GYM_TRY(const Amount unit_tokens,
            Amount(std::uint64_t{job.config.batch} * job.config.model.context)
                .mul_div(Amount(terms.steps), Amount(1)));
    GYM_TRY(const Amount round, unit_tokens.mul_div(Amount(terms.slots_max), Amount(1)));
    GYM_TRY(const Amount tokens, round.mul_div(Amount(terms.rounds), Amount(1)));
    GYM_TRY(const Amount weighted, tokens.mul_div(Amount(data.quality_ppm), Amount(1)));
    return weighted.mul_div(data.price_wei_per_mtoken, Amount(kPpm * kMtoken));
}

}  // namespace

Result<DataPrice> data_price(const client::ApiClient& api, const ResolvedJob& job) {
    const auto record = api.dataset(job.dataset_root);
    if (!record.ok()) {
        if (record.error().code == ErrorCode::kMalformed) return record.error();
        return DataPrice{std::nullopt, record.error().message};
    }
    if (!*record && job.dataset) return DataPrice{DataTerms{}, {}, false};
    if (!*record)
        return DataPrice{std::nullopt, "dataset " + job.dataset_root.hex() + " is not registered"};
    const registry::Dataset& dataset = (*record)->value;
    return DataPrice{DataTerms{dataset.price_wei_per_mtoken, dataset.quality_ppm}};
}

Result<KnownFee> network_fee(const client::ApiClient& api) {
    const auto fee = api.fee();
    if (!fee.ok()) {
        if (fee.error().code == ErrorCode::kMalformed) return fee.error();
        return KnownFee{std::nullopt, std::nullopt, fee.error().message};
    }
    return KnownFee{fee->rates, fee->bound,
                    fee->bound ? "" : "the network's services have not published their rates yet"};
}

Result<ResolvedJob> resolve_job_file(const fs::path& path) {
    ResolvedJob job;
    GYM_TRY(job.yaml, read_yaml(path));
    GYM_TRY(const auto spec, registry::parse_job_spec(job.yaml, path.string()));
    const fs::path folder = path.parent_path();
    if (!spec.model) GYM_CHECK(inline_model(folder, spec.model_file, job));
    // Read again as the server will, with the model in place.
    GYM_TRY(auto inlined, registry::parse_job_spec(job.yaml, path.string()));
    if (!inlined.model)
        return fail(ErrorCode::kInvalidArgument, path.string() + ": 'model' could not be inlined");
    GYM_TRY(job.config, program::read_train_config(*inlined.model));
    GYM_CHECK(inlined.model->finish());
    if (Status status = check_trainable(job); !status.ok()) return status.error().in(path.string());
    GYM_CHECK(load_dataset(folder, inlined.dataset, job));
    GYM_TRY(const auto submitted, registry::parse_submitted_spec(job.yaml, path.string()));
    job.name = submitted.spec.name;
    job.terms = submitted.spec.terms;
    job.budget_wei = submitted.spec.budget_wei;
    job.max_data_price_wei = submitted.spec.max_data_price_wei;
    return job;
}

Status agree_to_data_price(ResolvedJob& job, const Amount& price) {
    const std::string key = registry::kMaxDataPriceKey;
    const std::string line = key + ": " + price.to_tokens();
    GYM_TRY(const YamlMap map, YamlMap::parse(job.yaml, job.name));
    if (map.has(key)) {
        GYM_TRY(job.yaml, replace_key(job.yaml, key, line));
    } else {
        job.yaml += (job.yaml.ends_with('\n') ? "" : "\n") + line + "\n";
    }
    job.max_data_price_wei = price;
    return {};
}

namespace {

/// The most that the job can cost, and how much of it the budget covers.
Status count_most(const ResolvedJob& job, const program::Program& program, const DataTerms& data,
                  const protocol::CostRates& bound, JobQuote& out) {
    const registry::JobTerms& terms = job.terms;
    GYM_TRY(const auto aggregate, program::aggregate_program(program, terms.slots_max));
    const protocol::WorkPrice price{terms.price_wei_per_pflop, out.flops_per_step,
                                    std::uint64_t{job.config.batch} * job.config.model.context,
                                    data.price_wei_per_mtoken, data.quality_ppm};
    const protocol::RoundShape shape{terms.slots_max, terms.steps,
                                     program::flops_per_step(aggregate)};
    GYM_TRY(out.most_wei, protocol::rounds_bound(price, bound, shape, terms.rounds));
    GYM_TRY(out.round_wei, protocol::rounds_bound(price, bound, shape, 1));
    GYM_TRY(out.rounds_covered,
            protocol::rounds_covered(price, bound, shape, terms.rounds, job.budget_wei));
    return {};
}

}  // namespace

Result<JobQuote> quote(const ResolvedJob& job, const std::optional<DataTerms>& data,
                       const std::optional<protocol::CostRates>& bound) {
    GYM_TRY(const auto program, program::train_program(job.config));
    JobQuote out;
    out.flops_per_step = program::flops_per_step(program);
    out.parameters = program::parameter_count(program);
    const registry::JobTerms& terms = job.terms;
    const Amount one(1);
    GYM_TRY(const Amount unit_flops, Amount(out.flops_per_step).mul_div(Amount(terms.steps), one));
    GYM_TRY(const Amount round_flops, unit_flops.mul_div(Amount(terms.slots_max), one));
    GYM_TRY(out.flops, round_flops.mul_div(Amount(terms.rounds), one));
    GYM_TRY(out.compute_wei, out.flops.mul_div(terms.price_wei_per_pflop, Amount(kFlopsPerPflop)));
    GYM_TRY(out.pflop_day_wei, terms.price_wei_per_pflop.mul_div(Amount(kSecondsPerDay), one));
    out.data = data;
    if (data) {
        GYM_TRY(out.data_wei, data_cost(job, *data));
    }
    if (data && bound) GYM_CHECK(count_most(job, program, *data, *bound, out));
    return out;
}

}  // namespace gym::app
