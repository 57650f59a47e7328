#include "job/job_print.hpp"

#include <boost/json/serialize.hpp>
#include <cstdio>

#include "cli/answer_text.hpp"
#include "cli/rows.hpp"
#include "data/dataset_print.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr double kFlopsPerPflop = 1e15;

}  // namespace

json::object quote_json(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                        const NetworkFee& fee) {
    const auto known = [](bool is_known, auto&& value) {
        return is_known ? json::value(value()) : json::value(nullptr);
    };
    const auto wei = [&](const std::optional<Amount>& amount) {
        return known(amount.has_value(), [&] { return amount->to_string(); });
    };
    const bool has_data = quote.data.has_value(), has_fee = fee.rates.has_value();
    return {{"name", job.name},
            {"dataset_root", job.dataset_root.hex()},
            {"parameters", quote.parameters},
            {"flops_per_step", quote.flops_per_step},
            {"flops", quote.flops.to_string()},
            {"compute_wei", quote.compute_wei.to_string()},
            {"data_registered", known(has_data, [&] { return data.registered; })},
            {"data_price_wei_per_mtoken",
             known(has_data, [&] { return quote.data->price_wei_per_mtoken.to_string(); })},
            {"max_data_price_wei", job.max_data_price_wei.to_string()},
            {"data_quality_ppm", known(has_data, [&] { return quote.data->quality_ppm; })},
            {"data_wei", known(has_data, [&] { return quote.data_wei.to_string(); })},
            {"fee_ppm", known(has_fee, [&] { return fee.rates->fee_ppm; })},
            {"fee_burned_ppm", known(has_fee, [&] { return fee.rates->burned_ppm; })},
            {"most_wei", wei(quote.most_wei)},
            {"most_of_a_round_wei", wei(quote.round_wei)},
            {"price_wei_per_pflop_day", quote.pflop_day_wei.to_string()},
            {"budget_wei", job.budget_wei.to_string()},
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
    if (!data.registered) {
        print_row("data", "not registered: costs nothing if the job registers it (--licence)");
        return;
    }
    const Amount& price = quote.data->price_wei_per_mtoken;
    print_row("data", "{} tokens ({} per million tokens of text, quality {})",
              quote.data_wei.to_tokens(), price.to_tokens(), percent(quote.data->quality_ppm));
    if (price > job.max_data_price_wei)
        print_row("", "the job accepts {} per million: it is refused without --max-data-price {}",
                  job.max_data_price_wei.to_tokens(), price.to_tokens());
}

void print_most(const ResolvedJob& job, const JobQuote& quote, const NetworkFee& fee) {
    if (!quote.most_wei) {
        print_row("at most", "unknown: {}",
                  quote.data ? fee.unknown.c_str() : "the data's price is missing");
        return;
    }
    print_row("at most",
              "{} tokens (every unit verified or rejected, every aggregate verified, full uptime "
              "bonus, fee)",
              quote.most_wei->to_tokens());
    print_row("", "{} for one round", quote.round_wei->to_tokens());
    print_row("rounds", "the budget covers {} of {}", *quote.rounds_covered, job.terms.rounds);
}

}  // namespace

void print_quote(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                 const NetworkFee& fee) {
    const double pflop = std::strtod(quote.flops.to_string().c_str(), nullptr) / kFlopsPerPflop;
    print_row("job", "{}", job.name);
    print_row("dataset root", "{}", job.dataset_root.hex());
    print_row("parameters", "{}", quote.parameters);
    print_row("flops per step", "{}", quote.flops_per_step);
    print_row("work", "{:.6g} PFLOP ({} rounds, {} workers, {} steps)", pflop, job.terms.rounds,
              job.terms.slots_max, job.terms.steps);
    print_row("compute", "{} tokens", quote.compute_wei.to_tokens());
    print_data(job, quote, data);
    print_fee(fee);
    print_row("price", "{} tokens per PFLOP-day", quote.pflop_day_wei.to_tokens());
    print_row("budget", "{} tokens", job.budget_wei.to_tokens());
    print_most(job, quote, fee);
}

void print_fee(const NetworkFee& fee) {
    if (!fee.rates)
        print_row("fee", "unknown: {}", fee.unknown);
    else if (fee.rates->fee_ppm == 0)
        print_row("fee", "none");
    else
        print_row("fee", "{} on top of the cost of the work, {} of it burned",
                  percent(fee.rates->fee_ppm), percent(fee.rates->burned_ppm));
}

