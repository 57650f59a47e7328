// Sums of memory, and the host's side of all checks.
#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/scratch.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "entries.cuh"
#include "reduce.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kThreads = kTilePartWords;
constexpr int kRegionsAtOnce = 128;
constexpr int64_t kWordBytes = 4;

struct SummedRegion {
    int begin;  ///< blocks of the regions before it
    int blocks;
    const uint32_t* words;
    int64_t bytes;
};

/// The words of regions, each times its weight. A region has some blocks, which take every so many
/// of its tiles.
struct SumRegions {
    SummedRegion region[kRegionsAtOnce];
    int regions;
    unsigned long long* sums;  ///< Checks::kSpread words a region

    __device__ static uint32_t last_word(const uint32_t* word, int64_t left) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(word);
        uint32_t out = 0;
        for (int64_t b = 0; b < left; ++b)
            out |= static_cast<uint32_t>(bytes[b]) << (8 * static_cast<int>(b));
        return out;
    }

    /// Of the words after the last whole tile.
    __device__ static uint64_t sum_rest(const uint32_t* words, int64_t bytes) {
        const int64_t whole = bytes / kWordBytes;
        uint64_t sum = 0;
        for (int64_t i = whole / kTileWords * kTileWords + threadIdx.x; i < whole; i += kThreads)
            sum += words[i] * memory_weight(i);
        const int64_t left = bytes - whole * kWordBytes;
        if (threadIdx.x == 0 && left > 0)
            sum += last_word(words + whole, left) * memory_weight(whole);
        return sum;
    }

    __device__ void operator()() const {
        const int own = entry_of(region, regions, blockIdx.x);
        const uint32_t* const words = region[own].words;
        const int64_t bytes = region[own].bytes;
        const int blocks = region[own].blocks;
        const int block = static_cast<int>(blockIdx.x) - region[own].begin;
        const int64_t tiles = bytes / (kTileWords * kWordBytes);
        const uint32_t weight_step =
            check_weight_step(kTilePartWords) * static_cast<uint32_t>(blocks);
        uint32_t weight = check_weight(int64_t{block} * kTilePartWords + threadIdx.x);
        uint64_t parts[kTileParts] = {};
        for (int64_t tile = block; tile < tiles; tile += blocks, weight += weight_step) {
            const uint32_t* const from = words + tile * kTileWords + threadIdx.x;
            GYM_UNROLL
            for (int q = 0; q < kTileParts; ++q)
                parts[q] += uint64_t{from[q * kTilePartWords]} * weight;
        }
        uint64_t sum = block == 0 ? sum_rest(words, bytes) : 0;
        GYM_UNROLL
        for (int q = 0; q < kTileParts; ++q)
            sum += parts[q] * part_factor(q);
        const int64_t total = block_reduce<kThreads>(static_cast<int64_t>(sum), Sum());
        if (threadIdx.x == 0)
            atomicAdd(sums + own * Checks::kSpread + block % Checks::kSpread,
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
    constexpr int64_t kBlocksMax = 1024, kTileBytes = kTileWords * kWordBytes;
    std::vector<Sum> out;
    out.reserve(regions.size());
    while (!regions.empty()) {
        const auto part = regions.first(std::min<std::size_t>(kRegionsAtOnce, regions.size()));
        const Cells cells = reserve(static_cast<std::int64_t>(part.size()));
        SumRegions kernel{};
        kernel.sums = cells.words;
        int64_t blocks = 0;
        for (const Region& region : part) {
            const int64_t own = std::clamp(region.bytes / kTileBytes, int64_t{1}, kBlocksMax);
            kernel.region[kernel.regions] = {static_cast<int>(blocks), static_cast<int>(own),
                                             static_cast<const uint32_t*>(region.data),
                                             region.bytes};
            blocks += own;
            out.push_back(cells.first + kernel.regions++);
        }
        launch<kThreads>(device_, {blocks}, kernel);
        regions = regions.subspan(part.size());
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
        sum += word * memory_weight(static_cast<int64_t>(at) / kWordBytes);
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
        bytes += padded_bytes(static_cast<size_t>(region.bytes));
    std::byte* const copies = bytes == 0 ? nullptr : device_.scratch(kScratchCheck, bytes);
    const auto each_copy = [&](const auto& visit) {
        std::byte* copy = copies;
        for (const Overwritten& region : overwritten) {
            visit(region, copy);
            copy += padded_bytes(static_cast<size_t>(region.bytes));
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

std::optional<Checks::Sum> Checks::take(const void* key) {
    const auto at = kept_.find(key);
    if (at == kept_.end()) return std::nullopt;
    const Sum sum = at->second;
    kept_.erase(at);
    return sum;
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
    kept_.clear();
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
