#include "openapi_schemas.hpp"

#include <boost/json/array.hpp>
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
            {"name", "text", "empty for those who may not see the model"},
            {"visibility", "text", "of the model: public, allow-list or private"},
            {"allowed", "address[]", "who may see the model; told to the owner alone"},
            {"status", "text", "submitted, running, paused, completed, cancelled or failed"},
            {"status_reason", "text?", "one sentence"},
            {"request", "text?", "pause, resume or cancel: requested and not yet carried out"},
            {"request_reason", "text?", "one sentence, unless the owner asked"},
            {"dataset_root", "hash"},
            {"data_owner", "address", "of the dataset, who is paid for it"},
            {"init_root", "hash?", "of the weights that it begins from; null: drawn at random"},
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
            {"included", "flag", "its delta is part of a base state"},
            {"included_late", "flag", "one round later than others, at half weight"},
            {"late", "flag",
             "its deadline passed before it was committed: it is of the next round's epoch"},
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
                {"committed_wei", "wei?", "the most that assigned units may still cost"},
                {"left_wei", "wei", "neither spent nor reserved"},
                {"refunded_wei", "wei", "returned to the owner after the end"}});
    out["Round"] = schema(
        {{"round", "count"},
         {"state", "text"},
         {"epoch", "count"},
         {"record_hash", "hash"},
         {"base_state_root", "hash"},
         {"next_state_root", "hash?"},
         {"commitments_root", "hash?"},
         {"commitment_count", "count?"},
         {"validation_loss", "real?", "nats per token of the next base state"},
         {"validation_state", "text?",
          "of the unit that stands for the loss; rejected: it is wrong"},
         {"validation_verified", "flag", "a verifier computed the loss again, and found the same"},
         {"weights_kept", "flag", "those after the round can be exported"},
         {"recorded_at_ms", "time"},
         {"aggregated_at_ms", "time?"},
         {"closed_at_ms", "time?"}});
    out["JobDetail"] =
        schema(job_fields() + Fields{{"waiting_for", "text?", "one sentence"},
                                     {"tokens_planned", "count?", "with a worker in every slot"},
                                     {"tokens_trained", "count?", "in the rounds that are done"},
                                     {"cost", "JobCost"},
                                     {"round_list", "Round[]"},
                                     {"units", "counts", "train units by state"},
                                     {"faults", "Unit[]", "disputed, rejected and slashed units"},
                                     {"data_parts", "JobData[]",
                                      "the providers that its units pay, if its dataset is a mix; "
                                      "else empty"},
                                     {"orders", "JobOrder[]",
                                      "what its owner signed (docs/PROTOCOL.md, Orders)"}});
    out["JobOrder"] = schema(
        {{"kind", "text", "job: a JobOrder; funding: a JobFunding"},
         {"amount_wei", "wei", "the budget, or what is added to it"},
         {"nonce", "hash"},
         {"expiry", "count", "Unix seconds"},
         {"chain_id", "count"},
         {"escrow", "address"},
         {"signature", "bytes", "of the owner"},
         {"state", "text",
          "waiting: for gym-rewards; locking: for the chain; locked: the money is in escrow; "
          "refused"},
         {"reason", "text?", "of a refusal, one sentence"},
         {"spec", "hash?", "of a JobOrder: SHA-256 of the job file; likewise below"},
         {"datasets", "hash[]"},
         {"price_wei_per_pflop", "wei?"},
         {"max_data_price_wei", "wei?"}});
    out["JobData"] = schema({{"dataset", "hash", "a part of the mix"},
                             {"owner", "address", "whose account is credited"},
                             {"part_tokens", "count", "of the mix that are the part's"},
                             {"mix_tokens", "count", "of all parts"},
                             {"price_wei_per_mtoken", "wei", "when the job was submitted"},
                             {"quality_ppm", "count", "likewise"}});
    out["JobList"] = schema({{"jobs", "Job[]"}});
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
                             {"payable_wei", "wei", "the sum of all payouts that roots allowed"},
                             {"claimed_wei", "wei", "paid out on chain"},
                             {"last_credits", "Receipt[]", "newest first, at most 20"}});
    out["PayoutStep"] = schema({{"hash", "hash", "the sibling"},
                                {"sum_wei", "wei", "what the sibling's side pays in all"},
                                {"pivot", "address", "the first earner of the right side"}});
    out["RewardProof"] = schema({{"earner", "address"},
                                 {"epoch", "count"},
                                 {"cumulative_wei", "wei"},
                                 {"path", "PayoutStep[]", "from the leaf up"},
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
                           {"problem", "text?", "why it makes no progress"}});
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
                          {"valid_value", "decimal",
                           "of the units that ended final since its last fault: FLOPs times the "
                           "wei that 10^15 of them earn, at least 1"},
                          {"excluded", "flag"},
                          {"excluded_at_ms", "time?"},
                          {"excluded_reason", "text?", "one sentence"}});
    out["NodeList"] = schema({{"nodes", "Node[]"}});
}

