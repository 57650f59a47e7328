#include "emulation.hpp"

#include <cxxabi.h>
#include <setjmp.h>
#include <ucontext.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "checked_memory.hpp"
#include "findings.hpp"
#include "flips.hpp"
#include "shared_variables.hpp"

namespace gym::emulation {

Place place;

namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kCopyBytes = 16;
constexpr std::size_t kRowBytes = 16;  // of a matrix that ldmatrix loads
/// A warp goes past at most so many of its collectives before another one gets its turn.
constexpr unsigned kTurnsMax = 8;

enum class Wait { kNone, kWarp, kBlock, kDone };
enum class Collective { kShuffle, kProduct, kMatrices };

struct Copy {
    void* to;
    const void* from;
    bool valid;
};

/// One thread of a block. ucontext starts it once, with calls of the kernel for its signal mask;
/// after that the cheaper _setjmp and _longjmp switch, and it runs the same place of one block
/// after the other.
struct Fiber {
    std::unique_ptr<std::uint8_t[]> stack = std::make_unique<std::uint8_t[]>(kStackBytes);
    ucontext_t start;
    jmp_buf here;
    bool started = false;
    Wait wait = Wait::kDone;
    const void* site = nullptr;
    Collective collective = Collective::kShuffle;
    unsigned size = 0, lane_mask = 0;
    alignas(16) std::uint8_t operand[40];
    alignas(16) std::uint8_t result[16];
    std::deque<std::vector<Copy>> copies;  ///< groups, oldest first; the last one is open
};

struct Block {
    std::vector<Fiber> fibers;
    const KernelCall* call = nullptr;
    Translation translation = nullptr;
    alignas(64) std::uint8_t arguments[kArgumentBytesMax];
    unsigned threads = 0;
    unsigned current = 0;
    jmp_buf scheduler;
    std::mt19937_64 rng;

    Block() {
        const char* const text = std::getenv("GYM_TEST_SEED");
        const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 4711;
        std::printf("emulation: order of blocks, warps and lanes from GYM_TEST_SEED=%llu\n",
                    static_cast<unsigned long long>(seed));
        rng.seed(seed);
    }
};

Block& block() {
    static Block instance;
    return instance;
}

Fiber& current_fiber() {
    return block().fibers[block().current];
}

void stop(Wait wait, const void* site) {
    Fiber& fiber = current_fiber();
    fiber.wait = wait;
    fiber.site = site;
    if (_setjmp(fiber.here) == 0) _longjmp(block().scheduler, 1);
}

void fiber_main() {
    for (;;) {
        block().call->run(block().arguments);
        stop(Wait::kDone, nullptr);
    }
}

/// Findings and stamps are of this thread from here on.
void select_thread(unsigned index) {
    Block& b = block();
    b.current = index;
    place.thread = {index, 0, 0};
    running.thread = index;
    running.stack = b.fibers[index].stack.get();
    running.stack_bytes = kStackBytes;
}

void resume(unsigned index) {
    Block& b = block();
    Fiber& fiber = b.fibers[index];
    select_thread(index);
    fiber.wait = Wait::kNone;
    if (_setjmp(b.scheduler) != 0) return;
    if (fiber.started) _longjmp(fiber.here, 1);
    fiber.started = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = kStackBytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, fiber_main, 0);
    setcontext(&fiber.start);
}

/// The lanes of a warp that wait for `wait`.
unsigned waiting(unsigned warp, Wait wait) {
    const auto first = block().fibers.begin() + warp * kWarp;
    return static_cast<unsigned>(
        std::count_if(first, first + kWarp, [&](const Fiber& f) { return f.wait == wait; }));
}

void resume_ready_lanes(unsigned warp) {
    const auto turn = static_cast<unsigned>(block().rng());
    const unsigned shift = turn % kWarp, direction = turn / kWarp % 2 == 0 ? 1 : kWarp - 1;
    for (unsigned i = 0; i < kWarp; ++i) {
        const unsigned index = warp * kWarp + (shift + i * direction) % kWarp;
        if (block().fibers[index].wait == Wait::kNone) resume(index);
        if (is_context_lost()) return;
    }
}

