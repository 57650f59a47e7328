#include "job/job_file.hpp"

#include <algorithm>
#include <utility>

#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "gym/common/ppm.hpp"
#include "gym/data/document_separator.hpp"
#include "gym/data/remote.hpp"
#include "gym/dispute/network_limit.hpp"
#include "gym/engine/dataset_check.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/rewards/formulas.hpp"
#include "job/job_data.hpp"
#include "job/job_model.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSecondsPerDay = 86'400;
constexpr std::uint64_t kMtoken = 1'000'000;

Result<std::string> read_yaml(const fs::path& path) {
    GYM_TRY(const Bytes bytes, read_file(path, registry::kJobSpecBytesMax));
    return std::string(bytes.begin(), bytes.end());
}

/// That a network can train the model; what else is wrong with it, the quote and the API say.
Status check_network(const ResolvedJob& job) {
    const auto program = program::train_program(job.config);
    if (!program.ok()) return {};
    const std::string limit = dispute::network_limit(*program);
    if (limit.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, "no network can train this model: " + limit +
                                                 "; train it with `gym program run`, or take a "
                                                 "smaller one (`gym model list`)");
}

/// That a model which trains on rows with labels finds them, as `gym program run` does.
Status check_rows(const program::TrainConfig& config, const JobData& data, const fs::path& path) {
    const auto program = program::train_program(config);
    if (!program.ok() || program->find_slot(program::kBatchStride) == program::kNoSlot) return {};
    const auto check = [&](const blob::Dataset& tokens) -> Status {
        const Status rows = engine::check_dataset(*program, tokens);
        return rows.ok() ? rows : Status(rows.error().in(path.string()));
    };
    if (data.tokens.of_text) return check(*data.tokens.of_text);
    GYM_TRY(const auto tokens,
            blob::Dataset::load(data.token_file.string(), data.tokens.dataset.root));
    return check(tokens);
}

/// The job file names the root that a name stands for now: the name's next version changes nothing.
Status look_up_dataset(const fs::path& path, const registry::DatasetReference& reference,
                       const DatasetLookup& lookup, ResolvedJob& job, YamlText& text) {
    const auto root = lookup(reference);
    if (!root.ok())
        return root.error().in("there is no file " + path.string() + ", and as a dataset's name");
    job.dataset_root = *root;
    job.dataset_name =
        reference.name + (reference.version ? "@" + std::to_string(*reference.version) : "");
    return text.replace("dataset", "dataset: \"" + job.dataset_root.hex() + "\"");
}

/// @param spec names the dataset, and weights that may have the model's tokenizer beside them.
Status load_dataset(const JobText& given, const registry::JobSpec& spec,
                    const DatasetLookup& lookup, ResolvedJob& job, YamlText& text) {
    const std::string& dataset = spec.dataset;
    if (const auto root = Digest::parse(dataset); root.ok()) {
        job.dataset_root = *root;
        return {};
    }
    const fs::path path = data::is_remote(dataset) ? fs::path(dataset) : given.folder / dataset;
    std::error_code unknown;
    if (const auto reference = registry::parse_dataset_reference(dataset);
        lookup && reference.ok() && !fs::exists(path, unknown))
        return look_up_dataset(path, *reference, lookup, job, text);
    const fs::path beside = spec.init.empty() ? fs::path() : given.folder / spec.init;
    const std::uint32_t vocabulary = job.config.model.vocabulary;
    GYM_TRY(auto loaded, load_job_data(path, {.tokenizer = given.tokenizer,
                                              .beside = beside.string(),
                                              .vocabulary = vocabulary,
                                              .quiet = given.quiet}));
    const blob::DatasetSummary& dataset_here = loaded.tokens.dataset;
    if (std::string warning = vocabulary_warning(dataset_here.vocabulary, vocabulary);
        !warning.empty())
        job.warnings.push_back(std::move(warning));
    GYM_CHECK(dataset_here.check_windows(std::uint64_t{job.config.model.context} + 1));
    GYM_CHECK(check_rows(job.config, loaded, path));
    job.dataset_root = dataset_here.root;
    const fs::path trimmed = path.has_filename() ? path : path.parent_path();
    job.dataset_name = trimmed.filename().string().substr(0, 128);
    job.tokens.emplace(std::move(loaded.tokens));
    job.dataset_file = std::move(loaded.token_file);
    GYM_TRY(job.document_licences, data::licences_beside(job.dataset_file, job.dataset_root));
    return text.replace("dataset", "dataset: \"" + job.dataset_root.hex() + "\"");
}

constexpr const char* kSeparatorPath = "model.model.document_separator";

/// By the manifest beside the token file, or the one that the network has.
Result<std::uint32_t> separator_of(const ResolvedJob& job, const AskSeparator& ask) {
    if (job.tokens) return data::document_separator(job.dataset_file, job.dataset_root);
    if (ask) return ask(job.dataset_root);
    return fail(ErrorCode::kInvalidArgument,
                "the token between the documents of a registered dataset is not known here");
}