// Evidence that others check: records that nodes signed, and proofs of transfers.

void evidence_schemas(json::object& out) {
    out["RoundDetail"] =
        schema({{"job_id", "hash"},
                {"round", "count"},
                {"state", "text"},
                {"epoch", "count", "of its commitments, in CommitmentLog"},
                {"record", "bytes", "whose hash is on chain"},
                {"record_hash", "hash"},
                {"commitments_root", "hash?"},
                {"commitment_count", "count?"},
                {"posted_block", "count?", "of the commitments' root"},
                {"beacon_block", "count?", "whose prevrandao draws the sample"},
                {"drand_round", "count?",
                 "whose randomness draws it, where the network has a drand chain"},
                {"beacon", "hash?"},
                {"aggregate", "bytes?", "the coordinator's signed commitment, in no tree"},
                {"evaluation", "bytes?", "likewise, to the validation loss"},
                {"opened_at_ms", "time?"},
                {"closed_at_ms", "time?"}});
    out["Commitment"] = schema({{"leaf_index", "count"},
                                {"unit", "hash"},
                                {"commitment", "bytes", "signed; what the leaf is the hash of"}});
    out["CommitmentList"] = schema({{"commitments", "Commitment[]"}});
    out["SignedReport"] =
        schema({{"unit", "hash"},
                {"draw", "count"},
                {"verifier", "address"},
                {"committed", "hash", "hash that it committed to before the reveal"},
                {"records_root", "hash"},
                {"final_state_root", "hash"},
                {"delta_root", "hash"},
                {"trace", "hash"},
                {"challenge_signature", "bytes", "the verifier's over beacon and unit"},
                {"salt", "hash"},
                {"equal", "flag"},
                {"accepted", "flag"}});
    out["SignedReportList"] = schema({{"reports", "SignedReport[]"}});
    out["Prefix"] =
        schema({{"unit", "hash", "which ended without a commitment"},
                {"state", "text", "verified, refuted or unpaid"},
                {"steps", "count"},
                {"link", "hash", "of the record chain after them, as the worker signed it"},
                {"signature", "bytes", "the worker's"},
                {"verifier", "address?"},
                {"found_link", "hash?", "what the verifier computed"},
                {"found_signature", "bytes?", "the verifier's over that"},
                {"flops", "count", "of the steps; 0 if it is unpaid"},
                {"verifier_paid", "flag", "its report is what was decided"},
                {"reason", "text?", "why it is refuted or unpaid"}});
    out["PrefixList"] = schema({{"prefixes", "Prefix[]"}});
    out["Challenge"] = schema({{"nonce", "hash"},
                               {"issued_at_ms", "time"},
                               {"deadline_ms", "time"},
                               {"answered_at_ms", "time?"},
                               {"signature", "bytes?", "the node's over the challenge"},
                               {"withdrawn", "flag", "it does not count"}});
    out["ChallengeList"] = schema({{"challenges", "Challenge[]"}});
}

