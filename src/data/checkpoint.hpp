#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "batch_reader.hpp"
#include "gym/data/build.hpp"

namespace gym::data {

/// A state of a build to which it can return. The files of OUT.work may be longer than it says.
struct Checkpoint {
    std::string identity;  ///< of inputs and options, as text
    Position position;
    std::uint64_t tokens = 0;
    std::uint64_t manifest_bytes = 0;
    std::uint64_t index_entries = 0;
    BuildCounts counts;
};
[[nodiscard]] std::string to_text(const Checkpoint& checkpoint);
/// @errors kMalformed.
[[nodiscard]] Result<Checkpoint> read_checkpoint(const std::string& text);

/// The journal of a DuplicateIndex: a fixed number of bytes for every document that it took in.
class IndexJournal {
  public:
    /// @errors kIo.
    static Result<IndexJournal> create(const std::filesystem::path& path);
    /// Puts the first `entries` entries into `index` and cuts the rest off.
    /// @errors kMalformed for fewer; kOutOfRange of the index.
    static Result<IndexJournal> resume(const std::filesystem::path& path, std::uint64_t entries,
                                       DuplicateIndex& index);
    Status append(const Fingerprint& document, Likeness likeness);
    [[nodiscard]] std::uint64_t entries() const { return entries_; }
    Status sync();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    IndexJournal(std::FILE* file, std::filesystem::path path)
        : file_(file), path_(std::move(path)) {}
    [[nodiscard]] Error system_error() const;
    std::unique_ptr<std::FILE, Close> file_;
    std::filesystem::path path_;
    std::uint64_t entries_ = 0;
};

}  // namespace gym::data
