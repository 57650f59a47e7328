#include <boost/json.hpp>

#include "gym/common/json_fields.hpp"
#include "gym/common/printable.hpp"
#include "gym/ledger/proof.hpp"

namespace gym::ledger {
namespace {

namespace json = boost::json;

constexpr std::string_view kFormat = "gym.ledger_proof.v1";
constexpr std::size_t kSiblingsMax = 16;  // kSealTransfersMax = 2^16

json::object account_object(AccountId id, const AccountKey& key) {
    return {{"id", static_cast<std::int64_t>(id)},
            {"owner", key.owner},
            {"asset", key.asset},
            {"kind", to_string(key.kind)}};
}

json::object entry_object(const SealedEntry& entry) {
    return {{"version", entry.version}, {"balance_after", entry.balance_after}};
}

json::object transfer_object(const TransferProof& proof) {
    const SealedTransfer& transfer = proof.transfer;
    json::object out{{"id", to_uuid(transfer.id)},
                     {"seq", transfer.seq},
                     {"kind", to_string(transfer.kind)},
                     {"debit", account_object(transfer.debit, proof.debit)},
                     {"credit", account_object(transfer.credit, proof.credit)},
                     {"amount", transfer.amount.to_string()},
                     {"reason", transfer.reason},
                     {"created_at_us", transfer.created_at_us}};
    if (transfer.pending) out["pending"] = to_uuid(*transfer.pending);
    if (transfer.expires_at) out["expires_at_ms"] = *transfer.expires_at;
    if (transfer.group) out["group"] = to_uuid(*transfer.group);
    if (transfer.debit_entry) out["debit_entry"] = entry_object(*transfer.debit_entry);
    if (transfer.credit_entry) out["credit_entry"] = entry_object(*transfer.credit_entry);
    return out;
}

json::object seal_object(const Seal& seal) {
    const SealRecord& record = seal.record;
    return {{"number", record.number},          {"first_seq", record.first_seq},
            {"last_seq", record.last_seq},      {"transfers", record.transfers},
            {"root", record.root.hex()},        {"previous", record.previous.hex()},
            {"sealed_at_ms", record.sealed_at}, {"signer", record.signer.hex()},
            {"hash", seal.hash.hex()},          {"signature", seal.signature.hex()}};
}

// Reading: what throws is caught by parse_proof().

using json_fields::amount_of;
using json_fields::fixed_of;
using json_fields::number_of;
using json_fields::take;
using json_fields::text_of;

struct NamedAccount {
    AccountId id{};
    AccountKey key;
};

/// People read these; the sealer chooses their content.
std::string printable_of(const json::object& object, std::string_view key) {
    std::string text = text_of(object, key);
    if (!is_printable(text))
        throw std::runtime_error("'" + std::string(key) + "' has a control character");
    return text;
}

NamedAccount read_account(const json::object& object) {
    return {AccountId{number_of<std::int64_t>(object, "id")},
            {printable_of(object, "owner"), printable_of(object, "asset"),
             take(parse_account_kind(text_of(object, "kind")))}};
}

std::optional<SealedEntry> read_entry(const json::object& object, std::string_view key) {
    if (!object.contains(key)) return std::nullopt;
    const json::object& entry = object.at(key).as_object();
    return SealedEntry{number_of<std::int64_t>(entry, "version"), text_of(entry, "balance_after")};
}

void read_transfer(const json::object& object, TransferProof& proof) {
    SealedTransfer& transfer = proof.transfer;
    transfer.id = take(parse_uuid(text_of(object, "id")));
    transfer.seq = number_of(object, "seq");
    transfer.kind = take(parse_transfer_kind(text_of(object, "kind")));
    NamedAccount debit = read_account(object.at("debit").as_object());
    NamedAccount credit = read_account(object.at("credit").as_object());
    transfer.debit = debit.id;
    transfer.credit = credit.id;
    proof.debit = std::move(debit.key);
    proof.credit = std::move(credit.key);
    transfer.amount = amount_of(object, "amount");
    transfer.reason = printable_of(object, "reason");
    transfer.created_at_us = number_of<std::int64_t>(object, "created_at_us");
    if (object.contains("pending")) transfer.pending = take(parse_uuid(text_of(object, "pending")));
    if (object.contains("expires_at_ms"))
        transfer.expires_at = number_of<UnixMs>(object, "expires_at_ms");
    if (object.contains("group")) transfer.group = take(parse_uuid(text_of(object, "group")));
    transfer.debit_entry = read_entry(object, "debit_entry");
    transfer.credit_entry = read_entry(object, "credit_entry");
}

Seal read_seal(const json::object& object) {
    Seal seal;
    seal.record.number = number_of(object, "number");
    seal.record.first_seq = number_of(object, "first_seq");
    seal.record.last_seq = number_of(object, "last_seq");
    seal.record.transfers = number_of(object, "transfers");
    seal.record.root = fixed_of<Digest>(object, "root");
    seal.record.previous = fixed_of<Digest>(object, "previous");
    seal.record.sealed_at = number_of<UnixMs>(object, "sealed_at_ms");
    seal.record.signer = fixed_of<Address>(object, "signer");
    seal.hash = fixed_of<Digest>(object, "hash");
    seal.signature = fixed_of<crypto::Signature>(object, "signature");
    return seal;
}

TransferProof read_proof(const json::object& object) {
    if (text_of(object, "format") != kFormat) throw std::runtime_error("another format");
    TransferProof proof;
    read_transfer(object.at("transfer").as_object(), proof);
    proof.index = number_of(object, "index");
    const json::array& siblings = object.at("siblings").as_array();
    if (siblings.size() > kSiblingsMax) throw std::runtime_error("the path is too long");
    for (const json::value& sibling : siblings)
        proof.siblings.push_back(take(Digest::parse(std::string(sibling.as_string()))));
    proof.seal = read_seal(object.at("seal").as_object());
    return proof;
}

}  // namespace

std::string encode_proof(const TransferProof& proof) {
    json::array siblings;
    for (const Digest& sibling : proof.siblings)
        siblings.emplace_back(sibling.hex());
    return json::serialize(json::object{{"format", kFormat},
                                        {"transfer", transfer_object(proof)},
                                        {"index", proof.index},
                                        {"siblings", std::move(siblings)},
                                        {"seal", seal_object(proof.seal)}});
}

Result<TransferProof> parse_proof(std::string_view text) {
    try {
        return read_proof(json::parse(json::string_view(text.data(), text.size())).as_object());
    } catch (const boost::system::system_error& e) {  // its what() names lines of Boost
        return fail(ErrorCode::kMalformed, "no proof of a transfer: " + e.code().message());
    } catch (const std::exception& e) {
        return fail(ErrorCode::kMalformed, std::string("no proof of a transfer: ") + e.what());
    }
}

}  // namespace gym::ledger
