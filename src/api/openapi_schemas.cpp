#include "openapi_schemas.hpp"

#include <string>
#include <tuple>
#include <vector>

#include "gym/rewards/credit.hpp"
#include "openapi_fields.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

Fields job_fields() {
    return {{"id", "hash"},
            {"owner", "address"},
            {"name", "text"},
            {"status", "text", "submitted, running, paused, completed, cancelled or failed"},
            {"status_reason", "text?", "one sentence"},
            {"request", "text?", "pause, resume or cancel: asked for, and not acted on yet"},
            {"request_reason", "text?", "one sentence, unless the owner asked"},
            {"dataset_root", "hash"},
            {"rounds", "count"},
            {"rounds_done", "count"},
            {"slots", "count", "workers of a round"},
            {"steps_per_round", "count"},
            {"checkpoint_every", "count"},
            {"price_wei_per_pflop", "wei"},
            {"data_price_wei_per_mtoken", "wei", "the dataset's, when the job was submitted"},
            {"data_quality_ppm", "count", "likewise; both stay for the whole job"},
            {"budget_wei", "wei"},
            {"artifacts", "JobArtifacts?", "null until the coordinator has prepared the job"},
            {"submitted_at_ms", "time"},
            {"started_at_ms", "time?"},
            {"ended_at_ms", "time?"}};
}

Fields unit_fields() {
    return {{"id", "hash"},
            {"job_id", "hash"},
            {"round", "count"},
            {"slot", "count"},
            {"attempt", "count"},
            {"kind", "text", "train, aggregate or evaluate"},
            {"worker", "address"},
            {"owner", "address", "whose account is credited"},
            {"state", "text"},
            {"sampling_rate_ppm", "count"},
            {"tokens", "count"},
            {"flops", "count", "counted from the program"},
            {"delta_root", "hash?"},
            {"included", "flag", "its delta is part of the next base state"},
            {"reason_code", "text?"},
            {"reason", "text?", "one sentence"},
            {"assigned_at_ms", "time"},
            {"committed_at_ms", "time?"},
            {"ended_at_ms", "time?"}};
}

void job_schemas(json::object& out) {
    out["Job"] = schema(job_fields());
    out["JobArtifacts"] = schema({{"program_root", "hash"},
                                  {"base_state_root", "hash"},
                                  {"parameters", "count"},
                                  {"tokens_per_step", "count"},
                                  {"flops_per_step", "count"}});
    out["JobCost"] =
        schema({{"spent_wei", "wei", "drawn by final units"},
                {"reserved_wei", "wei", "pending compute credits"},
                {"committed_wei", "wei?", "what assigned units may still cost at most"},
                {"left_wei", "wei", "neither spent nor reserved"},
                {"refunded_wei", "wei", "returned to the owner after the end"}});
    out["Round"] = schema({{"round", "count"},
                           {"state", "text"},
                           {"epoch", "count"},
                           {"record_hash", "hash"},
                           {"base_state_root", "hash"},
                           {"next_state_root", "hash?"},
                           {"commitments_root", "hash?"},
                           {"commitment_count", "count?"},
                           {"validation_loss", "real?", "nats per token of the next base state"},
                           {"recorded_at_ms", "time"},
                           {"aggregated_at_ms", "time?"},
                           {"closed_at_ms", "time?"}});
    out["JobDetail"] =
        schema(job_fields() + Fields{{"waiting_for", "text?", "one sentence"},
                                     {"cost", "JobCost"},
                                     {"round_list", "Round[]"},
                                     {"units", "counts", "train units by state"},
                                     {"faults", "Unit[]", "disputed, rejected and slashed units"}});
    out["JobList"] = schema({{"jobs", "Job[]"}});
}

