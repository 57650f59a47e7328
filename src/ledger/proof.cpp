#include "gym/ledger/proof.hpp"

#include "gym/commit/merkle.hpp"
#include "sealed_rows.hpp"

namespace gym::ledger {
namespace {

using db::Transaction;

Result<std::uint64_t> seq_of(Transaction& transaction, const TransferId& id) {
    GYM_TRY(const auto row, transaction.exec_optional(
                                "SELECT seq FROM ledger.transfer WHERE id = $1", {to_uuid(id)}));
    if (!row) return fail(ErrorCode::kNotFound, "no transfer " + to_uuid(id));
    return row->get<std::uint64_t>(0);
}

struct Covering {
    Seal seal;
    std::uint64_t after = 0;  ///< last number of the seal before
};

Result<Covering> seal_over(Transaction& transaction, std::uint64_t seq) {
    GYM_TRY(const auto row,
            transaction.exec_optional(
                "SELECT s.number, coalesce((SELECT p.last_seq FROM ledger.seal p WHERE p.number = "
                "s.number - 1), 0) FROM ledger.seal s WHERE s.last_seq >= $1 "
                "ORDER BY s.number LIMIT 1",
                {seq}));
    if (!row)
        return fail(ErrorCode::kConflict,
                    "no seal covers the transfer yet: gym-rewards makes one at most each second; "
                    "ask again then");
    GYM_TRY(const auto seals, read_seals(transaction, row->get<std::uint64_t>(0) - 1, 1));
    GYM_ASSERT(seals.size() == 1, "the seal that was just found");
    return Covering{seals.front(), row->get<std::uint64_t>(1)};
}

Result<AccountKey> name_of(Transaction& transaction, AccountId id) {
    GYM_TRY(const db::Row row,
            transaction.exec_one("SELECT owner, asset, kind FROM ledger.account WHERE id = $1",
                                 {static_cast<std::int64_t>(id)}));
    AccountKey key{row.get<std::string>(0), row.get<std::string>(1), {}};
    GYM_TRY(key.kind, parse_account_kind(row.get<std::string>(2)));
    return key;
}

}  // namespace

Result<TransferProof> prove_transfer(Transaction& transaction, const TransferId& id) {
    GYM_TRY(const std::uint64_t seq, seq_of(transaction, id));
    GYM_TRY(const Covering covering, seal_over(transaction, seq));
    TransferProof proof;
    proof.seal = covering.seal;
    GYM_TRY(const auto rows,
            read_transfers(transaction, {covering.after, proof.seal.record.last_seq},
                           kSealTransfersMax + 1));
    AccountDigests accounts;
    GYM_CHECK(accounts.load(transaction, rows));
    std::vector<Digest> leaves;
    append_leaves(leaves, rows, accounts);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].transfer.seq != seq) continue;
        proof.index = i;
        proof.transfer = rows[i].transfer;
    }
    GYM_TRY(proof.siblings, commit::merkle_prove(leaves, proof.index));
    GYM_TRY(proof.debit, name_of(transaction, proof.transfer.debit));
    GYM_TRY(proof.credit, name_of(transaction, proof.transfer.credit));
    GYM_CHECK(check_proof(proof));
    return proof;
}

Status check_proof(const TransferProof& proof) {
    const SealRecord& record = proof.seal.record;
    GYM_CHECK(check_seal(proof.seal));
    if (proof.transfer.seq < record.first_seq || proof.transfer.seq > record.last_seq ||
        record.transfers < 1 || record.transfers > kSealTransfersMax)
        return fail(ErrorCode::kMismatch,
                    "the transfer is outside the range of seal " + std::to_string(record.number));
    if (proof.debit.asset != proof.credit.asset)
        return fail(ErrorCode::kMismatch, "the two accounts are of different assets");
    const Digest leaf =
        transfer_leaf(proof.transfer, account_digest(proof.transfer.debit, proof.debit),
                      account_digest(proof.transfer.credit, proof.credit));
    const Status status =
        commit::merkle_verify(record.root, {proof.index, record.transfers}, leaf, proof.siblings);
    if (!status.ok())
        return status.error().in("transfer " + to_uuid(proof.transfer.id) + " under seal " +
                                 std::to_string(record.number));
    return {};
}

}  // namespace gym::ledger
