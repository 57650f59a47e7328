#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/cli_context.hpp"
#include "cli/rows.hpp"
#include "gym/dispute/network_limit.hpp"
#include "gym/engine/memory.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace gym::app {
namespace {

using program::Preset;

/// What a preset's program takes.
struct Size {
    std::uint64_t parameters = 0;
    std::uint64_t flops_per_token = 0;
    engine::DeviceNeeds memory;
    std::string network_limit;
};

Result<Size> size_of(const Preset& preset) {
    GYM_TRY(const auto program, program::train_program(preset.config));
    Size size;
    size.parameters = program::parameter_count(program);
    const std::uint64_t tokens = std::uint64_t{preset.config.batch} * preset.config.model.context;
    size.flops_per_token = program::flops_per_step(program) / tokens;
    GYM_TRY(size.memory, engine::device_needs(program));
    size.network_limit = dispute::network_limit(program);
    return size;
}

/// Of coordinator.yaml (listen.blob_bytes_max), and what a base state has beside its parameters.
constexpr std::uint64_t kDefaultBlobBytes = std::uint64_t{1} << 30, kStateHeadBytes = 1 << 20;

/// Whether a network whose operator changed no bound takes base states and deltas of the model.
bool fits_default_network(const Size& size) {
    return size.parameters <= (kDefaultBlobBytes - kStateHeadBytes) / sizeof(float);
}

std::string network_text(const Size& size) {
    if (!size.network_limit.empty()) return "local only: " + size.network_limit;
    return fits_default_network(size) ? "yes" : "yes, if its blob_bytes_max is raised above 1 GiB";
}

/// "124.4 M".
std::string short_count(std::uint64_t count) {
    constexpr double kThousand = 1000;
    auto value = static_cast<double>(count);
    for (const char* unit : {"", " K", " M"}) {
        if (value < kThousand) return fmt::format("{:.4g}{}", value, unit);
        value /= kThousand;
    }
    return fmt::format("{:.4g} B", value);
}

constexpr std::string_view kLine = "{:<15} {:>10} {:>11} {:>10} {:>10} {:>7} {:>10}  {:<62} {}";

void print_preset(const Preset& preset, const Size& size) {
    const program::ModelConfig& model = preset.config.model;
    std::string summary(preset.summary);
    if (preset.published_vocabulary != 0)
        summary += fmt::format(" (published with {} tokens)", preset.published_vocabulary);
    print_line(kLine, preset.name, short_count(size.parameters),
               fmt::format("{:.2e}", static_cast<double>(size.flops_per_token)),
               engine::memory_text(size.memory.cpu.total()),
               engine::memory_text(size.memory.gpu.total()), model.context, model.vocabulary,
               summary, network_text(size));
}

boost::json::string_view text_of(std::string_view text) {
    return {text.data(), text.size()};
}

boost::json::object preset_json(const Preset& preset, const Size& size) {
    const program::ModelConfig& model = preset.config.model;
    boost::json::object json{
        {"name", text_of(preset.name)},
        {"summary", text_of(preset.summary)},
        {"source", text_of(preset.source)},
        {"parameters", size.parameters},
        {"flops_per_token", size.flops_per_token},
        {"memory_bytes", size.memory.cpu.total()},
        {"gpu_memory_bytes", size.memory.gpu.total()},
        {"context", model.context},
        {"vocabulary", model.vocabulary},
        {"published_vocabulary", nullptr},
        {"batch", preset.config.batch},
        {"network", size.network_limit.empty()},
        {"network_default", size.network_limit.empty() && fits_default_network(size)},
        {"network_limit", nullptr}};
    if (preset.published_vocabulary != 0)
        json["published_vocabulary"] = preset.published_vocabulary;
    if (!size.network_limit.empty()) json["network_limit"] = size.network_limit;
    return json;
}

Status list(const CliContext& context) {
    if (!context.json)
        print_line(kLine, "name", "parameters", "FLOPs/token", "memory", "on a GPU", "context",
                   "vocabulary", "what it is", "network");
    for (const Preset& preset : program::presets()) {
        const auto size = size_of(preset);
        if (!size.ok()) return size.error().in(std::string(preset.name));
        if (context.json)
            context.print_json(preset_json(preset, *size));
        else
            print_preset(preset, *size);
    }
    return {};
}

Status show(const CliContext& context, const std::string& name) {
    GYM_TRY(const std::string text, program::preset_text(name));
    if (!context.json) {
        std::fputs(text.c_str(), stdout);
        return {};
    }
    const Preset& preset = *program::find_preset(name);
    GYM_TRY(const Size size, size_of(preset));
    boost::json::object json = preset_json(preset, size);
    json["model_file"] = text;
    context.print_json(json);
    return {};
}

}  // namespace

void add_model_commands(CLI::App& app, CliContext& context) {
    CLI::App* group =
        app.add_subcommand("model", "List models, register weights under a name, and fetch them");
    group->require_subcommand(1);
    CLI::App* list_command = group->add_subcommand(
        "list",
        "List all presets, with the memory that training one takes on this machine and on a GPU");
    list_command->callback([&context] { context.finish(list(context)); });

    auto name = std::make_shared<std::string>();
    CLI::App* show_command =
        group->add_subcommand("show", "Print a preset as a model file, to be edited");
    show_command->add_option("name", *name, "Name of the preset (`gym model list`)")->required();
    show_command->callback([&context, name] { context.finish(show(context, *name)); });
}

}  // namespace gym::app
