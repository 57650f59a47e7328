#include "openapi_fields.hpp"
#include "openapi_schemas.hpp"

// What others check: what nodes signed, and proofs of transfers.
namespace gym::api {

namespace json = boost::json;

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
                {"beacon", "hash?"},
                {"aggregate", "bytes?", "the coordinator's signed commitment, in no tree"},
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
                {"committed", "hash", "what it committed to before it revealed"},
                {"records_root", "hash"},
                {"final_state_root", "hash"},
                {"delta_root", "hash"},
                {"trace", "hash"},
                {"challenge_signature", "bytes", "the verifier's over beacon and unit"},
                {"salt", "hash"},
                {"equal", "flag"},
                {"accepted", "flag"}});
    out["SignedReportList"] = schema({{"reports", "SignedReport[]"}});
    out["Challenge"] = schema({{"nonce", "hash"},
                               {"issued_at_ms", "time"},
                               {"deadline_ms", "time"},
                               {"answered_at_ms", "time?"},
                               {"signature", "bytes?", "the node's over the challenge"},
                               {"withdrawn", "flag", "it counts for nobody"}});
    out["ChallengeList"] = schema({{"challenges", "Challenge[]"}});
    out["Fee"] = schema({{"fee_ppm", "count", "of a round's credits"},
                         {"burned_ppm", "count", "of the fee"},
                         {"changed_at_ms", "time"},
                         {"cost_bound_ppm", "count?",
                          "what compute may cost at the most, verification, bonus and fee "
                          "included; null until the network's services have said it"},
                         {"data_bound_ppm", "count?", "the same of data"}});
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

}  // namespace gym::api
