// `gym node start` with a fault: one bit of one tensor of one step is flipped, in every unit.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "cli/cli_context.hpp"
#include "cli/program_main.hpp"
#include "gym/engine/fault_injection.hpp"
#include "node/node_options.hpp"
#include "node/node_start.hpp"

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

int run(int argc, char** argv) {
    app::CliContext context{.program = "gym-faulty-worker"};
    app::NodeOptions options;
    Fault fault;
    CLI::App program{"A worker that flips one bit of one tensor of one step (tests only)",
                     "gym-faulty-worker"};
    options.add_to(program);
    program.add_flag("--json", context.json, "Print events as JSON objects, one a line");
    program.add_option("--fault-step", fault.step, "Step of the unit, from 0")
        ->envname("GYM_FAULT_STEP")
        ->required();
    program.add_option("--fault-op", fault.op, "Index of the op in the program")
        ->envname("GYM_FAULT_OP")
        ->required();
    program.add_option("--fault-bit", fault.bit, "Bit of the op's output, modulo its size")
        ->envname("GYM_FAULT_BIT");
    if (const auto code = app::parse_command_line(program, argc, argv)) return *code;
    install(fault);
    context.finish(app::start_node(context, options));
    return static_cast<int>(context.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    return gym::app::program_main("gym-faulty-worker", [&] { return run(argc, argv); });
}
