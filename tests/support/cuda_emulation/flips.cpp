#include "flips.hpp"

namespace gym::emulation {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

struct Plan {
    std::uint64_t seen = 0;
    std::uint64_t access = kNever;
    unsigned bit = 0;
    bool flipped = false;
    void* written = nullptr;  ///< to flip once it is written
    std::size_t written_bytes = 0;
};
Plan plan;

void flip(void* address, std::size_t bytes) {
    const std::size_t bit = plan.bit % (8 * bytes);
    static_cast<std::uint8_t*>(address)[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    plan.flipped = true;
}

}  // namespace

std::uint64_t counted_accesses() {
    return plan.seen;
}
void count_accesses() {
    plan = {};
}
void plan_flip(std::uint64_t access, unsigned bit) {
    plan = {};
    plan.access = access;
    plan.bit = bit;
}
bool has_flipped() {
    return plan.flipped;
}

void pass_access(Access access, void* address, std::size_t bytes) {
    end_accesses();
    if (plan.seen++ != plan.access) return;
    if (access != Access::kWrite) return flip(address, bytes);
    plan.written = address;
    plan.written_bytes = bytes;
}

void end_accesses() {
    if (plan.written == nullptr) return;
    flip(plan.written, plan.written_bytes);
    plan.written = nullptr;
}

}  // namespace gym::emulation
