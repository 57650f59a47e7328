#include "views.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <concepts>
#include <type_traits>

#include "gym/api/statement.hpp"
#include "gym/common/float_bits.hpp"
#include "gym/common/ppm.hpp"
#include "gym/protocol/round_record.hpp"
#include "json_values.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

json::object round_json(const registry::Round& round, const JobView& job) {
    const auto evaluation = job.evaluations.find(round.round);
    const bool evaluated = evaluation != job.evaluations.end();
    return {{"round", round.round},
            {"state", to_string(round.state)},
            {"epoch", round.epoch},
            {"record_hash", round.record_hash.hex()},
            {"base_state_root", round.base.root.hex()},
            {"next_state_root",
             round.next_base ? json::value(round.next_base->root.hex()) : json::value(nullptr)},
            {"commitments_root", or_null(round.commitments_root)},
            {"commitment_count",
             round.commitment_count ? json::value(*round.commitment_count) : json::value(nullptr)},
            {"validation_loss", number_or_null(round.validation_loss)},
            {"validation_state",
             evaluated ? json::value(to_string(evaluation->second.state)) : json::value(nullptr)},
            {"validation_verified", evaluated && evaluation->second.verified},
            {"weights_kept", std::ranges::binary_search(job.kept_rounds, round.round)},
            {"recorded_at_ms", round.recorded_at_ms},
            {"aggregated_at_ms", or_null(round.aggregated_at_ms)},
            {"closed_at_ms", or_null(round.closed_at_ms)}};
}

json::object job_data_json(const registry::JobDataPart& part) {
    return {{"dataset", part.dataset.hex()},
            {"owner", part.owner.hex()},
            {"part_tokens", part.part_tokens},
            {"mix_tokens", part.mix_tokens},
            {"price_wei_per_mtoken", part.price_wei_per_mtoken.to_string()},
            {"quality_ppm", part.quality_ppm}};
}

json::value artifacts_json(const std::optional<registry::JobArtifacts>& artifacts) {
    if (!artifacts) return nullptr;
    return json::object{{"program_root", artifacts->program_root.hex()},
                        {"base_state_root", artifacts->base_state_root.hex()},
                        {"parameters", artifacts->parameters},
                        {"tokens_per_step", artifacts->tokens_per_step},
                        {"flops_per_step", artifacts->flops_per_step}};
}

json::object event_json(const registry::UnitEventRow& event) {
    return {{"seq", event.seq},
            {"from", event.from ? json::value(to_string(*event.from)) : json::value(nullptr)},
            {"to", to_string(event.to)},
            {"at_ms", event.at_ms},
            {"verifier", or_null(event.verifier)},
            {"reason", or_null(event.reason)}};
}

json::object report_json(const ReportView& report) {
    return {{"draw", report.draw},
            {"verifier", report.verifier.hex()},
            {"committed_at_ms", report.committed_at_ms},
            {"revealed_at_ms", or_null(report.revealed_at_ms)},
            {"equal", report.equal ? json::value(*report.equal) : json::value(nullptr)},
            {"accepted", report.accepted}};
}

// The members of a receipt, by the type of the field.
json::value member_json(const Amount& amount) {
    return json::value(amount.to_string());
}
template <std::integral T>
json::value member_json(T number) {
    return json::value(number);
}
json::value member_json(const std::string& text) {
    return json::value(text);
}
json::value member_json(rewards::CreditState state) {
    return json::value(to_string(state));
}
json::value member_json(const rewards::CreditInputs& inputs) {
    return json::value(to_string(kind_of(inputs)));
}
template <std::size_t N, class Tag>
json::value member_json(const FixedBytes<N, Tag>& bytes) {
    return json::value(bytes.hex());
}
template <class T>
json::value member_json(const std::optional<T>& value) {
    return value ? member_json(*value) : json::value(nullptr);
}

/// The inputs of all kinds; those that the credit's kind does not have are 0.
json::object inputs_json(const rewards::CreditInputs& inputs) {
    json::object out;
    for_each_input(inputs, [&](const auto& field, const auto* value) {
        using Value = typename std::remove_cvref_t<decltype(field)>::Value;
        out[field.view()] = member_json(value ? *value : Value());
    });
    return out;
}

json::object hardware_json(const records::NodeProfile& profile) {
    if (profile.device.empty() && profile.memory_bytes == 0) return {};
    return {{"gpu_type", profile.device}, {"memory_bytes", profile.memory_bytes}};
}

}  // namespace

