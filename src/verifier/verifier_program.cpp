#include "gym/verifier/verifier_program.hpp"

#include <spdlog/spdlog.h>

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
    GYM_TRY(const node::Registration registration, node::register_node(config, role));
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
    spdlog::info("verifier {} at {}{}", registration.address.hex(), config.coordinator,
                 registration.key_created ? " (new key)" : "");
    return session->run([&] { return verifier->activity(); },
                        [&] { return run_verifier(*verifier, stop, node::device_check(config)); });
}

}  // namespace gym::verifier
