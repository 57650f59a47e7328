#include "job/job_print.hpp"

#include <boost/json/serialize.hpp>
#include <cstdio>

#include "data/dataset_print.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr double kFlopsPerPflop = 1e15;

std::string text_of(const json::value& value) {
    if (value.is_null()) return "-";
    if (value.is_string()) return std::string(value.as_string());
    return json::serialize(value);
}

const char* text(const json::object& object, const char* key, std::string& keep) {
    keep = text_of(object.at(key));
    return keep.c_str();
}

/// Zero where one is no number, which gym-api never sends.
Amount sum_of(const json::value& a, const json::value& b) {
    const auto left = Amount::parse(text_of(a)), right = Amount::parse(text_of(b));
    if (!left.ok() || !right.ok()) return {};
    const auto sum = left->plus(*right);
    return sum.ok() ? *sum : Amount();
}

}  // namespace

std::string tokens_of(const json::value& wei) {
    const auto amount = Amount::parse(text_of(wei));
    return amount.ok() ? amount->to_tokens() : text_of(wei);
}

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
        std::printf("data               price not known: %s\n", data.unknown.c_str());
        return;
    }
    if (!data.registered) {
        std::printf(
            "data               not registered: costs nothing if the job registers it "
            "(--licence)\n");
        return;
    }
    const Amount& price = quote.data->price_wei_per_mtoken;
    std::printf("data               %s tokens (%s per million tokens of text, quality %s)\n",
                quote.data_wei.to_tokens().c_str(), price.to_tokens().c_str(),
                percent(quote.data->quality_ppm).c_str());
    if (price > job.max_data_price_wei)
        std::printf(
            "                   the job accepts %s per million: it is refused without "
            "--max-data-price %s\n",
            job.max_data_price_wei.to_tokens().c_str(), price.to_tokens().c_str());
}

void print_most(const ResolvedJob& job, const JobQuote& quote, const NetworkFee& fee) {
    if (!quote.most_wei) {
        std::printf("at most            not known: %s\n",
                    quote.data ? fee.unknown.c_str() : "the data's price is missing");
        return;
    }
    std::printf(
        "at most            %s tokens (every unit verified or rejected, every aggregate "
        "verified, full uptime bonus, fee)\n",
        quote.most_wei->to_tokens().c_str());
    std::printf("                   %s for one round\n", quote.round_wei->to_tokens().c_str());
    std::printf("rounds             the budget covers %llu of %llu\n",
                static_cast<unsigned long long>(*quote.rounds_covered),
                static_cast<unsigned long long>(job.terms.rounds));
}

}  // namespace

void print_quote(const ResolvedJob& job, const JobQuote& quote, const DataPrice& data,
                 const NetworkFee& fee) {
    const double pflop = std::strtod(quote.flops.to_string().c_str(), nullptr) / kFlopsPerPflop;
    std::printf("job                %s\n", job.name.c_str());
    std::printf("dataset root       %s\n", job.dataset_root.hex().c_str());
    std::printf("parameters         %llu\n", static_cast<unsigned long long>(quote.parameters));
    std::printf("flops per step     %llu\n", static_cast<unsigned long long>(quote.flops_per_step));
    std::printf("work               %.6g PFLOP (%llu rounds, %u workers, %u steps)\n", pflop,
                static_cast<unsigned long long>(job.terms.rounds), job.terms.slots_max,
                job.terms.steps);
    std::printf("compute            %s tokens\n", quote.compute_wei.to_tokens().c_str());
    print_data(job, quote, data);
    print_fee(fee);
    std::printf("price              %s tokens per PFLOP-day\n",
                quote.pflop_day_wei.to_tokens().c_str());
    std::printf("budget             %s tokens\n", job.budget_wei.to_tokens().c_str());
    print_most(job, quote, fee);
}

void print_fee(const NetworkFee& fee) {
    if (!fee.rates)
        std::printf("fee                not known: %s\n", fee.unknown.c_str());
    else if (fee.rates->fee_ppm == 0)
        std::printf("fee                none\n");
    else
        std::printf("fee                %s on top of what the work costs, %s of it burned\n",
                    percent(fee.rates->fee_ppm).c_str(), percent(fee.rates->burned_ppm).c_str());
}

void print_data_price(const json::object& dataset) {
    std::string name, licence;
    std::printf("data               %s tokens per million tokens of text, quality %s (%s, %s)\n",
                tokens_of(dataset.at("price_wei_per_mtoken")).c_str(),
                percent(dataset.at("quality_ppm").to_number<std::uint64_t>()).c_str(),
                text(dataset, "name", name), text(dataset, "licence", licence));
}

