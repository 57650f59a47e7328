#pragma once

#include <map>
#include <memory>
#include <utility>

#include "dispute_simulator.hpp"
#include "gym/game/transcript.hpp"

namespace gym::game::sim {

/// TranscriptCache by what led to them. A move on a transcript is a pure function, and whoever
/// crashed plays the same moves again: each is decided once, however often a log is read.
class TranscriptCache {
  public:
    struct Reached {
        explicit Reached(GameTranscript reached);
        GameTranscript transcript;
        Digest at;    ///< hash of its cursor
        Digest plan;  ///< the same for units of other names: what is planned there does not differ
    };
    /// The transcript of a game that begins. The pointer lives as long as this.
    const Reached* begin(const UnitFacts& facts, const Cursor& start);
    /// Where a move leads. @errors as GameTranscript::play().
    Result<const Reached*> play(const Reached* from, const std::shared_ptr<const SentMove>& sent);

  private:
    std::map<std::pair<Digest, Digest>, Reached> begun_;
    /// The moves are kept with it, so that no other one gets the address.
    std::map<std::pair<const Reached*, std::shared_ptr<const SentMove>>, Result<Reached>> played_;
};

}  // namespace gym::game::sim