/// Products of signed bytes with unsigned ones: the fragments of the PTX manual, "mma.m16n8k32".
void finish_product(Fiber* lanes, unsigned lane) {
    std::int32_t sums[4];
    std::memcpy(sums, lanes[lane].operand + 24, sizeof sums);
    for (unsigned c = 0; c < 4; ++c) {
        const unsigned row = lane / 4 + c / 2 * 8, column = lane % 4 * 2 + c % 2;
        for (unsigned k = 0; k < 32; ++k) {
            // Lane k % 16 / 4 of the group of the row or column, register k / 16 of its half.
            const std::uint8_t* const a = lanes[row % 8 * 4 + k % 16 / 4].operand;
            const std::uint8_t* const b = lanes[column * 4 + k % 16 / 4].operand + 16;
            const auto x = static_cast<std::int8_t>(a[(k / 16 * 2 + row / 8) * 4 + k % 4]);
            sums[c] += std::int32_t{x} * b[k / 16 * 4 + k % 4];
        }
    }
    std::memcpy(lanes[lane].result, sums, sizeof sums);
}

void finish_matrices(Fiber* lanes, unsigned lane) {
    constexpr unsigned kMatrices = 4, kRows = 8, kWordBytes = 4;
    for (unsigned j = 0; j < kMatrices; ++j)
        std::memcpy(lanes[lane].result + j * kWordBytes,
                    lanes[j * kRows + lane / 4].operand + lane % 4 * kWordBytes, kWordBytes);
}

void finish_collective(unsigned warp) {
    Fiber* const lanes = &block().fibers[warp * kWarp];
    for (unsigned lane = 0; lane < kWarp; ++lane) {
        if (lanes[lane].site != lanes[0].site || lanes[lane].collective != lanes[0].collective) {
            select_thread(warp * kWarp + lane);
            report("lanes of a warp meet in different places", lanes[lane].site);
        }
    }
    for (unsigned lane = 0; lane < kWarp; ++lane) {
        if (lanes[lane].collective == Collective::kProduct)
            finish_product(lanes, lane);
        else if (lanes[lane].collective == Collective::kMatrices)
            finish_matrices(lanes, lane);
        else
            std::memcpy(lanes[lane].result, lanes[(lane ^ lanes[lane].lane_mask) % kWarp].operand,
                        lanes[lane].size);
    }
    for (unsigned lane = 0; lane < kWarp; ++lane)
        lanes[lane].wait = Wait::kNone;
}

/// @return false: the warp cannot go on.
bool run_warp(unsigned warp) {
    for (unsigned turns = 1 + block().rng() % kTurnsMax; turns > 0; --turns) {
        resume_ready_lanes(warp);
        if (is_context_lost()) return false;
        const unsigned meeting = waiting(warp, Wait::kWarp);
        if (meeting == 0) return true;
        if (meeting < kWarp) {
            unsigned first = warp * kWarp;
            while (block().fibers[first].wait != Wait::kWarp)
                ++first;
            select_thread(first);
            report("some lanes of a warp do not come to its collective", current_fiber().site);
            if (is_astray()) lose_context();  // a device would wait for ever
            return false;
        }
        finish_collective(warp);
    }
    return true;
}

/// All threads that are left stand at the barrier.
void pass_barrier() {
    Block& b = block();
    const void* site = nullptr;
    for (unsigned i = 0; i < b.threads; ++i) {
        Fiber& fiber = b.fibers[i];
        select_thread(i);
        if (fiber.wait == Wait::kDone) {
            report("a thread has left before a barrier of its block", nullptr);
            continue;
        }
        if (site == nullptr) site = fiber.site;
        if (fiber.site != site) report("threads of a block meet in different places", fiber.site);
        fiber.wait = Wait::kNone;
    }
    ++running.epoch;
}

