#include "job/job_print.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "cli/amount_text.hpp"
#include "cli/rows.hpp"
#include "data/dataset_print.hpp"
#include "gym/common/plural.hpp"
#include "gym/plan/units.hpp"
#include "gym/rewards/formulas.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

/// A bill adds up, to the last digit.
std::string exact_money(const Amount& amount) {
    return amount.to_tokens() + " " + plan::kMoneyUnit;
}

/// A mix's parts, whose providers are paid.
json::array parts_json(const DataPrice& data) {
    json::array out;
    if (!data.record) return out;
    for (const registry::DatasetPart& part : data.record->parts)
        out.push_back(json::object{{"root", part.root.hex()},
                                   {"name", part.name},
                                   {"owner", part.owner.hex()},
                                   {"licence", part.licence},
                                   {"tokens", part.tokens},
                                   {"price_wei_per_mtoken", part.price_wei_per_mtoken.to_string()},
                                   {"quality_ppm", part.quality_ppm}});
    return out;
}

json::object price_json(const ResolvedJob& job) {
    plan::PriceChoice price{.wei_per_pflop = job.terms.price_wei_per_pflop, .why = "as you say"};
    if (job.plan) price = job.plan->price;
    const auto& lowered = price.lowered_from_wei;
    return {
        {"wei_per_pflop", price.wei_per_pflop.to_string()},
        {"from", std::string(to_string(price.source))},
        {"job", price.job ? json::value(price.job->hex()) : json::value(nullptr)},
        {"lowered_from_wei", lowered ? json::value(lowered->to_string()) : json::value(nullptr)},
        {"why", price.why}};
}

}  // namespace

json::object quote_json(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                        const KnownFee& fee) {
    const auto known = [](bool is_known, auto&& value) {
        return is_known ? json::value(value()) : json::value(nullptr);
    };
    const auto wei = [&](const std::optional<Amount>& amount) {
        return known(amount.has_value(), [&] { return amount->to_string(); });
    };
    const bool has_data = quote.data.has_value(), has_fee = fee.rates.has_value();
    return {{"name", job.name},
            {"dataset_root", job.dataset_root.hex()},
            {"init", known(!job.init.empty(), [&] { return job.init; })},
            {"parameters", quote.parameters},
            {"flops_per_step", quote.flops_per_step},
            {"flops", quote.flops.to_string()},
            {"compute_wei", quote.compute_wei.to_string()},
            {"data_registered", known(has_data, [&] { return data.registered(); })},
            {"data_price_wei_per_mtoken",
             known(has_data, [&] { return quote.data->price_wei_per_mtoken.to_string(); })},
            {"max_data_price_wei", job.max_data_price_wei.to_string()},
            {"data_quality_ppm", known(has_data, [&] { return quote.data->quality_ppm; })},
            {"data_parts", parts_json(data)},
            {"data_wei", known(has_data, [&] { return quote.data_wei.to_string(); })},
            {"fee_ppm", known(has_fee, [&] { return fee.rates->fee_ppm; })},
            {"fee_burned_ppm", known(has_fee, [&] { return fee.rates->burned_ppm; })},
            {"most_wei", wei(quote.most_wei)},
            {"most_of_a_round_wei", wei(quote.round_wei)},
            {"price", price_json(job)},
            {"price_wei_per_pflop_day", quote.pflop_day_wei.to_string()},
            {"budget_wei", job.budget_wei.to_string()},
            {"warnings", json::array(job.warnings.begin(), job.warnings.end())},
            {"rounds", job.terms.rounds},
            {"rounds_covered",
             known(quote.rounds_covered.has_value(), [&] { return *quote.rounds_covered; })}};
}

