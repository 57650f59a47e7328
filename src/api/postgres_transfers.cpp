#include "gym/ledger/proof.hpp"
#include "postgres_calls.hpp"

// Proofs of transfers.
namespace gym::api {
namespace {

/// @errors kNotFound; kPermissionDenied unless one of the two accounts is the reader's own or that
/// of a job of theirs.
Status check_reader(db::Transaction& tx, const Address& reader, const ledger::TransferId& id) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT $2 IN (d.owner, c.owner) OR EXISTS (SELECT FROM registry.job "
                             "j WHERE j.owner = $3 AND 'job:0x' || encode(j.id, 'hex') IN "
                             "(d.owner, c.owner)) FROM ledger.transfer t "
                             "JOIN ledger.account d ON d.id = t.debit_account "
                             "JOIN ledger.account c ON c.id = t.credit_account WHERE t.id = $1",
                             {ledger::to_uuid(id), reader.hex(), reader}));
    if (!row) return fail(ErrorCode::kNotFound, "no transfer " + ledger::to_uuid(id));
    if (row->get<bool>(0)) return {};
    return fail(ErrorCode::kPermissionDenied, "transfer " + ledger::to_uuid(id) +
                                                  " touches no account of " + reader.hex() +
                                                  ": only who pays or is paid gets its proof");
}

}  // namespace

Result<ledger::TransferProof> PostgresBackend::transfer_proof(const Address& reader,
                                                              const ledger::TransferId& id) {
    auto proof =
        calls::read(database_, options_, [&](db::Transaction& tx) -> Result<ledger::TransferProof> {
            GYM_CHECK(check_reader(tx, reader, id));
            return ledger::prove_transfer(tx, id);
        });
    if (proof.ok() || proof.error().code != ErrorCode::kMismatch) return proof;
    // Rows that no longer make their seal's root are our fault, not the request's.
    return fail(ErrorCode::kInternal, proof.error().message);
}

}  // namespace gym::api
