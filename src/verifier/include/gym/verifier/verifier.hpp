#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/unit.hpp"
#include "gym/mirror/torrents.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/node/timer.hpp"
#include "gym/player/claim.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::verifier {

/// "started", "resumed", "reported", "verified", "differs", "challenged", "dropped";
/// "contradiction" when the coordinator's sample is not the beacon's, its aggregate is not made
/// from what the rules say or from the deltas that it shows, a task about it is refused, or the
/// next round does not continue from it.
struct VerifierEvent {
    std::string name;
    protocol::UnitKey unit;
    std::string detail;                             ///< one sentence
    std::optional<engine::RecordDifference> where;  ///< of "differs", when a step record differs
};

struct VerifierOptions {
    std::filesystem::path data_dir;  ///< blobs/, reports/ and rounds/ below it
    engine::EngineOptions engine;
    std::chrono::milliseconds poll_wait{10'000};
    /// Checked before a unit is run again; nullptr: the verifier trusts the coordinator. Must
    /// outlive the verifier.
    node::ChainView* chain = nullptr;
    std::uint32_t beacon_delay_blocks = 0;  ///< 0: what the coordinator says
    /// Where differing units are filed, to be challenged on chain; nullptr: nowhere. Must outlive
    /// the verifier.
    player::ClaimStore* claims = nullptr;
    /// The contract with the games about reports, for which reports on train units are signed, and
    /// filed in `claims` to be defended; zero: they are not signed.
    Address report_game;
    /// Other nodes to fetch blobs from and to share them with; nullptr: none. Must outlive the
    /// verifier.
    mirror::Swarm* swarm = nullptr;
    /// By which inputs that are not given are waited for; nullptr: the system's. Must outlive the
    /// verifier.
    node::Timer* timer = nullptr;
    std::function<void(const VerifierEvent&)> on_event;  ///< from the verifier's thread
    std::function<void(const engine::UnitProgress&)> on_progress;
};

/// Runs the units that it is assigned again and reports under commit-reveal. Not thread-safe,
/// except activity().
class Verifier {
  public:
    /// `coordinator` and `key` must outlive the verifier. @errors kIo.
    static Result<std::unique_ptr<Verifier>> open(rpc::Coordinator& coordinator,
                                                  const crypto::PrivateKey& key,
                                                  VerifierOptions options);
    virtual ~Verifier() = default;

    /// Waits for one task and carries it as far as it goes: report commitment, and the reveal.
    /// @return whether there was one. @errors kCancelled; after an error the verifier is ready for
    /// the next call, which takes up a report where it stopped.
    virtual Result<bool> run_once(const std::stop_token& stop) = 0;
    /// Current activity of the node. Thread-safe.
    [[nodiscard]] virtual records::Activity activity() const = 0;
};

/// Runs a verifier until `stop`, with pauses after errors.
/// @param check_device called with each failure; may be empty. @errors its errors.
Status run_verifier(Verifier& verifier, const std::stop_token& stop,
                    const std::function<Status(const Error&)>& check_device = nullptr);

}  // namespace gym::verifier
