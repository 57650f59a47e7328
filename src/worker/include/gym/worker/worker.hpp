#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/unit.hpp"
#include "gym/node/chain_view.hpp"
#include "gym/player/claim.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/worker/unit_journal.hpp"

namespace gym::worker {

/// Something a person (or a log) wants to know: "started", "resumed", "committed", "accepted",
/// "receipt", "disputed", "defended", "ended", "dropped"; "idle" with why the coordinator gives it
/// no unit for its stake, or an empty detail once it does.
struct WorkerEvent {
    std::string name;
    protocol::UnitKey unit;  ///< of "idle" none
    std::string detail;      ///< one sentence
};

struct WorkerOptions {
    std::filesystem::path data_dir;  ///< blobs/, units/, signed/, checkpoints/ below it
    engine::EngineOptions engine;
    bool defend_disputes = true;
    /// Asked before anything is computed or believed; nullptr: the coordinator's word counts.
    /// Must outlive the worker.
    node::ChainView* chain = nullptr;
    /// Where units are left that others may call wrong on chain; nullptr: nowhere. Must outlive the
    /// worker.
    player::ClaimStore* claims = nullptr;
    std::chrono::milliseconds chain_wait{60'000};        ///< for a round record to appear there
    std::chrono::milliseconds checkpoint_every{30'000};  ///< 0: after every step
    std::chrono::milliseconds poll_wait{10'000};
    std::chrono::milliseconds track_every{3'000};  ///< how often open units are asked about
    /// Asked before a unit is asked for, and again before it is signed for: an error is why nothing
    /// more may be signed. Empty: nothing ever is.
    std::function<Status()> check_signing;
    std::function<void(const WorkerEvent&)> on_event;  ///< from the worker's thread
    std::function<void(const engine::UnitProgress&)> on_progress;
};

/// One worker: takes a unit, computes it, commits to it once, follows it to its end. The shell
/// around it (run_worker) brings connection, heartbeat and signals. Not thread-safe, except
/// activity().
class Worker {
  public:
    /// `coordinator`, `key` and `clock` must outlive the worker. @errors as UnitJournal::open().
    static Result<std::unique_ptr<Worker>> open(rpc::Coordinator& coordinator,
                                                const crypto::PrivateKey& key, const Clock& clock,
                                                WorkerOptions options);
    virtual ~Worker() = default;

    /// Sends what an earlier process signed and could not send.
    /// @errors kUnavailable and the like: call again later.
    virtual Status resume(const std::stop_token& stop) = 0;
    /// Waits for one task and carries it out. @return whether there was one.
    /// @errors kCancelled on `stop`; kPermissionDenied when excluded; anything a unit can fail by.
    /// After an error the worker is ready for the next call.
    virtual Result<bool> run_once(const std::stop_token& stop) = 0;
    /// Asks about open units: receipts, disputes, ends. @errors of the connection.
    virtual Status track(const std::stop_token& stop) = 0;

    /// Current activity of the node. Thread-safe.
    [[nodiscard]] virtual records::Activity activity() const = 0;
    [[nodiscard]] virtual const UnitJournal& journal() const = 0;
};

/// Runs a worker until `stop`: resume, poll, track, with pauses after errors. Where nothing may be
/// signed any more, it continues without new units as long as there are claims to defend.
/// @errors those of `check_signing` once there is nothing to defend.
Status run_worker(Worker& worker, const WorkerOptions& options, const std::stop_token& stop);

}  // namespace gym::worker
