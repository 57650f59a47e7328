// `gym node start` with a fault: one bit of one tensor of one step is flipped, in every unit.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "cli/cli_context.hpp"
#include "gym/engine/fault_injection.hpp"
#include "node/node_options.hpp"
#include "node/node_start.hpp"
#include "service_main.hpp"

namespace {

using namespace gym;

struct Fault {
    std::uint64_t step = 0;
    std::uint32_t op = 0;
    std::uint64_t bit = 0;
};

void install(const Fault& fault) {
    engine::set_fault_hook(
        [fault](std::uint64_t step, std::uint32_t op, std::span<std::uint8_t> output) {
            if (step != fault.step || op != fault.op || output.empty()) return;
            const std::uint64_t bit = fault.bit % (output.size() * 8);
            output[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        });
}

void add_options(CLI::App& command_line, app::NodeOptions& options, Fault& fault) {
    options.add_to(command_line);
    command_line.add_option("--fault-step", fault.step, "Step of the unit, from 0")
        ->envname("GYM_FAULT_STEP")
        ->required();
    command_line.add_option("--fault-op", fault.op, "Index of the op in the program")
        ->envname("GYM_FAULT_OP")
        ->required();
    command_line.add_option("--fault-bit", fault.bit, "Bit of the op's output, modulo its size")
        ->envname("GYM_FAULT_BIT");
}

}  // namespace

int main(int argc, char** argv) {
    app::NodeOptions options;
    Fault fault;
    const app::ServiceProgram program{
        .name = "gym-faulty-worker",
        .description = "A worker that flips one bit of one tensor of one step (tests only)",
        .add_options =
            [&](CLI::App& command_line, app::CliContext& context) {
                add_options(command_line, options, fault);
                command_line.add_flag("--json", context.json,
                                      "Print events as one JSON object per line");
            },
        .start =
            [&](const app::CliContext& context) {
                install(fault);
                return app::start_node(context, options);
            }};
    return app::service_main(program, argc, argv);
}