void print_job(const json::object& job) {
    std::string keep;
    std::printf("job                %s\n", text(job, "id", keep));
    std::printf("name               %s\n", text(job, "name", keep));
    std::printf("status             %s\n", text(job, "status", keep));
    if (!job.at("status_reason").is_null())
        std::printf("                   %s\n", text(job, "status_reason", keep));
    if (!job.at("request").is_null()) {
        std::printf("                   asked to %s, not done yet", text(job, "request", keep));
        if (!job.at("request_reason").is_null())
            std::printf(": %s", text(job, "request_reason", keep));
        std::printf("\n");
    }
    std::printf("budget             %s tokens\n", tokens_of(job.at("budget_wei")).c_str());
}

void print_job_line(const json::object& job) {
    std::string id, status, done, rounds, name;
    std::string note;
    if (!job.at("request").is_null())
        note = "  (asked to " + text_of(job.at("request")) + ")";
    else if (job.at("status") == "running" && job.at("rounds_done") == job.at("rounds"))
        note = "  (settling)";
    std::printf("%s  %-9s  %s/%s rounds  %s%s\n", text(job, "id", id), text(job, "status", status),
                text(job, "rounds_done", done), text(job, "rounds", rounds),
                text(job, "name", name), note.c_str());
}

void print_round(const json::object& round, const json::object& job) {
    std::string number, total, commitments;
    std::printf("round %s of %s  validation loss %.4f  commitments %s\n",
                text(round, "round", number), text(job, "rounds", total),
                round.at("validation_loss").to_number<double>(),
                text(round, "commitment_count", commitments));
    std::fflush(stdout);
}

void print_fault(const json::object& unit) {
    std::string state, reason, worker;
    std::printf("unit %s: %s (worker %s)\n", text(unit, "state", state),
                text(unit, "reason", reason), text(unit, "worker", worker));
    std::fflush(stdout);
}

void print_waiting(const json::object& job) {
    std::string keep;
    std::printf("waiting for        %s\n", text(job, "waiting_for", keep));
    std::fflush(stdout);
}

void print_bill(const json::object& bill) {
    Amount total;
    std::string kind, credits;
    for (const json::value& item : bill.at("kinds").as_array()) {
        const json::object& one = item.as_object();
        std::printf("%-18s %s tokens, %s credits", text(one, "kind", kind),
                    tokens_of(one.at("posted_wei")).c_str(), text(one, "credits", credits));
        if (one.at("pending_wei") != "0")
            std::printf(", %s pending", tokens_of(one.at("pending_wei")).c_str());
        if (one.at("unfunded_wei") != "0")
            std::printf(", %s waits for budget", tokens_of(one.at("unfunded_wei")).c_str());
        std::printf("\n");
        total = sum_of(json::value(total.to_string()), one.at("posted_wei"));
    }
    std::printf("in all             %s tokens\n", total.to_tokens().c_str());
    std::printf("spent              %s tokens\n", tokens_of(bill.at("spent_wei")).c_str());
}

void print_job_detail(const json::object& job) {
    print_job(job);
    if (!job.at("waiting_for").is_null()) print_waiting(job);
    const json::object& cost = job.at("cost").as_object();
    std::printf("spent              %s tokens (`gym job bill`)\n",
                tokens_of(cost.at("spent_wei")).c_str());
    std::printf("in its escrow      %s tokens, %s of them reserved for units that are not final\n",
                sum_of(cost.at("left_wei"), cost.at("reserved_wei")).to_tokens().c_str(),
                tokens_of(cost.at("reserved_wei")).c_str());
    if (!cost.at("committed_wei").is_null() && cost.at("committed_wei") != "0")
        std::printf("still to pay       at most %s tokens for the units that were begun\n",
                    tokens_of(cost.at("committed_wei")).c_str());
    if (cost.contains("refunded_wei") && cost.at("refunded_wei") != "0")
        std::printf("returned           %s tokens to the owner\n",
                    tokens_of(cost.at("refunded_wei")).c_str());
    std::string units;
    for (const auto& item : job.at("units").as_object())
        units +=
            (units.empty() ? "" : ", ") + std::string(item.key()) + " " + text_of(item.value());
    std::printf("units              %s\n", units.empty() ? "-" : units.c_str());
    for (const json::value& round : job.at("round_list").as_array())
        if (!round.as_object().at("validation_loss").is_null()) print_round(round.as_object(), job);
    for (const json::value& unit : job.at("faults").as_array())
        print_fault(unit.as_object());
}

}  // namespace gym::app
