#include "ledger_load.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <future>
#include <thread>
#include <vector>

#include "group_commit.hpp"

namespace gym::bench {
namespace {

using Steady = std::chrono::steady_clock;

// As long as the names of a real token are.
constexpr const char* kAsset = "erc20:31337:0x5fbdb2315678afecb367f032d93f642f64180aa3";

double seconds_since(Steady::time_point start) {
    return std::chrono::duration<double>(Steady::now() - start).count();
}

/// Calls `step(random)`, which returns how many transfers it made, on `threads` threads.
double per_second(int threads, std::chrono::seconds time,
                  const std::function<std::size_t(std::mt19937_64&)>& step) {
    std::atomic<std::size_t> total = 0;
    const auto start = Steady::now();
    std::vector<std::jthread> pool;
    pool.reserve(static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread)
        pool.emplace_back([&, thread] {
            std::mt19937_64 random(std::random_device{}() + static_cast<std::uint64_t>(thread));
            while (Steady::now() - start < time)
                total += step(random);
        });
    pool.clear();
    return static_cast<double>(total) / seconds_since(start);
}

Latency summarise(std::vector<double> ms, double seconds) {
    std::sort(ms.begin(), ms.end());
    const auto at = [&](double q) {
        return ms.empty() ? 0
                          : ms[static_cast<std::size_t>(q * static_cast<double>(ms.size() - 1))];
    };
    return {at(0.5), at(0.99), static_cast<double>(ms.size()) / seconds};
}

ledger::TransferId random_id(std::mt19937_64& random) {
    ledger::TransferId id;
    for (auto& byte : id.data)
        byte = static_cast<std::uint8_t>(random());
    return id;
}

/// A thousandth of a token to one token, to the last of its 18 digits.
Amount random_amount(std::mt19937_64& random) {
    return Amount(1'000'000'000'000'000 + random() % 999'000'000'000'000'000);
}

void must_be_created(const std::vector<ledger::TransferStatus>& statuses) {
    for (const auto status : statuses)
        if (status != ledger::TransferStatus::kCreated) std::abort();
}

}  // namespace

LedgerLoad::LedgerLoad(db::Database& database, std::chrono::seconds time_per_figure)
    : database_(database), time_(time_per_figure), ledger_(database, clock_) {
    must(database_.transact([&](db::Transaction& tx) -> Status {
        // Opened in bulk: the figure is about transfers.
        GYM_CHECK(
            tx.exec("INSERT INTO ledger.account (owner, asset, kind) SELECT '0x' || "
                    "encode(substr(sha256(n::text::bytea), 1, 20), 'hex'), $1, 'available' "
                    "FROM generate_series(1, $2) n",
                    {kAsset, kLedgerAccounts}));
        GYM_CHECK(tx.exec_script(
            "CREATE TABLE public.balance (id bigint PRIMARY KEY, amount numeric(78,0) NOT NULL);"
            "CREATE TABLE public.movement (id uuid PRIMARY KEY, debit bigint REFERENCES "
            "public.balance, credit bigint REFERENCES public.balance, amount numeric(78,0) NOT "
            "NULL, "
            "reason text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());"
            "CREATE TABLE public.line (movement uuid REFERENCES public.movement, account bigint, "
            "delta numeric(78,0));"
            "CREATE INDEX ON public.line (account);"
            "INSERT INTO public.balance SELECT n, 10::numeric ^ 40 FROM generate_series(0, 100000) "
            "n;"
            "ANALYZE"));
        GYM_TRY(const db::Row row, tx.exec_one("SELECT min(id) FROM ledger.account"));
        first_ = row.get<std::int64_t>(0);
        return {};
    }));
    source_ = must(ledger_.open_account({"system", kAsset, ledger::AccountKind::kChainEscrow}));
}

std::vector<ledger::TransferRequest> LedgerLoad::requests(std::mt19937_64& random,
                                                          const Load& load) const {
    std::vector<ledger::TransferRequest> out(load.batch);
    for (auto& request : out) {
        request.id = random_id(random);
        request.debit = source_;
        request.credit = ledger::AccountId{
            first_ + (load.hot ? 0 : static_cast<std::int64_t>(random() % kLedgerAccounts))};
        request.amount = random_amount(random);
        request.reason = "compute";
    }
    return out;
}

double LedgerLoad::ours(const Load& load) {
    return per_second(load.threads, time_, [&](std::mt19937_64& random) {
        must_be_created(must(ledger_.submit(requests(random, load))));
        return load.batch;
    });
}

void LedgerLoad::textbook_transfer(std::mt19937_64& random, bool hot) {
    const std::int64_t from = 0;
    const std::int64_t to = hot ? 1 : 1 + static_cast<std::int64_t>(random() % kLedgerAccounts);
    const std::string id = to_uuid(random_id(random));
    const Amount amount = random_amount(random);
    must(database_.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(tx.exec(
            "SELECT amount FROM public.balance WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE",
            {db::Param::array(std::vector{from, to})}));
        GYM_CHECK(tx.exec("INSERT INTO public.movement VALUES ($1, $2, $3, $4, 'compute')",
                          {id, from, to, amount}));
        GYM_CHECK(
            tx.exec("INSERT INTO public.line VALUES ($1, $2, -$4::numeric), ($1, $3, $4::numeric)",
                    {id, from, to, amount}));
        GYM_CHECK(tx.exec("UPDATE public.balance SET amount = amount - $2 WHERE id = $1",
                          {from, amount}));
        GYM_CHECK(
            tx.exec("UPDATE public.balance SET amount = amount + $2 WHERE id = $1", {to, amount}));
        return {};
    }));
}

