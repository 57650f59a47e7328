#include "read_records.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <concepts>
#include <stdexcept>

#include "gym/common/json_fields.hpp"
#include "gym/common/ppm.hpp"

namespace gym::client {
namespace {

namespace json = boost::json;
using namespace json_fields;

std::string text_or_empty(const json::object& object, std::string_view key) {
    return null_or(object, key, text_of).value_or("");
}

std::uint64_t count_of(const json::object& object, std::string_view key) {
    return number_of(object, key);
}

std::uint32_t ppm_of(const json::object& object, std::string_view key) {
    const auto ppm = number_of<std::uint32_t>(object, key);
    if (ppm > kPpm) throw std::runtime_error(std::string(key) + ": expected at most 1000000");
    return ppm;
}

/// A name that `parse` turns into an enumerator.
template <class Parse>
auto name_of(const json::object& object, std::string_view key, Parse parse) {
    return take(key, parse(view_of(object, key)));
}

/// The bits of a binary32: "0x3f800000".
std::uint32_t bits_of(const json::object& object, std::string_view key) {
    const std::string_view text = view_of(object, key);
    std::uint32_t bits = 0;
    const char* const end = text.data() + text.size();
    if (text.size() == 10 && text.starts_with("0x") &&
        std::from_chars(text.data() + 2, end, bits, 16).ptr == end)
        return bits;
    throw std::runtime_error(std::string(key) + ": expected the bits of a float, like 0x3f800000");
}

registry::Access read_access(const json::object& object) {
    registry::Access out;
    out.visibility = name_of(object, "visibility", registry::parse_visibility);
    std::vector<std::string> allowed;
    const json::value& list = member_of(object, "allowed");
    if (!list.is_array()) throw std::runtime_error("allowed: expected a list");
    for (const json::value& one : list.get_array()) {
        if (!one.is_string()) throw std::runtime_error("allowed: expected accounts as text");
        allowed.emplace_back(one.get_string());
    }
    return take("allowed", registry::make_access(registry::to_string(out.visibility), allowed));
}

// Members of a receipt, by the type of the field.

template <class T>
void read_value(const json::object& object, std::string_view name, T& out) {
    if constexpr (std::is_same_v<T, Amount>)
        out = amount_of(object, name);
    else if constexpr (std::is_integral_v<T>)
        out = number_of<T>(object, name);
    else if constexpr (std::is_same_v<T, std::string>)
        out = text_or_empty(object, name);
    else if constexpr (std::is_same_v<T, rewards::CreditInputs>)
        out = rewards::zero_inputs(name_of(object, name, rewards::parse_credit_kind));
    else if constexpr (std::is_same_v<T, rewards::CreditState>)
        out = name_of(object, name, rewards::parse_credit_state);
    else
        out = fixed_of<T>(object, name);
}
template <class T>
void read_value(const json::object& object, std::string_view name, std::optional<T>& out) {
    if (!member_of(object, name).is_null()) read_value(object, name, out.emplace());
}

AccountSide read_side(const json::object& object) {
    return {text_of(object, "owner"), text_of(object, "kind"), flag_of(object, "own")};
}

JobRound read_job_round(const json::object& object) {
    return {count_of(object, "round"), null_or(object, "validation_loss", number_of<double>),
            null_or(object, "commitment_count", count_of),
            text_or_empty(object, "validation_state"), flag_of(object, "validation_verified")};
}

JobCost read_cost(const json::object& object) {
    return {amount_of(object, "spent_wei"), amount_of(object, "reserved_wei"),
            null_or(object, "committed_wei", amount_of), amount_of(object, "left_wei"),
            amount_of(object, "refunded_wei")};
}

BillItem read_bill_item(const json::object& object) {
    return {name_of(object, "kind", rewards::parse_credit_kind), count_of(object, "credits"),
            amount_of(object, "posted_wei"), amount_of(object, "pending_wei"),
            amount_of(object, "unfunded_wei")};
}

registry::NearestDataset read_nearest(const json::object& object) {
    return {fixed_of<Digest>(object, "root"), ppm_of(object, "ppm")};
}

registry::DatasetMeasurement read_measurement(const json::object& object) {
    return {fixed_of<Digest>(object, "evaluation"), fixed_of<Digest>(object, "state_root"),
            bits_of(object, "before_bits"),         bits_of(object, "after_bits"),
            bits_of(object, "baseline_bits"),       number_of<UnixMs>(object, "measured_at_ms")};
}

registry::Retirement read_retirement(const json::object& object) {
    return {fixed_of<Digest>(object, "salt"), fixed_of<Digest>(object, "held_out_root"),
            count_of(object, "datasets_until"), number_of<UnixMs>(object, "retired_at_ms")};
}

/// Reads an object that may be null.
template <class Read>
auto object_or_null(const json::object& object, std::string_view key, Read read) {
    return null_or(object, key, [&](const json::object& outer, std::string_view name) {
        return object_of(outer, name, read);
    });
}

registry::JobDataPart read_job_data(const json::object& object) {
    registry::JobDataPart out;
    out.dataset = fixed_of<Digest>(object, "dataset");
    out.owner = fixed_of<Address>(object, "owner");
    out.part_tokens = count_of(object, "part_tokens");
    out.mix_tokens = count_of(object, "mix_tokens");
    out.price_wei_per_mtoken = amount_of(object, "price_wei_per_mtoken");
    out.quality_ppm = ppm_of(object, "quality_ppm");
    return out;
}

registry::DatasetPart read_dataset_part(const json::object& object) {
    registry::DatasetPart out;
    out.root = fixed_of<Digest>(object, "root");
    out.tokens = count_of(object, "tokens");
    out.weight_ppm = count_of(object, "weight_ppm");
    out.owner = fixed_of<Address>(object, "owner");
    out.name = text_of(object, "name");
    out.licence = text_of(object, "licence");
    out.price_wei_per_mtoken = amount_of(object, "price_wei_per_mtoken");
    out.quality_ppm = ppm_of(object, "quality_ppm");
    return out;
}

void read_job_into(const json::object& object, Job& job) {
    job.id = fixed_of<Digest>(object, "id");
    job.owner = fixed_of<Address>(object, "owner");
    job.name = text_of(object, "name");
    job.status = name_of(object, "status", registry::parse_job_status);
    job.status_reason = text_or_empty(object, "status_reason");
    job.request = text_or_empty(object, "request");
    job.request_reason = text_or_empty(object, "request_reason");
    job.access = read_access(object);
    job.dataset_root = fixed_of<Digest>(object, "dataset_root");
    job.data_owner = fixed_of<Address>(object, "data_owner");
    job.init_root = null_or(object, "init_root", fixed_of<Digest>);
    job.rounds = count_of(object, "rounds");
    job.rounds_done = count_of(object, "rounds_done");
    job.steps_per_round = count_of(object, "steps_per_round");
    job.price_wei_per_pflop = amount_of(object, "price_wei_per_pflop");
    job.data_price_wei_per_mtoken = amount_of(object, "data_price_wei_per_mtoken");
    job.data_quality_ppm = ppm_of(object, "data_quality_ppm");
    job.budget = amount_of(object, "budget_wei");
    job.flops_per_step = object_or_null(object, "artifacts", [](const json::object& artifacts) {
        return count_of(artifacts, "flops_per_step");
    });
    job.ended_at = null_or(object, "ended_at_ms", number_of<UnixMs>);
}

}  // namespace

Account read_account(const json::object& object) {
    Account out;
    out.address = fixed_of<Address>(object, "address");
    out.available = amount_of(object, "available_wei");
    out.escrowed = amount_of(object, "escrowed_wei");
    out.withdrawing = amount_of(object, "withdrawing_wei");
    out.pending = amount_of(object, "pending_wei");
    out.earned = amount_of(object, "earned_wei");
    out.payable = amount_of(object, "payable_wei");
    out.claimed = amount_of(object, "claimed_wei");
    out.last_credits = list_of(object, "last_credits", read_receipt);
    return out;
}

Transfer read_transfer(const json::object& object) {
    Transfer out;
    out.id = text_of(object, "id");
    out.at = number_of<UnixMs>(object, "at_ms");
    out.reason = text_of(object, "reason");
    out.state = text_of(object, "state");
    out.direction = text_of(object, "direction");
    out.sealed = flag_of(object, "sealed");
    out.amount = amount_of(object, "amount_wei");
    out.from = object_of(object, "from", read_side);
    out.to = object_of(object, "to", read_side);
    return out;
}

rewards::Receipt read_receipt(const json::object& object) {
    rewards::Receipt out;
    const auto read = [&](const auto& field, auto& value) {
        read_value(object, field.view, value);
    };
    rewards::for_each_value(rewards::kCreditFields, out, read);
    rewards::for_each_value(rewards::kBookingFields, out, read);
    object_of(object, "inputs", [&](const json::object& inputs) {
        rewards::for_each_input(out.credit.inputs, [&](const auto& field, auto* value) {
            if (value) read_value(inputs, field.view(), *value);
        });
        return true;
    });
    return out;
}

ClaimProof read_claim_proof(const json::object& object) {
    ClaimProof out;
    out.earner = fixed_of<Address>(object, "earner");
    out.proof.epoch = count_of(object, "epoch");
    out.proof.root = fixed_of<Digest>(object, "root");
    out.proof.cumulative = amount_of(object, "cumulative_wei");
    out.proof.active_at_ms = number_of<UnixMs>(object, "active_at_ms");
    const json::value& steps = member_of(object, "path");
    if (!steps.is_array()) throw std::runtime_error("path: expected a list");
    for (const json::value& step : steps.get_array()) {
        if (!step.is_object()) throw std::runtime_error("path: expected objects");
        const json::object& fields = step.get_object();
        out.proof.path.push_back({{fixed_of<Digest>(fields, "hash"), amount_of(fields, "sum_wei")},
                                  fixed_of<Address>(fields, "pivot")});
    }
    out.chain_id = count_of(object, "chain_id");
    out.distributor = fixed_of<Address>(object, "distributor");
    return out;
}

Job read_job(const json::object& object) {
    Job out;
    read_job_into(object, out);
    return out;
}

namespace {

records::JobOrder read_job_order(const json::object& object) {
    records::JobOrder order;
    order.spec = fixed_of<Digest>(object, "spec");
    for (const json::value& root : member_of(object, "datasets").as_array())
        order.datasets.push_back(
            json_fields::take("datasets", Digest::parse(std::string_view(root.as_string()))));
    order.budget_wei = amount_of(object, "amount_wei");
    order.price_wei_per_pflop = amount_of(object, "price_wei_per_pflop");
    order.max_data_price_wei = amount_of(object, "max_data_price_wei");
    return order;
}

/// @param job whose order it is.
registry::StoredOrder read_order(const json::object& object, const Job& job) {
    registry::StoredOrder out;
    out.job = job.id;
    const auto nonce = fixed_of<Digest>(object, "nonce");
    out.seal = {{count_of(object, "chain_id"), fixed_of<Address>(object, "escrow")},
                count_of(object, "expiry"),
                fixed_of<crypto::Signature>(object, "signature")};
    out.state = name_of(object, "state", registry::parse_order_state);
    out.reason = text_or_empty(object, "reason");
    if (text_of(object, "kind") == "job") {
        records::JobOrder order = read_job_order(object);
        order.owner = job.owner;
        order.nonce = nonce;
        out.terms = std::move(order);
    } else {
        out.terms = records::JobFunding{job.owner, job.id, amount_of(object, "amount_wei"), nonce,
                                        out.seal.expiry_s};
    }
    return out;
}

}  // namespace

JobDetail read_job_detail(const json::object& object) {
    JobDetail out;
    read_job_into(object, out);
    out.waiting_for = text_or_empty(object, "waiting_for");
    out.tokens_planned = null_or(object, "tokens_planned", count_of);
    out.tokens_trained = null_or(object, "tokens_trained", count_of);
    out.cost = object_of(object, "cost", read_cost);
    out.round_list = list_of(object, "round_list", with_json(read_job_round));
    object_of(object, "units", [&](const json::object& units) {
        for (const auto& item : units)
            out.units.emplace_back(item.key(), count_of(units, item.key()));
        return true;
    });
    out.faults = list_of(object, "faults", with_json(read_unit));
    out.data_parts = list_of(object, "data_parts", read_job_data);
    out.orders = list_of(object, "orders",
                         [&](const json::object& order) { return read_order(order, out); });
    return out;
}

Mix read_mix(const json::object& object) {
    return {text_of(object, "state"), object_or_null(object, "dataset", read_dataset)};
}

JobBill read_bill(const json::object& object) {
    return {amount_of(object, "spent_wei"), list_of(object, "kinds", read_bill_item)};
}

Upload read_upload(const json::object& object) {
    Upload out;
    out.root = fixed_of<Digest>(object, "root");
    out.size_bytes = count_of(object, "size_bytes");
    out.received_bytes = count_of(object, "received_bytes");
    out.complete = flag_of(object, "complete");
    out.state_root = null_or(object, "state_root", fixed_of<Digest>);
    return out;
}

NetworkFee read_fee(const json::object& object) {
    NetworkFee out;
    out.rates = {number_of<std::uint32_t>(object, "fee_ppm"), ppm_of(object, "burned_ppm")};
    out.verification_premium_ppm =
        null_or(object, "verification_premium_ppm", number_of<std::uint32_t>);
    out.uptime_bonus_max_ppm = null_or(object, "uptime_bonus_max_ppm", number_of<std::uint32_t>);
    const auto blob = null_or(object, "blob_bytes_max", count_of);
    const auto deltas = null_or(object, "deltas_bytes_max", count_of);
    if (blob && deltas) out.sizes = protocol::SizeLimits{*blob, *deltas};
    // A gym-api of before there was a window says nothing.
    if (object.contains("dispute_window_ms"))
        out.dispute_window_ms = null_or(object, "dispute_window_ms", number_of<std::int64_t>);
    if (member_of(object, "cost_bound_ppm").is_null()) return out;
    const auto data = number_of<std::uint32_t>(object, "data_bound_ppm");
    out.bound = protocol::CostRates{count_of(object, "cost_bound_ppm"),
                                    data < kPpm ? 0 : data - std::uint32_t{kPpm}};
    return out;
}

registry::ServiceHealth read_service_health(const json::object& object) {
    return {text_of(object, "service"), "", number_of<UnixMs>(object, "seen_at_ms")};
}

Market read_market(const json::object& object) {
    Market out{count_of(object, "jobs"), null_or(object, "price_wei_per_pflop", amount_of)};
    if (const auto paid = null_or(object, "paid_wei_per_pflop", amount_of))
        out.paid = Market::Paid{null_or(object, "paid_job", fixed_of<Digest>), *paid};
    out.running_jobs = count_of(object, "running_jobs");
    out.running_slots = count_of(object, "running_slots");
    if (object.contains("least_wei_per_pflop"))
        out.least_wei_per_pflop = amount_of(object, "least_wei_per_pflop");
    return out;
}

Node read_node(const json::object& object) {
    Node out;
    out.address = fixed_of<Address>(object, "address");
    out.role = name_of(object, "role", records::parse_node_role);
    object_of(object, "hardware", [&](const json::object& hardware) {
        if (hardware.contains("gpu_type")) out.device = text_of(hardware, "gpu_type");
        if (hardware.contains("memory_bytes"))
            out.memory_bytes = count_of(hardware, "memory_bytes");
        return 0;
    });
    out.flops_per_second = count_of(object, "benchmark_flops");
    out.valid_value = amount_of(object, "valid_value");
    out.live = flag_of(object, "live");
    out.excluded = flag_of(object, "excluded");
    return out;
}

Network read_network(const json::object& object) {
    const json::value& id = member_of(object, "chain_id");
    if (!id.is_number()) throw std::runtime_error("chain_id: expected a number");
    Network out;
    out.chain_id = json::serialize(id);
    for (const auto& member : object)
        if (member.key() != "chain_id")
            out.contracts.emplace_back(member.key(), member.value().is_string()
                                                         ? std::string(member.value().get_string())
                                                         : "none");
    return out;
}

const std::string* Network::find(std::string_view contract) const {
    const auto found = std::ranges::find(
        contracts, contract, [](const auto& one) { return std::string_view(one.first); });
    return found == contracts.end() ? nullptr : &found->second;
}

namespace {

/// A name becomes part of a file's name here, so that a server must not choose it freely.
std::string name_of_version(const json::object& object,
                            Result<registry::NameReference> (*parse)(std::string_view)) {
    registry::NameReference name = take("name", parse(text_of(object, "name")));
    if (name.version) throw std::runtime_error("name: expected it without a version");
    return std::move(name.name);
}

std::vector<std::string> read_names(const json::object& object) {
    const json::value& list = member_of(object, "names");
    if (!list.is_array()) throw std::runtime_error("names: expected a list");
    std::vector<std::string> out;
    out.reserve(list.get_array().size());
    for (const json::value& one : list.get_array()) {
        if (!one.is_string()) throw std::runtime_error("names: expected names of datasets");
        out.emplace_back(one.get_string());
        (void)take("names", registry::parse_dataset_reference(out.back()));
    }
    return out;
}

}  // namespace

registry::Dataset read_dataset(const json::object& object) {
    registry::Dataset out;
    out.root = fixed_of<Digest>(object, "root");
    out.blob = fixed_of<Digest>(object, "blob");
    out.owner = fixed_of<Address>(object, "owner");
    out.name = text_of(object, "name");
    out.names = read_names(object);
    out.licence = text_of(object, "licence");
    out.access = read_access(object);
    out.tokens = count_of(object, "tokens");
    out.vocabulary = number_of<std::uint32_t>(object, "vocabulary");
    read_value(object, "tokenizer", out.tokenizer);
    read_value(object, "manifest", out.manifest);
    out.price_wei_per_mtoken = amount_of(object, "price_wei_per_mtoken");
    out.novelty_ppm = ppm_of(object, "novelty_ppm");
    out.usefulness_ppm = ppm_of(object, "usefulness_ppm");
    out.quality_ppm = ppm_of(object, "quality_ppm");
    out.nearest = object_or_null(object, "nearest", read_nearest);
    out.measurement = object_or_null(object, "measurement", read_measurement);
    out.parts = list_of(object, "parts", read_dataset_part);
    out.number = count_of(object, "number");
    out.registered_at_ms = number_of<UnixMs>(object, "registered_at_ms");
    return out;
}

registry::DatasetVersion read_dataset_version(const json::object& object) {
    return {name_of_version(object, registry::parse_dataset_reference),
            number_of<std::uint32_t>(object, "version"), fixed_of<Digest>(object, "root"),
            fixed_of<Address>(object, "owner"), number_of<UnixMs>(object, "registered_at_ms")};
}

registry::ModelVersion read_model_version(const json::object& object) {
    const auto blob = [](const json::object& part) {
        return registry::ModelBlobRef{fixed_of<Digest>(part, "root"),
                                      fixed_of<Digest>(part, "blob"), count_of(part, "bytes")};
    };
    registry::ModelVersion out;
    out.name = name_of_version(object, registry::parse_model_reference);
    out.version = number_of<std::uint32_t>(object, "version");
    out.owner = fixed_of<Address>(object, "owner");
    out.state = object_of(object, "state", blob);
    out.program = object_of(object, "program", blob);
    out.tokenizer = null_or(object, "tokenizer", fixed_of<Digest>);
    out.tokenizer_blob = null_or(object, "tokenizer_blob", fixed_of<Digest>);
    out.licence = text_of(object, "licence");
    out.job = null_or(object, "job_id", fixed_of<Digest>);
    out.round = null_or(object, "round", number_of<std::uint64_t>);
    out.access = read_access(object);
    out.registered_at_ms = number_of<UnixMs>(object, "registered_at_ms");
    return out;
}

registry::Evaluation read_evaluation(const json::object& object) {
    registry::Evaluation out;
    out.id = fixed_of<Digest>(object, "id");
    out.number = count_of(object, "number");
    out.terms.program_root = fixed_of<Digest>(object, "program_root");
    out.terms.seed = fixed_of<Digest>(object, "seed");
    out.terms.vocabulary = number_of<std::uint32_t>(object, "vocabulary");
    out.terms.base_steps = number_of<std::uint32_t>(object, "base_steps");
    out.terms.steps = number_of<std::uint32_t>(object, "steps");
    out.terms.windows = number_of<std::uint32_t>(object, "windows");
    out.terms.reference_root = fixed_of<Digest>(object, "reference_root");
    out.terms.held_out = fixed_of<Digest>(object, "held_out");
    out.model_yaml = text_of(object, "model");
    out.base_state_root = fixed_of<Digest>(object, "base_state_root");
    out.before_bits = bits_of(object, "before_bits");
    out.baseline_state_root = fixed_of<Digest>(object, "baseline_state_root");
    out.baseline_bits = bits_of(object, "baseline_bits");
    out.datasets_before = count_of(object, "datasets_before");
    out.published_at_ms = number_of<UnixMs>(object, "published_at_ms");
    out.retired = object_or_null(object, "retired", read_retirement);
    return out;
}

registry::Unit read_unit(const json::object& object) {
    registry::Unit out;
    out.id = fixed_of<Digest>(object, "id");
    out.key = {fixed_of<Digest>(object, "job_id"), count_of(object, "round"),
               number_of<std::uint32_t>(object, "slot"),
               number_of<std::uint32_t>(object, "attempt")};
    out.kind = name_of(object, "kind", protocol::parse_unit_kind);
    out.worker = fixed_of<Address>(object, "worker");
    out.owner = fixed_of<Address>(object, "owner");
    out.status.state = name_of(object, "state", protocol::parse_unit_state);
    out.sampling_rate_ppm = ppm_of(object, "sampling_rate_ppm");
    out.tokens = count_of(object, "tokens");
    out.flops = count_of(object, "flops");
    out.delta_root = null_or(object, "delta_root", fixed_of<Digest>);
    out.included = flag_of(object, "included");
    out.reason_code = text_or_empty(object, "reason_code");
    out.reason = text_or_empty(object, "reason");
    out.assigned_at_ms = number_of<UnixMs>(object, "assigned_at_ms");
    out.committed_at_ms = null_or(object, "committed_at_ms", number_of<UnixMs>);
    out.ended_at_ms = null_or(object, "ended_at_ms", number_of<UnixMs>);
    return out;
}

UnitReport read_unit_report(const json::object& object) {
    return {fixed_of<Address>(object, "verifier"), flag_of(object, "accepted")};
}

namespace {

ModelBlob read_model_blob(const json::object& object) {
    return {fixed_of<Digest>(object, "root"), fixed_of<Digest>(object, "blob"),
            count_of(object, "bytes")};
}

ModelData read_model_data(const json::object& object) {
    ModelData out{fixed_of<Digest>(object, "root"),
                  text_of(object, "name"),
                  text_of(object, "licence"),
                  number_of<std::uint32_t>(object, "vocabulary"),
                  {},
                  {}};
    read_value(object, "tokenizer", out.tokenizer);
    read_value(object, "tokenizer_owner", out.tokenizer_owner);
    return out;
}

ModelLoss read_model_loss(const json::object& object) {
    return {count_of(object, "round"), number_of<double>(object, "validation_loss")};
}

/// Checked where they are asked (mirror::Fetcher::create).
std::vector<std::string> read_mirrors(const json::object& object) {
    const json::value& list = member_of(object, "mirrors");
    if (!list.is_array()) throw std::runtime_error("mirrors: expected a list");
    std::vector<std::string> out;
    for (const json::value& one : list.get_array()) {
        if (!one.is_string()) throw std::runtime_error("mirrors: expected addresses");
        out.emplace_back(one.get_string());
    }
    return out;
}

}  // namespace

JobModel read_model(const json::object& object) {
    JobModel out;
    out.job = fixed_of<Digest>(object, "job_id");
    out.owner = fixed_of<Address>(object, "owner");
    out.name = text_of(object, "name");
    out.round = count_of(object, "round");
    out.newest_round = count_of(object, "newest_round");
    out.rounds = count_of(object, "rounds");
    out.program = object_of(object, "program", read_model_blob);
    out.state = object_of(object, "state", read_model_blob);
    out.datasets = list_of(object, "datasets", read_model_data);
    out.losses = list_of(object, "losses", read_model_loss);
    out.mirrors = read_mirrors(object);
    return out;
}

}  // namespace gym::client
