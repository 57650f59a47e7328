#include "gym/verifier/verifier_program.hpp"

#include <spdlog/spdlog.h>

#include "gym/node/defence.hpp"
#include "gym/node/machine.hpp"
#include "gym/node/registration.hpp"
#include "gym/node/session.hpp"

namespace gym::verifier {

Status start_verifier(const node::NodeConfig& config,
                      const std::function<void(const VerifierEvent&)>& on_event,
                      const std::function<void(const player::PlayerEvent&)>& on_dispute,
                      const std::stop_token& stop) {
    node::RegisterOptions role;
    role.role = records::NodeRole::kVerifier;
    const auto registration = node::register_node(config, role);
    // With claims it stays up for their games, as a worker does.
    if (!registration.ok() && !node::has_claims(config)) return registration.error();
    GYM_TRY(const auto session,
            node::Session::open(config, player::Role::kChallenge, on_dispute, stop));
    VerifierOptions options;
    options.data_dir = config.data_dir;
    options.engine = config.engine();
    options.chain = session->chain();
    options.beacon_delay_blocks = config.beacon_delay_blocks;
    options.claims = session->claims();
    options.report_game = session->report_game();
    options.swarm = session->swarm();
    options.on_event = on_event;
    GYM_TRY(const auto verifier, Verifier::open(session->coordinator(), session->key(), options));
    Status able = registration.ok() ? Status() : Status(registration.error());
    const std::chrono::seconds stay = able.ok() ? std::chrono::seconds(0) : node::kStayAtStart;
    if (able.ok()) {
        spdlog::info("verifier {} at {}{}", registration->address.hex(), config.coordinator,
                     registration->key_created ? " (new key)" : "");
        able =
            session->run([&] { return verifier->activity(); },
                         [&] { return run_verifier(*verifier, stop, node::device_check(config)); });
    }
    if (able.ok()) return able;
    return session->stay_for_games(
        able.error(), [] { return Status(); }, stay, stop);
}

}  // namespace gym::verifier
