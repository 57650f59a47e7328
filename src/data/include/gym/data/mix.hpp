#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gym/blob/dataset_writer.hpp"
#include "gym/common/result.hpp"

namespace gym::data {

inline constexpr std::size_t kMixInputsMax = 64;
inline constexpr std::uint64_t kMixPieceTokensMax = 4096;
/// A percentage point: a share that differs by more is refused.
inline constexpr std::uint64_t kMixDeviationPpmMax = 10'000;

/// A weight as people write it: a share in any unit.
inline constexpr double kMixWeightMin = 1e-6, kMixWeightMax = 100;
/// @param weight kMixWeightMin to kMixWeightMax (an invariant of the caller).
[[nodiscard]] std::uint64_t mix_weight_ppm(double weight);

struct MixInput {
    std::filesystem::path path;    ///< a token file; its manifest is beside it or missing
    std::uint64_t weight_ppm = 0;  ///< its share, in millionths of the sum
};
/// "FILE:WEIGHT" with a decimal weight of at most six places above 0.
/// @errors kInvalidArgument.
[[nodiscard]] Result<MixInput> parse_mix_input(const std::string& text);

struct MixOptions {
    std::vector<MixInput> inputs;
    std::filesystem::path output;
    std::uint64_t tokens = 0;      ///< of the output; 0: as many as the shares allow
    bool whole_documents = false;  ///< splits no document; the output may be shorter for it
    bool best_effort = false;      ///< accepts shares that are not those that were asked for
};
/// An input as far as its shares go.
struct MixWish {
    std::string name;              ///< for errors
    std::uint64_t weight_ppm = 0;  ///< a share of the sum of all
    std::uint64_t available = 0;   ///< tokens that it has; of a file without a manifest all
};
/// How many tokens of each input a mix takes, together all of its tokens: of inputs without
/// manifests exactly so many. @param tokens of the mix; 0: as many as the shares allow.
/// @param best_effort accepts shares that are not those that were asked for.
/// @errors kInvalidArgument for fewer than two inputs or more than kMixInputsMax, a weight of 0, or
/// shares that cannot be met.
[[nodiscard]] Result<std::vector<std::uint64_t>> mix_quotas(const std::vector<MixWish>& inputs,
                                                            std::uint64_t tokens, bool best_effort);

/// What became of an input. The shares of all inputs are 10^6 millionths together.
struct MixShare {
    std::filesystem::path path;
    Digest dataset_root;
    std::uint64_t tokens = 0;  ///< of the input
    std::uint64_t taken = 0;   ///< of the output, with the separators before its pieces
    std::uint64_t asked_ppm = 0;
    std::uint64_t achieved_ppm = 0;
};
struct MixReport {
    blob::DatasetSummary dataset;
    std::filesystem::path manifest;
    Digest manifest_root;
    std::vector<MixShare> shares;
    std::uint64_t deviation_ppm = 0;  ///< the largest difference between asked and achieved
};
/// "70.0000 %"
[[nodiscard]] std::string percent_text(std::uint64_t ppm);
/// "a.tokens 95.0000 % instead of 70.0000 %, ..."
[[nodiscard]] std::string shares_text(const std::vector<MixShare>& shares);

/// A token file of several in given shares of its tokens. Each next piece is of the input that lags
/// furthest behind its share, in that input's order: a document with its separator, or a part of a
/// document that is longer than a piece (and of an input without a manifest a part of its text). A
/// piece has at most kMixPieceTokensMax tokens, less in a short mix. So the shares hold in every
/// part of the output, its validation part included, to within a piece of each input, and at its
/// end to within a token. No token is used twice. The manifest names the inputs' roots and every
/// piece. Deterministic.
/// @errors kInvalidArgument for fewer than two inputs, the same tokens twice, different
/// vocabularies or tokenizers, and, without `best_effort`, for a share that would differ by more
/// than kMixDeviationPpmMax; those of scan_dataset() and read_manifest(); kMismatch for a manifest
/// of another file. Nothing is written then.
[[nodiscard]] Result<MixReport> mix(const MixOptions& options);

}  // namespace gym::data
