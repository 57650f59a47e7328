#include "wrong_kernels.hpp"

#include "gym/kernels/f32.h"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kThreads = 64, kCount = 128;

struct Faulty {
    Fault fault;
    const float* x;
    float* out;
    float* host;
    unsigned long long* total;

    __device__ int64_t index() const {
        return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    }
    __device__ void touch_memory(int64_t i) const {
        float value = x[i];
        if (fault == Fault::kReadBeyondEnd && i == kCount - 1) value = x[i + 1];
        if (fault == Fault::kWriteBeforeBegin && i == 0) out[-1] = value;
        if (fault == Fault::kReadUninitialised) value = out[i];
        if (fault == Fault::kMisaligned && i == 3)
            value = *reinterpret_cast<const float*>(reinterpret_cast<const char*>(x) + 2);
        if (fault == Fault::kReadHostMemory) value = host[i];
        if (fault == Fault::kWriteHostMemory) host[i] = value;
        if (fault == Fault::kWriteArguments) const_cast<Faulty*>(this)->host = nullptr;
        out[i] = value;
    }
    __device__ void touch_shared(int64_t i) const {
        __shared__ float shared[kThreads];
        const int t = static_cast<int>(threadIdx.x);
        const int step = fault == Fault::kBeyondShared ? 1 : 0;
        if (fault != Fault::kReadUninitialisedShared || t != 5) shared[t + step] = x[i];
        if (fault != Fault::kSharedWithoutBarrier) __syncthreads();
        const float neighbour = shared[(t + kWarpSize) % kThreads];
        if (fault != Fault::kSharedOverwritten) __syncthreads();
        shared[t] = neighbour;
        out[i] = shared[t];
    }
    __device__ void race(int64_t i) const {
        if (fault == Fault::kGlobalInOneBlock) out[blockIdx.x] = x[i];
        if (fault == Fault::kGlobalBetweenBlocks) out[threadIdx.x] = x[i];
        if (fault == Fault::kSumWithoutAtomics) *total += 1;
        if (fault == Fault::kReadOfAtomics && atomicAdd(total, 1ULL) + *total == 0) out[i] = 0;
    }
    __device__ void meet(int64_t i) const {
        if (fault == Fault::kBarrierAfterReturn && threadIdx.x == 7) return;
        if (fault == Fault::kBarrierInOneBranch && threadIdx.x < kWarpSize)
            __syncthreads();
        else
            __syncthreads();
        float value = x[i];
        if (fault != Fault::kShuffleOfSomeLanes || threadIdx.x % kWarpSize < 20)
            value = warp_reduce(value, F32Maximum());
        out[i] = value;
    }
    __device__ void copy(int64_t i) const {
        struct alignas(16) Piece {
            float values[4];
        };
        __shared__ Piece pieces[kThreads / 4 + 1];
        const int shift = fault == Fault::kCopyMisaligned ? 1 : 0;
        const int t = static_cast<int>(threadIdx.x);
        if (t < kThreads / 4)
            copy_16_bytes(shared_address(pieces[t].values + shift),
                          x + blockIdx.x * kThreads + 4 * t, true);
        commit_copies();
        if (fault != Fault::kCopyWithoutWait) wait_for_copies<0>();
        if (fault != Fault::kCopyWithoutBarrier) __syncthreads();
        out[i] = fault == Fault::kCopyMisaligned ? 1.0f : pieces[t / 4].values[t % 4];
    }
    __device__ void load(int64_t i) const {
        struct alignas(16) Row {
            float values[4];
        };
        constexpr int kRows = kThreads / 4, kFar = 1 << 16;
        __shared__ Row rows[kRows];
        const int t = static_cast<int>(threadIdx.x);
        if (fault != Fault::kMatrixUninitialised || t != 5) rows[t / 4].values[t % 4] = x[i];
        if (fault != Fault::kMatrixBeforeBarrier) __syncthreads();
        const int row = fault == Fault::kMatrixElsewhere && t == 33 ? kFar : t % kRows;
        const int shift = fault == Fault::kMatrixMisaligned ? 4 : 0;
        uint32_t words[4];
        if (fault != Fault::kMatrixOfSomeLanes || t % kWarpSize < 20)
            load_matrices(words, shared_address(rows + row) + shift);
        out[i] = fault == Fault::kNone ? f32::from_bits(words[t % 4]) : 1.0f;
    }
    __device__ void operator()() const {
        const int64_t i = index();
        if (fault == Fault::kNone) {
            touch_memory(i);
            touch_shared(i);
            meet(i);
            copy(i);
        }
        if (fault < Fault::kReadUninitialisedShared && fault != Fault::kNone)
            return touch_memory(i);
        if (fault == Fault::kNone || fault >= Fault::kMatrixBeforeBarrier) return load(i);
        if (fault >= Fault::kCopyWithoutWait) return copy(i);
        if (fault < Fault::kGlobalInOneBlock) return touch_shared(i);
        if (fault < Fault::kBarrierInOneBranch) return race(i);
        meet(i);
    }
};

struct LoadMatrices {
    const uint32_t* from;
    uint32_t* out;

    __device__ void operator()() const {
        constexpr int kWords = 4;
        struct alignas(16) Row {
            uint32_t words[kWords];
        };
        __shared__ Row rows[kWarpSize];
        const int lane = lane_index();
        for (int word = 0; word < kWords; ++word)
            rows[lane].words[word] = from[lane * kWords + word];
        __syncthreads();
        uint32_t words[kWords];
        load_matrices(words, shared_address(rows + 5 * lane % kWarpSize));
        for (int word = 0; word < kWords; ++word)
            out[lane * kWords + word] = words[word];
    }
};

struct CountElement {
    float* out;
    __device__ void operator()(int64_t i) const { out[i] = static_cast<float>(i); }
};

}  // namespace

void run_with_fault(Device& device, Fault fault, const float* x, float* out, float* host) {
    auto* const total = device.scratch_of<unsigned long long>(0, 1);
    device.clear(total, sizeof *total);
    if (fault == Fault::kReadFreedScratch) {
        x = device.scratch_of<float>(1, kCount);
        device.clear(const_cast<float*>(x), kCount * sizeof(float));
        (void)device.scratch(1, 1);
    }
    Grid grid{kCount / kThreads};
    if (fault == Fault::kGridTooHigh) grid.y = 65536;
    launch<kThreads>(device, grid, Faulty{fault, x, out, host, total});
}

void count_by_one_block(Device& device, float* out, std::int64_t count) {
    launch<kElementThreads>(device, {1}, ForEach<CountElement>{{out}, count});
}

void load_matrices_of(Device& device, const std::uint32_t* rows, std::uint32_t* out) {
    launch<kWarpSize>(device, {1}, LoadMatrices{rows, out});
}

float read_on_the_host(const float* device_memory) {
    return *device_memory;
}

}  // namespace gym::kernels::cuda