void print_data_price(const json::object& dataset) {
    print_row("data", "{} tokens per million tokens of text, quality {} ({}, {})",
              tokens_of(dataset.at("price_wei_per_mtoken")),
              percent(dataset.at("quality_ppm").to_number<std::uint64_t>()),
              text_of(dataset, "name"), text_of(dataset, "licence"));
}

void print_job(const json::object& job) {
    print_row("job", "{}", text_of(job, "id"));
    print_row("name", "{}", text_of(job, "name"));
    print_row("status", "{}", text_of(job, "status"));
    if (!job.at("status_reason").is_null()) print_row("", "{}", text_of(job, "status_reason"));
    if (!job.at("request").is_null()) {
        const json::value& reason = job.at("request_reason");
        print_row("", "asked to {}, not done yet{}", text_of(job, "request"),
                  reason.is_null() ? "" : ": " + text_of(reason));
    }
    print_row("budget", "{} tokens", tokens_of(job.at("budget_wei")));
}

void print_job_line(const json::object& job) {
    std::string note;
    if (!job.at("request").is_null())
        note = "  (asked to " + text_of(job.at("request")) + ")";
    else if (job.at("status") == "running" && job.at("rounds_done") == job.at("rounds"))
        note = "  (settling)";
    print_line("{}  {:<9}  {}/{} rounds  {}{}", text_of(job, "id"), text_of(job, "status"),
               text_of(job, "rounds_done"), text_of(job, "rounds"), text_of(job, "name"), note);
}

void print_round(const json::object& round, const json::object& job) {
    print_line("round {} of {}  validation loss {:.4f}  commitments {}", text_of(round, "round"),
               text_of(job, "rounds"), round.at("validation_loss").to_number<double>(),
               text_of(round, "commitment_count"));
    std::fflush(stdout);
}

void print_fault(const json::object& unit) {
    print_line("unit {}: {} (worker {})", text_of(unit, "state"), text_of(unit, "reason"),
               text_of(unit, "worker"));
    std::fflush(stdout);
}

void print_waiting(const json::object& job) {
    print_row("waiting for", "{}", text_of(job, "waiting_for"));
    std::fflush(stdout);
}

void print_bill(const json::object& bill) {
    std::optional<Amount> total = Amount();
    for (const json::value& item : bill.at("kinds").as_array()) {
        const json::object& one = item.as_object();
        std::string open;
        if (one.at("pending_wei") != "0")
            open = ", " + tokens_of(one.at("pending_wei")) + " pending";
        if (one.at("unfunded_wei") != "0")
            open += ", " + tokens_of(one.at("unfunded_wei")) + " waits for budget";
        print_row(text_of(one, "kind"), "{} tokens, {} credits{}", tokens_of(one.at("posted_wei")),
                  text_of(one, "credits"), open);
        total = sum_of(total, amount_of(one.at("posted_wei")));
    }
    print_row("in all", "{} tokens", tokens_text(total));
    print_row("spent", "{} tokens", tokens_of(bill.at("spent_wei")));
}

void print_job_detail(const json::object& job) {
    print_job(job);
    if (!job.at("waiting_for").is_null()) print_waiting(job);
    const json::object& cost = job.at("cost").as_object();
    print_row("spent", "{} tokens (`gym job bill`)", tokens_of(cost.at("spent_wei")));
    print_row(
        "in its escrow", "{} tokens, {} of them reserved for units that are not final",
        tokens_text(sum_of(amount_of(cost.at("left_wei")), amount_of(cost.at("reserved_wei")))),
        tokens_of(cost.at("reserved_wei")));
    if (!cost.at("committed_wei").is_null() && cost.at("committed_wei") != "0")
        print_row("still to pay", "at most {} tokens for the units under way",
                  tokens_of(cost.at("committed_wei")));
    if (cost.contains("refunded_wei") && cost.at("refunded_wei") != "0")
        print_row("returned", "{} tokens to the owner", tokens_of(cost.at("refunded_wei")));
    std::string units;
    for (const auto& item : job.at("units").as_object())
        units +=
            (units.empty() ? "" : ", ") + std::string(item.key()) + " " + text_of(item.value());
    print_row("units", "{}", units.empty() ? "-" : units.c_str());
    for (const json::value& round : job.at("round_list").as_array())
        if (!round.as_object().at("validation_loss").is_null()) print_round(round.as_object(), job);
    for (const json::value& unit : job.at("faults").as_array())
        print_fault(unit.as_object());
}

}  // namespace gym::app