/// Puts the token between the data's documents into the model.
Status keep_documents_apart(ResolvedJob& job, const AskSeparator& ask, YamlText& text) {
    const char* const option = "--keep-documents-apart";
    GYM_TRY(const bool named, text.has(kSeparatorPath));
    if (named)
        return fail(ErrorCode::kInvalidArgument,
                    std::string(option) + ": the model names its document_separator already");
    const auto token = separator_of(job, ask);
    if (!token.ok()) {
        Error error = token.error().in(option);
        if (!job.tokens)
            error.message += std::string("; --set ") + kSeparatorPath +
                             "=TOKEN names it (`gym tokenizer show` has the end of text)";
        return error;
    }
    GYM_CHECK(text.set(kSeparatorPath, std::to_string(*token)));
    GYM_TRY(auto inlined, YamlMap::parse(text.text(), text.origin()));
    GYM_TRY(auto model, inlined.map("model"));
    GYM_TRY(job.config, program::read_train_config(model));
    const auto program = program::train_program(job.config);
    return program.ok() ? Status() : Status(program.error().in(option));
}

/// A preset's training that nobody set follows the job; a model file's, where it says nothing.
Result<plan::OpenTraining> open_training(const plan::Draft& draft, const JobText& given) {
    const auto nobody_sets = [&given](std::string_view key) {
        return std::ranges::none_of(given.model_sets,
                                    [key](const std::string& one) { return one.starts_with(key); });
    };
    if (program::find_preset(draft.spec.model_file) != nullptr)
        return plan::OpenTraining{.schedule = nobody_sets("model.optimizer.total_steps="),
                                  .outer = nobody_sets("model.outer.")};
    GYM_TRY(const bool outer, plan::leaves_outer_open(draft));
    return plan::OpenTraining{.schedule = false, .outer = outer};
}

/// The terms that the job file leaves open, by the planner's rules.
Status plan_terms(plan::Draft draft, const JobText& given, const AskFacts& ask_facts,
                  ResolvedJob& job) {
    if (!ask_facts)
        return fail(ErrorCode::kInvalidArgument,
                    draft.text.origin() + " leaves terms to the network, and none is named");
    GYM_TRY(const plan::Facts facts, ask_facts(job));
    GYM_CHECK(plan::compress_updates(draft, facts, job.config));
    GYM_TRY(auto work, plan::model_work(job.config));
    GYM_TRY(const plan::OpenTraining open, open_training(draft, given));
    plan::leave_open(open, job.config.optimizer, draft, work);
    GYM_TRY(job.plan, plan::make_plan(draft.wishes, draft.fixed, work, facts));
    const auto& warnings = job.plan->warnings;
    job.warnings.insert(job.warnings.end(), warnings.begin(), warnings.end());
    GYM_TRY(job.yaml, plan::complete(draft, *job.plan));
    // As the server will read it.
    GYM_TRY(auto whole, registry::parse_job_spec(job.yaml, draft.text.origin()));
    GYM_TRY(job.config, program::read_train_config(*whole.model));
    return {};
}

/// What `init` names, if it is there: weights are read when the job is submitted.
Status find_init(const fs::path& folder, const std::string& init, ResolvedJob& job) {
    job.init = init;
    if (init.empty() || init.starts_with(registry::kInitJobPrefix) ||
        registry::parse_init(init).ok())
        return {};
    const fs::path path = folder / init;
    std::error_code ignored;
    if (fs::exists(path, ignored)) {
        job.init = path.string();
        return {};
    }
    if (registry::parse_model_reference(init).ok()) return {};  // resolve_init() looks it up
    return fail(ErrorCode::kNotFound,
                "'init' names " + path.string() +
                    ": no such file or folder. It must be a folder or file of weights, the name "
                    "of a registered model (NAME or NAME@VERSION), job:ID, job:ID@ROUND, or the "
                    "0x... root of an uploaded state");
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
    if (!*record && job.tokens) return DataPrice{DataTerms{}};
    if (!*record)
        return DataPrice{std::nullopt, "dataset " + job.dataset_root.hex() + " is not registered"};
    const registry::Dataset& dataset = (*record)->value;
    return DataPrice{DataTerms{dataset.price_wei_per_mtoken, dataset.quality_ppm}, {}, dataset};
}

