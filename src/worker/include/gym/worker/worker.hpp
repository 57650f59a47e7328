#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/unit.hpp"
#include "gym/mirror/torrents.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/player/claim.hpp"
#include "gym/protocol/prefix.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/worker/unit_journal.hpp"

namespace gym::worker {

/// A step in a unit's life, for people and logs: "started", "resumed", "committed", "accepted",
/// "published" on chain, "receipt", "disputed", "defended", "ended", "dropped"; "stopped" before it
/// was done, since its time is over; "idle" with the reason why the coordinator gives the node no
/// unit for its stake, or without one once it does.
struct WorkerEvent {
    std::string name;
    protocol::UnitKey unit;  ///< empty for "idle"
    std::string detail;      ///< one sentence
};

struct WorkerOptions {
    std::filesystem::path data_dir;  ///< blobs/, units/, signed/, checkpoints/ below it
    engine::EngineOptions engine;
    bool defend_disputes = true;
    /// Checked before anything is computed or believed; nullptr: the worker trusts the coordinator.
    /// Must outlive the worker.
    node::ChainView* chain = nullptr;
    /// Where units are filed that others may challenge on chain; nullptr: nowhere. Must outlive the
    /// worker.
    player::ClaimStore* claims = nullptr;
    /// Other nodes to fetch blobs from and to share them with; nullptr: none. Must outlive the
    /// worker.
    mirror::Swarm* swarm = nullptr;
    /// Timer of all waits; nullptr: the system's. Must outlive the worker.
    node::Timer* timer = nullptr;
    std::chrono::milliseconds chain_wait{60'000};        ///< for a round record to appear there
    std::chrono::milliseconds checkpoint_every{30'000};  ///< 0: after every step
    /// Time between two prefixes of the unit under way, less in short units (PrefixSender);
    /// absent: none is sent.
    std::optional<std::chrono::milliseconds> prefix_every{60'000};
    /// How long a commitment that the coordinator does not take is tried again before it is
    /// published on chain, where claims are filed and the chain is read. One that it refuses is
    /// published at once.
    std::chrono::milliseconds publish_after{120'000};
    std::chrono::milliseconds poll_wait{10'000};
    std::chrono::milliseconds track_every{3'000};  ///< how often open units are asked about
    /// Called before a unit is requested, and again before its commitment is signed: an error says
    /// why nothing may be signed. Empty: signing is always allowed.
    std::function<Status()> check_signing;
    /// Called with each failure: an error says that this process can compute no more. Empty: it
    /// always can.
    std::function<Status(const Error&)> check_device;
    std::function<void(const WorkerEvent&)> on_event;  ///< from the worker's thread
    std::function<void(const engine::UnitProgress&)> on_progress;
};

/// Takes units, computes them, commits to each once and follows it to its end. start_worker() adds
/// connection, heartbeat and signals. Not thread-safe, except activity() and send_wanted().
class Worker {
  public:
    /// `coordinator`, `key` and `clock` must outlive the worker. @errors as UnitJournal::open().
    static Result<std::unique_ptr<Worker>> open(rpc::Coordinator& coordinator,
                                                const crypto::PrivateKey& key, const Clock& clock,
                                                WorkerOptions options);
    virtual ~Worker() = default;

    /// Sends commitments that an earlier process signed and could not send.
    /// @errors kUnavailable and the like: call again later.
    virtual Status resume(const std::stop_token& stop) = 0;
    /// Waits for one task and carries it out. @return whether there was a task.
    /// @errors kCancelled on `stop`; kPermissionDenied when excluded; every error of running a
    /// unit. After an error the worker is ready for the next call.
    virtual Result<bool> run_once(const std::stop_token& stop) = 0;
    /// Asks the coordinator about open units: receipts, disputes, ends. @errors of the connection.
    virtual Status track(const std::stop_token& stop) = 0;
    /// Sends the coordinator deltas that it could not get from mirrors. Thread-safe: a round does
    /// not wait until a unit of hours is done. @errors of the connection.
    virtual Status send_wanted() = 0;

    /// The signed prefix of an interrupted unit that the coordinator does not have yet, for a node
    /// that stops, once run_worker() has ended. Absent if there is none.
    virtual std::optional<protocol::SignedPrefix> last_words() = 0;

    /// Current activity of the node. Thread-safe.
    [[nodiscard]] virtual records::Activity activity() const = 0;
    [[nodiscard]] virtual const UnitJournal& journal() const = 0;
};

/// Runs a worker until `stop`: resume, poll, track, with pauses after errors. Once nothing may be
/// signed, it takes no new units and runs on as long as there are claims to defend.
/// @errors those of `check_device`, after which start_worker() still defends; those of
/// `check_signing`, once there is nothing to defend.
Status run_worker(Worker& worker, const WorkerOptions& options, const std::stop_token& stop);

}  // namespace gym::worker
