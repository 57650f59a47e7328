#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <thread>

#include "gym/coordinator/coordinator.hpp"
#include "gym/db/config.hpp"
#include "gym/db/listener.hpp"

namespace gym::coordinator {

/// Tells which nodes have something to do as soon as any instance of the coordinator commits it:
/// units that were assigned, draws, exclusions. It listens to PostgreSQL's notifications on a
/// connection of its own, asks for all nodes with tasks in one query when there is one, and every
/// `ask_every_ms` in case one was lost. Nodes that wait cost no query.
class TaskWatch {
  public:
    /// Called from the watch's thread with nodes that had something a moment ago.
    using Wake = std::function<void(std::span<const Address>)>;

    /// References must outlive the watch. @param database as of the coordinator.
    TaskWatch(Coordinator& core, db::ConnectionConfig database, Wake wake,
              std::int64_t ask_every_ms = 5'000);

  private:
    struct News {
        bool tasks = false;
        std::vector<Address> nodes;  ///< each for a reason of its own
    };
    void run(const std::stop_token& stop);
    void open_listener(const std::stop_token& stop);
    News listen(const std::stop_token& stop);
    void tell(const News& news);

    Coordinator& core_;
    const db::ConnectionConfig database_;
    const Wake wake_;
    const std::int64_t ask_every_ms_;
    std::unique_ptr<db::Listener> listener_;
    bool is_deaf_ = false;  ///< since it failed to connect: said once
    std::jthread thread_;   // last: it uses everything above
};

}  // namespace gym::coordinator
