// Sums of memory, and the host's side of all checks.
#include "gym/kernels/cuda/checks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "reduce.cuh"
#include "scratch.hpp"

namespace gym::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kRegionsAtOnce = 4;
constexpr int64_t kWordBytes = 4;

struct SummedRegion {
    const uint32_t* words = nullptr;
    int64_t bytes = 0;
    unsigned long long* sum = nullptr;
};

/// The words of a region, each times its weight. Block (x, y) sums a part of region y.
struct SumRegions {
    SummedRegion region[kRegionsAtOnce];

    __device__ uint32_t last_word(const SummedRegion& from, int64_t at) const {
        const auto* bytes = reinterpret_cast<const uint8_t*>(from.words + at);
        uint32_t word = 0;
        for (int64_t b = 0; b < from.bytes - at * kWordBytes; ++b)
            word |= static_cast<uint32_t>(bytes[b]) << (8 * static_cast<int>(b));
        return word;
    }

    __device__ void operator()() const {
        const SummedRegion from = region[blockIdx.y];
        const int64_t whole = from.bytes / kWordBytes;
        const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
        const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
        // Weights of places `step` apart differ by as much, whatever the place.
        const uint32_t weight_step = 2 * static_cast<uint32_t>(step) * check_weight(0);
        uint32_t weight = check_weight(first);
        uint64_t sum = 0;
        for (int64_t i = first; i < whole; i += step, weight += weight_step)
            sum += uint64_t{from.words[i]} * weight;
        if (first == 0 && whole * kWordBytes < from.bytes)
            sum += uint64_t{last_word(from, whole)} * check_weight(whole);
        const int64_t total = block_reduce<kThreads>(static_cast<int64_t>(sum), Sum());
        if (threadIdx.x == 0)
            atomicAdd(from.sum + blockIdx.x % Checks::kSpread,
                      static_cast<unsigned long long>(total));
    }
};

}  // namespace

Checks::Checks(Device& device)
    : device_(device),
      table_(reinterpret_cast<unsigned long long*>(
          device.allocate(static_cast<std::size_t>(kTableBytes)))) {
    device_.clear(table_, static_cast<std::size_t>(kTableBytes));
}

Checks::Cells Checks::reserve(std::int64_t sums) {
    if (open_ + sums > kSumsMax) settle();
    const Cells cells{static_cast<Sum>(values_.size()) + open_, table_ + open_ * kSpread};
    open_ += sums;
    return cells;
}

Checks::Sum Checks::known(std::uint64_t value) {
    values_.push_back(value);
    return static_cast<Sum>(values_.size()) - 1;
}

std::vector<Checks::Sum> Checks::sums(std::span<const Region> regions) {
    constexpr int64_t kBlocksMax = 1024, kWordsPerThread = 8;
    std::vector<Sum> out(regions.size());
    for (std::size_t first = 0; first < regions.size(); first += kRegionsAtOnce) {
        const auto part =
            regions.subspan(first, std::min<std::size_t>(kRegionsAtOnce, regions.size() - first));
        const Cells cells = reserve(static_cast<std::int64_t>(part.size()));
        SumRegions kernel{};
        int64_t words = 0;
        for (std::size_t i = 0; i < part.size(); ++i) {
            kernel.region[i] = {static_cast<const uint32_t*>(part[i].data), part[i].bytes,
                                cells.words + i * kSpread};
            words = std::max(words, part[i].bytes / kWordBytes + 1);
            out[first + i] = cells.first + static_cast<Sum>(i);
        }
        const int64_t blocks =
            (words + kThreads * kWordsPerThread - 1) / (kThreads * kWordsPerThread);
        launch<kThreads>(device_, {std::min(blocks, kBlocksMax), static_cast<int64_t>(part.size())},
                         kernel);
    }
    return out;
}

Checks::Sum Checks::sum(const Region& region) {
    return sums({&region, 1}).front();
}

std::uint64_t Checks::sum_on_host(const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const std::uint8_t*>(data);
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < bytes; at += kWordBytes) {
        std::uint32_t word = 0;
        std::memcpy(&word, from + at, std::min<std::size_t>(kWordBytes, bytes - at));
        sum += std::uint64_t{word} * check_weight(static_cast<int64_t>(at) / kWordBytes);
    }
    return sum;
}