void price_schemas(json::object& out) {
    out["Fee"] = schema({{"fee_ppm", "count", "of a round's credits"},
                         {"burned_ppm", "count", "of the fee"},
                         {"changed_at_ms", "time"},
                         {"verification_premium_ppm", "count?",
                          "a verifier's pay per FLOP, in parts per million of the worker's"},
                         {"uptime_bonus_max_ppm", "count?", "of a worker's compute credits"},
                         {"cost_bound_ppm", "count?",
                          "the most that compute may cost, verification, bonus and fee included; "
                          "null until the network's services have published it"},
                         {"data_bound_ppm", "count?", "the same of data"},
                         {"blob_bytes_max", "count?",
                          "of a delta that a worker may send; null until the coordinator has "
                          "published it"},
                         {"deltas_bytes_max", "count?", "of all deltas of a round together"},
                         {"dispute_window_ms", "count?",
                          "how long after its draw a unit's fault can be taken to the chain: the "
                          "checks of a job must not take longer; null until the coordinator has "
                          "published it"}});
    out["Market"] = schema(
        {{"jobs", "count", "the newest ones, at most 100"},
         {"price_wei_per_pflop", "wei?", "their median; null without any"},
         {"paid_job", "hash?",
          "that paid the median price, by what the newest jobs trained; null where it is not "
          "public"},
         {"paid_wei_per_pflop", "wei?", "what it pays"},
         {"running_jobs", "count", "with rounds left to train: they share the network's workers"},
         {"running_slots", "count", "of all of them"},
         {"least_wei_per_pflop", "wei", "a job that pays less is refused"}});
}

/// Statements, and ledger::encode_proof().
void transfer_proof_schemas(json::object& out) {
    out["LedgerAccount"] = schema({{"id", "count"},
                                   {"owner", "text", "an address, job:<id> or system"},
                                   {"asset", "text", "erc20:<chain id>:<token>"},
                                   {"kind", "text"}});
    out["TransferSide"] =
        schema({{"owner", "text", "an address, job:<id> or system"},
                {"kind", "text", "available, escrow, earned, payable, withdrawing, .."},
                {"own", "flag", "the reader's, or the escrow of a job of theirs"},
                {"balance_after_wei", "text?", "of own accounts, where something moved; decimal"}});
    out["Transfer"] =
        schema({{"id", "text", "a UUID, as getTransferProof takes it"},
                {"seq", "count", "the order of transfers"},
                {"at_ms", "time"},
                {"kind", "text", "transfer, pending, post, void or expire"},
                {"reason", "text", "of what it ends, where it has none: deposit, job budget, .."},
                {"state", "text",
                 "posted: it moved its amount, and balances are the sums of these alone; pending: "
                 "it reserves; ended: it reserved until another posted or released that; released: "
                 "it gave a reservation back"},
                {"sealed", "flag", "there is a proof of it"},
                {"direction", "text", "in, out, or within: between own accounts"},
                {"amount_wei", "wei"},
                {"from", "TransferSide"},
                {"to", "TransferSide"},
                {"job_id", "hash?"},
                {"round", "count?", "of credits"}});
    out["TransferList"] =
        schema({{"transfers", "Transfer[]"},
                {"next_before", "count?", "`before` of the next page; null: this is the last"}});
    out["LedgerEntry"] =
        schema({{"version", "count", "of the account: 1 for its first entry"},
                {"balance_after", "text", "base units, decimal; may start with '-'"}});
    out["SealedTransfer"] = schema({{"id", "text", "a UUID"},
                                    {"seq", "count", "the order of transfers"},
                                    {"kind", "text", "transfer, pending, post, void or expire"},
                                    {"debit", "LedgerAccount"},
                                    {"credit", "LedgerAccount"},
                                    {"amount", "wei"},
                                    {"reason", "text"},
                                    {"created_at_us", "count", "microseconds since 2000-01-01 UTC"},
                                    {"pending", "text~", "the transfer that it ends"},
                                    {"expires_at_ms", "time~", "of a pending one"},
                                    {"group", "text~", "all of a group were booked, or none"},
                                    {"debit_entry", "LedgerEntry~", "what it left on the account"},
                                    {"credit_entry", "LedgerEntry~"}});
    out["Seal"] = schema({{"number", "count"},
                          {"first_seq", "count", "of its transfers"},
                          {"last_seq", "count"},
                          {"transfers", "count", "leaves under its root"},
                          {"root", "hash"},
                          {"previous", "hash", "of the seal before"},
                          {"sealed_at_ms", "time"},
                          {"signer", "address", "the network's settler"},
                          {"hash", "hash"},
                          {"signature", "bytes", "EIP-712 over number and hash"}});
    out["TransferProof"] = schema({{"format", "text", "gym.ledger_proof.v1"},
                                   {"transfer", "SealedTransfer"},
                                   {"index", "count", "of its leaf"},
                                   {"siblings", "hash[]", "from the leaf to the root"},
                                   {"seal", "Seal"}});
}