namespace {

void print_data(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data) {
    if (!quote.data) {
        print_row("data", "price unknown: {}", data.unknown);
        return;
    }
    if (!data.registered()) {
        print_row("data", "not registered: costs nothing if the job registers it (--licence)");
        return;
    }
    const Amount& price = quote.data->price_wei_per_mtoken;
    print_row("data", "{} ({} per million tokens of text, quality {})",
              plan::money_text(quote.data_wei), plan::money_text(price),
              percent(quote.data->quality_ppm));
    if (data.record) print_parts(*data.record);
    if (price > job.max_data_price_wei)
        print_row("", "the job accepts {} per million: it is refused without --max-data-price {}",
                  plan::money_text(job.max_data_price_wei), price.to_tokens());
}

void print_most(const ResolvedJob& job, const JobQuote& quote, const KnownFee& fee) {
    if (!quote.most_wei) {
        print_row("at most", "unknown: {}",
                  quote.data ? fee.unknown.c_str() : "the data's price is missing");
        return;
    }
    print_row("at most",
              "{} (every unit verified or rejected, every aggregate and loss verified, full uptime "
              "bonus, fee)",
              plan::money_text(*quote.most_wei, plan::Rounding::kUp));
    print_row("", "{} for one round", plan::money_text(*quote.round_wei, plan::Rounding::kUp));
    print_row("rounds", "the budget covers {} of {}", *quote.rounds_covered, job.terms.rounds);
}

}  // namespace

void print_quote(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                 const KnownFee& fee) {
    const double pflop = std::strtod(quote.flops.to_string().c_str(), nullptr) /
                         static_cast<double>(rewards::kFlopsPerPflop);
    print_row("job", "{}", job.name);
    print_row("dataset root", "{}{}", job.dataset_root.hex(),
              job.dataset_name.empty() ? "" : " (" + job.dataset_name + ")");
    if (!job.init.empty()) print_row("begins from", "{}", job.init);
    print_row("parameters", "{}", quote.parameters);
    print_row("flops per step", "{}", quote.flops_per_step);
    print_row("work", "{:.6g} PFLOP ({}, {}, {})", pflop, counted(job.terms.rounds, "round"),
              counted(job.terms.slots_max, "worker"), counted(job.terms.steps, "step"));
    print_row("compute", "{}", plan::money_text(quote.compute_wei));
    print_data(job, quote, data);
    print_fee(fee);
    print_row("price", "{} per PFLOP ({}), {} per PFLOP-day",
              plan::money_text(job.terms.price_wei_per_pflop),
              job.plan ? job.plan->price.why : "as you say", plan::money_text(quote.pflop_day_wei));
    print_row("budget", "{}", plan::money_text(job.budget_wei, plan::Rounding::kUp));
    print_most(job, quote, fee);
    for (const std::string& warning : job.warnings)
        print_row("warning", "{}", warning);
}

void print_fee(const KnownFee& fee) {
    if (!fee.rates)
        print_row("fee", "unknown: {}", fee.unknown);
    else if (fee.rates->fee_ppm == 0)
        print_row("fee", "none");
    else
        print_row("fee", "{} on top of the cost of the work, {} of it burned",
                  percent(fee.rates->fee_ppm), percent(fee.rates->burned_ppm));
}

void print_data_price(const registry::Dataset& dataset) {
    print_row("data", "{} per million tokens of text, quality {} ({}, {})",
              plan::money_text(dataset.price_wei_per_mtoken), percent(dataset.quality_ppm),
              dataset.name, dataset.licence);
    print_parts(dataset);
}

bool is_trained(const client::Job& job) {
    return job.rounds > 0 && job.rounds_done >= job.rounds;
}

namespace {

/// What its owner can take away.
void print_model(const client::JobDetail& job) {
    if (job.rounds_done == 0) return;
    const std::string command = "`gym job export " + job.id.hex().substr(0, 10) + " -o FOLDER`";
    if (is_trained(job))
        print_row("trained", "{}; {} writes the model",
                  job.rounds == 1 ? "its only round" : "all " + counted(job.rounds, "round"),
                  command);
    else
        print_row("model", "{} of {} {} trained; {} writes the newest weights", job.rounds_done,
                  counted(job.rounds, "round"), plural(job.rounds, "is", "are"), command);
    if (job.tokens_planned && job.tokens_trained)
        print_row("tokens", "{} of {} are trained{}", plan::count_text(*job.tokens_trained),
                  plan::count_text(*job.tokens_planned),
                  is_trained(job) && *job.tokens_trained < *job.tokens_planned
                      ? ": rounds had fewer workers than the job has slots"
                      : "");
}

}  // namespace

