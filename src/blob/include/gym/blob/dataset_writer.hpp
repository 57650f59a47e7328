#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "gym/blob/dataset_header.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"

namespace gym::blob {

/// What a token file holds.
struct DatasetSummary {
    Digest root;
    std::uint32_t vocabulary = 0;
    std::uint64_t tokens = 0;
    std::uint64_t file_bytes = 0;
    Digest tokenizer;  ///< zero if the file does not name one

    [[nodiscard]] Tokenization tokenization() const { return {vocabulary, tokenizer}; }
    [[nodiscard]] DatasetHeader header() const { return {tokenization(), tokens}; }
    /// As Dataset::tokens(Split) divides them.
    [[nodiscard]] std::uint64_t validation_tokens() const { return tokens / 10; }
    [[nodiscard]] std::uint64_t train_tokens() const { return tokens - validation_tokens(); }
    /// @errors kInvalidArgument, as Dataset::window_count(), unless both parts hold a window of
    /// `length` tokens.
    [[nodiscard]] Status check_windows(std::uint64_t length) const;
    friend bool operator==(const DatasetSummary&, const DatasetSummary&) = default;
};

/// Writes a token file of any length in constant memory and hashes it on the way: the same bytes
/// and root as Dataset::encode() of all tokens. The file is not whole before finish(). Not
/// thread-safe.
class DatasetWriter {
  public:
    /// Begins `path` anew. @errors kOutOfRange for a vocabulary outside [1, kVocabularyMax]; kIo.
    static Result<DatasetWriter> create(const std::filesystem::path& path,
                                        const Tokenization& tokenization);
    /// Format 1. @errors kOutOfRange for a vocabulary outside [1, 65536]; kIo.
    static Result<DatasetWriter> create(const std::filesystem::path& path,
                                        std::uint32_t vocabulary);
    /// Continues a file that another writer left, after its first `tokens` tokens; what is behind
    /// them is cut off. Reads those tokens again for the root. @errors also kNotFound; kMalformed
    /// for a file that is shorter or was begun with another vocabulary or tokenizer.
    static Result<DatasetWriter> resume(const std::filesystem::path& path,
                                        const Tokenization& tokenization, std::uint64_t tokens);
    DatasetWriter(DatasetWriter&& other) noexcept;
    DatasetWriter& operator=(DatasetWriter&&) = delete;
    DatasetWriter(const DatasetWriter&) = delete;
    ~DatasetWriter();

    /// @errors kOutOfRange for a token outside the vocabulary or more than kDatasetTokensMax
    /// tokens, nothing is written then; kIo, a full disk among others.
    Status append(TokenView tokens);
    [[nodiscard]] std::uint64_t tokens() const { return header_.tokens; }
    /// Everything so far is on the disk. @errors kIo.
    Status sync();
    /// Completes the file and gives it its final name. Nothing may follow.
    /// @errors kInvalidArgument for no tokens; kIo.
    Result<DatasetSummary> finish(const std::filesystem::path& final_path);

  private:
    DatasetWriter(int file, std::filesystem::path path, const Tokenization& tokenization);
    Status write(ByteView bytes);
    [[nodiscard]] Error system_error(const char* action) const;

    int file_ = -1;
    std::filesystem::path path_;
    DatasetHeader header_;
    commit::ChunkTreeHasher hasher_;
    Bytes buffer_;
};

/// Reads a token file in constant memory. `visit`, if given, is called with the tokens in order, a
/// part at a time; its error ends the reading.
/// @errors those of Dataset::load().
[[nodiscard]] Result<DatasetSummary> scan_dataset(
    const std::filesystem::path& path,
    std::optional<FunctionRef<Status(TokenView)>> visit = std::nullopt);

/// The head of a token file, without reading its tokens. @errors those of scan_dataset().
[[nodiscard]] Result<DatasetHeader> peek_dataset(const std::filesystem::path& path);

}  // namespace gym::blob
