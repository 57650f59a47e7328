#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>

#include "cli/byte_progress.hpp"
#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "cli/visibility.hpp"
#include "data/pull_command.hpp"
#include "gym/common/clock.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/data/document_licences.hpp"
#include "gym/licence/licence.hpp"
#include "gym/owner/order_key.hpp"
#include "gym/owner/push_data.hpp"
#include "gym/owner/visible_to.hpp"
#include "job/export_command.hpp"
#include "job/job_data.hpp"
#include "job/job_file.hpp"
#include "job/job_init.hpp"
#include "job/job_mix.hpp"
#include "job/job_order.hpp"
#include "job/job_print.hpp"
#include "job/machine_speed.hpp"
#include "job/plan_print.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::milliseconds kJobWatchInterval{1'000};
constexpr const char *kUntilTrained = "trained", *kUntilSettled = "settled";

struct JobOptions {
    JobRequest request;
    std::string id;
    std::string idempotency_key;
    std::string owner;
    std::string amount;
    std::string licence;
    std::string max_data_price;
    std::string cloud_price;
    bool again = false;
    bool no_bench = false;
    std::string until = kUntilTrained;
    ApiOptions api;
    OrderOptions order;
};

std::string random_key() {
    std::array<std::uint8_t, 16> random{};
    crypto::secure_random(random);
    return to_hex(random);
}

Result<Digest> job_id(const JobOptions& options) {
    return find_job(options.api.client(), options.id);
}

/// What the planner is told: the network, and the price of the job's data as far as it is known.
Result<plan::Facts> planner_facts(const client::ApiClient& api, const ResolvedJob& job) {
    GYM_TRY(plan::Facts facts, plan::network_facts(api));
    GYM_TRY(const DataPrice data, data_price(api, job));
    facts.data_known = data.terms.has_value();
    if (!data.terms) return facts;
    facts.data_price_wei_per_mtoken = data.terms->price_wei_per_mtoken;
    facts.data_quality_ppm = data.terms->quality_ppm;
    return facts;
}

/// Deadlines that the job's file does not write are no longer than the network's window permits.
Status fit_deadlines(const plan::Facts& facts, ResolvedJob& job) {
    GYM_TRY(const plan::ModelWork work, plan::model_work(job.config));
    GYM_TRY(job.yaml, plan::fit_deadlines(job.yaml, job.terms, work, facts));
    GYM_TRY(const registry::JobSpec spec, registry::parse_job_spec(job.yaml, job.name));
    job.terms = spec.terms;
    return {};
}

/// Of a job whose file leaves nothing to the planner. A network that does not answer is no error.
Status warn_of_terms(const plan::Facts& facts, ResolvedJob& job) {
    GYM_TRY(const plan::ModelWork work, plan::model_work(job.config));
    GYM_CHECK(plan::check_sizes(job.terms, work, facts));
    GYM_CHECK(plan::check_window(job.terms, facts));
    GYM_TRY(const plan::Estimate estimate, plan::estimate(job.terms, work, facts));
    for (std::string& text : plan::worker_warnings(job.terms, estimate, facts))
        job.warnings.push_back(std::move(text));
    for (std::string& text : plan::overlap_warnings(job.terms, work))
        job.warnings.push_back(std::move(text));
    return {};
}

/// The job file with what the command line says in the place of its own keys.
/// @param submits what the list `data` names on disk may be registered.
Result<ResolvedJob> asked_job(const CliContext& context, const JobOptions& options, bool submits) {
    GYM_TRY(JobText text, job_text(options.request));
    text.quiet = context.json;
    GYM_TRY(const bool is_named, text.text.has("name"));
    // Before a mix is made for it.
    if (!is_named)
        return fail(ErrorCode::kInvalidArgument,
                    options.request.file + ": 'name' is missing: write it there, or pass --name");
    GYM_TRY(MixedFrom mixed_from,
            resolve_mix(options.api, text,
                        {.quiet = context.json, .submits = submits, .licence = options.licence}));
    const client::ApiClient api = options.api.client();
    const auto facts = [&](const ResolvedJob& known) { return planner_facts(api, known); };
    const auto lookup = [&](const registry::DatasetReference& reference) -> Result<Digest> {
        GYM_TRY(const auto version, api.dataset_version(reference));
        return version->root;
    };
    const auto separator = [&](const Digest& root) {
        return separator_of_dataset(options.api, root);
    };
    GYM_TRY(ResolvedJob job, resolve_job(text, facts, lookup, separator));
    job.mixed_from = std::move(mixed_from);
    const Status named = resolve_named_init(api, job);
    if (!named.ok() && named.error().code == ErrorCode::kUnavailable)
        job.warnings.push_back(named.error().message);
    else
        GYM_CHECK(named);
    if (!job.plan) {
        GYM_TRY(const plan::Facts known, facts(job));
        GYM_CHECK(fit_deadlines(known, job));
        GYM_CHECK(warn_of_terms(known, job));
    }
    if (options.max_data_price.empty()) return job;
    GYM_TRY(const Amount price,
            price_argument("--max-data-price", options.max_data_price, kDataPriceMax));
    GYM_CHECK(agree_to_data_price(job, price));
    return job;
}

