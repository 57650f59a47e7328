#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"
#include "gym/crypto/key.hpp"
#include "gym/devnet/demo.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/interchange/model_folder.hpp"
#include "program/training_progress.hpp"

namespace gym::app {
namespace {

constexpr const char* kDefaultRoot = "build/devnet";
constexpr const char* kWaitOrMove = "wait for it or use another --root";

struct DevnetFlags {
    devnet::NetworkOptions network;
    devnet::DemoOptions demo;
    std::string report;
    /// Of the demo's network: enough for its job's deadlines, and short, because all wait for it.
    std::uint32_t demo_window_s = 180;
    bool keep = false;
};

devnet::Announce announcer() {
    return
        [](const std::string& step) { (void)std::fprintf(stderr, "devnet: %s\n", step.c_str()); };
}

void fill_defaults(devnet::NetworkOptions& network) {
    network.programs.folder = program_folder();
    network.migrations = data_folder() / "sql" / "migrations";
}

/// The flag that names this network in a later command.
std::string root_flag(const DevnetFlags& flags) {
    return flags.network.root == kDefaultRoot ? "" : " --root " + flags.network.root.string();
}

/// A start that did not come to its end leaves what it had started.
Error with_way_out(Error error, const DevnetFlags& flags) {
    if (devnet::load_layout(flags.network.root).ok())
        error.message += "; `gym devnet up" + root_flag(flags) +
                         "` continues from here, `gym devnet down" + root_flag(flags) +
                         "` removes the network";
    return error;
}

Status up(const CliContext& context, DevnetFlags& flags) {
    fill_defaults(flags.network);
    const InterruptGuard guard;
    flags.network.interrupted = [&guard] { return guard.interrupted(); };
    GYM_TRY(const auto lock,
            devnet::RootLock::acquire(flags.network.root, "gym devnet up", kWaitOrMove));
    const auto started = devnet::network_up(flags.network, announcer());
    if (!started.ok()) return with_way_out(started.error(), flags);
    const devnet::Layout& layout = *started;
    devnet::ProcessTable processes(layout.run());
    GYM_TRY(const auto entries, processes.list());
    GYM_TRY(const std::string books, devnet::auditor_access(layout));
    GYM_TRY(const Address network_operator, devnet::holder_address(layout, devnet::kDeployer));
    const std::string join = "gym network add devnet " + layout.api_url() + " --operator " +
                             crypto::to_checksum(network_operator);
    boost::json::object out{{"root", layout.root.string()},
                            {"join", join},
                            {"api", layout.api_url()},
                            {"coordinator", layout.grpc_address()},
                            {"chain", layout.chain_url()},
                            {"deployment", layout.deployment().string()},
                            {"books", books}};
    boost::json::array list;
    for (const auto& entry : entries)
        list.push_back({{"name", entry.name}, {"pid", entry.pid}, {"running", entry.running}});
    out["processes"] = std::move(list);
    if (context.json) {
        context.print_json(out);
        return {};
    }
    print_row("API", "{}", layout.api_url());
    print_row("coordinator", "{}", layout.grpc_address());
    print_row("chain", "{}", layout.chain_url());
    print_row("keys", "{} (job-owner holds the tokens)", layout.keys().string());
    print_row("logs", "{}", layout.logs().string());
    for (const auto& entry : entries)
        print_row(entry.name, "process {}{}", static_cast<int>(entry.pid),
                  entry.running ? "" : " (ended)");
    std::printf(
        "\nFor the commands that use it:\n  export GYM_API=%s GYM_CHAIN=%s GYM_DEPLOYMENT=%s\n",
        layout.api_url().c_str(), layout.chain_url().c_str(), layout.deployment().c_str());
    std::printf("or, also for nodes that join it:\n  %s\n", join.c_str());
    std::printf("For `gym ledger`, which reads the books:\n  export %s\n", books.c_str());
    std::printf("`gym devnet down%s` stops and removes all of it.\n", root_flag(flags).c_str());
    return {};
}

Status down(const CliContext& context, const DevnetFlags& flags) {
    const std::string root = std::filesystem::absolute(flags.network.root).lexically_normal();
    const auto layout = devnet::load_layout(root);
    if (!layout.ok() && layout.error().code != ErrorCode::kNotFound) return layout.error();
    const bool found = layout.ok();
    if (devnet::is_root(root)) {
        GYM_TRY(auto lock, devnet::RootLock::acquire(root, "gym devnet down",
                                                     "wait for it, or end it with Ctrl-C"));
        GYM_CHECK(devnet::network_down(root));
        lock.remove();
    }
    if (context.json)
        context.print_json({{"stopped", root}, {"found", found}});
    else if (found)
        std::printf("stopped and removed %s\n", root.c_str());
    else
        std::printf("there is no network in %s\n", root.c_str());
    return {};
}

/// Runs the demo, prints and writes the report; fails if any check of it does not hold.
Status report_of(const CliContext& context, const DevnetFlags& flags) {
    GYM_TRY(const devnet::Report report, devnet::run_demo(flags.demo, announcer()));
    const auto failed = devnet::failed_checks(report, flags.demo.expected);
    const std::string json = devnet::to_json(report, failed);
    if (!flags.report.empty()) GYM_CHECK(write_file_atomic(flags.report, as_bytes(json + "\n")));
    std::printf("%s\n", context.json ? json.c_str() : devnet::to_text(report).c_str());
    std::string sentences;
    for (const std::string& sentence : failed)
        sentences += (sentences.empty() ? "" : "; ") + sentence;
    if (!failed.empty()) return fail(ErrorCode::kMismatch, "the demo failed: " + sentences);
    if (context.json) return {};
    std::printf("every check held, %llu s\n", static_cast<unsigned long long>(report.wall_s));
    if (!flags.report.empty()) std::printf("every figure, as JSON: %s\n", flags.report.c_str());
    return {};
}

void tell_what_stays(const DevnetFlags& flags) {
    const auto layout = devnet::load_layout(flags.network.root);
    if (!layout.ok()) return;  // it ended before there was a network
    (void)std::fprintf(stderr,
                       "devnet: the network stays up (logs: %s); `gym devnet down%s` stops and "
                       "removes it\n",
                       layout->logs().c_str(), root_flag(flags).c_str());
}

/// A demo that failed leaves no servers behind, but their logs.
Error stopped(const DevnetFlags& flags, Error why) {
    const auto layout = devnet::load_layout(flags.network.root);
    if (!layout.ok()) return why;  // it ended before there was a network
    const Status stopped = devnet::stop_all(*layout);
    if (!stopped.ok()) {
        why.message += "; and its servers could not all be stopped: " + stopped.error().message;
        return why;
    }
    (void)std::fprintf(stderr,
                       "devnet: the servers are stopped; their logs stay in %s (`gym devnet up%s` "
                       "starts them again, `gym devnet down%s` removes the network)\n",
                       layout->logs().c_str(), root_flag(flags).c_str(), root_flag(flags).c_str());
    return why;
}

Status demo(const CliContext& context, DevnetFlags& flags) {
    fill_defaults(flags.network);
    const InterruptGuard guard;
    flags.network.interrupted = [&guard] { return guard.interrupted(); };
    flags.network.dispute_window_s = flags.demo_window_s;
    flags.network.dispute_clock_s = std::max(flags.demo_window_s / 3, 1U);
    flags.demo.network = flags.network;
    flags.demo.expected.with_cheater = !flags.network.cheating_worker.empty();
    if (flags.demo.job_file.empty()) {
        flags.demo.job_file = data_folder() / "examples" / "demo-job.yaml";
        flags.demo.expected.final_loss_max = devnet::kDemoJobLossMax;
    }
    flags.demo.examples = data_folder() / "examples";
    if (flags.demo.model_folder.empty())
        flags.demo.model_folder = flags.network.root.lexically_normal().string() + "-model";
    GYM_CHECK(interchange::check_model_folder(flags.demo.model_folder));
    GYM_CHECK(
        devnet::check_inputs(flags.demo));  // nothing is removed or started for a typing error
    GYM_TRY(auto lock,
            devnet::RootLock::acquire(flags.network.root, "gym devnet demo", kWaitOrMove));
    GYM_CHECK(devnet::network_down(flags.network.root));  // of an earlier run that was cut off
    Status status = report_of(context, flags);
    const bool cancelled = !status.ok() && status.error().code == ErrorCode::kCancelled;
    if (flags.keep) {
        tell_what_stays(flags);
        return status;
    }
    if (!status.ok() && !cancelled) return stopped(flags, status.error());
    GYM_CHECK(devnet::network_down(flags.network.root));
    lock.remove();
    return status;
}

void add_network_options(CLI::App& command, DevnetFlags& flags) {
    command.add_option("--root", flags.network.root, "Folder of the network")
        ->default_val(kDefaultRoot);
}

void add_start_options(CLI::App& command, DevnetFlags& flags) {
    command.add_option("--workers", flags.network.workers, "Number of workers (default 3)")
        ->check(CLI::Range(1, 64));
    command.add_option("--api-port", flags.network.api_port, "Port of the API; 0: any free port");
    command.add_option("--cheating-worker-program", flags.network.cheating_worker,
                       "Program to run as the last worker, such as gym-faulty-worker");
}

}  // namespace

void add_devnet_commands(CLI::App& app, CliContext& context) {
    auto flags = std::make_shared<DevnetFlags>();
    CLI::App* group = app.add_subcommand("devnet", "Run a whole network on this machine");
    group->require_subcommand(1);

    CLI::App* up_command = group->add_subcommand("up", "Start a network and leave it running");
    add_network_options(*up_command, *flags);
    add_start_options(*up_command, *flags);
    up_command->callback([&context, flags] { context.finish(up(context, *flags)); });

    CLI::App* down_command =
        group->add_subcommand("down", "Stop the network and remove its folder");
    add_network_options(*down_command, *flags);
    down_command->callback([&context, flags] { context.finish(down(context, *flags)); });

    CLI::App* demo_command =
        group->add_subcommand("demo", "Train on a text, catch a cheat, pay everyone else");
    add_network_options(*demo_command, *flags);
    add_start_options(*demo_command, *flags);
    demo_command->add_option("--text", flags->demo.text, "Text to train on")->required();
    demo_command->add_option(
        "--licence", flags->demo.licence,
        "Licence of the text, an SPDX expression (default LicenseRef-public-domain)");
    demo_command->add_option("--job", flags->demo.job_file,
                             "Job file (default examples/demo-job.yaml)");
    demo_command->add_option("--model", flags->demo.model_folder,
                             "Folder for the exported model (default: the network's folder with "
                             "-model behind it)");
    demo_command->add_option("--report", flags->report, "Write the report (JSON) to this file");
    demo_command->add_option("--timeout", flags->demo.timeout_s,
                             "Give up on a stage after this many seconds without progress, or "
                             "four times as many in all (default 900)");
    demo_command
        ->add_option("--dispute-window", flags->demo_window_s,
                     "Seconds in which a wrong unit must be found and disputed; each side's clock "
                     "in a dispute is a third of it. More for a slow machine (default 180)")
        ->check(CLI::Range(10, 3'600));
    demo_command->add_flag("--keep", flags->keep, "Leave the network running");
    demo_command->callback([&context, flags] { context.finish(demo(context, *flags)); });
}

}  // namespace gym::app
