#include "gym/engine/fault_injection.hpp"

#include <utility>

namespace gym::engine {
namespace {

FaultHook& installed_hook() {
    static FaultHook hook;
    return hook;
}

}  // namespace

void set_fault_hook(FaultHook hook) {
    installed_hook() = std::move(hook);
}

void call_fault_hook(std::uint64_t run, std::uint32_t op, std::span<std::uint8_t> output) {
    if (installed_hook()) installed_hook()(run, op, output);
}

}  // namespace gym::engine
