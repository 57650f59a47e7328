#pragma once

#include <array>

#include "gym/commit/merkle.hpp"
#include "gym/ledger/proof.hpp"

namespace gym::api::testing {

/// One that holds: a transfer of 2.5 tokens to address 1 under a seal of two, signed by a new key
/// each time.
inline ledger::TransferProof sample_transfer_proof() {
    ledger::TransferProof out;
    Address payee;
    payee.data.back() = 1;
    out.debit = {"system", "erc20:1:t", ledger::AccountKind::kChainEscrow};
    out.credit = {payee.hex(), "erc20:1:t", ledger::AccountKind::kAvailable};
    out.transfer.seq = 1;
    out.transfer.id = ledger::transfer_id("sample");
    out.transfer.debit = ledger::AccountId{1};
    out.transfer.credit = ledger::AccountId{2};
    out.transfer.amount = Amount::parse_tokens("2.5").value();
    out.transfer.debit_entry = ledger::SealedEntry{1, "-2500000000000000000"};
    out.transfer.credit_entry = ledger::SealedEntry{1, "2500000000000000000"};
    const std::array<Digest, 2> leaves{
        ledger::transfer_leaf(out.transfer, ledger::account_digest(out.transfer.debit, out.debit),
                              ledger::account_digest(out.transfer.credit, out.credit)),
        Digest{}};
    out.siblings = commit::merkle_prove(leaves, 0).value();
    ledger::SealRecord record;
    record.number = record.first_seq = 1;
    record.last_seq = record.transfers = leaves.size();
    record.root = commit::merkle_root(leaves);
    out.seal = ledger::sign_seal(record, crypto::PrivateKey::generate());
    return out;
}

}  // namespace gym::api::testing
