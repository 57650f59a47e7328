// Sums by which a device's error shows before its result is used (docs/adr/0038). Every sum is
// one of 32-bit words, each times an odd weight of its place, modulo 2^64: a single wrong word
// always changes it. Host code, but for the weights.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/cuda/product.hpp"
#include "gym/kernels/host_device.h"

namespace gym::kernels::cuda {

/// Odd, and another one for each i < 2^31.
GYM_HD uint32_t check_weight(int64_t i) {
    return (2 * static_cast<uint32_t>(i) + 1) * 0x9E37'79B1u;
}

/// check_weight(i + step) - check_weight(i), whatever i is.
GYM_HD constexpr uint32_t check_weight_step(int step) {
    return 2 * static_cast<uint32_t>(step) * 0x9E37'79B1u;
}

/// Of a sum of memory: the 2,048 words of a tile have 256 weights, each times an odd factor of its
/// part of the tile, so that a thread takes one step of weights for eight words. The factors are
/// multipliers of known 64-bit hashes (wyhash, rrxmrrxmsx, rrmxmx); any odd ones of many bits do.
inline constexpr int kTilePartWords = 256, kTileParts = 8;
inline constexpr int kTileWords = kTilePartWords * kTileParts;

GYM_HD uint64_t part_factor(int part) {
    switch (part) {
        case 0:
            return 0xD6E8'FEB8'6659'FD93u;
        case 1:
            return 0xA076'1D64'78BD'642Fu;
        case 2:
            return 0xE703'7ED1'A0B4'28DBu;
        case 3:
            return 0x8EBC'6AF0'9C88'C6E3u;
        case 4:
            return 0x5899'65CC'7537'4CC3u;
        case 5:
            return 0x1D8E'4E27'C47D'124Fu;
        case 6:
            return 0xEB44'ACCA'B455'D165u;
        default:
            return 0x9FB2'1C65'1E98'DF25u;
    }
}

/// The weight of word i of a sum of memory; odd.
GYM_HD uint64_t memory_weight(int64_t i) {
    const int64_t tile = i / kTileWords, in_tile = i % kTileWords;
    return check_weight(tile * kTilePartWords + in_tile % kTilePartWords) *
           part_factor(static_cast<int>(in_tile / kTilePartWords));
}

/// Memory of a device whose last word may be short.
struct Region {
    const void* data;
    int64_t bytes;
};

/// Sums of one run of a program and what must be equal of them. Nothing waits for the device before
/// settle(). One thread at a time.
class Checks {
  public:
    /// Number of a sum, valid until forget().
    using Sum = std::int64_t;
    /// A kernel adds to as many words of a sum, so that its blocks wait less for each other.
    static constexpr int kSpread = 8;
    /// Sums that the device holds; with more, settle() is called in between.
    static constexpr std::int64_t kSumsMax = std::int64_t{1} << 14;
    static constexpr std::int64_t kTableBytes = kSumsMax * kSpread * 8;

    /// Allocates kTableBytes. `device` must outlive the object.
    explicit Checks(Device& device);

    /// Sums that kernels add to, one after the other, kSpread words each.
    struct Cells {
        Sum first;
        unsigned long long* words;
    };
    [[nodiscard]] Cells reserve(std::int64_t sums);
    /// A sum that the host knows. @pre nothing is open: settle() or forget() came last.
    [[nodiscard]] Sum known(std::uint64_t value);
    [[nodiscard]] std::vector<Sum> sums(std::span<const Region> regions);
    [[nodiscard]] Sum sum(const Region& region);
    /// Of the results of a product, where they lie. @param data in the place of results.out.data.
    [[nodiscard]] Sum sum_results(const ProductResults& results, const float* data);
    [[nodiscard]] static std::uint64_t sum_on_host(const void* data, std::size_t bytes);

    /// @param what is wrong if they differ; must outlive the object.
    void expect_equal(Sum a, Sum b, const char* what);

    /// What a run writes over, copied before it. `verify` looks whether the copy is what was there.
    struct Overwritten {
        void* data;
        std::int64_t bytes;
        std::function<void(const void* copy)> verify;
    };
    /// Runs `run` twice, the second time with what it writes over as it was. Its outputs must have
    /// the same sums. @return those.
    std::vector<Sum> twice(const std::function<std::vector<Sum>()>& outputs,
                           const std::function<void()>& run,
                           std::span<const Overwritten> overwritten = {});

    /// Results of an op that a later op computes again from the same operands: one run of each,
    /// which must have the same sum, is enough. `key` is memory that both have.
    void set_computed_again(bool yes) { computed_again_ = yes; }
    [[nodiscard]] bool computed_again() const { return computed_again_; }
    void keep(const void* key, Sum sum) { kept_[key] = sum; }
    /// What keep() was given, once.
    [[nodiscard]] std::optional<Sum> take(const void* key);

    /// At the op's end, once its outputs are summed: what its parts wrote is there still.
    void later(std::function<void()> verify) { later_.push_back(std::move(verify)); }
    void end_op();

    /// The name of what follows, for failure().
    void set_place(std::string place) { place_ = std::move(place); }
    /// Waits for the device, and compares.
    void settle();
    /// The first check that failed, or empty. For good: a run that failed is not used.
    [[nodiscard]] const std::string& failure() const { return failure_; }
    /// @pre settle() came last.
    [[nodiscard]] std::uint64_t value(Sum sum) const;
    void forget();

  private:
    struct Pair {
        Sum a, b;
        const char* what;
        std::size_t place;
    };
    Device& device_;
    unsigned long long* table_;
    std::vector<std::uint64_t> values_;  ///< of the sums that are settled
    std::int64_t open_ = 0;              ///< sums after them
    std::vector<Pair> pairs_;
    std::vector<std::string> places_;
    std::string place_;
    std::vector<std::function<void()>> later_;
    bool computed_again_ = false;
    std::map<const void*, Sum> kept_;
    std::string failure_;
};

/// The sums of what an op makes in parts; none without checks.
using Sums = std::vector<Checks::Sum>;

/// Runs `run`, on a device with checks as Checks::twice().
Sums run_checked(Device& device, std::initializer_list<Region> outputs,
                 const std::function<void()>& run,
                 std::initializer_list<Checks::Overwritten> overwritten = {});
/// On a device with checks: a region must still have its sum.
void expect_unchanged(Device& device, const Region& region, const Sums& sums, std::size_t index);
/// The same of a product's results.
void expect_unchanged(Device& device, const ProductResults& results);
/// The same at the op's end.
void expect_unchanged_later(Device& device, const Region& region, const Sums& sums,
                            std::size_t index);
void expect_unchanged_later(Device& device, const ProductResults& results);

}  // namespace gym::kernels::cuda