void print_job(const client::Job& job) {
    print_row("job", "{}", job.id.hex());
    if (!job.name.empty()) print_row("name", "{}", job.name);  // only who may see it is told
    print_row("status", "{}", to_string(job.status));
    if (!job.status_reason.empty()) print_row("", "{}", job.status_reason);
    // Other reasons than its owner's say what helps.
    if (job.status == registry::JobStatus::kPaused && job.request.empty() &&
        job.status_reason.find("`gym job") == std::string::npos)
        print_row("", "`gym job resume {}` continues it", job.id.hex().substr(0, 10));
    if (!job.request.empty())
        print_row("", "asked to {}, not done yet{}", job.request,
                  job.request_reason.empty() ? "" : ": " + job.request_reason);
    if (job.init_root) print_row("begins from", "{}", job.init_root->hex());
    print_row("budget", "{}", plan::money_text(job.budget, plan::Rounding::kUp));
}

void print_job_line(const client::Job& job) {
    std::string note;
    if (!job.request.empty())
        note = "  (asked to " + job.request + ")";
    else if (job.status == registry::JobStatus::kRunning && job.rounds_done == job.rounds)
        note = "  (settling)";
    print_line("{}  {:<9}  {}/{}  {}{}", job.id.hex(), to_string(job.status), job.rounds_done,
               counted(job.rounds, "round"), job.name, note);
}

void print_round(const client::JobRound& round, const client::Job& job) {
    // Where rounds overlap, one without workers follows the last.
    const bool refuted = round.validation_state == to_string(protocol::UnitState::kDisputed) ||
                         round.validation_state == to_string(protocol::UnitState::kRejected);
    print_line("round {} of {}  validation loss {:.4f}{}  commitments {}", round.round,
               std::max(job.rounds, round.round), *round.validation_loss,
               refuted                     ? " (a verifier computed another loss)"
               : round.validation_verified ? " (verified)"
                                           : "",
               round.commitment_count ? std::to_string(*round.commitment_count) : "-");
    std::fflush(stdout);
}

void print_fault(const registry::Unit& unit) {
    print_line("unit {}: {} (worker {})", protocol::to_string(unit.status.state),
               unit.reason.empty() ? "-" : unit.reason, unit.worker.hex());
    std::fflush(stdout);
}

void print_waiting(const client::JobDetail& job) {
    print_row("waiting for", "{}", job.waiting_for);
    std::fflush(stdout);
}

void print_bill(const client::JobBill& bill) {
    std::optional<Amount> total = Amount();
    for (const client::BillItem& item : bill.kinds) {
        std::string open;
        if (!item.pending.is_zero()) open = ", " + exact_money(item.pending) + " pending";
        if (!item.unfunded.is_zero())
            open += ", " + exact_money(item.unfunded) + " waits for budget";
        print_row(rewards::to_string(item.kind), "{}, {}{}", exact_money(item.posted),
                  counted(item.credits, "credit"), open);
        total = sum_of(total, item.posted);
    }
    print_row("in all", "{} GYM", tokens_text(total));
    print_row("spent", "{}", exact_money(bill.spent));
}

void print_job_detail(const client::JobDetail& job, bool with_history) {
    print_job(job);
    print_model(job);
    if (with_history && !job.waiting_for.empty()) print_waiting(job);
    for (const registry::StoredOrder& order : job.orders)
        if (order.state == registry::OrderState::kRefused)
            print_row("refused", "an order for {}: {}", exact_money(order.amount()), order.reason);
    const client::JobCost& cost = job.cost;
    print_row("spent", "{} (`gym job bill`)", plan::money_text(cost.spent));
    print_row("in its escrow", "{} GYM, {} of them reserved for units that are not final",
              tokens_text(sum_of(cost.left, cost.reserved)), plan::money_number(cost.reserved));
    if (cost.committed && !cost.committed->is_zero())
        print_row("still to pay", "at most {} for the units under way",
                  plan::money_text(*cost.committed, plan::Rounding::kUp));
    if (!cost.refunded.is_zero())
        print_row("returned", "{} to the owner", plan::money_text(cost.refunded));
    std::string units;
    for (const auto& [state, count] : job.units)
        units += (units.empty() ? "" : ", ") + state + " " + std::to_string(count);
    print_row("units", "{}", units.empty() ? "-" : units);
    if (!with_history) return;
    for (const auto& round : job.round_list)
        if (round->validation_loss) print_round(*round, job);
    for (const auto& unit : job.faults)
        print_fault(*unit);
}

}  // namespace gym::app