void dataset_schemas(json::object& out) {
    out["Dataset"] =
        schema({{"root", "hash"},
                {"blob", "hash"},
                {"owner", "address"},
                {"name", "text"},
                {"licence", "text", "an SPDX license expression"},
                {"tokens", "count"},
                {"vocabulary", "count"},
                {"price_wei_per_mtoken", "wei", "per million tokens, times quality"},
                {"novelty_ppm", "count", "of its tokens, not registered before"},
                {"usefulness_ppm", "count", "measured, or the network's default"},
                {"quality_ppm", "count", "novelty * usefulness / 10^6"},
                {"nearest", "NearestDataset?", "what was registered before and is like most of it"},
                {"measurement", "Measurement?", "null: usefulness is the network's default"},
                {"number", "count", "in the order of registration, from 1"},
                {"registered_at_ms", "time"}});
    out["NearestDataset"] = schema(
        {{"root", "hash"}, {"ppm", "count", "of the sampled tokens that are like some of it"}});
    out["DatasetList"] = schema({{"datasets", "Dataset[]"}});
    out["Measurement"] =
        schema({{"evaluation", "hash", "what it was measured with"},
                {"state_root", "hash", "of the training state after the steps on the dataset"},
                {"before_bits", "bits", "loss of the base state"},
                {"after_bits", "bits", "loss after the steps on the dataset"},
                {"baseline_bits", "bits", "loss after as many steps on the reference"},
                {"measured_at_ms", "time"}});
    out["Evaluation"] =
        schema({{"id", "hash", "of the terms, program_root to held_out"},
                {"number", "count", "in the order of publication, from 1"},
                {"program_root", "hash", "of the train program"},
                {"seed", "hash"},
                {"vocabulary", "count", "of all datasets that it measures"},
                {"base_steps", "count", "on the reference, that make the base state"},
                {"steps", "count", "of training on what is measured"},
                {"windows", "count", "of the held-out text"},
                {"reference_root", "hash", "a registered dataset"},
                {"held_out", "hash", "commitment to the held-out tokens"},
                {"model", "text", "the model file, YAML"},
                {"base_state_root", "hash"},
                {"before_bits", "bits", "loss of the base state"},
                {"baseline_state_root", "hash", "after the steps on the reference"},
                {"baseline_bits", "bits", "loss then"},
                {"datasets_before", "count", "it measures datasets of higher numbers"},
                {"published_at_ms", "time"},
                {"retired", "Retirement?", "null: in force"}});
    out["Retirement"] =
        schema({{"salt", "hash", "opens held_out, with the root"},
                {"held_out_root", "hash", "of the held-out tokens"},
                {"datasets_until", "count", "number of the last dataset that it measures"},
                {"retired_at_ms", "time"}});
    out["EvaluationList"] = schema({{"evaluations", "Evaluation[]"}});
}

void unit_schemas(json::object& out) {
    out["Unit"] = schema(unit_fields());
    out["UnitEvent"] = schema({{"seq", "count"},
                               {"from", "text?"},
                               {"to", "text"},
                               {"at_ms", "time"},
                               {"verifier", "address?"},
                               {"reason", "text?"}});
    out["Report"] = schema({{"draw", "count"},
                            {"verifier", "address"},
                            {"committed_at_ms", "time"},
                            {"revealed_at_ms", "time?"},
                            {"equal", "flag?"},
                            {"accepted", "flag"}});
    out["UnitDetail"] =
        schema(unit_fields() + Fields{{"history", "UnitEvent[]"}, {"reports", "Report[]"}});
    out["UnitList"] = schema({{"units", "Unit[]"}});
}

void credit_schemas(json::object& out) {
    std::vector<std::string> names;  // what the fields of `inputs` refer to
    names.reserve(std::tuple_size_v<decltype(rewards::kInputFields)>);
    Fields inputs;
    rewards::for_each_field(rewards::kInputFields, [&](const auto& field) {
        names.push_back(field.view());
        inputs.push_back({names.back(), field.kIsAmount ? "wei" : "count"});
    });
    out["CreditInputs"] = schema(inputs);

    Fields receipt;
    const auto add = [&](const auto& field) {
        receipt.push_back({field.view, field.type, field.about});
    };
    rewards::for_each_field(rewards::kCreditFields, add);
    receipt.push_back({"formula", "text"});
    receipt.push_back({"inputs", "CreditInputs"});
    rewards::for_each_field(rewards::kBookingFields, add);
    out["Receipt"] = schema(receipt);
}