Result<std::optional<double>> cloud_price(const JobOptions& options) {
    if (options.cloud_price.empty()) return std::optional<double>();
    char* end = nullptr;
    const double price = std::strtod(options.cloud_price.c_str(), &end);
    if (*end == '\0' && price > 0 && price < 1e9) return std::optional(price);
    return fail(ErrorCode::kInvalidArgument, "--cloud-price: '" + options.cloud_price +
                                                 "' is not a price in dollars an hour (like 2.5)");
}

Result<JobOutlook> outlook_of(const JobOptions& options, const client::ApiClient& api,
                              const ResolvedJob& job) {
    JobOutlook out;
    GYM_TRY(out.cloud_usd_per_hour, cloud_price(options));
    GYM_TRY(out.facts, planner_facts(api, job));
    GYM_TRY(const plan::ModelWork work, plan::model_work(job.config));
    GYM_TRY(out.estimate, plan::estimate(job.terms, work, out.facts));
    if (options.no_bench) return out;
    GYM_TRY(const auto file, machine_speed_file());
    GYM_TRY(const MachineSpeed speed, machine_speed(file, SystemClock().now_ms()));
    out.machine_flops = speed.flops_per_second;
    return out;
}

Status print_quote(const CliContext& context, const JobOptions& options) {
    GYM_TRY(ResolvedJob job, asked_job(context, options, false));
    const client::ApiClient api = options.api.client();
    GYM_CHECK(check_init(api, options.api.has_key(), job));
    GYM_CHECK(check_init_tokenizer(api, job));
    GYM_TRY(const DataPrice data, data_price(api, job));
    if (data.record) {
        GYM_TRY(const auto warnings, data_warnings(job, *data.record));
        job.warnings.insert(job.warnings.end(), warnings.begin(), warnings.end());
    }
    GYM_TRY(const KnownFee fee, network_fee(api));
    GYM_TRY(const JobQuote costs, quote(job, data.terms, fee.bound));
    GYM_TRY(const JobOutlook outlook, outlook_of(options, api, job));
    const std::string sees = owner::who_sees_model(job.access, owner::count_nodes(api));
    if (context.json) {
        auto object = quote_json(job, costs, data, fee);
        object["visibility"] = to_string(job.access.visibility);
        object["visible_to"] = sees;
        add_outlook(outlook, object);
        if (job.plan) object["plan"] = plan_json(*job.plan);
        object["spec"] = job.yaml;
        context.print_json(object);
        return {};
    }
    print_quote(job, costs, data, fee);
    if (job.plan) print_plan(*job.plan);
    print_outlook(outlook);
    print_row("who can see it", "{}", sees);
    return {};
}

/// --licence, or all licences of the documents, and with it those of all registered parts of a mix.
Result<std::string> licence_of(const JobOptions& options, const ResolvedJob& job) {
    std::set<std::string> all = job.mixed_from.licences;
    if (!options.licence.empty() || data::names_licence(job.document_licences)) {
        auto own = data::licence_of_whole(options.licence, job.document_licences);
        if (!own.ok()) return own.error().in("licence");
        all.insert(*std::move(own));
    }
    auto licence = licence::joined(all);
    if (!licence.ok()) return licence.error().in("licence");
    return licence;
}

