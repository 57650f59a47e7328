#pragma once

#include <map>
#include <unordered_map>

#include "unit_library.hpp"

namespace gym::game::sim {

/// The library of units, for many threads: each has a view of its own, and one at a time asks the
/// library for what it has not seen. More than one at a time cannot run units, for the executor's
/// faults are the process's.
class SharedUnits {
  public:
    static SharedUnits& of_this_thread();

    // As UnitLibrary.
    const UnitKind& kind(std::size_t number);
    const UnitLibrary::Planned& answer(std::size_t asserter, const TranscriptCache::Reached& at);
    const UnitLibrary::Planned& challenge(std::size_t own, std::size_t asserter,
                                          const TranscriptCache::Reached& at);

  private:
    using Plans = std::unordered_map<Digest, const UnitLibrary::Planned*>;
    std::unordered_map<std::size_t, const UnitKind*> kinds_;
    std::unordered_map<std::size_t, Plans> answers_;
    std::map<std::pair<std::size_t, std::size_t>, Plans> challenges_;
};

}  // namespace gym::game::sim
