// Transfers per second, latency and bytes of the ledger with all its checks and with seals being
// made each second, against the usual way to write a ledger on PostgreSQL (LedgerLoad::textbook).
// Same server, same durability (fsync on), same threads. At the end the whole ledger is verified.
//
//     bench_ledger [FILE] [SECONDS]   writes a JSON array of rows, build/bench/ledger.json by
//     default;
//                                     SECONDS for each figure, 4 by default
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gym/db/migrate.hpp"
#include "gym/db/private_cluster.hpp"
#include "gym/ledger/sealer.hpp"
#include "gym/ledger/verify.hpp"
#include "ledger_load.hpp"
#include "provenance.hpp"

namespace {

using namespace gym;
using bench::Load;
using bench::must;
namespace fs = std::filesystem;

constexpr std::size_t kBatch = 1'000;

/// Seals as gym-rewards does, until it is dropped.
class SealingThread {
  public:
    SealingThread(db::Database& database) : thread_([this, &database] { run(database); }) {}
    ~SealingThread() { stop_ = true; }

  private:
    void run(db::Database& database) {
        const SystemClock clock;
        const auto key = crypto::PrivateKey::generate();
        ledger::Sealer sealer(database, clock, key);
        while (!stop_) {
            (void)must(sealer.tick());
            for (int i = 0; i < 20 && !stop_; ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        while (must(sealer.tick())) {
        }
    }
    std::atomic<bool> stop_ = false;
    std::jthread thread_;
};

/// Median milliseconds of making one 8 KiB page durable where the server's files are: no commit is
/// faster.
double sync_ms(const fs::path& folder) {
    const fs::path path = folder / "sync";
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    const std::string page(8192, 'x');
    std::vector<double> ms;
    for (int i = 0; i < 200; ++i) {
        const auto start = std::chrono::steady_clock::now();
        if (::pwrite(file, page.data(), page.size(), 0) < 0 || ::fdatasync(file) != 0) break;
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - start;
        ms.push_back(took.count());
    }
    ::close(file);
    fs::remove(path);
    if (ms.empty()) return NAN;
    std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
    return ms[ms.size() / 2];
}

class Rows {
  public:
    /// @param libraries the peer's server, "PostgreSQL 15.9".
    Rows(std::string note, std::string libraries)
        : note_(std::move(note)), libraries_(std::move(libraries)) {}

    /// `peer` NAN: there is none.
    void add(const std::string& name, double ours, double peer, const char* unit, int threads) {
        const bool less_is_better = std::string(unit) != "transfers/s";
        const double ratio = less_is_better ? peer / ours : ours / peer;
        std::string text = "  {\"name\": \"" + name + "\", \"ours\": " + number(ours) +
                           ", \"peer\": " + number(peer) + ", \"ratio\": " + number(ratio) +
                           ", \"unit\": \"" + unit + "\", \"threads\": " + std::to_string(threads) +
                           ", \"isa\": \"any\", \"command\": \"bench_ledger\", \"cpu\": \"" +
                           bench::cpu_model() + "\", \"libraries\": \"" + libraries_ +
                           "\", \"note\": \"" + note_ + "\"}";
        std::printf("%s\n", text.c_str());
        std::fflush(stdout);
        rows_.push_back(std::move(text));
    }
    [[nodiscard]] bool write(const fs::path& output) const {
        fs::create_directories(output.parent_path().empty() ? "." : output.parent_path());
        std::ofstream file(output);
        file << "[\n";
        for (std::size_t i = 0; i < rows_.size(); ++i)
            file << rows_[i] << (i + 1 < rows_.size() ? ",\n" : "\n");
        file << "]\n";
        return file.good();
    }

  private:
    static std::string number(double value) {
        if (!std::isfinite(value)) return "null";
        char text[64];
        std::snprintf(text, sizeof text, value < 100 ? "%.2f" : "%.0f", value);
        return text;
    }
    std::string note_, libraries_;
    std::vector<std::string> rows_;
};

std::string circumstances(const fs::path& folder) {
    double load[1] = {0};
    (void)::getloadavg(load, 1);
    char text[160];
    std::snprintf(text, sizeof text, "fsync on, a sync %.2f ms, sealing; load %.1f at the start",
                  sync_ms(folder), load[0]);
    return text;
}

std::string server_version(const db::ConnectionConfig& config) {
    const auto database = must(db::Database::open(config));
    return "PostgreSQL " + must(database->transact([](db::Transaction& tx) -> Result<std::string> {
               GYM_TRY(const auto row, tx.exec_one("SHOW server_version"));
               return row.get<std::string>(0);
           }));
}

void measure(bench::LedgerLoad& load, Rows& rows) {
    double best = 0;
    for (const int threads : {1, 2}) {
        const Load wide{threads, false, kBatch}, hot{threads, true, kBatch};
        const double ours = load.ours(wide);
        best = std::max(best, ours);
        rows.add("ledger_100k_accounts_batched", ours, load.textbook({threads, false}),
                 "transfers/s", threads);
        rows.add("ledger_hot_account_batched", load.ours(hot), load.textbook({threads, true}),
                 "transfers/s", threads);
    }
    const double single = load.textbook({1, true});
    rows.add("ledger_hot_account_single", load.ours({1, true, 1}), single, "transfers/s", 1);
    rows.add("ledger_one_client_64_in_flight", load.ours_in_flight(64), single, "transfers/s", 1);
    const bench::Latency ours = load.ours_at(best / 2);
    const bench::Latency peer = load.textbook_at(load.textbook({1, false}) / 2);
    rows.add("ledger_half_load_rate", ours.per_second, peer.per_second, "transfers/s", 1);
    rows.add("ledger_half_load_p50", ours.p50_ms, peer.p50_ms, "ms", 1);
    rows.add("ledger_half_load_p99", ours.p99_ms, peer.p99_ms, "ms", 1);
}

/// Everything that was booked, under seals, recomputed.
void verify(db::Database& database, Rows& rows) {
    const auto start = std::chrono::steady_clock::now();
    ledger::VerifyOptions options;
    options.views = false;
    const ledger::VerifyReport report = must(ledger::verify(database, options));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    for (const ledger::Problem& problem : report.problems)
        std::fprintf(stderr, "bench_ledger: %s\n", to_string(problem).c_str());
    if (!report.problems.empty() || report.unsealed != 0) std::exit(1);
    rows.add("ledger_verify", static_cast<double>(report.transfers) / took.count(), NAN,
             "transfers/s", 1);
    std::printf("verified %llu transfers under %llu seals\n",
                static_cast<unsigned long long>(report.transfers),
                static_cast<unsigned long long>(report.seals));
}

int run(const fs::path& output, std::chrono::seconds time_per_figure) {
    db::ClusterOptions options;
    options.folder = fs::temp_directory_path() / ("gym-bench-pg-" + std::to_string(::getpid()));
    options.die_with_parent = true;
    db::PrivateCluster cluster = must(db::PrivateCluster::prepare(options));
    must(cluster.start());
    must(cluster.create_database("bench"));
    auto config = cluster.superuser("bench");
    config.statement_timeout = std::chrono::milliseconds(0);
    Rows rows(circumstances(options.folder), server_version(config));
    {
        const auto database = must(db::Database::open(config));
        (void)must(db::migrate(*database, fs::path(GYM_BENCH_SOURCE_DIR) / "sql/migrations"));
        bench::LedgerLoad load(*database, time_per_figure);
        {
            const SealingThread sealing(*database);
            measure(load, rows);
        }
        rows.add("ledger_bytes_per_transfer", load.bytes_per_transfer(),
                 load.textbook_bytes_per_transfer(), "bytes", 1);
        verify(*database, rows);
    }
    (void)cluster.stop(db::StopMode::kImmediate);
    fs::remove_all(options.folder);
    return rows.write(output) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc > 1 ? argv[1] : "build/bench/ledger.json",
               std::chrono::seconds(argc > 2 ? std::max(1, std::atoi(argv[2])) : 4));
}
