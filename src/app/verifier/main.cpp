#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/cli_context.hpp"
#include "gym/common/open_files.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/verifier/verifier_program.hpp"
#include "node/node_options.hpp"
#include "service_main.hpp"

namespace {

using namespace gym;

constexpr const char* kName = "gym-verifier";

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

Status verify(const app::CliContext& context, const node::NodeConfig& config,
              const std::stop_token& stop) {
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
    constexpr std::uint64_t kOwn = 256;  // files and connections
    raise_open_files(kOwn + program::kDeltasMax);
    return verifier::start_verifier(config, on_event, on_dispute, stop);
}

Status start(const app::CliContext& context, const app::NodeOptions& options) {
    GYM_TRY(const node::NodeConfig config, options.resolve({.remembered = false}));
    return app::run_service(
        {.name = kName, .log_level = options.log_level},
        [&](const std::stop_token& stop) { return verify(context, config, stop); });
}

}  // namespace

int main(int argc, char** argv) {
    app::NodeOptions options;
    const app::ServiceProgram program{
        .name = kName,
        .description = "Re-execute sampled units and report the results",
        .add_options =
            [&](CLI::App& command_line, app::CliContext& context) {
                options.add_to(command_line);
                command_line.add_flag("--json", context.json,
                                      "Print events as one JSON object per line");
            },
        .start = [&](const app::CliContext& context) { return start(context, options); }};
    return app::service_main(program, argc, argv);
}
