#include "cuda_emulation.hpp"

#include <ucontext.h>
#include <csetjmp>
#include <memory>
#include <stdexcept>
#include <vector>

namespace gym::emulation {

Index3 thread_index, block_index, grid_size;
unsigned block_size = 0;

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;

enum class Wait { kNone, kWarp, kBlock, kDone };

/// One thread of a block. ucontext starts it once, with calls of the kernel for its signal mask;
/// after that the cheaper _setjmp and _longjmp switch, and it runs the same place of one block
/// after the other.
struct Fiber {
    std::unique_ptr<std::uint8_t[]> stack = std::make_unique<std::uint8_t[]>(kStackBytes);
    ucontext_t start;
    jmp_buf here;
    bool started = false;
    Wait wait = Wait::kNone;
};

struct Block {
    std::vector<Fiber> fibers;
    std::vector<LaneExchange> lanes;
    const std::function<void()>* body = nullptr;
    unsigned threads = 0;
    unsigned current = 0;
    jmp_buf scheduler;
};

Block& block() {
    static Block instance;
    return instance;
}

void stop(Wait wait) {
    Fiber& fiber = block().fibers[block().current];
    fiber.wait = wait;
    if (_setjmp(fiber.here) == 0) _longjmp(block().scheduler, 1);
}

void fiber_main() {
    for (;;) {
        (*block().body)();
        stop(Wait::kDone);
    }
}

void resume(unsigned index) {
    Block& b = block();
    Fiber& fiber = b.fibers[index];
    b.current = index;
    thread_index = {index, 0, 0};
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

/// Whether every thread of [begin, end) that is not done waits for `wait`; false if all are done.
bool all_wait(unsigned begin, unsigned end, Wait wait) {
    bool any = false;
    for (unsigned i = begin; i < end; ++i) {
        const Wait state = block().fibers[i].wait;
        if (state == Wait::kDone) continue;
        if (state != wait) return false;
        any = true;
    }
    return any;
}

bool run_range(unsigned begin, unsigned end) {
    bool progress = false;
    for (unsigned i = begin; i < end; ++i) {
        if (block().fibers[i].wait == Wait::kDone) continue;
        resume(i);
        progress = true;
    }
    return progress;
}

/// Runs a warp until all its threads are done or stand at a barrier of the block.
void run_warp(unsigned begin, unsigned end) {
    run_range(begin, end);
    while (all_wait(begin, end, Wait::kWarp))
        run_range(begin, end);
    for (unsigned i = begin; i < end; ++i) {
        if (block().fibers[i].wait == Wait::kWarp)
            throw std::logic_error("threads of one warp wait at different barriers");
    }
}

void run_block() {
    Block& b = block();
    for (unsigned i = 0; i < b.threads; ++i) {
        Fiber& fiber = b.fibers[i];
        if (fiber.wait != Wait::kDone)
            fiber.started = false;  // new, or left by a block that failed
        fiber.wait = Wait::kNone;
    }
    do {
        for (unsigned begin = 0; begin < b.threads; begin += kWarp)
            run_warp(begin, std::min(begin + kWarp, b.threads));
    } while (all_wait(0, b.threads, Wait::kBlock));
    for (unsigned i = 0; i < b.threads; ++i) {
        if (b.fibers[i].wait != Wait::kDone)
            throw std::logic_error("some threads of a block never reach its barrier");
    }
}

}  // namespace

void run(Index3 grid, unsigned threads, const std::function<void()>& body) {
    Block& b = block();
    while (b.fibers.size() < threads)
        b.fibers.emplace_back();
    b.lanes.resize(threads);
    b.body = &body;
    b.threads = threads;
    block_size = threads;
    grid_size = grid;
    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                block_index = {x, y, z};
                run_block();
            }
        }
    }
}

void block_barrier() {
    stop(Wait::kBlock);
}
void warp_barrier() {
    stop(Wait::kWarp);
}

LaneExchange& lane_exchange(unsigned lane) {
    return block().lanes[thread_index.x / kWarp * kWarp + lane];
}

void mma_m16n8k32_s8(std::int32_t (&accumulator)[4], const std::uint32_t (&a)[4],
                     const std::uint32_t (&b)[2]) {
    const unsigned lane = thread_index.x % kWarp;
    std::memcpy(lane_exchange(lane).bytes, a, sizeof a);
    std::memcpy(lane_exchange(lane).bytes + sizeof a, b, sizeof b);
    warp_barrier();
    const LaneExchange* const lanes = &lane_exchange(0);
    const unsigned group = lane / 4, member = lane % 4;
    for (unsigned c = 0; c < 4; ++c) {
        const unsigned row = group + (c / 2) * 8, column = member * 2 + c % 2;
        for (unsigned k = 0; k < 32; ++k) {
            // Register k / 16 of the row's half, lane k % 16 / 4 of the row's group, byte k % 4.
            const std::uint8_t* from_a = lanes[row % 8 * 4 + k % 16 / 4].bytes;
            const std::uint8_t* from_b = lanes[column * 4 + k % 16 / 4].bytes;
            const auto x = static_cast<std::int8_t>(from_a[(k / 16 * 2 + row / 8) * 4 + k % 4]);
            const auto y = static_cast<std::int8_t>(from_b[16 + k / 16 * 4 + k % 4]);
            accumulator[c] += std::int32_t{x} * y;
        }
    }
    warp_barrier();
}

}  // namespace gym::emulation