bool all_are(Wait a, Wait b) {
    const auto first = block().fibers.begin();
    return std::all_of(first, first + block().threads,
                       [&](const Fiber& f) { return f.wait == a || f.wait == b; });
}

/// @return false: the block cannot go on.
bool run_block() {
    Block& b = block();
    for (unsigned i = 0; i < b.threads; ++i) {
        Fiber& fiber = b.fibers[i];
        if (fiber.wait != Wait::kDone) fiber.started = false;  // left by a block that failed
        fiber.wait = Wait::kNone;
        fiber.copies.assign(1, {});
    }
    std::vector<unsigned> warps(b.threads / kWarp);
    std::iota(warps.begin(), warps.end(), 0U);
    for (;;) {
        std::shuffle(warps.begin(), warps.end(), b.rng);
        for (const unsigned warp : warps)
            if (!run_warp(warp)) return false;
        if (all_are(Wait::kDone, Wait::kDone)) return true;
        if (all_are(Wait::kDone, Wait::kBlock)) pass_barrier();
    }
}

void run_blocks(const LaunchSize& size) {
    std::vector<std::uint32_t> order(static_cast<std::size_t>(size.x * size.y * size.z));
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), block().rng);
    for (const std::int64_t i : order) {
        place.block = {static_cast<unsigned>(i % size.x),
                       static_cast<unsigned>(i / size.x % size.y),
                       static_cast<unsigned>(i / size.x / size.y)};
        ++running.block;
        running.epoch = 0;
        if (!run_block()) return;
    }
}

/// Where a device's arithmetic gives any value, the host's ends the process.
void on_trap(int number) {
    if (!running.kernel || !is_astray()) {
        std::signal(number, SIG_DFL);
        return;  // the instruction traps again
    }
    running.checking = false;
    abandon_launch();
}
void abandon_where_astray_traps() {
    struct sigaction action {};
    action.sa_handler = on_trap;
    action.sa_flags = SA_NODEFER;  // it is left by a jump
    sigaction(SIGFPE, &action, nullptr);
}

}  // namespace

bool is_launchable(const LaunchSize& size) {
    const bool positive = size.x > 0 && size.y > 0 && size.z > 0 && size.threads > 0;
    return positive && size.x <= kGridXMax && size.y <= kGridYMax && size.z <= kGridYMax &&
           size.threads <= kBlockThreadsMax;
}

std::string demangled(const char* name) {
    int status = 0;
    char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string out = status == 0 ? text : name;
    std::free(text);
    return out;
}

void set_translation(Translation translation) {
    block().translation = translation;
}

void launch(const LaunchSize& size, const KernelCall& untranslated) {
    if (is_context_lost()) return;
    Block& b = block();
    const KernelCall call = b.translation != nullptr ? b.translation(untranslated) : untranslated;
    // Whole warps: the emulation has no others.
    if (!is_launchable(size) || size.threads % kWarp != 0 || call.bytes > kArgumentBytesMax)
        return report("a launch beyond a device's limits", nullptr);
    while (b.fibers.size() < static_cast<std::size_t>(size.threads))
        b.fibers.emplace_back();
    b.threads = static_cast<unsigned>(size.threads);
    b.call = &call;
    std::memcpy(b.arguments, call.arguments, call.bytes);
    running.kernel_name = demangled(call.name);
    pass_arguments(running.kernel_name, b.arguments, call.bytes);
    if (is_astray()) abandon_where_astray_traps();
    place.grid = {static_cast<unsigned>(size.x), static_cast<unsigned>(size.y),
                  static_cast<unsigned>(size.z)};
    running.arguments = b.arguments;
    running.argument_bytes = call.bytes;
    running.first_block = running.block + 1;
    running.kernel = true;
    run_blocks(size);
    end_accesses();
    running.kernel = false;
    running.argument_bytes = running.stack_bytes = 0;
}