json::object to_json(const AccountView& view) {
    return {{"address", view.address.hex()},
            {"available_wei", view.available.to_string()},
            {"escrowed_wei", view.escrowed.to_string()},
            {"withdrawing_wei", view.withdrawing.to_string()},
            {"pending_wei", view.rewards.pending.to_string()},
            {"earned_wei", view.rewards.earned.to_string()},
            {"payable_wei", view.rewards.payable.to_string()},
            {"claimed_wei", view.rewards.claimed.to_string()},
            {"last_credits", to_json_list(view.last_credits)}};
}

json::object to_json(const rewards::Receipt& receipt) {
    json::object out;
    const auto add = [&](const auto& field, const auto& value) {
        json::value member = member_json(value);
        // Of texts that may be null, the empty one says nothing.
        const bool is_null =
            field.type == "text?" && member.is_string() && member.get_string().empty();
        out[field.view] = is_null ? json::value(nullptr) : std::move(member);
    };
    for_each_value(rewards::kCreditFields, receipt, add);
    out["formula"] = formula_text(receipt.credit.kind());
    out["inputs"] = inputs_json(receipt.credit.inputs);
    for_each_value(rewards::kBookingFields, receipt, add);
    return out;
}

json::object to_json(const JobBill& bill) {
    json::array kinds;
    for (const rewards::KindTotal& total : bill.kinds)
        kinds.push_back(json::object{{"kind", rewards::to_string(total.kind)},
                                     {"credits", total.credits},
                                     {"posted_wei", total.posted.to_string()},
                                     {"pending_wei", total.pending.to_string()},
                                     {"unfunded_wei", total.unfunded.to_string()}});
    return {{"job_id", bill.job_id.hex()},
            {"spent_wei", bill.spent.to_string()},
            {"kinds", std::move(kinds)}};
}

json::object to_json(const rewards::PayoutEpoch& epoch) {
    return {{"epoch", epoch.epoch},
            {"state", to_string(epoch.state)},
            {"root", epoch.root.hex()},
            {"file_root", epoch.file_root.hex()},
            {"total_cumulative_wei", epoch.total_cumulative.to_string()},
            {"problem", or_null(epoch.problem)}};
}

json::object to_json(const registry::Node& node, bool live) {
    return {{"address", node.address.hex()},
            {"role", records::to_string(node.profile.role)},
            {"owner", node.owner.hex()},
            {"name", node.name},
            {"hardware", hardware_json(node.profile)},
            {"software", node.profile.software_version},
            {"benchmark_flops", node.profile.flops_per_second},
            {"live", live},
            {"registered_at_ms", node.registered_at_ms},
            {"last_seen_at_ms", node.last_seen_at_ms},
            {"valid_value", node.valid_value.to_string()},
            {"excluded", node.excluded},
            {"excluded_at_ms", or_null(node.excluded_at_ms)},
            {"excluded_reason", or_null(node.excluded_reason)}};
}

json::object to_json(const registry::Job& job, const registry::Viewer& viewer) {
    const registry::JobTerms& terms = job.terms;
    return {{"id", job.id.hex()},
            {"owner", job.owner.hex()},
            {"name", viewer.may_see(job.access, job.owner) ? job.name : std::string()},
            {"visibility", to_string(job.access.visibility)},
            {"allowed", allowed_json(job.access, job.owner, viewer)},
            {"status", to_string(job.status)},
            {"status_reason", or_null(job.status_reason)},
            {"request", job.request ? json::value(to_string(*job.request)) : json::value(nullptr)},
            {"request_reason", or_null(job.request_reason)},
            {"dataset_root", job.dataset_root.hex()},
            {"data_owner", job.data_owner.hex()},
            {"init_root", job.init ? json::value(job.init->root.hex()) : json::value(nullptr)},
            {"rounds", terms.rounds},
            {"rounds_done", job.rounds_done},
            {"slots", terms.slots_max},
            {"steps_per_round", terms.steps},
            {"checkpoint_every", terms.checkpoint_every},
            {"price_wei_per_pflop", terms.price_wei_per_pflop.to_string()},
            {"data_price_wei_per_mtoken", job.data_price_wei_per_mtoken.to_string()},
            {"data_quality_ppm", job.data_quality_ppm},
            {"budget_wei", job.budget_wei.to_string()},
            {"artifacts", artifacts_json(job.artifacts)},
            {"submitted_at_ms", job.submitted_at_ms},
            {"started_at_ms", or_null(job.started_at_ms)},
            {"ended_at_ms", or_null(job.ended_at_ms)}};
}

