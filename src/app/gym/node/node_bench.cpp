#include "node/node_bench.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/engine/device.hpp"
#include "gym/kernels/memory_bandwidth.hpp"
#include "gym/node/benchmark.hpp"
#include "gym/node/gpu_choice.hpp"
#include "gym/rewards/formulas.hpp"
#include "node/node_options.hpp"
#include "node/node_register.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kNodeBenchmarkMs = 5'000;
constexpr std::uint64_t kSecondsPerHour = 3'600;

struct BenchOptions {
    NodeOptions node;
    std::string gpu_type;
    std::string price;  ///< tokens per PFLOP; empty: what jobs pay
};

/// Price of a PFLOP, and its source.
struct Price {
    Amount wei_per_pflop;
    std::string source;
};

struct Bench {
    std::string device;
    node::Benchmark compute;
    std::uint64_t memory_bytes_per_second = 0;
    std::optional<Price> price;
    Amount wei_per_hour;           ///< with a price
    std::string no_price_because;  ///< without one
};

/// The median over the network's newest jobs; nothing where there are none.
Result<std::optional<Price>> market_price(const std::string& api) {
    GYM_TRY(const client::Market market, client::ApiClient({.url = api, .key = {}}).market());
    if (!market.wei_per_pflop) return std::optional<Price>();
    const std::string source = market.jobs == 1
                                   ? "of the only job"
                                   : "the median of " + std::to_string(market.jobs) + " jobs";
    return std::optional<Price>({*market.wei_per_pflop, source});
}

Result<std::optional<Price>> find_price(const BenchOptions& options, const std::string& api) {
    if (!options.price.empty()) {
        GYM_TRY(const Amount price, price_argument("--price", options.price, kWorkPrice));
        return std::optional<Price>({price, "--price"});
    }
    if (api.empty()) return std::optional<Price>();
    return market_price(api);
}

Result<Bench> run_bench(const BenchOptions& options) {
    GYM_TRY(node::NodeConfig config, options.node.resolve({.network = false}));
    GYM_TRY(const node::ChosenDevice device,
            node::choose_device(node::Gpus::of_this_machine(), options.gpu_type,
                                options.node.named_device(config)));
    config.device = device.device;
    Bench bench;
    GYM_TRY(bench.device, engine::device_model(config.device));
    GYM_TRY(bench.price, find_price(options, config.api));  // before the seconds of work
    GYM_TRY(bench.compute, node::run_benchmark(config.engine(), kNodeBenchmarkMs));
    bench.memory_bytes_per_second = static_cast<std::uint64_t>(kernels::copy_bandwidth(
        kernels::Context(kernels::detect_isa(), static_cast<int>(config.threads_used()))));
    if (!bench.price) {
        bench.no_price_because = config.api.empty()
                                     ? "no gym-api is named that could be asked for prices"
                                     : "there is no job with a price";
        return bench;
    }
    // A machine's FLOPs of an hour fit into 64 bits; the product with a price is checked.
    const Amount flops(bench.compute.flops_per_second * kSecondsPerHour);
    GYM_TRY(bench.wei_per_hour,
            bench.price->wei_per_pflop.mul_div(flops, Amount(rewards::kFlopsPerPflop)));
    return bench;
}

void print(const CliContext& context, const Bench& bench) {
    if (context.json) {
        json::object out{{"device", bench.device},
                         {"flops_per_second", bench.compute.flops_per_second},
                         {"host_memory_bytes_per_second", bench.memory_bytes_per_second},
                         {"final_state_root", bench.compute.state_root.hex()}};
        if (bench.price) {
            out["price_wei_per_pflop"] = bench.price->wei_per_pflop.to_string();
            out["wei_per_hour"] = bench.wei_per_hour.to_string();
        }
        context.print_json(out);
        return;
    }
    print_row("device", "{}", bench.device);
    print_row("exact compute", "{} of a small training program",
              speed_text(static_cast<double>(bench.compute.flops_per_second)));
    print_row("host memory", "{:.1f} GB/s",
              static_cast<double>(bench.memory_bytes_per_second) / 1e9);
    print_row("state root", "{} (the same on every {})", bench.compute.state_root.hex(),
              bench.device == "cpu" ? "machine" : "GPU");
    if (bench.price)
        print_row("earnings", "{} GYM an hour when always busy, at {} GYM per PFLOP ({})",
                  bench.wei_per_hour.to_tokens(), bench.price->wei_per_pflop.to_tokens(),
                  bench.price->source);
    else
        print_row("earnings", "unknown: {}; give --price, or a gym-api with --api",
                  bench.no_price_because);
}

}  // namespace

void add_node_bench_command(CLI::App& node, CliContext& context) {
    CLI::App* command = node.add_subcommand(
        "bench", "Measure this machine's exact compute, memory bandwidth and earnings per hour");
    auto options = std::make_shared<BenchOptions>();
    options->node.add_to(*command);
    add_gpu_type(*command, options->gpu_type);
    command->add_option(
        "--price", options->price,
        "GYM for 10^15 operations (default: the median of the jobs that --api lists)");
    command->callback([&context, options] {
        const auto bench = run_bench(*options);
        if (bench.ok()) print(context, *bench);
        context.finish(bench.ok() ? Status() : Status(bench.error()));
    });
}

}  // namespace gym::app
