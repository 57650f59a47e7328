#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gym/player/player.hpp"

namespace gym::player {

/// Plays in a thread of its own, twice a second: a game's clock does not wait for anything that its
/// node does. A failure is logged once an outage and tried again.
class PlayerThread {
  public:
    /// @param stop whose token the players' units look at, too: a run is given up when it ends.
    PlayerThread(std::vector<std::unique_ptr<Player>> players, std::stop_source stop);
    ~PlayerThread();  ///< asks for the stop and waits for the move that is being made
    PlayerThread(const PlayerThread&) = delete;
    PlayerThread& operator=(const PlayerThread&) = delete;

  private:
    void run();
    Status tick();
    void say(const Status& done);

    std::vector<std::unique_ptr<Player>> players_;
    std::stop_source stop_;
    std::string failing_;
    std::thread thread_;
};

}  // namespace gym::player