json::object to_json(const Upload& upload) {
    return {{"root", upload.root.hex()},
            {"size_bytes", upload.size_bytes},
            {"received_bytes", upload.received_bytes},
            {"complete", upload.complete},
            {"state_root", or_null(upload.state_root)},
            {"expires_at_ms", upload.expires_at_ms}};
}

namespace {

/// Of the rounds that are done, by their workers' commitments.
json::value tokens_trained(const JobView& view) {
    if (!view.job.artifacts) return nullptr;
    std::uint64_t units = 0;
    // Where rounds overlap, a round has a next base state while it computes.
    for (const registry::Round& round : view.rounds)
        if (round.state == registry::RoundState::kAggregated ||
            round.state == registry::RoundState::kClosed)
            units += round.commitment_count.value_or(0);
    return units * view.job.terms.steps * view.job.artifacts->tokens_per_step;
}

/// With a worker in every slot.
json::value tokens_planned(const JobView& view) {
    const registry::JobTerms& terms = view.job.terms;
    if (!view.job.artifacts) return nullptr;
    return terms.rounds * terms.slots_max * terms.steps * view.job.artifacts->tokens_per_step;
}

}  // namespace

namespace {

/// With all that the signed digest is made of, so that everybody can recover the signer.
json::object order_json(const registry::StoredOrder& order) {
    json::object out{{"kind", order.is_funding() ? "funding" : "job"},
                     {"amount_wei", order.amount().to_string()},
                     {"nonce", order.nonce().hex()},
                     {"expiry", order.seal.expiry_s},
                     {"chain_id", order.seal.network.chain_id},
                     {"escrow", order.seal.network.escrow.hex()},
                     {"signature", order.seal.signature.hex()},
                     {"state", to_string(order.state)},
                     {"reason", or_null(order.reason)},
                     {"spec", nullptr},
                     {"datasets", json::array()},
                     {"price_wei_per_pflop", nullptr},
                     {"max_data_price_wei", nullptr}};
    const auto* job_order = std::get_if<records::JobOrder>(&order.terms);
    if (job_order == nullptr) return out;
    out["spec"] = job_order->spec.hex();
    for (const Digest& root : job_order->datasets)
        out["datasets"].as_array().emplace_back(root.hex());
    out["price_wei_per_pflop"] = job_order->price_wei_per_pflop.to_string();
    out["max_data_price_wei"] = job_order->max_data_price_wei.to_string();
    return out;
}

}  // namespace

json::object to_json(const JobView& view, const registry::Viewer& viewer) {
    json::object out = to_json(view.job, viewer);
    out["tokens_planned"] = tokens_planned(view);
    out["tokens_trained"] = tokens_trained(view);
    out["waiting_for"] = or_null(waiting_for(view));
    out["cost"] = json::object{
        {"spent_wei", view.cost.spent.to_string()},
        {"reserved_wei", view.cost.reserved.to_string()},
        {"committed_wei", view.cost.committed ? json::value(view.cost.committed->to_string())
                                              : json::value(nullptr)},
        {"left_wei", view.cost.left.to_string()},
        {"refunded_wei", view.cost.refunded.to_string()}};
    json::array rounds;
    for (const registry::Round& round : view.rounds)
        rounds.push_back(round_json(round, view));
    out["round_list"] = std::move(rounds);
    json::object units;
    for (const auto& [state, count] : view.units)
        units[state] = count;
    out["units"] = std::move(units);
    out["faults"] = to_json_list(view.faults);
    json::array data;
    for (const registry::JobDataPart& part : view.data)
        data.push_back(job_data_json(part));
    out["data_parts"] = std::move(data);
    json::array orders;
    for (const registry::StoredOrder& order : view.orders)
        orders.push_back(order_json(order));
    out["orders"] = std::move(orders);
    return out;
}