double LedgerLoad::textbook(const Load& load) {
    return per_second(load.threads, time_, [&](std::mt19937_64& random) {
        textbook_transfer(random, load.hot);
        return std::size_t{1};
    });
}

double LedgerLoad::ours_in_flight(std::size_t in_flight) {
    ledger::GroupCommit group(database_, clock_, {.linger = std::chrono::milliseconds(1)});
    std::deque<std::future<ledger::GroupCommit::Outcome>> waiting;
    return per_second(1, time_, [&](std::mt19937_64& random) {
        waiting.push_back(group.submit(requests(random, {.hot = true})));
        if (waiting.size() < in_flight) return std::size_t{0};
        must_be_created(must(waiting.front().get()));
        waiting.pop_front();
        return std::size_t{1};
    });
}

Latency LedgerLoad::ours_at(double rate) {
    struct Sent {
        Steady::time_point due;
        std::future<ledger::GroupCommit::Outcome> outcome;
    };
    ledger::GroupCommit group(database_, clock_, {.queue_max = 1'000'000});
    const auto start = Steady::now();
    const auto count = static_cast<std::size_t>(rate * static_cast<double>(time_.count()));
    std::vector<Sent> sent(count);
    std::atomic<std::size_t> ready = 0;
    std::jthread sender([&] {
        std::mt19937_64 random(std::random_device{}());
        for (std::size_t i = 0; i < count; ++i) {
            sent[i].due = start + std::chrono::duration_cast<Steady::duration>(
                                      std::chrono::duration<double>(static_cast<double>(i) / rate));
            std::this_thread::sleep_until(sent[i].due);
            sent[i].outcome = group.submit(requests(random, {}));
            ready.store(i + 1, std::memory_order_release);
        }
    });
    std::vector<double> ms;
    for (std::size_t i = 0; i < count; ++i) {
        while (ready.load(std::memory_order_acquire) <= i)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        must_be_created(must(sent[i].outcome.get()));
        ms.push_back(
            std::chrono::duration<double, std::milli>(Steady::now() - sent[i].due).count());
    }
    return summarise(std::move(ms), seconds_since(start));
}

Latency LedgerLoad::textbook_at(double rate) {
    std::mt19937_64 random(std::random_device{}());
    const auto start = Steady::now();
    std::vector<double> ms;
    for (std::size_t i = 0; seconds_since(start) < static_cast<double>(time_.count()); ++i) {
        const auto due = start + std::chrono::duration_cast<Steady::duration>(
                                     std::chrono::duration<double>(static_cast<double>(i) / rate));
        std::this_thread::sleep_until(due);
        textbook_transfer(random, false);
        ms.push_back(std::chrono::duration<double, std::milli>(Steady::now() - due).count());
    }
    return summarise(std::move(ms), seconds_since(start));
}

double LedgerLoad::one_number(const std::string& sql) {
    return must(database_.transact([&](db::Transaction& tx) -> Result<double> {
        GYM_TRY(const db::Row row, tx.exec_one(sql));
        return row.get<double>(0);
    }));
}

double LedgerLoad::bytes_per_transfer() {
    return one_number(
        "SELECT (pg_total_relation_size('ledger.transfer') + "
        "pg_total_relation_size('ledger.seal'))::"
        "float8 / (SELECT count(*) FROM ledger.transfer)");
}

double LedgerLoad::textbook_bytes_per_transfer() {
    return one_number(
        "SELECT (pg_total_relation_size('public.movement') + "
        "pg_total_relation_size('public.line'))::"
        "float8 / (SELECT count(*) FROM public.movement)");
}

}  // namespace gym::bench
