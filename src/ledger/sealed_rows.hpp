#pragma once

#include <unordered_map>
#include <vector>

#include "gym/db/database.hpp"
#include "gym/ledger/seal.hpp"

// Reading what seals are made of.
namespace gym::ledger {

struct TransferRow {
    SealedTransfer transfer;
    Digest fingerprint;  ///< as stored
};

struct SeqRange {
    std::uint64_t after = 0;
    std::uint64_t up_to = 0;
};

/// For the rest of the transaction: no plan that was made while the tables were small scans them as
/// a whole for a few rows once they are large.
Status read_in_order(db::Transaction& transaction);

/// Transfers of a range in the order of their sequence numbers, at most `count_max`.
Result<std::vector<TransferRow>> read_transfers(db::Transaction& transaction, SeqRange range,
                                                std::size_t count_max);

/// Seals after `number` in order, at most `count_max`.
Result<std::vector<Seal>> read_seals(db::Transaction& transaction, std::uint64_t number,
                                     std::size_t count_max);

/// Digests of accounts by id, each read once. Names never change, so a digest stays right.
class AccountDigests {
  public:
    /// Reads what is missing of the accounts of `rows`.
    Status load(db::Transaction& transaction, const std::vector<TransferRow>& rows);
    /// @pre the account was loaded.
    [[nodiscard]] const Digest& of(AccountId id) const { return digests_.at(number(id)); }

  private:
    static std::int64_t number(AccountId id) { return static_cast<std::int64_t>(id); }
    std::unordered_map<std::int64_t, Digest> digests_;
};

/// The leaf of each row. @pre its accounts are loaded.
void append_leaves(std::vector<Digest>& leaves, const std::vector<TransferRow>& rows,
                   const AccountDigests& accounts);

}  // namespace gym::ledger
