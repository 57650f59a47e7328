#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gym/blob/dataset_writer.hpp"
#include "gym/common/result.hpp"

namespace gym::data {

inline constexpr std::size_t kMixInputsMax = 64;
inline constexpr std::uint64_t kMixBlockTokens = 4096;

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
    std::uint64_t tokens_max = 0;  ///< 0: until one of the inputs is used up
};
struct MixShare {
    std::filesystem::path path;
    Digest dataset_root;
    std::uint64_t tokens = 0;  ///< of the input
    std::uint64_t taken = 0;
};
struct MixReport {
    blob::DatasetSummary dataset;
    std::filesystem::path manifest;
    Digest manifest_root;
    std::vector<MixShare> shares;
};

/// A token file of several in given shares. Each piece of the output is a document of an input that
/// has a manifest, with its separator, or a block of kMixBlockTokens of one that has none; in the
/// inputs' order, each next one from the input that lags furthest behind its share. So the shares
/// hold in every part of the output, its validation part included, to within a piece. No token is
/// used twice. The manifest names the inputs' roots and every piece. Deterministic.
/// @errors kInvalidArgument for fewer than two inputs, different vocabularies or tokenizers; those
/// of scan_dataset() and read_manifest(); kMismatch for a manifest of another file.
[[nodiscard]] Result<MixReport> mix(const MixOptions& options);

}  // namespace gym::data
