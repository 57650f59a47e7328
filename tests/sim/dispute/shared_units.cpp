#include "shared_units.hpp"

#include <mutex>

namespace gym::game::sim {
namespace {

std::mutex library_mutex;

/// The library's answer to `ask`; it stays where it is for ever.
template <class Ask>
auto* ask_library(Ask ask) {
    const std::lock_guard lock(library_mutex);
    return &ask(UnitLibrary::shared());
}

}  // namespace

SharedUnits& SharedUnits::of_this_thread() {
    static thread_local SharedUnits units;
    return units;
}

const UnitKind& SharedUnits::kind(std::size_t number) {
    const UnitKind*& known = kinds_[number];
    if (known == nullptr)
        known = ask_library(
            [&](UnitLibrary& library) -> const UnitKind& { return library.kind(number); });
    return *known;
}

const UnitLibrary::Planned& SharedUnits::answer(std::size_t asserter,
                                                const TranscriptCache::Reached& at) {
    const UnitLibrary::Planned*& known = answers_[asserter][at.plan];
    if (known == nullptr)
        known = ask_library([&](UnitLibrary& library) -> const UnitLibrary::Planned& {
            return library.answer(asserter, at);
        });
    return *known;
}

const UnitLibrary::Planned& SharedUnits::challenge(std::size_t own, std::size_t asserter,
                                                   const TranscriptCache::Reached& at) {
    const UnitLibrary::Planned*& known = challenges_[{own, asserter}][at.plan];
    if (known == nullptr)
        known = ask_library([&](UnitLibrary& library) -> const UnitLibrary::Planned& {
            return library.challenge(own, asserter, at);
        });
    return *known;
}

}  // namespace gym::game::sim
