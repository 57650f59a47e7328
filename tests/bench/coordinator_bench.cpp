// What the coordinator's control plane carries: the real program and PostgreSQL (synced commits), a
// chain, and many nodes with a connection each from this one process. Nothing is trained. Phases:
// registration; idle (heartbeats, open polls, challenges); the same with `--hostile` connections of
// strangers; a round of as many units as nodes, in jobs of at most `--slots`; commitments all at
// once; the seal; receipts.
//
//     bench_coordinator [--nodes 200,1000,5000] [--slots 5000] [--seconds 30] [--hostile 0]
//                       [--output FILE]
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "coordinator_rounds.hpp"
#include "gym/common/open_files.hpp"
#include "hostile_crowd.hpp"
#include "load_network.hpp"
#include "load_nodes.hpp"
#include "process_usage.hpp"

namespace {

using namespace gym;
using namespace gym::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kHeartbeatEveryMs = 5'000;
constexpr std::uint32_t kPollWaitMs = 10'000;
/// Between two calls of a stranger, and before it connects again.
constexpr seconds kHostileEvery{20};

double seconds_since(SteadyClock::time_point start) {
    return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Figures of one number of nodes.
class Run {
  public:
    Run(const bench::Options& options, std::uint32_t nodes, std::uint32_t slots, int idle_s,
        std::uint32_t hostile)
        : options_(options),
          count_(nodes),
          slots_(std::min(nodes, slots)),
          idle_s_(idle_s),
          hostile_(hostile),
          network_(network_options()),
          nodes_({nodes, {network_.target(0)}, kHeartbeatEveryMs, kPollWaitMs}) {}

    void go() {
        registration();
        idle();
        if (hostile_ > 0) beside_strangers();
        round();
        one_round();
        nodes_.stop();
        memory();
    }

  private:
    static LoadOptions network_options() {
        LoadOptions out;
        out.heartbeat_every_ms = kHeartbeatEveryMs;
        out.durable = out.statements = true;
        return out;
    }

    void row(const std::string& name, double value, const std::string& unit,
             const std::string& note = "") {
        bench::Row out;
        out.name = "coordinator_" + std::to_string(count_) + "_" + name;
        out.ours = value;
        out.peer = out.ratio = std::numeric_limits<double>::quiet_NaN();
        out.unit = unit;
        out.threads = 2;
        out.isa = "any";
        out.note = note;
        bench::report(options_, out);
    }

    void calls(const std::string& phase, std::initializer_list<LoadCall> kinds) {
        for (const LoadCall kind : kinds) {
            const LatencySummary summary = nodes_.log().take(kind);
            const std::string name = phase + "_" + kLoadCallNames[static_cast<std::size_t>(kind)];
            std::ostringstream note;
            note << summary.count << " calls, " << summary.failed << " refused";
            for (const auto& [message, count] : summary.failures)
                note << "; " << count << " x " << message.substr(0, 80);
            row(name + "_p50", summary.p50_ms, "ms", note.str());
            row(name + "_p99", summary.p99_ms, "ms");
            row(name + "_max", summary.max_ms, "ms");
            row(name + "_refused", static_cast<double>(summary.failed), "calls");
        }
    }

    /// Load of the machine from here on, until used().
    void mark() {
        network_.forget_statements();
        marked_ = SteadyClock::now();
        coordinator_ = usage_of(network_.pid(0));
        postgres_ = usage_of_family(*postgres().pid());
        work_ = network_.database_work();
    }
    void used(const std::string& phase) {
        const double took = seconds_since(marked_);
        const DatabaseWork work = network_.database_work();
        row(phase + "_statements", static_cast<double>(work.statements) / took, "1/s");
        row(phase + "_transactions",
            static_cast<double>(work.transactions - work_.transactions) / took, "1/s");
        row(phase + "_coordinator_cpu",
            (usage_of(network_.pid(0)).cpu_s - coordinator_.cpu_s) / took, "cores");
        row(phase + "_postgres_cpu",
            (usage_of_family(*postgres().pid()).cpu_s - postgres_.cpu_s) / took, "cores");
        std::printf("%s", network_.costly_statements(8).c_str());
        std::fflush(stdout);
    }

    void registration() {
        mark();
        nodes_.register_all(32);
        row("registration", seconds_since(marked_), "s");
        calls("registration", {LoadCall::kRegister});
    }

    void idle() {
        nodes_.start();
        // All nodes have come twice, and those that are new to challenges have their moment.
        std::this_thread::sleep_for(milliseconds(kPollWaitMs + kHeartbeatEveryMs));
        nodes_.log().forget();
        mark();
        std::this_thread::sleep_for(seconds(idle_s_));
        used("idle");
        calls("idle", {LoadCall::kHeartbeat, LoadCall::kPoll});
    }

    /// Beside connections of strangers that come again when they are closed.
    void beside_strangers() {
        const std::string target = network_.target(0);
        const auto port =
            static_cast<std::uint16_t>(std::stoul(target.substr(target.rfind(':') + 1)));
        const HostileCrowd crowd(port, hostile_, nodes_.first(), kHostileEvery);
        std::this_thread::sleep_for(3 * kHostileEvery);  // all came, and the first were closed
        nodes_.log().forget();
        mark();
        std::size_t open_min = hostile_;
        for (int second = 0; second < idle_s_; ++second) {
            std::this_thread::sleep_for(seconds(1));
            open_min = std::min(open_min, crowd.open());
        }
        used("hostile");
        calls("hostile", {LoadCall::kHeartbeat, LoadCall::kPoll});
        row("hostile_connections", static_cast<double>(open_min), "connections",
            "the fewest at a time; " + std::to_string(crowd.calls()) + " calls, " +
                std::to_string(crowd.closed_by_server()) + " closed by the coordinator");
        row("hostile_memory", mib(usage_of(network_.pid(0)).rss_bytes), "MiB");
    }

    void round() {
        const std::uint32_t jobs = count_ / slots_;
        const std::uint32_t units = jobs * slots_;
        mark();
        const UnixMs submitted = clock_.now_ms();
        const auto ids = network_.submit_jobs(jobs, slots_);
        const bool given = nodes_.wait_for_tasks(units, seconds(180));
        UnixMs recorded = 0, opened = 0;
        for (const Digest& id : ids) {
            const auto round = network_.round_one(id);
            if (!round || !round->opened_at_ms) continue;
            recorded = std::max(recorded, round->recorded_at_ms);
            opened = std::max(opened, *round->opened_at_ms);
        }
        const std::string note = std::to_string(jobs) + " jobs of " + std::to_string(slots_) +
                                 " slots, " + std::to_string(nodes_.tasks()) + " units given";
        row("round_planned", static_cast<double>(recorded - submitted) / 1000, "s", note);
        row("round_opened", static_cast<double>(opened - submitted) / 1000, "s", note);
        row("round_given", static_cast<double>(nodes_.last_task_ms() - opened) / 1000, "s",
            given ? note : "not all in time: " + note);
        used("start");
        calls("start", {LoadCall::kHeartbeat});
        commitments(ids);
    }

    void commitments(const std::vector<Digest>& jobs) {
        mark();
        nodes_.commit_all(32);
        row("committed", seconds_since(marked_), "s");
        used("commit");
        calls("commit", {LoadCall::kUpload, LoadCall::kCommit, LoadCall::kHeartbeat});
        mark();
        double sealed_s = 0;
        for (const Digest& job : jobs)
            sealed_s = std::max(sealed_s, seal_seconds(job));
        row("sealed", sealed_s, "s", "from the job's last commitment");
        nodes_.log().forget();
        const auto start = SteadyClock::now();
        const std::size_t receipts = nodes_.read_receipts(32);
        row("receipts", seconds_since(start), "s", std::to_string(receipts) + " right");
        used("receipts");
        calls("receipts", {LoadCall::kReceipt, LoadCall::kHeartbeat});
    }

    double seal_seconds(const Digest& job) {
        const auto deadline = SteadyClock::now() + seconds(180);
        while (SteadyClock::now() < deadline) {
            const auto round = network_.round_one(job);
            if (round && round->sealed_at_ms)
                return static_cast<double>(*round->sealed_at_ms - network_.last_commit_ms(job)) /
                       1000;
            std::this_thread::sleep_for(milliseconds(100));
        }
        return std::numeric_limits<double>::infinity();
    }

    /// All nodes in one round, step by step: the database's part.
    void one_round() {
        nodes_.log().forget();
        const bench::RoundTimes times = bench::time_round(network_.owner(), count_);
        const std::string note = std::to_string(times.units) + " units, the database's part";
        row("one_round_planned", times.chosen + times.assigned, "s", note);
        row("one_round_sealed", times.sealed, "s", note);
        row("one_round_drawn", times.drawn, "s", note);
        row("one_round_ended", times.ended, "s", note);
        calls("one_round", {LoadCall::kHeartbeat});
    }

    static double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

    void memory() {
        row("coordinator_memory", mib(usage_of(network_.pid(0)).peak_bytes), "MiB");
        row("postgres_memory", mib(usage_of_family(*postgres().pid()).rss_bytes), "MiB");
    }

    const bench::Options& options_;
    const std::uint32_t count_, slots_;
    const int idle_s_;
    const std::uint32_t hostile_;
    SystemClock clock_;
    LoadNetwork network_;
    LoadNodes nodes_;
    SteadyClock::time_point marked_;
    ProcessUsage coordinator_, postgres_;
    DatabaseWork work_;
};

std::vector<std::uint32_t> numbers(const std::string& text) {
    std::vector<std::uint32_t> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');)
        out.push_back(static_cast<std::uint32_t>(std::stoul(part)));
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    bench::Options options = bench::parse_options(argc, argv,
                                                  {{"--nodes", "200,1000,5000"},
                                                   {"--slots", "5000"},
                                                   {"--seconds", "30"},
                                                   {"--hostile", "0"}});
    (void)raise_open_files(1U << 20U);  // each node has a connection
    ::setenv("GYM_BINARY_DIR", GYM_BENCH_BINARY_DIR, 0);
    ::setenv("GYM_SOURCE_DIR", GYM_BENCH_SOURCE_DIR, 0);
    for (const std::uint32_t nodes : numbers(options.own["--nodes"]))
        Run(options, nodes, numbers(options.own["--slots"]).at(0),
            std::stoi(options.own["--seconds"]), numbers(options.own["--hostile"]).at(0))
            .go();
    return 0;
}