/// The owner agreed to what the dataset costs, and knows its licence. gym-api checks the price once
/// more, of the job that it stores.
Status check_offer(const JobOptions& options, const ResolvedJob& job,
                   const registry::Dataset& dataset) {
    const std::string price = dataset.price_wei_per_mtoken.to_tokens();
    if (dataset.price_wei_per_mtoken > job.max_data_price_wei)
        return fail(ErrorCode::kConflict,
                    "dataset " + job.dataset_root.hex() + " costs " + price +
                        " GYM per million tokens of text, and the job agrees to " +
                        (job.max_data_price_wei.is_zero()
                             ? "none"
                             : job.max_data_price_wei.to_tokens() + " at the most") +
                        ": --max-data-price " + price +
                        " (or max_data_price in the job file) accepts it; `gym job quote` prints "
                        "the job's cost");
    // Of a mix --licence is that of the files in it.
    if (options.licence.empty() || !dataset.parts.empty()) return {};
    GYM_TRY(const std::string licence, licence_of(options, job));
    if (licence == dataset.licence) return {};
    return fail(ErrorCode::kConflict, "dataset " + job.dataset_root.hex() +
                                          " is registered under " + dataset.licence +
                                          ", not under " + licence + ": leave --licence out");
}

/// Registers the job's own data for its owner's jobs alone.
Result<client::Answer<registry::Dataset>> register_own(const client::ApiClient& api,
                                                       const ResolvedJob& job,
                                                       const std::string& licence) {
    owner::DataPush push;
    push.terms.name = job.dataset_name;
    push.terms.licence = licence;
    push.terms.access.emplace(registry::Access{registry::Visibility::kPrivate, {}});
    push.token_file = job.dataset_file;
    ByteProgress line("uploading");
    push.progress = [&](std::uint64_t done, std::uint64_t total) { line.show(done, total); };
    auto pushed = owner::push_data(api, *job.tokens, push);
    if (!pushed.ok()) return pushed.error();
    return std::move(pushed->record);
}

/// The dataset's record; it is there when this returns, if it can be. Says what it costs before
/// anything is locked for it.
Result<registry::Dataset> ready_dataset(const CliContext& context, const JobOptions& options,
                                        const ResolvedJob& job, const client::ApiClient& api) {
    GYM_TRY(auto record, api.dataset(job.dataset_root));
    if (!record && !job.tokens)
        return fail(
            ErrorCode::kNotFound,
            "dataset " + job.dataset_root.hex() +
                " is not registered: name its text in the job file, or see `gym data list`");
    if (!record) {
        const bool says_itself = !job.mixed_from.licences.empty() && !job.mixed_from.has_files;
        if (options.licence.empty() && !says_itself && !data::names_licence(job.document_licences))
            return fail(ErrorCode::kInvalidArgument,
                        job.dataset_name + " (" + job.dataset_root.hex() +
                            ") is not registered: say under which licence with --licence (an SPDX "
                            "expression like CC-BY-4.0; private: only your own jobs train on it), "
                            "or offer it for a price with `gym data register`");
        GYM_TRY(const std::string licence, licence_of(options, job));
        GYM_TRY(record, register_own(api, job, licence));
    }
    const registry::Dataset& dataset = record->value;
    GYM_CHECK(check_vocabulary("dataset " + dataset.root.hex(), dataset.vocabulary,
                               job.config.model.vocabulary));
    GYM_CHECK(check_offer(options, job, dataset));
    if (context.json) return dataset;
    print_data_price(dataset);
    GYM_TRY(const KnownFee fee, network_fee(api));
    print_fee(fee);
    return dataset;
}

/// A request that may be repeated but happens once: `send` takes the key that makes it so. `what`
/// names it in the error for an outcome that is not known.
template <class Send>
Result<client::Answer<client::Job>> send_once(const JobOptions& options, const std::string& what,
                                              Send&& send) {
    const std::string key =
        options.idempotency_key.empty() ? random_key() : options.idempotency_key;
    auto answer = send(key);
    if (answer.ok() || answer.error().code != ErrorCode::kUnavailable) return answer;
    return fail(ErrorCode::kUnavailable, answer.error().message + "; whether " + what +
                                             " is not known: try again with --idempotency-key " +
                                             key);
}

