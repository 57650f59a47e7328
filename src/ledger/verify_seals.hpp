#pragma once

#include <deque>
#include <map>
#include <set>

#include "gym/commit/merkle.hpp"
#include "verify_books.hpp"

// The chain of seals of verify(), held against the leaves of the transfers.
namespace gym::ledger {

class SealChain {
  public:
    SealChain(Findings& findings, const VerifyOptions& options);

    /// The next transfer in order. @errors of the database.
    Status add(db::Transaction& transaction, const SealedTransfer& transfer, const Digest& leaf);
    /// All transfers were added.
    Status close(db::Transaction& transaction);

    [[nodiscard]] std::uint64_t seals() const { return before_.number; }
    [[nodiscard]] std::uint64_t unsealed() const { return unsealed_; }

  private:
    struct Covered {
        commit::MerkleAccumulator leaves;
        std::uint64_t first_seq = 0;
        std::uint64_t last_seq = 0;
    };

    /// The seal that comes next; null after the last one.
    Result<const Seal*> current(db::Transaction& transaction);
    void close_current();
    bool check_record(const Seal& seal);
    bool check_signer(const Seal& seal);
    bool check_covered(const Seal& seal);
    bool report(const Seal& seal, const char* what, std::string expected, std::string found);

    Findings& findings_;
    std::set<Address> signers_;
    std::map<std::uint64_t, Digest> heads_;  ///< known from outside, not met yet
    std::deque<Seal> waiting_;
    std::uint64_t fetched_ = 0;  ///< number of the last seal read
    SealRecord before_;
    Digest hash_before_;
    Covered covered_;
    std::uint64_t unsealed_ = 0;
};

}  // namespace gym::ledger
