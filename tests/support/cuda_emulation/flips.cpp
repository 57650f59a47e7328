#include "flips.hpp"

#include <array>

namespace gym::emulation {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kStraysMax = 5'000'000;

struct Plan {
    std::array<std::uint64_t, kFlipKinds> seen{};
    FlipKind kind = FlipKind::kAccess;
    std::uint64_t access = kNever;
    std::uint64_t bit = 0;
    std::string kernel;  ///< whose arguments flip; empty: those of launch `access`
    std::size_t flipped_bytes = 0;
    bool astray = false;
    bool context_lost = false;
    std::uint64_t strayed = 0;  ///< accesses since it is astray
    void* written = nullptr;    ///< to flip once it is written
    std::size_t written_bytes = 0;
};
Plan plan;

void flip(void* address, std::size_t bytes) {
    const std::size_t bit = plan.bit % (8 * bytes);
    static_cast<std::uint8_t*>(address)[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    plan.flipped_bytes = bytes;
}

/// Counts one. @return whether it is the one that flips.
bool is_planned(FlipKind kind) {
    const std::uint64_t number = plan.seen[static_cast<std::size_t>(kind)]++;
    return plan.kind == kind && number == plan.access;
}

}  // namespace

std::uint64_t counted_accesses(FlipKind kind) {
    return plan.seen[static_cast<std::size_t>(kind)];
}
void count_accesses() {
    plan = {};
}
void plan_flip(FlipKind kind, std::uint64_t access, std::uint64_t bit) {
    plan = {};
    plan.kind = kind;
    plan.access = access;
    plan.bit = bit;
}
void plan_argument_flip(const std::string& kernel, std::uint64_t bit) {
    plan = {};
    plan.kind = FlipKind::kArguments;
    plan.kernel = kernel;
    plan.bit = bit;
}
std::size_t flipped_bytes() {
    return plan.flipped_bytes;
}
bool has_flipped() {
    return plan.flipped_bytes != 0;
}
bool is_astray() {
    return plan.astray;
}
bool strays_for_ever() {
    return plan.astray && ++plan.strayed > kStraysMax;
}
void lose_context() {
    plan.context_lost = true;
}
bool is_context_lost() {
    return plan.context_lost;
}

void pass_access(Access access, void* address, std::size_t bytes) {
    end_accesses();
    if (!is_planned(FlipKind::kAccess)) return;
    if (access != Access::kWrite) return flip(address, bytes);
    plan.written = address;
    plan.written_bytes = bytes;
}

void end_accesses() {
    if (plan.written == nullptr) return;
    flip(plan.written, plan.written_bytes);
    plan.written = nullptr;
}

void pass_transfer(void* bytes, std::size_t count) {
    if (count > 0 && is_planned(FlipKind::kTransfer)) flip(bytes, count);
}

void pass_arguments(const std::string& kernel, void* arguments, std::size_t bytes) {
    const bool named = !plan.kernel.empty() && plan.flipped_bytes == 0 &&
                       kernel.find(plan.kernel) != std::string::npos;
    if (bytes == 0 || (!is_planned(FlipKind::kArguments) && !named)) return;
    flip(arguments, bytes);
    plan.astray = true;
}

}  // namespace gym::emulation
