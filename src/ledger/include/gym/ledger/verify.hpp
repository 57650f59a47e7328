#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/ledger/seal.hpp"

namespace gym::ledger {

struct VerifyProgress {
    std::uint64_t transfers = 0;  ///< booked so far
    std::uint64_t seq = 0;        ///< of the last of them
    std::uint64_t seq_max = 0;    ///< of the last of all
};

struct VerifyOptions {
    /// The addresses that may sign seals; empty: the signer of the first seal signs all.
    std::vector<Address> signers;
    /// Seals known from outside (epoch files): the chain must have them.
    std::vector<SealHead> heads;
    std::size_t page = 5'000;                             ///< transfers of one read
    std::size_t problems_max = 100;                       ///< it stops after so many
    bool views = true;                                    ///< also reads the views of schema audit
    std::function<void(const VerifyProgress&)> progress;  ///< after each page
};

/// A row that contradicts the rest of the ledger.
struct Problem {
    std::string
        row;  ///< "transfer 0f..-.. (seq 7)", "entry 3 of account 12", "account 12", "seal 4"
    std::string what;
    std::string expected;  ///< may be empty
    std::string found;     ///< may be empty
    friend bool operator==(const Problem&, const Problem&) = default;
};
/// "seal 4: root: expected 0x.., found 0x.."
[[nodiscard]] std::string to_string(const Problem& problem);

struct VerifyReport {
    std::uint64_t accounts = 0;
    std::uint64_t transfers = 0;
    std::uint64_t entries = 0;
    std::uint64_t seals = 0;
    std::uint64_t unsealed = 0;     ///< transfers after the last seal
    std::vector<Problem> problems;  ///< in the order of the transfers; empty if the ledger is right
};

/// Books the whole ledger again from its transfers, in order and in memory, and compares every row:
/// fingerprints, resolutions, entries, balances, limits, seals and the chain of seals. One
/// snapshot; writers are not disturbed. Memory: some 300 bytes an account and 100 a pending
/// transfer that is open. Needs a role that may read schema ledger (gym_auditor).
Result<VerifyReport> verify(db::Database& database, const VerifyOptions& options = {});

}  // namespace gym::ledger
