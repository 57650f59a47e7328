#include <CLI/CLI.hpp>
#include <initializer_list>

#include "cli/cli_context.hpp"
#include "cli/program_main.hpp"
#include "model/model_registry.hpp"
#include "node/node_register.hpp"
#include "node/node_start.hpp"

namespace {

/// Headings in `gym --help`.
struct Heading {
    const char* text;
    std::initializer_list<const char*> commands;
};
const Heading kHeadings[] = {
    {"Lend this machine", {"register", "start", "node", "mirror"}},
    {"Networks", {"network", "devnet"}},
    {"Train models", {"data", "tokenizer", "model", "program", "generate", "job", "unit"}},
    {"Money", {"wallet", "stake", "rewards"}},
    {"Check and operate", {"dispute", "ledger", "params", "operator"}}};

void set_headings(CLI::App& app) {
    for (const Heading& heading : kHeadings)
        for (const char* command : heading.commands)
            app.get_subcommand(command)->group(heading.text);
}

int run(int argc, char** argv) {
    gym::app::CliContext context;
    CLI::App app{"Train models on other people's machines, with every step verifiable bit for bit",
                 "gym"};
    app.footer(gym::app::kExitCodesHelp);
    app.require_subcommand(1);
    app.fallthrough();
    app.add_flag("--json", context.json, "Print one JSON object per line instead of text");

    gym::app::add_register_command(app, context);
    gym::app::add_start_command(app, context);
    gym::app::add_data_commands(app, context);
    gym::app::add_devnet_commands(app, context);
    gym::app::add_model_commands(app, context);
    gym::app::add_model_registry_commands(*app.get_subcommand("model"), context);
    gym::app::add_program_commands(app, context);
    gym::app::add_train_command(*app.get_subcommand("program"), context,
                                gym::app::fetch_named_weights);
    gym::app::add_unit_commands(app, context);
    gym::app::add_generate_command(app, context);
    gym::app::add_node_commands(app, context);
    gym::app::add_network_commands(app, context);
    gym::app::add_job_commands(app, context);
    gym::app::add_wallet_commands(app, context);
    gym::app::add_rewards_commands(app, context);
    gym::app::add_stake_commands(app, context);
    gym::app::add_dispute_commands(app, context);
    gym::app::add_ledger_commands(app, context);
    gym::app::add_operator_commands(app, context);
    gym::app::add_params_commands(app, context);
    gym::app::add_tokenizer_commands(app, context);
    gym::app::add_mirror_command(app, context);
    set_headings(app);

    if (const auto code = gym::app::parse_command_line(app, argc, argv)) return *code;
    return static_cast<int>(context.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    return gym::app::program_main("gym", [&] { return run(argc, argv); });
}
