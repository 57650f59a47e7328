#include "job_print.hpp"

#include <boost/json/serialize.hpp>
#include <cstdio>

#include "dataset_print.hpp"

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

}  // namespace

std::string tokens_of(const json::value& wei) {
    const auto amount = Amount::parse(text_of(wei));
    return amount.ok() ? amount->to_tokens() : text_of(wei);
}

json::object quote_json(const ResolvedJob& job, const JobQuote& quote) {
    return {
        {"name", job.name},
        {"dataset_root", job.dataset_root.hex()},
        {"parameters", quote.parameters},
        {"flops_per_step", quote.flops_per_step},
        {"flops", quote.flops.to_string()},
        {"compute_wei", quote.compute_wei.to_string()},
        {"data_price_wei_per_mtoken",
         quote.data ? json::value(quote.data->price_wei_per_mtoken.to_string())
                    : json::value(nullptr)},
        {"data_quality_ppm",
         quote.data ? json::value(quote.data->quality_ppm) : json::value(nullptr)},
        {"data_wei", quote.data ? json::value(quote.data_wei.to_string()) : json::value(nullptr)},
        {"fee_ppm", quote.fee ? json::value(quote.fee->fee_ppm) : json::value(nullptr)},
        {"fee_burned_ppm", quote.fee ? json::value(quote.fee->burned_ppm) : json::value(nullptr)},
        {"fee_wei", quote.fee ? json::value(quote.fee_wei.to_string()) : json::value(nullptr)},
        {"most_wei", quote.most_wei.to_string()},
        {"price_wei_per_pflop_day", quote.pflop_day_wei.to_string()},
        {"budget_wei", job.budget_wei.to_string()},
        {"rounds", job.terms.rounds},
        {"rounds_covered", quote.rounds_covered}};
}

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
    if (quote.data)
        std::printf("data               %s tokens (%s per million tokens of text, quality %s)\n",
                    quote.data_wei.to_tokens().c_str(),
                    quote.data->price_wei_per_mtoken.to_tokens().c_str(),
                    percent(quote.data->quality_ppm).c_str());
    else
        std::printf("data               price not known: %s\n", data.unknown.c_str());
    print_fee(fee, quote.fee_wei);
    std::printf("at most            %s tokens (every unit verified, full uptime bonus, fee)\n",
                quote.most_wei.to_tokens().c_str());
    std::printf("price              %s tokens per PFLOP-day\n",
                quote.pflop_day_wei.to_tokens().c_str());
    std::printf("budget             %s tokens, for %llu of %llu rounds at the most\n",
                job.budget_wei.to_tokens().c_str(),
                static_cast<unsigned long long>(quote.rounds_covered),
                static_cast<unsigned long long>(job.terms.rounds));
}

void print_fee(const NetworkFee& fee, const Amount& at_most_wei) {
    if (!fee.rates)
        std::printf("fee                not known: %s\n", fee.unknown.c_str());
    else if (fee.rates->fee_ppm == 0)
        std::printf("fee                none\n");
    else if (at_most_wei.is_zero())
        std::printf("fee                %s on top of what the work costs, %s of it burned\n",
                    percent(fee.rates->fee_ppm).c_str(), percent(fee.rates->burned_ppm).c_str());
    else
        std::printf(
            "fee                at most %s tokens (%s on top of the above, %s of it burned)\n",
            at_most_wei.to_tokens().c_str(), percent(fee.rates->fee_ppm).c_str(),
            percent(fee.rates->burned_ppm).c_str());
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

void print_job_detail(const json::object& job) {
    print_job(job);
    if (!job.at("waiting_for").is_null()) print_waiting(job);
    const json::object& cost = job.at("cost").as_object();
    std::printf("spent              %s tokens, %s pending, %s left\n",
                tokens_of(cost.at("spent_wei")).c_str(), tokens_of(cost.at("reserved_wei")).c_str(),
                tokens_of(cost.at("left_wei")).c_str());
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
