#include "gym/data/duplicates.hpp"

#include <xxhash.h>

#include <algorithm>
#include <limits>

#include "unicode.hpp"

namespace gym::data {
namespace {

constexpr std::size_t kBins = kBands * kRowsPerBand;
constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kAttemptsMax = 10'000;  // at one full bin of 112, one in 10^39 needs more

/// The least hash of each bin; a bin is chosen by a hash's upper half.
std::array<std::uint64_t, kBins> minima_of(const std::vector<std::uint64_t>& words,
                                           std::uint64_t seed) {
    std::array<std::uint64_t, kBins> bins{};
    bins.fill(kEmpty);
    const std::size_t length = std::min(kShingleWords, words.size());
    const std::size_t shingles = words.size() - length + 1;
    for (std::size_t i = 0; i < shingles; ++i) {
        const std::uint64_t hash =
            ::XXH3_64bits_withSeed(words.data() + i, length * sizeof(std::uint64_t), seed);
        const std::uint64_t value = hash & std::numeric_limits<std::uint32_t>::max();
        std::uint64_t& bin = bins[static_cast<std::size_t>(((hash >> 32) * kBins) >> 32)];
        bin = std::min(bin, value);
    }
    return bins;
}

/// Gives every empty bin the value of a full one, chosen by the bin's number alone, so that two
/// documents agree in a filled bin as often as in a full one.
void densify(std::array<std::uint64_t, kBins>& bins) {
    const auto full = bins;
    for (std::uint64_t i = 0; i < kBins; ++i) {
        if (full[i] != kEmpty) continue;
        for (std::uint64_t attempt = 0; attempt < kAttemptsMax && bins[i] == kEmpty; ++attempt) {
            const std::array<std::uint64_t, 2> key{i, attempt};
            bins[i] = full[::XXH3_64bits(key.data(), sizeof key) % kBins];
        }
    }
}

}  // namespace

BandKeys band_keys(std::string_view text, std::uint64_t seed) {
    std::vector<std::uint64_t> words;
    fold_words(text, seed, words);
    // Nothing to compare by but the text itself, such as a row of asterisks.
    if (words.empty()) words.push_back(::XXH3_64bits_withSeed(text.data(), text.size(), seed));
    auto bins = minima_of(words, seed);
    densify(bins);
    BandKeys out{};
    for (std::size_t band = 0; band < kBands; ++band)
        out[band] = ::XXH3_64bits_withSeed(bins.data() + band * kRowsPerBand,
                                           kRowsPerBand * sizeof(std::uint64_t), seed + band);
    return out;
}

DuplicateIndex::DuplicateIndex(bool exact, bool near, std::uint64_t bytes_max)
    : exact_(exact), near_(near), budget_(bytes_max), texts_(budget_) {
    bands_.reserve(kBands);
    for (std::size_t i = 0; i < kBands; ++i)
        bands_.emplace_back(budget_);
}

Status DuplicateIndex::remember_bands(const BandKeys& keys) {
    for (std::size_t i = 0; i < kBands; ++i)
        GYM_CHECK(bands_[i].insert({keys[i]}));
    return {};
}

Result<Likeness> DuplicateIndex::add(const Fingerprint& document) {
    if (exact_) {
        GYM_TRY(const bool is_new, texts_.insert(document.exact));
        if (!is_new) return Likeness::kExact;
    }
    if (near_) {
        for (std::size_t i = 0; i < kBands; ++i)
            if (bands_[i].contains({document.bands[i]})) return Likeness::kNear;
        GYM_CHECK(remember_bands(document.bands));
    }
    return Likeness::kNew;
}

Status DuplicateIndex::restore(const Fingerprint& document, Likeness likeness) {
    if (exact_ && likeness != Likeness::kExact) GYM_CHECK(texts_.insert(document.exact));
    if (near_ && likeness == Likeness::kNew) GYM_CHECK(remember_bands(document.bands));
    return {};
}

}  // namespace gym::data
