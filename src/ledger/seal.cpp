#include "gym/ledger/seal.hpp"

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/crypto/eip712.hpp"

namespace gym::ledger {
namespace {

using commit::Encoder;

Encoder tagged(std::string_view tag) {
    Encoder out;
    out.raw(as_bytes(tag));
    return out;
}

/// A byte that says whether there is a value, and the value.
template <class T, class F>
void put_optional(Encoder& out, const std::optional<T>& value, F&& put) {
    out.boolean(value.has_value());
    if (value) put(*value);
}

Digest hash(const Encoder& encoder) {
    return commit::sha256(encoder.view());
}

/// The chain is one whatever the network: transfers name their token's chain and contract.
Digest signing_digest(std::uint64_t number, const Digest& hash) {
    static const Digest domain = crypto::domain_separator(
        {.name = "Gym ledger", .version = "1", .chain_id = {}, .verifying_contract = {}});
    return crypto::typed_data_digest(domain,
                                     crypto::StructHasher("LedgerSeal(uint64 number,bytes32 hash)")
                                         .uint(number)
                                         .bytes32(hash)
                                         .finish());
}

}  // namespace

Digest account_digest(AccountId id, const AccountKey& key) {
    Encoder out = tagged("gym.account.v1");
    out.i64(static_cast<std::int64_t>(id)).string(key.owner).string(key.asset);
    return hash(out.string(to_string(key.kind)));
}

Digest transfer_leaf(const SealedTransfer& transfer, const Digest& debit, const Digest& credit) {
    Encoder out = tagged("gym.transfer.v1");
    out.u64(transfer.seq).fixed(transfer.id).u8(static_cast<std::uint8_t>(transfer.kind));
    out.fixed(debit).fixed(credit).raw(transfer.amount.to_be32());
    put_optional(out, transfer.pending, [&](const TransferId& id) { out.fixed(id); });
    put_optional(out, transfer.expires_at, [&](UnixMs at) { out.i64(at); });
    put_optional(out, transfer.group, [&](const TransferId& id) { out.fixed(id); });
    const auto put_entry = [&](const SealedEntry& entry) {
        out.i64(entry.version).string(entry.balance_after);
    };
    put_optional(out, transfer.debit_entry, put_entry);
    put_optional(out, transfer.credit_entry, put_entry);
    return hash(out.string(transfer.reason).i64(transfer.created_at_us));
}

Digest fingerprint(const SealedTransfer& transfer) {
    const auto number = [](AccountId id) { return std::to_string(static_cast<std::int64_t>(id)); };
    const auto uuid = [](const std::optional<TransferId>& id) {
        return id ? to_uuid(*id) : std::string();
    };
    // A resolution names only its pending transfer; the rest is that transfer's.
    std::string text(to_string(transfer.kind));
    text += transfer.pending ? "|||"
                             : "|" + number(transfer.debit) + "|" + number(transfer.credit) + "|" +
                                   transfer.amount.to_string();
    text += "|" + uuid(transfer.pending) + "|";
    text += transfer.expires_at ? std::to_string(*transfer.expires_at) : "";
    text += "|" + uuid(transfer.group) + "|" + transfer.reason;
    return commit::sha256(as_bytes(text));
}

Digest seal_hash(const SealRecord& record) {
    Encoder out = tagged("gym.seal.v1");
    out.u64(record.number).u64(record.first_seq).u64(record.last_seq).u64(record.transfers);
    out.fixed(record.root).fixed(record.previous).i64(record.sealed_at).fixed(record.signer);
    return hash(out);
}

Seal sign_seal(SealRecord record, const crypto::PrivateKey& key) {
    record.signer = key.address();
    Seal seal{record, {}, {}};
    seal.hash = seal_hash(seal.record);
    seal.signature = key.sign_digest(signing_digest(seal.record.number, seal.hash));
    return seal;
}

Status check_seal(const Seal& seal) {
    const std::string name = "seal " + std::to_string(seal.record.number);
    const Digest expected = seal_hash(seal.record);
    if (seal.hash != expected)
        return fail(ErrorCode::kMismatch, name + ": its hash is " + seal.hash.hex() +
                                              ", its content has " + expected.hex());
    const Status status = crypto::verify_signature(signing_digest(seal.record.number, seal.hash),
                                                   seal.signature, seal.record.signer);
    if (!status.ok()) return status.error().in(name);
    return {};
}

}  // namespace gym::ledger