Status submit(const CliContext& context, const JobOptions& options) {
    GYM_TRY(ResolvedJob job, asked_job(context, options, true));
    GYM_CHECK(owner::check_documents(job.dataset_name, job.document_licences, job.use));
    for (const std::string& warning : job.warnings)
        if (!context.json) print_notice("warning", "{}", warning);
    if (job.plan && !context.json) print_plan(*job.plan);
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    // First, so that a wrong passphrase shows before a long upload.
    GYM_TRY(const plan::OrderSigner signer, open_order_signer(options.order));
    GYM_CHECK(owner::check_order_key(api, signer.key.address()));
    GYM_CHECK(check_init_tokenizer(api, job));
    GYM_CHECK(resolve_init(api, job));
    GYM_TRY(const registry::Dataset dataset, ready_dataset(context, options, job, api));
    GYM_TRY(auto submitted,
            send_once(options, "the job was submitted",
                      [&](const std::string& key) -> Result<client::Answer<client::Job>> {
                          GYM_TRY(const records::SealedTerms order,
                                  signer.seal_job(job.yaml, key, SystemClock().now_ms()));
                          return api.submit_job(job.yaml, key, order, options.again);
                      }));
    const std::string sees = owner::who_sees_model(submitted->access, owner::count_nodes(api));
    if (context.json) {
        submitted.json["data_licence"] = dataset.licence;  // the price is in the answer
        submitted.json["visible_to"] = sees;
        submitted.json["warnings"] = boost::json::array(job.warnings.begin(), job.warnings.end());
        context.print_json(submitted.json);
    } else {
        print_job(*submitted);
        print_row("who can see it", "{}", sees);
        print_row("next", "`gym job watch {}{}` follows it", submitted->id.hex().substr(0, 10),
                  options.api.key_words());
    }
    return {};
}

Status list_jobs(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const auto jobs, options.api.client().jobs({.owner = options.owner}));
    for (const auto& job : jobs) {
        if (context.json)
            context.print_json(job.json);
        else
            print_job_line(*job);
    }
    if (!context.json && jobs.empty()) print_line("no jobs");
    if (!context.json && !options.api.has_key())
        print_notice("note",
                     "private jobs are not listed: --api-key-file FILE or GYM_API_KEY "
                     "lists your own, too");
    return {};
}

Status status(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const auto job, options.api.client().job(id));
    if (context.json)
        context.print_json(job.json);
    else
        print_job_detail(*job);
    return {};
}

Status bill(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const auto bill, options.api.client().bill(id));
    if (context.json)
        context.print_json(bill.json);
    else
        print_bill(*bill);
    return {};
}

/// Prints what is new in `job`; `seen` remembers what was printed.
void print_news(const CliContext& context, const client::JobDetail& job,
                std::set<std::string>& seen) {
    for (const auto& round : job.round_list) {
        if (!round->validation_loss) continue;
        if (!seen.insert("round " + std::to_string(round->round)).second) continue;
        if (context.json)
            context.print_json(round.json);
        else
            print_round(*round, job);
    }
    for (const auto& unit : job.faults) {
        const std::string state(protocol::to_string(unit->status.state));
        if (!seen.insert("unit " + unit->id.hex() + " " + state).second) continue;
        if (context.json)
            context.print_json(unit.json);
        else
            print_fault(*unit);
    }
    if (job.waiting_for.empty() || !seen.insert("waiting " + job.waiting_for).second) return;
    if (context.json)
        context.print_json({{"waiting_for", job.waiting_for}});
    else
        print_waiting(job);
}

/// Whether there is nothing left to watch.
bool is_watched(const JobOptions& options, const client::JobDetail& job) {
    return job.ended_at || (options.until == kUntilTrained && is_trained(job));
}

/// Until the job is trained, or has ended. A gym-api that restarts meanwhile is asked again.
Status watch_job(const CliContext& context, const JobOptions& options) {
    const client::ApiClient api = options.api.client(kApiRetryFor);
    GYM_TRY(const Digest id, find_job(api, options.id));
    std::set<std::string> seen;
    while (true) {
        GYM_TRY(const auto job, api.job(id));
        print_news(context, *job, seen);
        if (is_watched(options, *job)) {
            if (context.json)
                context.print_json(job.json);
            else
                print_job_detail(*job, false);
            if (is_trained(*job) || job->status == registry::JobStatus::kCompleted) return {};
            return fail(ErrorCode::kInternal,
                        "the job ended as " + std::string(to_string(job->status)));
        }
        std::this_thread::sleep_for(kJobWatchInterval);
    }
}

Status request(const CliContext& context, const JobOptions& options, const std::string& verb) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key());
    GYM_TRY(const auto job, api.ask_job(id, verb));
    if (context.json)
        context.print_json(job.json);
    else
        print_line("asked to {}; the coordinator acts between rounds (`gym job status {}`)", verb,
                   id.hex());
    return {};
}

