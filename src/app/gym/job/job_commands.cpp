#include <CLI/CLI.hpp>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <thread>

#include "cli/api_request.hpp"
#include "cli/cli_context.hpp"
#include "cli/find_id.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "data/dataset_client.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/db/database.hpp"
#include "job/job_file.hpp"
#include "job/job_print.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kRetryFor{20};
constexpr std::chrono::milliseconds kJobWatchInterval{1'000};

struct JobOptions {
    std::string file;
    std::string id;
    std::string idempotency_key;
    std::string owner;
    std::string amount;
    std::string licence;
    std::string max_data_price;
    bool again = false;
    ApiOptions api;
};

std::string random_key() {
    std::array<std::uint8_t, 16> random{};
    crypto::secure_random(random);
    return to_hex(random);
}

Result<Digest> job_id(const JobOptions& options) {
    return find_id(options.api.base_url(), kJobIds, options.id);
}

/// The job file with what the command line says in the place of its own keys.
Result<ResolvedJob> asked_job(const JobOptions& options) {
    GYM_TRY(ResolvedJob job, resolve_job_file(options.file));
    if (options.max_data_price.empty()) return job;
    const auto price = Amount::parse_tokens(options.max_data_price);
    if (!price.ok())
        return fail(ErrorCode::kInvalidArgument, "--max-data-price: '" + options.max_data_price +
                                                     "' is not an amount of tokens (like 0.25)");
    GYM_CHECK(agree_to_data_price(job, *price));
    return job;
}

Status print_quote(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const ResolvedJob job, asked_job(options));
    GYM_TRY(const DataPrice data, data_price(options.api.base_url(), job));
    GYM_TRY(const NetworkFee fee, network_fee(options.api.base_url()));
    GYM_TRY(const JobQuote costs, quote(job, data.terms, fee.bound));
    if (context.json)
        context.print_json(quote_json(job, costs, data, fee));
    else
        print_quote(job, costs, data, fee);
    return {};
}

/// The owner agreed to what the dataset costs, and knows its licence. gym-api checks the price once
/// more, of the job that it stores.
Status check_offer(const JobOptions& options, const ResolvedJob& job, const json::object& dataset) {
    GYM_TRY(const DataTerms terms, data_terms_of(dataset));
    const std::string price = terms.price_wei_per_mtoken.to_tokens();
    if (terms.price_wei_per_mtoken > job.max_data_price_wei)
        return fail(ErrorCode::kConflict,
                    "dataset " + job.dataset_root.hex() + " costs " + price +
                        " tokens per million tokens of text, the job agrees to " +
                        (job.max_data_price_wei.is_zero()
                             ? "none"
                             : job.max_data_price_wei.to_tokens() + " at the most") +
                        ": --max-data-price " + price +
                        " (or max_data_price in the job file) accepts it; `gym job quote` prints "
                        "the job's cost");
    const std::string licence(dataset.at("licence").as_string());
    if (options.licence.empty() || options.licence == licence) return {};
    return fail(ErrorCode::kConflict, "dataset " + job.dataset_root.hex() +
                                          " is registered under " + licence + ", not under " +
                                          options.licence + ": leave --licence out");
}

/// The dataset's record; it is there when this returns, if it can be. Says what it costs before
/// anything is locked for it.
Result<json::object> ready_dataset(const CliContext& context, const JobOptions& options,
                                   const ResolvedJob& job, const std::string& key) {
    const std::string url = options.api.base_url();
    GYM_TRY(auto record,
            db::with_retry([&] { return fetch_dataset(url, job.dataset_root); }, kRetryFor));
    if (!record && !job.dataset)
        return fail(
            ErrorCode::kNotFound,
            "dataset " + job.dataset_root.hex() +
                " is not registered: name its text in the job file, or see `gym data list`");
    if (!record) {
        if (options.licence.empty())
            return fail(ErrorCode::kInvalidArgument,
                        job.dataset_name + " (" + job.dataset_root.hex() +
                            ") is not registered: say under which licence with --licence (an SPDX "
                            "expression like CC-BY-4.0, or LicenseRef-private), or offer it for a "
                            "price with `gym data register`");
        GYM_TRY(record, register_dataset(url, key, *job.dataset,
                                         {job.dataset_name, options.licence, Amount()}));
    }
    GYM_CHECK(check_offer(options, job, *record));
    if (context.json) return *std::move(record);
    print_data_price(*record);
    GYM_TRY(const NetworkFee fee, network_fee(url));
    print_fee(fee);
    return *std::move(record);
}

