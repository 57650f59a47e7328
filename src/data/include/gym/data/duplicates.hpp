#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/data/key_set.hpp"

/// Exact and near duplicates. Of documents that are alike the first one stays.
namespace gym::data {

/// MinHash with banding (Broder, "On the resemblance and containment of documents", 1997; Leskovec
/// et al., "Mining of Massive Datasets", section 3.4). Two documents whose sets of 5-grams of words
/// have a Jaccard similarity s share a band with probability 1 - (1 - s^8)^14: 5 % at 0.5, 56 % at
/// 0.7, 92 % at 0.8, 100 % at 0.9. These are the bands of DataTrove's defaults.
inline constexpr std::size_t kShingleWords = 5;
inline constexpr std::size_t kBands = 14;
inline constexpr std::size_t kRowsPerBand = 8;
using BandKeys = std::array<std::uint64_t, kBands>;

/// The keys of the bands of a UTF-8 text. One permutation with densification (Li, Owen, Zhang, "One
/// Permutation Hashing", 2012; Shrivastava, "Optimal Densification", 2017), so one hash a shingle.
/// The same on every machine for one `seed` and one version of ICU.
[[nodiscard]] BandKeys band_keys(std::string_view text, std::uint64_t seed);

/// What a document is compared by.
struct Fingerprint {
    std::array<std::uint64_t, 2> exact{};  ///< the first 128 bits of its text's SHA-256
    BandKeys bands{};
};

enum class Likeness { kNew, kExact, kNear };

/// Remembers documents. Not thread-safe; the order of the calls decides.
class DuplicateIndex {
  public:
    DuplicateIndex(bool exact, bool near, std::uint64_t bytes_max);
    /// Compares with the documents before; a new one is remembered. @errors kOutOfRange beyond
    /// `bytes_max`; the index has then no meaning.
    Result<Likeness> add(const Fingerprint& document);
    /// What add() did, again: for a build that continues.
    Status restore(const Fingerprint& document, Likeness likeness);
    [[nodiscard]] std::uint64_t used_bytes() const { return budget_.used_bytes(); }
    DuplicateIndex(const DuplicateIndex&) = delete;
    DuplicateIndex& operator=(const DuplicateIndex&) = delete;

  private:
    Status remember_bands(const BandKeys& keys);

    bool exact_;
    bool near_;
    IndexBudget budget_;
    KeySet<2> texts_;
    std::vector<KeySet<1>> bands_;
};

}  // namespace gym::data