void block_barrier(const void* site) {
    stop(Wait::kBlock, site);
}

void shuffle_xor(unsigned members, void* value, unsigned size, unsigned lane_mask,
                 const void* site) {
    Fiber& fiber = current_fiber();
    if (members != 0xFFFFFFFFU) report("a shuffle among some lanes only", site);
    fiber.collective = Collective::kShuffle;
    fiber.size = size;
    fiber.lane_mask = lane_mask;
    std::memcpy(fiber.operand, value, size);
    stop(Wait::kWarp, site);
    std::memcpy(value, current_fiber().result, size);
    pass_access(Access::kRead, value, size);
}

void mma_m16n8k32_s8_u8(std::int32_t (&accumulator)[4], const std::uint32_t (&a)[4],
                        const std::uint32_t (&b)[2], const void* site) {
    if (site == nullptr) site = __builtin_return_address(0);
    Fiber& fiber = current_fiber();
    fiber.collective = Collective::kProduct;
    std::memcpy(fiber.operand, a, sizeof a);
    std::memcpy(fiber.operand + sizeof a, b, sizeof b);
    std::memcpy(fiber.operand + sizeof a + sizeof b, accumulator, sizeof accumulator);
    stop(Wait::kWarp, site);
    std::memcpy(accumulator, current_fiber().result, sizeof accumulator);
    pass_access(Access::kRead, accumulator, sizeof accumulator);
}

void load_matrices(std::uint32_t (&words)[4], const void* row, const void* site) {
    if (site == nullptr) site = __builtin_return_address(0);
    Fiber& fiber = current_fiber();
    fiber.collective = Collective::kMatrices;
    std::memset(fiber.operand, 0xA5, kRowBytes);
    const auto at = reinterpret_cast<std::uintptr_t>(row);
    if (at % kRowBytes != 0) {
        report("a row of a matrix that is not aligned to 16 bytes", site);
    } else if (find_shared(at) == nullptr) {
        report("a row of a matrix outside of shared memory", site);
    } else {
        check_access(Access::kRead, row, kRowBytes, site);
        std::memcpy(fiber.operand, row, kRowBytes);
    }
    stop(Wait::kWarp, site);
    std::memcpy(words, current_fiber().result, sizeof words);
}

void copy_16_bytes(void* shared, const void* global, bool valid, const void* site) {
    if (site == nullptr) site = __builtin_return_address(0);
    if (reinterpret_cast<std::uintptr_t>(shared) % kCopyBytes != 0 ||
        reinterpret_cast<std::uintptr_t>(global) % kCopyBytes != 0) {
        report("an asynchronous copy that is not aligned to 16 bytes", site);
        if (is_astray()) abandon_launch();
        return;
    }
    if (valid) check_access(Access::kRead, global, kCopyBytes, site);
    check_access(Access::kWrite, shared, kCopyBytes, site);
    begin_copy(shared, kCopyBytes);
    std::memset(shared, 0xA5, kCopyBytes);
    current_fiber().copies.back().push_back({shared, global, valid});
}

void commit_copies() {
    current_fiber().copies.emplace_back();
}

void wait_for_copies(unsigned left) {
    auto& groups = current_fiber().copies;
    for (; groups.size() > left + 1; groups.pop_front()) {
        for (const Copy& copy : groups.front()) {
            if (copy.valid)
                std::memcpy(copy.to, copy.from, kCopyBytes);
            else
                std::memset(copy.to, 0, kCopyBytes);
            end_copy(copy.to, kCopyBytes);
        }
    }
}

void abandon_launch() {
    lose_context();
    // Every thread stops here: run_block() starts the unfinished ones again.
    stop(Wait::kBlock, nullptr);
}

void check_atomic(const void* address, std::size_t size, const void* site) {
    check_access(Access::kAtomic, address, size, site);
}

}  // namespace gym::emulation