/// A request that may be repeated but happens once. `what` names it in the error for an outcome
/// that is not known.
Result<json::value> post_once(const JobOptions& options, ApiPost post, const std::string& what) {
    post.idempotency_key = options.idempotency_key.empty() ? random_key() : options.idempotency_key;
    const std::string url = options.api.base_url();
    auto answer = db::with_retry([&] { return api_post(url, post); }, kRetryFor);
    if (answer.ok() || answer.error().code != ErrorCode::kUnavailable) return answer;
    return fail(ErrorCode::kUnavailable, answer.error().message + "; whether " + what +
                                             " is not known: try again with --idempotency-key " +
                                             post.idempotency_key);
}

Status submit(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const ResolvedJob job, asked_job(options));
    GYM_TRY(const std::string key, options.api.key());
    GYM_TRY(const json::object dataset, ready_dataset(context, options, job, key));
    ApiPost post;
    post.path = options.again ? "/v1/jobs?again=1" : "/v1/jobs";
    post.content_type = "application/yaml";
    post.api_key = key;
    post.body = job.yaml;
    GYM_TRY(const json::value answer, post_once(options, std::move(post), "the job was submitted"));
    if (context.json) {
        json::object out = answer.as_object();
        out["data_licence"] = dataset.at("licence");  // the price is in the answer
        context.print_json(out);
    } else {
        print_job(answer.as_object());
    }
    return {};
}

Status list_jobs(const CliContext& context, const JobOptions& options) {
    const std::string path =
        "/v1/jobs" + (options.owner.empty() ? "" : "?owner=" + encode_query(options.owner));
    GYM_TRY(const json::value answer, api_get(options.api.base_url(), path));
    for (const json::value& job : answer.at("jobs").as_array()) {
        if (context.json)
            context.print_json(job.as_object());
        else
            print_job_line(job.as_object());
    }
    if (!context.json && answer.at("jobs").as_array().empty()) std::printf("no jobs\n");
    return {};
}

Result<json::object> fetch(const JobOptions& options) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(json::value answer, api_get(options.api.base_url(), "/v1/jobs/" + id.hex()));
    return answer.as_object();
}

Status status(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const json::object job, fetch(options));
    if (context.json)
        context.print_json(job);
    else
        print_job_detail(job);
    return {};
}

Status bill(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const json::value answer,
            api_get(options.api.base_url(), "/v1/jobs/" + id.hex() + "/bill"));
    if (context.json)
        context.print_json(answer.as_object());
    else
        print_bill(answer.as_object());
    return {};
}

/// Prints what is new in `job`; `seen` remembers what was printed.
void print_news(const CliContext& context, const json::object& job, std::set<std::string>& seen) {
    for (const json::value& item : job.at("round_list").as_array()) {
        const json::object& round = item.as_object();
        if (round.at("validation_loss").is_null()) continue;
        if (!seen.insert("round " + json::serialize(round.at("round"))).second) continue;
        if (context.json)
            context.print_json(round);
        else
            print_round(round, job);
    }
    for (const json::value& item : job.at("faults").as_array()) {
        const json::object& unit = item.as_object();
        if (!seen.insert(json::serialize(unit.at("id")) + json::serialize(unit.at("state"))).second)
            continue;
        if (context.json)
            context.print_json(unit);
        else
            print_fault(unit);
    }
    const json::value& waiting = job.at("waiting_for");
    if (waiting.is_null() || !seen.insert("waiting " + json::serialize(waiting)).second) return;
    if (context.json)
        context.print_json({{"waiting_for", waiting}});
    else
        print_waiting(job);
}

/// Until the job has ended. A gym-api that restarts meanwhile is waited for.
Status watch_job(const CliContext& context, const JobOptions& options) {
    std::set<std::string> seen;
    while (true) {
        GYM_TRY(const json::object job, db::with_retry([&] { return fetch(options); }, kRetryFor));
        print_news(context, job, seen);
        const std::string state(job.at("status").as_string());
        if (!job.at("ended_at_ms").is_null()) {
            if (context.json)
                context.print_json(job);
            else
                print_job_detail(job);
            if (state == "completed") return {};
            return fail(ErrorCode::kInternal, "the job ended as " + state);
        }
        std::this_thread::sleep_for(kJobWatchInterval);
    }
}

