// Loads for bench_ledger: ours through the ledger's functions, and the usual way to write a ledger
// on PostgreSQL, on tables of its own in the same database.
#pragma once

#include <chrono>
#include <functional>
#include <random>
#include <string>

#include "bench_must.hpp"
#include "ledger_client.hpp"

namespace gym::bench {

inline constexpr int kLedgerAccounts = 100'000;

struct Load {
    int threads = 1;
    bool hot = false;       ///< all credits to one account; else to any of 100,000
    std::size_t batch = 1;  ///< transfers of one call
};

struct Latency {
    double p50_ms = 0;
    double p99_ms = 0;
    double per_second = 0;  ///< reached
};

class LedgerLoad {
  public:
    /// Opens the accounts of both.
    LedgerLoad(db::Database& database, std::chrono::seconds time_per_figure);

    /// Transfers per second.
    double ours(const Load& load);
    /// One transaction per transfer that locks two balances, inserts a transfer and two lines.
    double textbook(const Load& load);
    /// One program whose calls have one transfer each, `in_flight` of them at a time: the group
    /// commit makes batches of them.
    double ours_in_flight(std::size_t in_flight);
    /// One transfer each `1 / per_second`, on time whether or not the ones before have an answer;
    /// latency from when it was due until it is durable.
    Latency ours_at(double per_second);
    Latency textbook_at(double per_second);

    /// Bytes of a transfer on disk, indexes and seals included.
    double bytes_per_transfer();
    double textbook_bytes_per_transfer();

  private:
    std::vector<ledger::TransferRequest> requests(std::mt19937_64& random, const Load& load) const;
    void textbook_transfer(std::mt19937_64& random, bool hot);
    double one_number(const std::string& sql);

    db::Database& database_;
    std::chrono::seconds time_;
    SystemClock clock_;
    ledger::Ledger ledger_;
    ledger::AccountId source_{};
    std::int64_t first_ = 0;
};

}  // namespace gym::bench