void network_profile_schema(json::object& out) {
    out["NetworkProfileContracts"] = schema({{"token", "address"},
                                             {"distributor", "address"},
                                             {"escrow", "address"},
                                             {"commitment_log", "address"},
                                             {"stake", "address"},
                                             {"dispute_game", "address"}});
    out["NetworkProfile"] =
        schema({{"version", "count", "of this form: 1"},
                {"name", "text", "for people"},
                {"issued_at_ms", "time"},
                {"coordinator", "text", "host:port"},
                {"coordinator_ca", "text", "certificates (PEM), \"system\" or \"none\""},
                {"chain_id", "count"},
                {"chain_rpc", "text[]", "JSON-RPC endpoints of the chain"},
                {"start_block", "count", "no contract is older"},
                {"contracts", "NetworkProfileContracts"},
                {"api", "text"},
                {"minimum_stake_wei", "wei", "of a worker"},
                {"fee_address", "address", "zero: not named"},
                {"operator", "address", "whose key signed"},
                {"signature", "bytes", "EIP-712, 65 bytes; gym/profile/profile.hpp has the type"}});
}

}  // namespace

json::object openapi_schemas() {
    json::object out;
    job_schemas(out);
    model_schemas(out);
    dataset_schemas(out);
    unit_schemas(out);
    credit_schemas(out);
    bill_schemas(out);
    account_schemas(out);
    evidence_schemas(out);
    price_schemas(out);
    transfer_proof_schemas(out);
    out["Network"] = schema({{"chain_id", "count"},
                             {"token", "address"},
                             {"job_escrow", "address"},
                             {"rewards_distributor", "address"},
                             {"commitment_log", "address"},
                             {"stake", "address"},
                             {"dispute_game", "address"}});
    out["Upload"] = schema({{"root", "hash"},
                            {"size_bytes", "count"},
                            {"received_bytes", "count"},
                            {"complete", "flag", "all bytes are there and hash to the root"},
                            {"state_root", "hash?", "of a complete state: a job's `init` names it"},
                            {"expires_at_ms", "time", "forgotten then, unless more is sent"}});
    network_profile_schema(out);
    out["Funding"] = schema({{"amount_wei", "wei", "above zero"}});
    out["Access"] = schema({{"visibility", "text", "public, allow-list or private"},
                            {"allowed", "address[]~", "of an allow-list; at most 1000"}});
    out["Liveness"] = schema({{"status", "text", "ok"}});
    out["ServiceHealth"] = schema({{"service", "text", "gym-coordinator or gym-rewards"},
                                   {"seen_at_ms", "time", "when it last told of itself"}});
    out["Health"] = schema(
        {{"status", "text", "ok"},
         {"services", "ServiceHealth[]", "those that have told of themselves to this database"}});
    out["Problem"] = schema({{"type", "text", "urn:gym:problem:<code>"},
                             {"title", "text"},
                             {"status", "count"},
                             {"detail", "text"},
                             {"request_id", "text"}});
    return out;
}

}  // namespace gym::api