Status request(const CliContext& context, const JobOptions& options, const std::string& verb) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const std::string key, options.api.key());
    ApiPost post;
    post.path = "/v1/jobs/" + id.hex() + "/" + verb;
    post.content_type = "application/json";
    post.api_key = key;
    GYM_TRY(const json::value answer, api_post(options.api.base_url(), post));
    if (context.json)
        context.print_json(answer.as_object());
    else
        std::printf("asked to %s; the coordinator acts between rounds (`gym job status %s`)\n",
                    verb.c_str(), id.hex().c_str());
    return {};
}

Status fund(const CliContext& context, const JobOptions& options) {
    GYM_TRY(const Digest id, job_id(options));
    GYM_TRY(const Amount amount, tokens_argument(options.amount));
    GYM_TRY(const std::string key, options.api.key());
    ApiPost post;
    post.path = "/v1/jobs/" + id.hex() + "/budget";
    post.content_type = "application/json";
    post.api_key = key;
    post.body = json::serialize(json::object{{"amount_wei", amount.to_string()}});
    GYM_TRY(const json::value answer, post_once(options, std::move(post), "the tokens were added"));
    if (context.json) {
        context.print_json(answer.as_object());
        return {};
    }
    print_job(answer.as_object());
    print_row("", "({} of them added)", amount.to_tokens());
    return {};
}

}  // namespace

void add_job_commands(CLI::App& app, CliContext& context) {
    CLI::App* job = app.add_subcommand("job", "Train a model: quote, submit, watch");
    job->require_subcommand(1);
    auto options = std::make_shared<JobOptions>();
    const auto add = [&](const char* name, const char* about, bool with_key, auto run) {
        CLI::App* command = job->add_subcommand(name, about);
        options->api.add_to(*command, with_key);
        command->callback([&context, options, run] { context.finish(run(context, *options)); });
        return command;
    };
    const auto add_data_price = [&](CLI::App& command) {
        command.add_option(
            "--max-data-price", options->max_data_price,
            "Highest price for a million tokens of text (default: the job file's max_data_price)");
    };
    CLI::App* quote_command = add(
        "quote", "Print the most that a job can cost; submits nothing", false,
        [](const CliContext& with, const JobOptions& given) { return print_quote(with, given); });
    quote_command->add_option("file", options->file, "Job file (examples/job.yaml)")->required();
    add_data_price(*quote_command);
    CLI::App* submit_command =
        add("submit", "Register the dataset, submit the job, lock its budget", true, submit);
    submit_command->add_option("file", options->file, "Job file (examples/job.yaml)")->required();
    add_data_price(*submit_command);
    submit_command->add_option("--licence", options->licence,
                               "Licence (SPDX expression) under which an unregistered text is "
                               "registered, at price 0 (`gym data register` sets a price)");
    submit_command->add_flag("--again", options->again,
                             "Submit the job even if the same job is already running");
    submit_command->add_option(
        "--idempotency-key", options->idempotency_key,
        "Name of this submission; a repetition with the same name submits nothing");
    add("list", "List jobs, newest first", false, list_jobs)
        ->add_option("--owner", options->owner, "List only jobs of this address");
    const auto add_one = [&](const char* name, const char* about, bool with_key, auto run) {
        add(name, about, with_key, run)
            ->add_option("id", options->id, "Job id, or its first digits")
            ->required();
    };
    add_one("status", "Show a job's status, rounds, losses, cost and faults", false, status);
    add_one("bill", "Show a job's payments by kind of credit", false, bill);
    add_one("watch", "Follow a job to its end", false, watch_job);
    CLI::App* fund_command =
        add("fund", "Lock more tokens for a job; a job that paused for want of budget continues",
            true, fund);
    fund_command->add_option("id", options->id, "Job id, or its first digits")->required();
    fund_command->add_option("amount", options->amount, "Tokens, like 12.5")->required();
    fund_command->add_option("--idempotency-key", options->idempotency_key,
                             "Name of this payment; a repetition with the same name adds nothing");
    for (const auto& [verb, about] :
         {std::pair{"pause", "Pause a job after the current round, until `gym job resume`"},
          std::pair{"resume", "Resume a paused job, or withdraw a request to pause"},
          std::pair{"cancel",
                    "End a job: units under way are still checked and paid, the rest of the budget "
                    "returns"}})
        add_one(verb, about, true, [verb = verb](const CliContext& with, const JobOptions& given) {
            return request(with, given, verb);
        });
}

}  // namespace gym::app