void bill_schemas(json::object& out) {
    out["CreditList"] = schema({{"credits", "Receipt[]"}});
    out["KindTotal"] = schema({{"kind", "text"},
                               {"credits", "count", "posted ones"},
                               {"posted_wei", "wei"},
                               {"pending_wei", "wei", "of units that are not final"},
                               {"unfunded_wei", "wei", "waits for a larger budget"}});
    out["JobBill"] = schema({{"job_id", "hash"}, {"spent_wei", "wei"}, {"kinds", "KindTotal[]"}});
}

void account_schemas(json::object& out) {
    out["Account"] = schema({{"address", "address"},
                             {"available_wei", "wei", "can pay for jobs"},
                             {"escrowed_wei", "wei", "locked in own jobs"},
                             {"withdrawing_wei", "wei"},
                             {"pending_wei", "wei", "of units that are not final"},
                             {"earned_wei", "wei", "final, waits for the epoch's close"},
                             {"payable_wei", "wei", "all that payout roots ever allowed"},
                             {"claimed_wei", "wei", "paid out on chain"},
                             {"last_credits", "Receipt[]", "newest first, at most 20"}});
    out["RewardProof"] = schema({{"earner", "address"},
                                 {"epoch", "count"},
                                 {"cumulative_wei", "wei"},
                                 {"proof", "hash[]"},
                                 {"root", "hash"},
                                 {"active_at_ms", "time"},
                                 {"chain_id", "count"},
                                 {"distributor", "address"},
                                 {"token", "address"}});
    out["Epoch"] = schema({{"epoch", "count"},
                           {"state", "text", "closed, released, submitted or disabled"},
                           {"root", "hash"},
                           {"file_root", "hash"},
                           {"total_cumulative_wei", "wei"},
                           {"problem", "text?", "what holds it up"}});
    out["EpochList"] = schema({{"epochs", "Epoch[]"}});
    out["Node"] = schema({{"address", "address"},
                          {"role", "text"},
                          {"owner", "address"},
                          {"name", "text"},
                          {"hardware", "object"},
                          {"software", "text"},
                          {"benchmark_flops", "count"},
                          {"live", "flag"},
                          {"registered_at_ms", "time"},
                          {"last_seen_at_ms", "time"},
                          {"valid_run", "count", "units in a row that ended final"},
                          {"excluded", "flag"},
                          {"excluded_at_ms", "time?"},
                          {"excluded_reason", "text?", "one sentence"}});
    out["NodeList"] = schema({{"nodes", "Node[]"}});
}

}  // namespace

json::object openapi_schemas() {
    json::object out;
    job_schemas(out);
    dataset_schemas(out);
    unit_schemas(out);
    credit_schemas(out);
    bill_schemas(out);
    account_schemas(out);
    evidence_schemas(out);
    transfer_proof_schemas(out);
    out["Network"] = schema({{"chain_id", "count"},
                             {"token", "address"},
                             {"job_escrow", "address"},
                             {"rewards_distributor", "address"},
                             {"commitment_log", "address"},
                             {"stake", "address"},
                             {"dispute_game", "address"}});
    out["Funding"] = schema({{"amount_wei", "wei", "above zero"}});
    out["Health"] = schema({{"status", "text"}});
    out["Problem"] = schema({{"type", "text", "urn:gym:problem:<code>"},
                             {"title", "text"},
                             {"status", "count"},
                             {"detail", "text"},
                             {"request_id", "text"}});
    return out;
}

}  // namespace gym::api