json::object to_json(const registry::Unit& unit) {
    return {{"id", unit.id.hex()},
            {"job_id", unit.key.job_id.hex()},
            {"round", unit.key.round},
            {"slot", unit.key.slot},
            {"attempt", unit.key.attempt},
            {"kind", protocol::to_string(unit.kind)},
            {"worker", unit.worker.hex()},
            {"owner", unit.owner.hex()},
            {"state", protocol::to_string(unit.status.state)},
            {"sampling_rate_ppm", unit.sampling_rate_ppm},
            {"tokens", unit.tokens},
            {"flops", unit.flops},
            {"delta_root", or_null(unit.delta_root)},
            {"included", unit.included},
            {"included_late", unit.included_late},
            {"late", unit.status.late},
            {"reason_code", or_null(unit.reason_code)},
            {"reason", or_null(unit.reason)},
            {"assigned_at_ms", unit.assigned_at_ms},
            {"committed_at_ms", or_null(unit.committed_at_ms)},
            {"ended_at_ms", or_null(unit.ended_at_ms)}};
}

json::object to_json(const UnitView& view) {
    json::object out = to_json(view.unit);
    json::array history;
    for (const registry::UnitEventRow& event : view.history)
        history.push_back(event_json(event));
    out["history"] = std::move(history);
    json::array reports;
    for (const ReportView& report : view.reports)
        reports.push_back(report_json(report));
    out["reports"] = std::move(reports);
    return out;
}

json::object to_json(const Address& earner, const rewards::ClaimProof& claim,
                     const Network& network) {
    json::array path;
    for (const payouts::PayoutStep& step : claim.path)
        path.push_back({{"hash", step.sibling.hash.hex()},
                        {"sum_wei", step.sibling.sum.to_string()},
                        {"pivot", step.pivot.hex()}});
    return {{"earner", earner.hex()},
            {"epoch", claim.epoch},
            {"cumulative_wei", claim.cumulative.to_string()},
            {"path", std::move(path)},
            {"root", claim.root.hex()},
            {"active_at_ms", claim.active_at_ms},
            {"chain_id", network.chain_id},
            {"distributor", network.distributor.hex()},
            {"token", network.token.hex()}};
}

json::object to_json(const Network& network) {
    return {{"chain_id", network.chain_id},
            {"token", network.token.hex()},
            {"job_escrow", network.escrow.hex()},
            {"rewards_distributor", network.distributor.hex()},
            {"commitment_log", network.commitment_log.hex()},
            {"stake", network.stake.hex()},
            {"dispute_game", network.dispute_game.hex()}};
}

// Datasets, and what they were measured with.

json::object to_json(const RoundView& view) {
    const registry::Round& round = view.round;
    return {{"job_id", round.job_id.hex()},
            {"round", round.round},
            {"state", to_string(round.state)},
            {"epoch", round.epoch},
            {"record", to_hex0x(protocol::encode(round.record))},
            {"record_hash", round.record_hash.hex()},
            {"commitments_root", or_null(round.commitments_root)},
            {"commitment_count", or_null(round.commitment_count)},
            {"posted_block", or_null(round.posted_block)},
            {"beacon_block", or_null(round.beacon_block)},
            {"drand_round", or_null(round.drand_round)},
            {"beacon", or_null(round.beacon)},
            {"aggregate",
             view.aggregate ? json::value(to_hex0x(*view.aggregate)) : json::value(nullptr)},
            {"evaluation",
             view.evaluation ? json::value(to_hex0x(*view.evaluation)) : json::value(nullptr)},
            {"opened_at_ms", or_null(round.opened_at_ms)},
            {"closed_at_ms", or_null(round.closed_at_ms)}};
}

json::object to_json(const registry::PublishedCommitment& published) {
    return {{"leaf_index", published.leaf_index},
            {"unit", published.unit.hex()},
            {"commitment", to_hex0x(published.commitment)}};
}

json::object to_json(const registry::PublishedReport& published) {
    const protocol::Report& report = published.report;
    return {{"unit", report.unit.hex()},
            {"draw", report.draw},
            {"verifier", report.verifier.hex()},
            {"committed", published.committed.hex()},
            {"records_root", report.records_root.hex()},
            {"final_state_root", report.final_state_root.hex()},
            {"delta_root", report.delta_root.hex()},
            {"trace", report.trace.hex()},
            {"challenge_signature", report.challenge_signature.hex()},
            {"salt", report.salt.hex()},
            {"equal", published.equal},
            {"accepted", published.accepted}};
}

