#include "gym/node/session.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "gym/common/data_folder.hpp"
#include "gym/node/heartbeat.hpp"
#include "gym/node/registration.hpp"
#include "gym/rpc/client.hpp"

namespace gym::node {
namespace {

/// Null: the configuration names no torrents.
Result<std::unique_ptr<torrent::HelperSwarm>> start_swarm(const NodeConfig& config) {
    if (!config.torrents) return std::unique_ptr<torrent::HelperSwarm>();
    torrent::SwarmOptions options = *config.torrents;
    options.program = program_folder() / "gym-torrent";
    options.folder = config.data_dir / "torrents";
    GYM_TRY(auto swarm, torrent::HelperSwarm::start(options));
    spdlog::info(
        "blobs are shared with other nodes, which see this machine's IP address, on port {}",
        options.port == 0 ? swarm->port() : options.port);
    return swarm;
}

/// Whether the unit under way is not for this node: after the third error of its device, or
/// without room for it. After other errors the node is soon back.
bool gives_back(const Error& error) {
    return error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnavailable;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const NodeConfig& config, player::Role role,
                                               DisputeThread::OnEvent on_dispute,
                                               const std::stop_token& stop) {
    GYM_TRY(crypto::PrivateKey key, load_key(config));
    GYM_TRY(NodeLock lock, NodeLock::acquire(config));
    std::unique_ptr<Session> out(new Session(config, std::move(key), std::move(lock)));
    GYM_TRY(out->coordinator_, rpc::connect(config.client(stop), out->key_.clone(), out->clock_));
    GYM_TRY(out->network_, out->coordinator_->network());
    GYM_TRY(out->chain_, open_chain(config, out->network_));
    GYM_CHECK(start_chain_checks(out->chain_.get(), out->network_));
    GYM_TRY(out->disputes_,
            DisputeThread::start(config, out->network_, *out->coordinator_, out->key_, role,
                                 [on_dispute = std::move(on_dispute)](const auto& event) {
                                     if (on_dispute) on_dispute(event);
                                 }));
    GYM_TRY(out->swarm_, start_swarm(config));
    return out;
}

Status Session::run(std::function<records::Activity()> activity, FunctionRef<Status()> work,
                    const std::function<void(rpc::Coordinator&)>& last) {
    Status done;
    {
        const HeartbeatThread heartbeat(*coordinator_, std::move(activity), key_, network_.domain(),
                                        network_.heartbeat_every_ms);
        done = work();
    }
    if (done.ok() || gives_back(done.error())) leave_network(config_, key_, clock_, last);
    return done;
}

Status Session::stay_for_games(const Error& why, FunctionRef<Status()> follow,
                               std::chrono::seconds stay, const std::stop_token& stop) const {
    const DisputeThread* const player = disputes_.get();
    Defence defence{nullptr, [player] { return player->is_playing(); }, stay};
    if (player != nullptr) defence.claims = &disputes_->claims();
    SteadyTimer timer;
    return node::stay_for_games(defence, why, follow, timer, stop);
}

}  // namespace gym::node
