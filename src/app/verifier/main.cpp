#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/cli_context.hpp"
#include "cli/program_main.hpp"
#include "gym/common/log.hpp"
#include "gym/node/signals.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/verifier/verifier_program.hpp"
#include "node/node_options.hpp"

namespace {

using namespace gym;

boost::json::object event_json(const verifier::VerifierEvent& event) {
    boost::json::object out{{"event", event.name},
                            {"job_id", event.unit.job_id.hex()},
                            {"round", event.unit.round},
                            {"slot", event.unit.slot},
                            {"unit", protocol::unit_id(event.unit).hex()},
                            {"detail", event.detail}};
    if (event.where)
        out["first_difference"] = {{"step", event.where->step}, {"field", event.where->field}};
    return out;
}

boost::json::object dispute_json(const player::PlayerEvent& event) {
    return {{"event", "dispute_" + event.name},
            {"job_id", event.unit.job_id.hex()},
            {"round", event.unit.round},
            {"slot", event.unit.slot},
            {"unit", protocol::unit_id(event.unit).hex()},
            {"game", event.game.hex()},
            {"detail", event.detail}};
}

Status verify(const app::CliContext& context, const app::NodeOptions& options) {
    GYM_CHECK(init_logging({"gym-verifier", options.log_level, ""}));
    GYM_TRY(const node::NodeConfig config, options.resolve());
    std::function<void(const verifier::VerifierEvent&)> on_event;
    if (context.json)
        on_event = [&](const verifier::VerifierEvent& event) {
            context.print_json(event_json(event));
        };
    std::function<void(const player::PlayerEvent&)> on_dispute;
    if (context.json)
        on_dispute = [&](const player::PlayerEvent& event) {
            context.print_json(dispute_json(event));
        };
    return verifier::start_verifier(config, on_event, on_dispute, node::stop_on_signals());
}

int run(int argc, char** argv) {
    app::CliContext context{.program = "gym-verifier"};
    app::NodeOptions options;
    CLI::App program{"Re-executes sampled units bit for bit and reports what it finds",
                     "gym-verifier"};
    options.add_to(program);
    program.add_flag("--json", context.json, "Print events as JSON objects, one a line");
    if (const auto code = app::parse_command_line(program, argc, argv)) return *code;
    context.finish(verify(context, options));
    return static_cast<int>(context.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    return gym::app::program_main("gym-verifier", [&] { return run(argc, argv); });
}
