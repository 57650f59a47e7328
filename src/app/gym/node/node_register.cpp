#include "node/node_register.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <memory>
#include <vector>

#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/common/plural.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/node/gpu_choice.hpp"
#include "gym/node/registration.hpp"

namespace gym::app {
namespace {

/// Notices on standard error as they come; with --json they are a part of the result.
class Notes {
  public:
    explicit Notes(bool json) : json_(json) {}
    void add(const std::string& note) {
        if (note.empty()) return;
        if (!json_) print_notice("note", "{}", note);
        all_.emplace_back(note);
    }
    [[nodiscard]] const boost::json::array& all() const { return all_; }

  private:
    bool json_;
    boost::json::array all_;
};

Status set_memory(const RegisterFlags& flags, node::NodeConfig& config) {
    if (flags.memory.empty()) return {};
    const auto bytes = node::parse_lent_memory(flags.memory);
    if (!bytes.ok()) return fail(bytes.error().code, "--memory " + bytes.error().message);
    config.memory_bytes = *bytes;
    return {};
}

void print(const CliContext& context, const NodeOptions& options, const node::NodeConfig& config,
           const node::Registration& done, const Notes& notes) {
    if (context.json) {
        context.print_json({{"address", done.address.hex()},
                            {"key_created", done.key_created},
                            {"new", done.is_new},
                            {"keystore", config.keystore_path().string()},
                            {"network", config.network},
                            {"device", config.device},
                            {"device_name", done.device},
                            {"memory_bytes", done.memory_bytes},
                            {"missing", done.missing},
                            {"notes", notes.all()},
                            {"flops_per_second", done.flops_per_second},
                            {"round_trip_ms", done.round_trip_ms}});
        return;
    }
    print_row("address", "{}", crypto::to_checksum(done.address));
    print_row("key", "{}{}", config.keystore_path().string(),
              done.key_created ? " (new: keep this file and its passphrase)" : "");
    print_row("coordinator", "{}{}, answered in {} ms", config.coordinator,
              config.network.empty() ? "" : " of network " + config.network, done.round_trip_ms);
    print_row("device", "{}, {} MiB of memory", done.device, done.memory_bytes >> 20);
    print_row("benchmark", "{}{}", speed_text(static_cast<double>(done.flops_per_second)),
              config.device == "cpu" ? " with " + counted(config.threads_used(), "thread") : "");
    // Without a file of the user's own, the options are remembered.
    const std::string start =
        options.config_file.empty() ? options.shell_option("--data-dir") : options.given();
    print_line("{}; start it with: gym start{}",
               done.is_new ? "registered" : "registered before, now up to date", start);
}

}  // namespace

Status register_node(const CliContext& context, const RegisterFlags& flags) {
    GYM_TRY(node::NodeConfig config, flags.node.resolve({.remembered = flags.again}));
    GYM_CHECK(set_memory(flags, config));
    GYM_TRY(const node::ChosenDevice device,
            node::choose_device(node::Gpus::of_this_machine(), flags.gpu_type,
                                flags.node.named_device(config)));
    Notes notes(context.json);
    const bool is_written = flags.node.config_file.empty() || config.device == device.device;
    config.device = device.device;
    if (config.memory_bytes == 0) {
        config.memory_bytes = flags.node.remembered_memory(config.device);
        if (config.memory_bytes != 0)
            notes.add("lends " + std::to_string(config.memory_bytes >> 20) +
                      " MiB at most, as it did before; --memory changes that");
    }
    node::RegisterOptions options;
    options.tell = [&notes](const std::string& note) { notes.add(note); };
    GYM_TRY(const node::Registration done, node::register_node(config, options));
    notes.add(device.note);
    // Not what is free now: that may be more the next time.
    config.memory_bytes = done.lent_bytes;
    if (flags.node.config_file.empty() && !flags.again) GYM_CHECK(flags.node.remember(config));
    if (!is_written)
        notes.add("set `device: " + config.device + "` in " + flags.node.config_file +
                  ", or the node computes on the CPU");
    print(context, flags.node, config, done, notes);
    return {};
}

void add_gpu_type(CLI::App& command, std::string& gpu_type) {
    command
        .add_option("--gpu-type", gpu_type,
                    "GPU to compute on, such as rtx4090; it has to be here (default: the CPU)")
        ->check(not_empty());
}

void add_register_command(CLI::App& parent, CliContext& context) {
    CLI::App* command = parent.add_subcommand(
        "register", "Register this machine: make a key if needed, check hardware and network");
    auto flags = std::make_shared<RegisterFlags>();
    flags->node.add_to(*command);
    add_gpu_type(*command, flags->gpu_type);
    command->add_option(
        "--memory", flags->memory,
        "Memory to lend, such as 24GB or 512MB: of the GPU, or of the machine; more "
        "than there is means all of it (default: as before; at first 8GB, or all of a GPU's)");
    command->callback([&context, flags] { context.finish(register_node(context, *flags)); });
}

}  // namespace gym::app
