// A network in virtual time: the real coordinator over a real PostgreSQL, with nodes, lines and a
// chain that are modelled (tests/support/virtual_network). Cases:
//   compressed  codec 1 and updates, quorum, adapted steps, held deltas; nobody leaves
//   plain       four bytes a parameter both ways; rounds wait for all workers and for verification
//   churn       as compressed, with nodes that leave and join, and machines that differ
//
//     bench_network_simulation [--only churn] [--nodes 32] [--hours 24] [--seed 1]
//                              [--parameters 1000000000] [--up 110] [--down 500] [--latency 80]
//                              [--overlap 1] [--json FILE] ...
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "virtual_network.hpp"

namespace {

using namespace gym;

/// Published (arXiv 2603.08163): 70 s of communication a round.
constexpr double kCovenantUtilisation = 0.945;

const std::map<std::string, std::string> kOwn = {{"--nodes", "32"},
                                                 {"--verifiers", "8"},
                                                 {"--hours", "24"},
                                                 {"--seed", "1"},
                                                 {"--parameters", "1000000000"},
                                                 {"--up", "110"},
                                                 {"--down", "500"},
                                                 {"--latency", "80"},
                                                 {"--unit-seconds", "900"},
                                                 {"--churn", "0.3"},
                                                 {"--speed-spread", "0.05"},
                                                 {"--line-spread", "0.2"},
                                                 {"--units-before", "100"},
                                                 {"--block-ms", "2000"},
                                                 {"--confirmations", "1"},
                                                 {"--copies", "1"},
                                                 {"--grace-ms", ""},  // as planned
                                                 {"--dataset", "1000000000"},
                                                 {"--operator-flops", "1e12"},
                                                 {"--operator-mbps", "10000"},
                                                 {"--audit-ppm", "0"},
                                                 {"--overlap", "0"},
                                                 {"--json", ""}};

class Program {
  public:
    explicit Program(bench::Options options) : options_(std::move(options)) {
        if (!options_.own.at("--json").empty()) options_.output = options_.own.at("--json");
    }
    void run() {
        sim::Settings settings = base();
        play("compressed", settings);
        settings.codec = sim::Codec::plain();
        settings.elastic.emplace();
        play("plain", settings);
        settings = base();
        settings.leaving_per_hour = number("--churn");
        settings.speed_spread = number("--speed-spread");
        settings.line_spread = number("--line-spread");
        play("churn", settings);
    }

  private:
    [[nodiscard]] double number(const std::string& option) const {
        const std::string& text = options_.own.at(option);
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != 0 || !(value >= 0))
            bench::give_up(option + " " + text + ": not a number from 0");
        return value;
    }
    [[nodiscard]] std::uint64_t count(const std::string& option) const {
        return static_cast<std::uint64_t>(number(option));
    }
    [[nodiscard]] sim::Settings base() const {
        sim::Settings out;
        out.seed = count("--seed");
        out.hours = number("--hours");
        out.workers = static_cast<std::uint32_t>(count("--nodes"));
        out.verifiers = static_cast<std::uint32_t>(count("--verifiers"));
        out.parameters = count("--parameters");
        out.up_mbps = number("--up");
        out.down_mbps = number("--down");
        out.latency_ms = static_cast<std::int64_t>(number("--latency"));
        out.unit_seconds = number("--unit-seconds");
        out.units_before = count("--units-before");
        out.block_ms = static_cast<std::int64_t>(number("--block-ms"));
        out.confirmations = static_cast<std::uint32_t>(count("--confirmations"));
        out.mirror_copies = static_cast<std::uint32_t>(count("--copies"));
        if (!options_.own.at("--grace-ms").empty())
            out.grace_ms = static_cast<std::int64_t>(number("--grace-ms"));
        out.dataset_bytes = count("--dataset");
        out.operator_flops = number("--operator-flops");
        out.operator_mbps = number("--operator-mbps");
        out.audit_ppm = static_cast<std::uint32_t>(count("--audit-ppm"));
        const std::uint64_t overlap = count("--overlap");
        if (overlap == 1) out.overlap_rounds();
        if (out.workers == 0 || out.parameters == 0 || out.hours <= 0 || out.unit_seconds <= 0 ||
            out.up_mbps <= 0 || out.down_mbps <= 0 || out.block_ms <= 0 || overlap > 1)
            bench::give_up(
                "there have to be nodes, parameters, hours, lines, units and blocks; --overlap is "
                "0 or 1");
        return out;
    }

    void play(const std::string& name, const sim::Settings& settings) {
        if (!options_.wants(name)) return;
        const double began = bench::seconds_now();
        const sim::Figures figures = sim::VirtualNetwork(settings).run();
        if (!figures.errors.empty()) bench::give_up(name + ": " + figures.errors.front());
        std::ostringstream note;
        note << settings.workers << " workers, " << settings.verifiers << " verifiers, "
             << figures.hours << " virtual hours in " << bench::seconds_now() - began << " s, "
             << figures.rounds << " rounds, " << figures.units << " units, "
             << figures.units_included << " in the model, " << figures.units_late
             << " a round late, " << figures.units_expired << " expired, " << figures.units_unpaid
             << " unpaid, " << figures.units_drawn << " drawn, " << figures.nodes_left
             << " nodes left, " << figures.nodes_joined << " were there, " << figures.ticks
             << " ticks";
        row(name + "/utilisation", figures.utilisation, "of the time", note.str(),
            kCovenantUtilisation, "Covenant-72B, as published");
        row(name + "/efficiency", figures.efficiency, "of the tokens");
        row(name + "/round_in_progress", figures.round_in_progress, "of the time");
        row(name + "/round_open", figures.round_open, "of the time");
        row(name + "/round", figures.round_s, "s");
        row(name + "/round_until_assigned", figures.record_s, "s");
        row(name + "/round_until_sealed", figures.open_s, "s");
        row(name + "/round_until_next_base", figures.sample_s, "s");
        const auto parameters = static_cast<double>(settings.parameters);
        row(name + "/upload", figures.sent_bytes / parameters, "bytes a parameter");
        row(name + "/download", figures.received_bytes / parameters, "bytes a parameter");
    }

    void row(const std::string& name, double value, const std::string& unit,
             const std::string& note = "", double peer = std::numeric_limits<double>::quiet_NaN(),
             const std::string& peer_name = "") {
        bench::report(options_, {.name = "network_simulation/" + name,
                                 .ours = value,
                                 .peer = peer,
                                 .ratio = value / peer,
                                 .unit = unit,
                                 .threads = 1,
                                 .isa = "any",
                                 .peer_name = peer_name,
                                 .note = note});
    }

    bench::Options options_;
};

}  // namespace

int main(int argc, char** argv) {
    Program(bench::parse_options(argc, argv, kOwn)).run();
    return 0;
}
