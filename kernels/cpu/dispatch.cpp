#include "gym/kernels/dispatch.hpp"

#include <mutex>

#include "cpu/onednn.hpp"

#if defined(GYM_KERNELS_X86) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gym::kernels {

namespace {

#if defined(GYM_KERNELS_X86)
bool cpu_has_amx_int8() {
    // CPUID leaf 7: EDX bit 24 is AMX-TILE, bit 25 AMX-INT8.
    unsigned eax = 7, ebx = 0, ecx = 0, edx = 0;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return (edx & (1u << 24)) != 0 && (edx & (1u << 25)) != 0;
}

/// Linux hands out the tile registers on request (arch_prctl, since 5.16); the permission is the
/// process's.
bool system_grants_amx() {
#if defined(__linux__)
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

Isa detect_uncached() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::kScalar;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vnni");
    if (!avx512) return Isa::kAvx2;
    const bool amx = onednn_available() && cpu_has_amx_int8() && system_grants_amx();
    return amx ? Isa::kAmx : Isa::kAvx512;
}
#else
Isa detect_uncached() {
    return Isa::kScalar;
}
#endif

constexpr std::string_view kNames[kIsaCount] = {"scalar", "avx2", "avx512", "amx"};

// oneDNN accepts a bound once; this remembers which.
std::mutex bound_mutex;
std::optional<Isa> bound;

}  // namespace

Isa detect_isa() {
    static const Isa detected = detect_uncached();
    return detected;
}

std::string_view isa_name(Isa isa) {
    return kNames[static_cast<int>(isa)];
}

std::optional<Isa> parse_isa(std::string_view name) {
    for (int i = 0; i < kIsaCount; ++i) {
        if (name == kNames[i]) return static_cast<Isa>(i);
    }
    return std::nullopt;
}

bool set_process_isa_max(Isa isa) {
    const std::lock_guard lock(bound_mutex);
    if (bound) return *bound == isa;
    if (!onednn_set_isa_max(isa)) return false;
    bound = isa;
    return true;
}

Isa process_isa_max() {
    set_process_isa_max(detect_isa());
    const std::lock_guard lock(bound_mutex);
    return bound.value_or(detect_isa());
}

}  // namespace gym::kernels
