#pragma once

#include <unordered_map>
#include <vector>

#include "gym/ledger/verify.hpp"
#include "sealed_rows.hpp"

// The books of verify(): all accounts in memory, booked again from the transfers.
namespace gym::ledger {

class Findings {
  public:
    explicit Findings(std::size_t count_max) : count_max_(count_max) {}
    void add(Problem problem) { problems_.push_back(std::move(problem)); }
    [[nodiscard]] bool full() const { return problems_.size() >= count_max_; }
    [[nodiscard]] std::vector<Problem> take() { return std::move(problems_); }

  private:
    std::size_t count_max_;
    std::vector<Problem> problems_;
};

[[nodiscard]] std::string name_of(const SealedTransfer& transfer);

class Books {
  public:
    explicit Books(Findings& findings) : findings_(findings) {}

    /// Names of all accounts, balances zero. @return how many.
    Result<std::uint64_t> open_accounts(db::Transaction& transaction);
    /// The next transfer in order, with its entries.
    void book(const TransferRow& row);
    /// All transfers are booked: compares what is stored of every account.
    Status close(db::Transaction& transaction);
    [[nodiscard]] std::uint64_t entries() const { return entries_; }

    /// Digest of the account's leaf; the zero digest if the account does not exist.
    [[nodiscard]] Digest digest_of(AccountId id) const;

  private:
    struct Account {
        Digest digest;
        std::uint32_t asset = 0;  ///< index in assets_
        bool may_overdraw = false;
        bool is_reported = false;  ///< one wrong entry makes all later ones wrong
        Balance balance;           ///< version: the number of entries
    };
    struct Reservation {
        AccountId debit{};
        AccountId credit{};
        Amount amount;
    };
    struct IdHash {
        std::size_t operator()(const TransferId& id) const noexcept;
    };

    Account* find(AccountId id);
    bool add(Amount& to, const Amount& amount, const SealedTransfer& transfer);
    bool subtract(Amount& from, const Amount& amount, const SealedTransfer& transfer);
    Account* account_of(const SealedTransfer& transfer, AccountId id);
    bool settle_reservation(const SealedTransfer& transfer, Account& debit, Account& credit);
    void check_entry(const SealedTransfer& transfer, AccountId id, Account& account,
                     const std::optional<SealedEntry>& found);
    void compare_account(std::int64_t id, const db::Row& row);

    Findings& findings_;
    std::unordered_map<std::int64_t, Account> accounts_;
    std::unordered_map<std::string, std::uint32_t> assets_;
    std::unordered_map<TransferId, Reservation, IdHash> open_;  ///< pending transfers
    std::uint64_t entries_ = 0;
};

}  // namespace gym::ledger