Result<std::vector<std::string>> data_warnings(const ResolvedJob& job,
                                               const registry::Dataset& dataset) {
    const std::uint32_t vocabulary = job.config.model.vocabulary;
    GYM_CHECK(check_vocabulary("dataset " + dataset.root.hex() + " (" + dataset.name + ")",
                               dataset.vocabulary, vocabulary));
    std::vector<std::string> out;
    std::string bytes = vocabulary_warning(dataset.vocabulary, vocabulary);
    if (!bytes.empty() && !job.tokens) out.push_back(std::move(bytes));  // else it is said already
    if (!dataset.parts.empty()) return out;  // whose licences the mix and the API check
    if (const std::string why = licence::forbidden(dataset.licence, job.use); !why.empty())
        out.push_back("the data is under " + dataset.licence + ", and " + why +
                      ": the job is refused unless its owner " + dataset.owner.hex() +
                      " submits it");
    return out;
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

Result<ResolvedJob> resolve_job(const JobText& given, const AskFacts& ask_facts,
                                const DatasetLookup& lookup, const AskSeparator& ask_separator) {
    ResolvedJob job;
    const std::string origin = given.text.origin();
    GYM_TRY(plan::Draft draft, plan::read_draft(given.text));
    if (!draft.spec.model) GYM_CHECK(inline_model(given.folder, draft.spec.model_file, draft.text));
    GYM_CHECK(set_model_keys(draft.text, given));
    GYM_TRY(job.imported, import_model(given.folder, draft.text));
    // Read again as the server will, with the model in place.
    GYM_TRY(auto inlined, YamlMap::parse(draft.text.text(), origin));
    GYM_TRY(auto model, inlined.map("model"));
    GYM_TRY(job.config, program::read_train_config(model));
    GYM_CHECK(model.finish());
    GYM_CHECK(plan::compress_deltas(draft, job.config));
    if (const Status status = check_network(job); !status.ok()) return status.error().in(origin);
    GYM_CHECK(load_dataset(given, draft.spec, lookup, job, draft.text));
    if (given.documents_apart) GYM_CHECK(keep_documents_apart(job, ask_separator, draft.text));
    GYM_CHECK(find_init(given.folder, draft.spec.init, job));
    if (job.imported && job.init.empty()) job.init = weights_in(*job.imported).string();
    job.name = draft.spec.name;
    job.yaml = draft.text.text();
    if (draft.needs_plan()) GYM_CHECK(plan_terms(std::move(draft), given, ask_facts, job));
    GYM_TRY(const auto whole, registry::parse_job_spec(job.yaml, origin));
    job.terms = whole.terms;
    job.use = whole.use;
    if (const auto why = data::forbidden_by_documents(job.document_licences, job.use); !why.empty())
        job.warnings.push_back(why +
                               ": the job is refused, unless `use: non-commercial` permits it");
    job.budget_wei = whole.budget_wei;
    job.max_data_price_wei = whole.max_data_price_wei;
    job.access = whole.access;
    return job;
}

Result<ResolvedJob> resolve_job_file(const fs::path& path, const DatasetLookup& lookup) {
    GYM_TRY(std::string text, read_yaml(path));
    return resolve_job({YamlText(std::move(text), path.string()), path.parent_path()}, {}, lookup);
}

Status begin_from(ResolvedJob& job, const std::string& init) {
    const std::string key(registry::kInitKey);
    YamlText text(job.yaml, job.name);
    GYM_CHECK(text.replace(key, key + ": \"" + init + "\""));
    job.yaml = text.text();
    job.init = init;
    return {};
}

Status agree_to_data_price(ResolvedJob& job, const Amount& price) {
    YamlText text(job.yaml, job.name);
    GYM_CHECK(text.set(registry::kMaxDataPriceKey, price.to_tokens()));
    job.yaml = text.text();
    job.max_data_price_wei = price;
    return {};
}

namespace {

/// The most that the job can cost, and how much of it the budget covers.
Status count_most(const ResolvedJob& job, const program::Program& program, const DataTerms& data,
                  const protocol::CostRates& bound, JobQuote& out) {
    const registry::JobTerms& terms = job.terms;
    const registry::AggregateSize largest = registry::largest_aggregate(terms);
    GYM_TRY(const program::OwnFlops own,
            program::own_flops(program, largest.deltas, {largest.held, largest.withdrawn, 0},
                               terms.evaluate_windows));
    const protocol::WorkPrice price{terms.price_wei_per_pflop, out.flops_per_step,
                                    std::uint64_t{job.config.batch} * job.config.model.context,
                                    data.price_wei_per_mtoken, data.quality_ppm};
    const protocol::RoundShape shape{terms.slots_max, terms.steps, own.sum(),
                                     terms.elastic.overlap != 0 ? own.evaluation : 0};
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
    GYM_TRY(out.compute_wei,
            out.flops.mul_div(terms.price_wei_per_pflop, Amount(rewards::kFlopsPerPflop)));
    GYM_TRY(out.pflop_day_wei, terms.price_wei_per_pflop.mul_div(Amount(kSecondsPerDay), one));
    out.data = data;
    if (data) {
        GYM_TRY(out.data_wei, data_cost(job, *data));
    }
    if (data && bound) GYM_CHECK(count_most(job, program, *data, *bound, out));
    return out;
}

}  // namespace gym::app