Status fund(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const Amount amount, tokens_argument(options.amount));
    GYM_TRY(const client::ApiClient api, options.api.client_with_key(kApiRetryFor));
    GYM_TRY(const plan::OrderSigner signer, open_order_signer(options.order));
    GYM_CHECK(owner::check_order_key(api, signer.key.address()));
    GYM_TRY(const auto job,
            send_once(options, "the money was ordered", [&](const std::string& key) {
                return api.fund_job(id, amount, key,
                                    signer.seal_funding(id, amount, key, SystemClock().now_ms()));
            }));
    if (context.json) {
        context.print_json(job.json);
        return {};
    }
    print_job(*job);
    print_row("ordered",
              "{} GYM more: in the budget as soon as gym-rewards has checked your "
              "signature (`gym job status {}`)",
              amount.to_tokens(), id.hex().substr(0, 10));
    return {};
}

void add_fund_options(CLI::App& command, JobOptions& options) {
    command.add_option("id", options.id, "Job id, or its first digits")->required();
    command.add_option("amount", options.amount, "GYM, like 12.5")->required();
    options.order.add_to(command);
    command.add_option("--idempotency-key", options.idempotency_key,
                       "Name of this payment; a repetition with the same name adds nothing");
}

void add_submit_options(CLI::App& command, JobOptions& options) {
    command.add_option(
        "--licence", options.licence,
        "Licence under which an unregistered text is registered, privately and "
        "at price 0 (`gym data register` offers it to others): an SPDX expression, or "
        "private, proprietary, no-training, public-domain (default: all licences of its "
        "documents)");
    options.order.add_to(command);
    command.add_flag("--again", options.again,
                     "Submit the job even if the same job is already running");
    command.add_option("--idempotency-key", options.idempotency_key,
                       "Name of this submission; a repetition with the same name submits nothing");
}

}  // namespace

void add_job_commands(CLI::App& app, CliContext& context) {
    CLI::App* job = app.add_subcommand("job", "Train a model: quote, submit, watch");
    job->require_subcommand(1);
    auto options = std::make_shared<JobOptions>();
    const auto add = [&](const char* name, const char* about, auto run) {
        CLI::App* command = job->add_subcommand(name, about);
        options->api.add_to(*command, true);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    const auto add_data_price = [&](CLI::App& command) {
        command.add_option(
            "--max-data-price", options->max_data_price,
            "Most GYM for a million tokens of text (default: the job file's max_data_price)");
    };
    CLI::App* quote_command = add(
        "quote", "Print what a job costs and how long it takes; submits nothing",
        [](const CliContext& with, const JobOptions& given) { return print_quote(with, given); });
    options->request.add_to(*quote_command);
    add_data_price(*quote_command);
    quote_command->add_option("--cloud-price", options->cloud_price,
                              "Dollars for an hour of the accelerator that the job is compared "
                              "with (default: a list price)");
    quote_command->add_flag("--no-bench", options->no_bench,
                            "Do not measure how long this machine alone would take");
    CLI::App* submit_command =
        add("submit", "Register the dataset, submit the job, lock its budget", submit);
    options->request.add_to(*submit_command);
    add_data_price(*submit_command);
    add_submit_options(*submit_command, *options);
    add("list", "List public jobs and your own, newest first", list_jobs)
        ->add_option("--owner", options->owner, "List only jobs of this address");
    const auto add_one = [&](const char* name, const char* about, auto run) {
        add(name, about, run)
            ->add_option("id", options->id, "Job id, or its first digits")
            ->required();
    };
    add_one("status", "Show a job's status, rounds, losses, cost and faults", status);
    add_one("bill", "Show a job's payments by kind of credit", bill);
    CLI::App* watch_command =
        add("watch", "Follow a job until all of its rounds are trained", watch_job);
    watch_command->add_option("id", options->id, "Job id, or its first digits")->required();
    watch_command
        ->add_option("--until", options->until,
                     "trained: all rounds are done (default); settled: every unit is final, too, "
                     "and the job has ended")
        ->check(CLI::IsMember({kUntilTrained, kUntilSettled}));
    add_export_command(*job, context);
    add_job_visibility_command(*job, context);
    CLI::App* fund_command = add(
        "fund", "Lock more GYM for a job; a job that paused for want of budget continues", fund);
    add_fund_options(*fund_command, *options);
    for (const auto& [verb, about] :
         {std::pair{"pause", "Pause a job after the current round, until `gym job resume`"},
          std::pair{"resume", "Resume a paused job, or withdraw a request to pause"},
          std::pair{"cancel",
                    "End a job: units under way are still checked and paid, the rest of the budget "
                    "returns"}})
        add_one(verb, about, [verb = verb](const CliContext& with, const JobOptions& given) {
            return request(with, given, verb);
        });
}

}  // namespace gym::app
