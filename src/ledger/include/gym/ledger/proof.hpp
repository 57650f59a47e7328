#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/seal.hpp"

namespace gym::ledger {

/// A proof that a transfer is in the ledger, for a reader without the ledger: the transfer, its
/// accounts by name, the path to a root, and the signed seal of that root.
struct TransferProof {
    SealedTransfer transfer;
    AccountKey debit;
    AccountKey credit;
    std::uint64_t index = 0;  ///< of its leaf
    std::vector<Digest> siblings;
    Seal seal;
    friend bool operator==(const TransferProof&, const TransferProof&) = default;
};

/// @errors kNotFound for an unknown transfer; kConflict if no seal covers it yet; kMismatch if the
/// transfers under its seal no longer make its root.
Result<TransferProof> prove_transfer(db::Transaction& transaction, const TransferId& id);

/// @errors kMismatch if the path does not lead to the root or the transfer is outside the seal's
/// range; kMalformed for a path of another length; as check_seal().
Status check_proof(const TransferProof& proof);

/// One JSON object.
[[nodiscard]] std::string encode_proof(const TransferProof& proof);
/// @errors kMalformed. Does not check the proof.
[[nodiscard]] Result<TransferProof> parse_proof(std::string_view json);

}  // namespace gym::ledger