json::object to_json(const registry::Prefix& prefix) {
    const auto found = [&](const auto& member) {
        return prefix.report ? json::value(((*prefix.report).*member).hex()) : json::value(nullptr);
    };
    return {{"unit", prefix.unit.hex()},
            {"state", protocol::to_string(prefix.state)},
            {"steps", prefix.steps},
            {"link", prefix.link.hex()},
            {"signature", prefix.signature.hex()},
            {"verifier", or_null(prefix.verifier)},
            {"found_link", found(&registry::PrefixReport::link)},
            {"found_signature", found(&registry::PrefixReport::signature)},
            {"flops", prefix.flops},
            {"verifier_paid", prefix.verifier_paid},
            {"reason", or_null(prefix.reason)}};
}

json::object to_json(const protocol::PublishedChallenge& published) {
    return {{"nonce", published.challenge.nonce.hex()},
            {"issued_at_ms", published.challenge.issued_ms},
            {"deadline_ms", published.challenge.deadline_ms},
            {"answered_at_ms", or_null(published.answered_at_ms)},
            {"signature", or_null(published.signature)},
            {"withdrawn", published.withdrawn}};
}

json::object to_json(const NetworkTerms& terms) {
    json::object out{{"fee_ppm", terms.fee.fee_ppm},
                     {"burned_ppm", terms.fee.burned_ppm},
                     {"changed_at_ms", terms.fee.changed_at_ms},
                     {"verification_premium_ppm", or_null(terms.fee.verification_premium_ppm)},
                     {"uptime_bonus_max_ppm", or_null(terms.fee.uptime_bonus_max_ppm)},
                     {"cost_bound_ppm", nullptr},
                     {"data_bound_ppm", nullptr},
                     {"blob_bytes_max", nullptr},
                     {"deltas_bytes_max", nullptr},
                     {"dispute_window_ms", or_null(terms.dispute_window_ms)}};
    if (terms.sizes) {
        out["blob_bytes_max"] = terms.sizes->blob_bytes;
        out["deltas_bytes_max"] = terms.sizes->deltas_bytes;
    }
    if (!terms.bound) return out;
    out["cost_bound_ppm"] = terms.bound->cost_bound_ppm;
    out["data_bound_ppm"] = std::uint64_t{kPpm} + terms.bound->fee_ppm;
    return out;
}

json::object to_json(const Market& market) {
    return {{"jobs", market.jobs},
            {"price_wei_per_pflop", market.wei_per_pflop
                                        ? json::value(market.wei_per_pflop->to_string())
                                        : json::value(nullptr)},
            {"paid_job", market.paid && market.paid->job ? json::value(market.paid->job->hex())
                                                         : json::value(nullptr)},
            {"paid_wei_per_pflop", market.paid ? json::value(market.paid->wei_per_pflop.to_string())
                                               : json::value(nullptr)},
            {"running_jobs", market.running},
            {"running_slots", market.slots_running},
            {"least_wei_per_pflop", market.least_wei_per_pflop.to_string()}};
}

// Statements.

namespace {

json::object side_json(const StatementAccount& side) {
    return {{"owner", side.owner},
            {"kind", to_string(side.kind)},
            {"own", side.own},
            {"balance_after_wei",
             side.balance_after ? json::value(*side.balance_after) : json::value(nullptr)}};
}

}  // namespace

std::string_view to_string(LineState state) noexcept {
    switch (state) {
        case LineState::kPosted:
            return "posted";
        case LineState::kPending:
            return "pending";
        case LineState::kEnded:
            return "ended";
        case LineState::kReleased:
            break;
    }
    return "released";
}

std::string_view to_string(Direction direction) noexcept {
    switch (direction) {
        case Direction::kIn:
            return "in";
        case Direction::kOut:
            return "out";
        case Direction::kWithin:
            break;
    }
    return "within";
}

json::object to_json(const StatementLine& line) {
    return {{"id", to_uuid(line.id)},
            {"seq", line.seq},
            {"at_ms", line.at},
            {"kind", to_string(line.kind)},
            {"reason", line.reason},
            {"state", to_string(line.state)},
            {"sealed", line.sealed},
            {"direction", to_string(line.direction())},
            {"amount_wei", line.amount.to_string()},
            {"from", side_json(line.from)},
            {"to", side_json(line.to)},
            {"job_id", line.job_id ? json::value(line.job_id->hex()) : json::value(nullptr)},
            {"round", line.round ? json::value(*line.round) : json::value(nullptr)}};
}

}  // namespace gym::api
