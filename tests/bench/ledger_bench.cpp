// Transfers per second of the ledger, batched as the services use it, against the usual way to
// write a ledger on PostgreSQL: one transaction per transfer that locks two balances, inserts a
// transfer and two entries. Same server, same durability (fsync on), same threads.
//
//     bench_ledger [FILE]      writes a JSON array of rows, build/bench/ledger.json by default
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "gym/db/migrate.hpp"
#include "gym/db/private_cluster.hpp"
#include "gym/ledger/ledger.hpp"

namespace {

using namespace gym;
namespace fs = std::filesystem;

constexpr auto kTimePerFigure = std::chrono::seconds(4);
constexpr std::size_t kBatch = 1'000;
constexpr int kAccounts = 100'000;
constexpr const char* kAsset = "erc20:1:bench";

template <class T>
T must(Result<T> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "bench_ledger: %s\n", result.error().message.c_str());
        std::exit(1);
    }
    return std::move(result).value();
}
void must(const Status& status) {
    if (!status.ok()) (void)must(Result<int>(status.error()));
}

/// Calls `step(thread, random)`, which returns how many transfers it made, on `threads` threads.
double per_second(int threads, const std::function<std::size_t(int, std::mt19937_64&)>& step) {
    std::atomic<std::size_t> total = 0;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::jthread> pool;
    for (int thread = 0; thread < threads; ++thread)
        pool.emplace_back([&, thread] {
            std::mt19937_64 random(std::random_device{}() + static_cast<std::uint64_t>(thread));
            while (std::chrono::steady_clock::now() - start < kTimePerFigure)
                total += step(thread, random);
        });
    pool.clear();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return static_cast<double>(total) / elapsed.count();
}

ledger::TransferId random_id(std::mt19937_64& random) {
    ledger::TransferId id;
    for (auto& byte : id.data)
        byte = static_cast<std::uint8_t>(random());
    return id;
}

class Bench {
  public:
    explicit Bench(db::Database& database) : database_(database), ledger_(database, clock_) {
        must(database_.transact([&](db::Transaction& tx) -> Status {
            // Opened in bulk: the figure is about transfers.
            GYM_CHECK(
                tx.exec("INSERT INTO ledger.account (owner, asset, kind) SELECT 'owner ' || n, $1, "
                        "'available' FROM generate_series(1, $2) n",
                        {kAsset, kAccounts}));
            GYM_CHECK(tx.exec_script(
                "CREATE TABLE public.balance (id bigint PRIMARY KEY, amount numeric(78,0) NOT "
                "NULL);"
                "CREATE TABLE public.movement (id uuid PRIMARY KEY, debit bigint REFERENCES "
                "public.balance, "
                "credit bigint REFERENCES public.balance, amount numeric(78,0) NOT NULL);"
                "CREATE TABLE public.line (movement uuid REFERENCES public.movement, account "
                "bigint, "
                "delta numeric(78,0));"
                "INSERT INTO public.balance SELECT n, 1000000000 FROM generate_series(0, 100000) n;"
                "ANALYZE"));
            return {};
        }));
        source_ = must(ledger_.open_account({"system", kAsset, ledger::AccountKind::kChainEscrow}));
        first_ = static_cast<std::int64_t>(
            must(ledger_.open_account({"owner 1", kAsset, ledger::AccountKind::kAvailable})));
    }

    double ours(int threads, bool hot, std::size_t batch) {
        return per_second(threads, [&](int, std::mt19937_64& random) {
            std::vector<ledger::TransferRequest> requests(batch);
            for (auto& request : requests) {
                request.id = random_id(random);
                request.debit = source_;
                request.credit = any_account(random, hot);
                request.amount = Amount(1 + random() % 1'000);
                request.reason = "bench";
            }
            for (const auto status : must(ledger_.submit(requests)))
                if (status != ledger::TransferStatus::kCreated) std::abort();
            return batch;
        });
    }

    double textbook(int threads, bool hot) {
        return per_second(threads, [&](int, std::mt19937_64& random) -> std::size_t {
            const std::int64_t from = 0;
            const std::int64_t to = hot ? 1 : 1 + static_cast<std::int64_t>(random() % kAccounts);
            const std::string id = to_uuid(random_id(random));
            must(database_.transact([&](db::Transaction& tx) -> Status {
                GYM_CHECK(tx.exec(
                    "SELECT amount FROM public.balance WHERE id = ANY($1::bigint[]) ORDER BY id "
                    "FOR UPDATE",
                    {db::Param::array(std::vector{from, to})}));
                GYM_CHECK(
                    tx.exec("INSERT INTO public.movement VALUES ($1, $2, $3, 1)", {id, from, to}));
                GYM_CHECK(tx.exec("INSERT INTO public.line VALUES ($1, $2, -1), ($1, $3, 1)",
                                  {id, from, to}));
                GYM_CHECK(
                    tx.exec("UPDATE public.balance SET amount = amount - 1 WHERE id = $1", {from}));
                GYM_CHECK(
                    tx.exec("UPDATE public.balance SET amount = amount + 1 WHERE id = $1", {to}));
                return {};
            }));
            return 1;
        });
    }

  private:
    ledger::AccountId any_account(std::mt19937_64& random, bool hot) const {
        return ledger::AccountId{first_ +
                                 (hot ? 0 : static_cast<std::int64_t>(random() % kAccounts))};
    }

    db::Database& database_;
    SystemClock clock_;
    ledger::Ledger ledger_;
    ledger::AccountId source_{};
    std::int64_t first_ = 0;
};

std::string row(const std::string& name, double ours, double peer, int threads) {
    char text[512];
    std::snprintf(
        text, sizeof text,
        "  {\"name\": \"%s\", \"ours\": %.0f, \"peer\": %.0f, \"ratio\": %.2f, \"unit\": "
        "\"transfers/s\", \"threads\": %d, \"isa\": \"any\", \"command\": \"bench_ledger\"}",
        name.c_str(), ours, peer, ours / peer, threads);
    std::printf("%s\n", text);
    return text;
}

int run(const fs::path& output) {
    db::ClusterOptions options;
    options.folder = fs::temp_directory_path() / ("gym-bench-pg-" + std::to_string(::getpid()));
    options.die_with_parent = true;
    db::PrivateCluster cluster = must(db::PrivateCluster::prepare(options));
    must(cluster.start());
    must(cluster.create_database("bench"));
    std::vector<std::string> rows;
    {
        const auto database = must(db::Database::open(cluster.superuser("bench")));
        (void)must(db::migrate(*database, fs::path(GYM_BENCH_SOURCE_DIR) / "sql/migrations"));
        Bench bench(*database);
        for (const int threads : {1, 2}) {
            rows.push_back(row("ledger_100k_accounts_batched", bench.ours(threads, false, kBatch),
                               bench.textbook(threads, false), threads));
            rows.push_back(row("ledger_hot_account_batched", bench.ours(threads, true, kBatch),
                               bench.textbook(threads, true), threads));
        }
        rows.push_back(
            row("ledger_hot_account_single", bench.ours(1, true, 1), bench.textbook(1, true), 1));
    }
    (void)cluster.stop(db::StopMode::kImmediate);
    fs::remove_all(options.folder);
    fs::create_directories(output.parent_path().empty() ? "." : output.parent_path());
    std::ofstream file(output);
    file << "[\n";
    for (std::size_t i = 0; i < rows.size(); ++i)
        file << rows[i] << (i + 1 < rows.size() ? ",\n" : "\n");
    file << "]\n";
    return file.good() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc > 1 ? argv[1] : "build/bench/ledger.json");
}