void Checks::expect_equal(Sum a, Sum b, const char* what) {
    if (places_.empty() || places_.back() != place_) places_.push_back(place_);
    pairs_.push_back({a, b, what, places_.size() - 1});
}

std::vector<Checks::Sum> Checks::twice(const std::function<std::vector<Sum>()>& outputs,
                                       const std::function<void()>& run,
                                       std::span<const Overwritten> overwritten) {
    std::size_t bytes = 0;
    for (const Overwritten& region : overwritten)
        bytes += padded_check_bytes(region.bytes);
    std::byte* const copies = bytes == 0 ? nullptr : device_.scratch(kScratchCheck, bytes);
    const auto each_copy = [&](const auto& visit) {
        std::byte* copy = copies;
        for (const Overwritten& region : overwritten) {
            visit(region, copy);
            copy += padded_check_bytes(region.bytes);
        }
    };
    each_copy([&](const Overwritten& region, std::byte* copy) {
        device_.copy(copy, region.data, static_cast<std::size_t>(region.bytes));
    });
    run();
    const std::vector<Sum> first = outputs();
    each_copy([&](const Overwritten& region, const std::byte* copy) {
        device_.copy(region.data, copy, static_cast<std::size_t>(region.bytes));
    });
    run();
    const std::vector<Sum> second = outputs();
    for (std::size_t i = 0; i < first.size(); ++i)
        expect_equal(first[i], second[i], "it gave two results");
    each_copy([&](const Overwritten& region, const std::byte* copy) { region.verify(copy); });
    return second;
}

void Checks::end_op() {
    for (const auto& verify : std::exchange(later_, {}))
        verify();
}

void Checks::settle() {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(open_ * kSpread));
    device_.download(words.data(), table_, words.size() * sizeof(std::uint64_t));
    device_.clear(table_, words.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < words.size(); i += kSpread)
        values_.push_back(std::accumulate(words.begin() + static_cast<std::ptrdiff_t>(i),
                                          words.begin() + static_cast<std::ptrdiff_t>(i + kSpread),
                                          std::uint64_t{0}));
    open_ = 0;
    if (!device_.ok()) return;
    for (const Pair& pair : pairs_)
        if (failure_.empty() && value(pair.a) != value(pair.b))
            failure_ = places_[pair.place] + ": " + pair.what;
    pairs_.clear();
}

std::uint64_t Checks::value(Sum sum) const {
    return values_.at(static_cast<std::size_t>(sum));
}

void Checks::forget() {
    settle();
    values_.clear();
    places_.clear();
}

Sums run_checked(Device& device, std::initializer_list<Region> outputs,
                 const std::function<void()>& run,
                 std::initializer_list<Checks::Overwritten> overwritten) {
    Checks* const checks = device.checks();
    if (checks == nullptr) {
        run();
        return {};
    }
    return checks->twice(
        [&] {
            return checks->sums({outputs.begin(), outputs.size()});
        },
        run, {overwritten.begin(), overwritten.size()});
}

void expect_unchanged(Device& device, const Region& region, const Sums& sums, std::size_t index) {
    Checks* const checks = device.checks();
    if (checks == nullptr) return;
    checks->expect_equal(checks->sum(region), sums[index], "its scratch memory changed");
}

void expect_unchanged(Device& device, const ProductResults& results) {
    Checks* const checks = device.checks();
    if (checks == nullptr) return;
    checks->expect_equal(checks->sum_results(results, results.out.data), results.sum,
                         "a product's results are not what was stored");
}

void expect_unchanged_later(Device& device, const Region& region, const Sums& sums,
                            std::size_t index) {
    Checks* const checks = device.checks();
    if (checks == nullptr) return;
    checks->later([=, &device] { expect_unchanged(device, region, sums, index); });
}

void expect_unchanged_later(Device& device, const ProductResults& results) {
    Checks* const checks = device.checks();
    if (checks == nullptr) return;
    checks->later([=, &device] { expect_unchanged(device, results); });
}

}  // namespace gym::kernels::cuda
