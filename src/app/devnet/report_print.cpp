#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "gym/common/plural.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/report.hpp"

namespace gym::devnet {

namespace json = boost::json;

namespace {

/// Bytes that a terminal would take for a command, and bytes that are no UTF-8, become dots.
std::string printable(const std::string& text) {
    std::string out = text;
    for (char& c : out)
        if (c != '\n' && (c < ' ' || c > '~')) c = '.';
    return out;
}

double percent(std::uint64_t ppm) {
    return static_cast<double>(ppm) / 10'000.0;
}

/// The 32 bits that a finding's word ends with; all of it if it is a root.
std::string hex_of(const Digest& word) {
    const ByteView bytes = word.view();
    const bool number = std::ranges::all_of(bytes.first(28), [](std::uint8_t b) { return b == 0; });
    return "0x" + to_hex(number ? bytes.last(4) : bytes);
}

json::value dispute_json(const std::optional<DisputeReport>& dispute) {
    if (!dispute) return nullptr;
    return json::object{{"game", dispute->game.hex()},
                        {"transactions", dispute->transactions},
                        {"gas_challenger", dispute->challenger_gas},
                        {"gas_worker", dispute->worker_gas},
                        {"element", dispute->element.to_string()},
                        {"claimed_hex", hex_of(dispute->claimed)},
                        {"computed_hex", hex_of(dispute->computed)},
                        {"slashed_wei", dispute->slashed.to_string()},
                        {"burned_wei", dispute->burned.to_string()},
                        {"reward_wei", dispute->reward.to_string()},
                        {"compensation_wei", dispute->compensation.to_string()},
                        {"finder", dispute->finder.hex()}};
}

std::string dispute_text(const DisputeReport& dispute) {
    const std::string others = dispute.compensation.is_zero()
                                   ? ""
                                   : fmt::format(", {} for games that proved other faults of it",
                                                 dispute.compensation.to_tokens());
    return fmt::format(
        "the cheat's game on chain: {} transactions, {} gas of the verifier, {} of the worker\n  "
        "element {}: the worker claimed {}, the contract computed {}\n  stake taken {} GYM: {} "
        "burned ({:g} %, so that a cheat that reports itself still loses it), {} to the verifier "
        "that found it{}\n",
        dispute.transactions, dispute.challenger_gas, dispute.worker_gas,
        dispute.element.to_string(), hex_of(dispute.claimed), hex_of(dispute.computed),
        dispute.slashed.to_tokens(), dispute.burned.to_tokens(), percent(dispute.burned_ppm()),
        dispute.reward.to_tokens(), others);
}

json::value model_json(const std::optional<ExportedModel>& model) {
    if (!model) return nullptr;
    json::object out{{"folder", model->folder.string()},      {"names", model->names},
                     {"state_root", model->state_root.hex()}, {"checked", model->checked},
                     {"sample", printable(model->sample)},    {"logits", nullptr}};
    if (model->logits) {
        const LogitsComparison& logits = *model->logits;
        out["logits"] =
            json::object{{"software", logits.software},
                         {"count", logits.count},
                         {"relative_error", logits.relative_error},
                         {"bound", logits.bound},
                         {"rounded_relative_error", json::value_from(logits.rounded_error)},
                         {"rounded_bound", logits.rounded_error ? json::value(logits.rounded_bound)
                                                                : json::value(nullptr)}};
    }
    return out;
}

std::string logits_text(const LogitsComparison& logits) {
    std::string out = fmt::format(
        "  {} logits computed again from the folder in {}: relative error {:.1e} (at most {:.0e})",
        logits.count, logits.software, logits.relative_error, logits.bound);
    if (logits.rounded_error)
        out += fmt::format(", with gym's roundings {:.1e} (at most {:.0e})", *logits.rounded_error,
                           logits.rounded_bound);
    return out + "\n";
}

std::string model_text(const ExportedModel& model) {
    std::string out =
        fmt::format("\nthe trained model, exported to {} with the names of {}\n  {}\n",
                    model.folder.string(), model.names, model.checked);
    out += model.logits ? logits_text(*model.logits)
                        : "  logits not compared: " + model.not_compared + "\n";
    return out + "it writes, read from the folder:\n" + printable(model.sample);
}

json::object provider_json(const ProviderSummary& line) {
    return {{"address", line.address.hex()},
            {"name", kProvider},
            {"dataset_root", line.dataset_root.hex()},
            {"licence", line.licence},
            {"tokens", line.tokens},
            {"price_wei_per_mtoken", line.price_wei_per_mtoken.to_string()},
            {"novelty_ppm", line.novelty_ppm},
            {"usefulness_ppm", line.usefulness_ppm},
            {"evaluation",
             line.evaluation ? json::value(line.evaluation->hex()) : json::value(nullptr)},
            {"quality_ppm", line.quality_ppm},
            {"paid_wei", line.paid.to_string()}};
}

json::array epochs_json(const std::vector<rewards::PayoutEpoch>& epochs) {
    json::array out;
    for (const rewards::PayoutEpoch& epoch : epochs)
        out.push_back(json::object{{"epoch", epoch.epoch},
                                   {"root", epoch.root.hex()},
                                   {"total_cumulative_wei", epoch.total_cumulative.to_string()}});
    return out;
}

void add_ledger(json::object& out, const LedgerReport& ledger) {
    for (const char* kind : {"compute", "verification", "uptime", "data"})
        out[std::string(kind) + "_credit_wei"] = ledger.credit(kind).to_string();
    out["ledger_transfers"] = ledger.transfers;
    out["audit_violations"] = ledger.audit_violations;
    out["epochs"] = epochs_json(ledger.epochs);
}

std::string credits_text(const Report& report) {
    const LedgerReport& ledger = report.ledger;
    const ProviderSummary& provider = report.provider;
    return fmt::format(
        "credited: compute {}, verification {}, uptime {}, data {} GYM, in {} transfers\n"
        "  data: {} tokens of text under {}, {} GYM a million, quality {:g} % (novelty {:g} %, "
        "usefulness {:g} %, {})\n"
        "payout epochs {}, rows in all audit views {}\n",
        ledger.credit("compute").to_tokens(), ledger.credit("verification").to_tokens(),
        ledger.credit("uptime").to_tokens(), ledger.credit("data").to_tokens(), ledger.transfers,
        provider.tokens, provider.licence, provider.price_wei_per_mtoken.to_tokens(),
        percent(provider.quality_ppm), percent(provider.novelty_ppm),
        percent(provider.usefulness_ppm), provider.evaluation ? "measured" : "the default",
        ledger.epochs.size(), ledger.audit_violations);
}

/// A worker without a unit has done nothing wrong where a round has no slot for everybody.
bool may_be_idle(const Report& report, const WorkerSummary& line) {
    const bool had_units =
        line.units_final + line.units_rejected + line.units_pending + line.units_unpaid > 0;
    return !had_units && report.slots < report.workers.size();
}

}  // namespace

bool LogitsComparison::holds() const {
    return relative_error <= bound && (!rounded_error || *rounded_error <= rounded_bound);
}

std::string to_json(const Report& report, const std::vector<std::string>& failed) {
    json::array workers;
    for (const WorkerSummary& line : report.workers)
        workers.push_back(json::object{{"address", line.address.hex()},
                                       {"name", line.name},
                                       {"cheats", line.cheats},
                                       {"units_final", line.units_final},
                                       {"units_rejected", line.units_rejected},
                                       {"units_pending", line.units_pending},
                                       {"units_unpaid", line.units_unpaid},
                                       {"paid_wei", line.paid.to_string()},
                                       {"excluded_because", line.excluded}});
    json::object object{{"passed", failed.empty()},
                        {"failed_checks", json::value_from(failed)},
                        {"rounds", report.rounds},
                        {"rounds_planned", report.rounds_planned},
                        {"workers", std::move(workers)},
                        {"verifier", json::object{{"address", report.verifier.address.hex()},
                                                  {"name", report.verifier.name},
                                                  {"reports", report.verifier.reports},
                                                  {"paid_wei", report.verifier.paid.to_string()}}},
                        {"provider", provider_json(report.provider)},
                        {"validation_losses", json::value_from(report.validation_losses)},
                        {"losses_signed", report.losses_signed},
                        {"losses_verified", report.losses_verified},
                        {"units_sampled", report.units_sampled},
                        {"mismatches", report.mismatches},
                        {"honest_units_rejected", report.honest_units_rejected},
                        {"ledger_sum_wei", report.ledger_sum_wei},
                        {"onchain_paid_wei", report.onchain_paid.to_string()},
                        {"ledger_paid_wei", report.ledger_paid.to_string()},
                        {"payout_root", report.payout_root.hex()},
                        {"program_root", report.program_root.hex()},
                        {"final_state_root", report.final_state_root.hex()},
                        {"gas_used", report.gas_used},
                        {"dispute", dispute_json(report.dispute)},
                        {"sample", printable(report.sample)},
                        {"model", model_json(report.model)},
                        {"wall_s", report.wall_s}};
    add_ledger(object, report.ledger);
    return json::serialize(object);
}

std::string to_text(const Report& report) {
    constexpr const char* kRow = "{:<13} {:<42}  {:>5} {:>8} {:>7}  {:>22}\n";
    std::string out =
        "\n" + fmt::format(kRow, "node", "address", "final", "rejected", "pending", "paid (GYM)");
    for (const WorkerSummary& line : report.workers) {
        out += fmt::format(kRow, line.name, line.address.hex(), line.units_final,
                           line.units_rejected, line.units_pending, line.paid.to_tokens());
        if (line.units_unpaid > 0)
            out += fmt::format("{:<13} units that ended unpaid: {}\n", "", line.units_unpaid);
        if (!line.excluded.empty()) out += fmt::format("{:<13} excluded: {}\n", "", line.excluded);
    }
    out += fmt::format(kRow, report.verifier.name, report.verifier.address.hex(), "-", "-", "-",
                       report.verifier.paid.to_tokens());
    out += fmt::format("{:<13} ran {} again\n", "", counted(report.verifier.reports, "unit"));
    out += fmt::format(kRow, kProvider, report.provider.address.hex(), "-", "-", "-",
                       report.provider.paid.to_tokens());
    out += "\nvalidation loss after each round (nats per byte):";
    for (const double loss : report.validation_losses)
        out += fmt::format(" {:.3f}", loss);
    out +=
        fmt::format("\nvalidation losses that verifiers computed again and found right: {} of {}",
                    report.losses_verified, report.losses_signed);
    out += fmt::format(
        "\nunits re-executed {}, mismatches {}, honest units rejected {}\n"
        "paid on chain {} GYM, by the ledger {} GYM; sum of the ledger {} wei; gas used {}\n"
        "payout root      {}\nprogram root     {}\nfinal state root {}\n",
        report.units_sampled, report.mismatches, report.honest_units_rejected,
        report.onchain_paid.to_tokens(), report.ledger_paid.to_tokens(), report.ledger_sum_wei,
        report.gas_used, report.payout_root.hex(), report.program_root.hex(),
        report.final_state_root.hex());
    out += credits_text(report);
    if (report.dispute) out += dispute_text(*report.dispute);
    if (report.model)
        out += model_text(*report.model);
    else
        out += "\nthe trained model writes:\n" + printable(report.sample) + "\n";
    return out;
}

std::vector<std::string> failed_checks(const Report& report, const Expectations& expected) {
    std::vector<std::string> out;
    const auto require = [&](bool holds, std::string sentence) {
        if (!holds) out.push_back(std::move(sentence));
    };
    require(report.rounds > 0 && report.rounds == report.rounds_planned,
            fmt::format("{} aggregated, not the job's {}",
                        counted(report.rounds, "round was", "rounds were"), report.rounds_planned));
    const auto& losses = report.validation_losses;
    if (expected.final_loss_max)
        require(!losses.empty() && losses.back() <= *expected.final_loss_max,
                fmt::format("the last validation loss is above {}", *expected.final_loss_max));
    // One round has nothing to be compared with, but its loss must be a number.
    require(!losses.empty() && (losses.size() == 1 ? std::isfinite(losses.back())
                                                   : losses.back() < losses.front()),
            "the last validation loss is not below the first");
    require(report.losses_signed > 0 && report.losses_verified == report.losses_signed,
            "not every validation loss that the coordinator signed was verified");
    require(report.honest_units_rejected == 0, "a unit of an honest worker was rejected");
    require(report.ledger_sum_wei == "0", "the ledger does not sum to zero");
    require(report.onchain_paid == report.ledger_paid,
            "chain and ledger disagree about the paid amount");
    require(!report.onchain_paid.is_zero(), "nobody was paid");
    require(!report.ledger.credit("compute").is_zero(), "nothing was credited for compute");
    // A text that was measured to be of no use is worth nothing.
    require(report.provider.quality_ppm == 0 || !report.ledger.credit("data").is_zero(),
            "nothing was credited for data");
    require(report.provider.paid == report.ledger.credit("data"),
            "the provider of the text was not paid what the ledger credited for data");
    require(report.ledger.audit_violations == 0,
            "audit views have rows: " + fmt::format("{}", fmt::join(report.ledger.violated, ", ")));
    require(!report.ledger.epochs.empty() &&
                report.ledger.epochs.back().root == report.payout_root &&
                report.ledger.epochs.back().total_cumulative == report.ledger_paid,
            "the last payout epoch is not what the chain pays");
    for (const WorkerSummary& line : report.workers) {
        if (line.cheats) {
            require(line.units_rejected > 0, line.name + " cheats and was not caught");
            require(!line.excluded.empty(), line.name + " cheats and is not excluded");
        } else if (!may_be_idle(report, line)) {
            require(line.units_final > 0 && !line.paid.is_zero(),
                    line.name + " is honest and was not paid");
        }
        require(line.units_pending == 0, line.name + " has units that are not decided");
    }
    if (report.model) {
        require(report.model->state_root == report.final_state_root,
                "the exported weights are not those of the last round");
        require(report.model->logits.has_value(),
                "the exported model's logits were not compared: " + report.model->not_compared);
        require(!report.model->logits || report.model->logits->holds(),
                "the exported model's logits differ from those of gym");
    }
    if (!expected.with_cheater) return out;
    require(!report.ledger.credit("verification").is_zero(), "no verifier was credited");
    require(report.mismatches > 0, "no verifier found a mismatch");
    require(report.dispute.has_value(), "no fault was proven on chain");
    if (!report.dispute) return out;
    require(report.dispute->claimed != report.dispute->computed,
            "the contract computed the number that the cheat claimed");
    require(!report.dispute->burned.is_zero() && !report.dispute->reward.is_zero(),
            "the cheat's stake was not taken");
    return out;
}

}  // namespace gym::devnet
