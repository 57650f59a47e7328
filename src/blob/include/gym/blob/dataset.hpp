#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::blob {

inline constexpr std::uint32_t kByteVocabulary = 256;
inline constexpr std::uint64_t kDatasetTokensMax = std::uint64_t{1} << 36;

/// The first nine tenths of the tokens train, the last tenth (rounded down) validates. kAll: a text
/// of which nothing trains.
enum class Split { kTrain, kValidation, kAll };

/// A token array committed to by its root, tensor_root(u16, [token count]).
/// File: "GYMDATA1" | vocabulary u32 | token count u64 (big-endian) | tokens u16 little-endian.
/// Immutable; safe to read from many threads.
class Dataset {
  public:
    /// One token per byte of `text`. @errors kInvalidArgument for an empty text.
    static Result<Dataset> build_from_text(ByteView text);
    /// @errors kInvalidArgument for no tokens; kOutOfRange for a vocabulary outside [1, 65536] or a
    /// token outside it.
    static Result<Dataset> from_tokens(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary);
    /// Reads a token file's bytes. @errors kMalformed for a truncated, extended or foreign file;
    /// kOutOfRange for a token outside the vocabulary; kMismatch if `expected_root` is given and
    /// differs.
    static Result<Dataset> decode(ByteView file, const std::optional<Digest>& expected_root);
    /// decode() of the file at `path`. @errors also kNotFound, kIo.
    static Result<Dataset> load(const std::string& path,
                                const std::optional<Digest>& expected_root);

    [[nodiscard]] Bytes encode() const;
    [[nodiscard]] const Digest& root() const { return root_; }
    [[nodiscard]] std::uint32_t vocabulary() const { return vocabulary_; }
    [[nodiscard]] std::span<const std::uint16_t> tokens() const { return tokens_; }
    [[nodiscard]] std::span<const std::uint16_t> tokens(Split split) const;

    /// How many windows of `length` tokens start in `split`: its tokens - length + 1.
    /// @errors kInvalidArgument for length 0 or a split shorter than one window, saying by how
    /// much.
    [[nodiscard]] Result<std::uint64_t> window_count(Split split, std::uint64_t length) const;
    /// The `length` tokens from position `first` of `split`. The view lives as long as the dataset.
    /// @errors as window_count(), kOutOfRange for a window that runs over the end.
    [[nodiscard]] Result<std::span<const std::uint16_t>> window(Split split, std::uint64_t first,
                                                                std::uint64_t length) const;

  private:
    Dataset(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary);
    std::vector<std::uint16_t> tokens_;
    std::uint32_t vocabulary_ = 0;
    Digest root_;
};

}  // namespace gym::blob
