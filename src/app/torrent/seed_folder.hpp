#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/file_lock.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// A blob that is seeded, and how much it was.
struct Seed {
    std::string root;  ///< 64 hexadecimal digits
    std::uint64_t size_bytes = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t seconds = 0;
    std::string tracker;

    friend bool operator==(const Seed&, const Seed&) = default;
};

/// The files of shared blobs: ROOT, ROOT.torrent and, of a blob that was whole once, ROOT.seed.
/// One process has the folder at a time. Not thread-safe.
class SeedFolder {
  public:
    struct Content {
        std::vector<Seed> seeds;  ///< the one that was whole first comes first
        /// Of downloads that a process before did not end: roots and sizes.
        std::vector<std::pair<std::string, std::uint64_t>> rest;
    };
    /// Takes the folder and lists its blobs; files that belong to nothing are erased.
    /// @errors kConflict: another process has it; kIo.
    [[nodiscard]] static Result<SeedFolder> open(const std::filesystem::path& path);
    [[nodiscard]] const Content& content() const { return content_; }

    /// @errors kIo.
    Status save(const Seed& seed) const;
    /// All files of a blob.
    void erase(const std::string& root) const;
    [[nodiscard]] std::filesystem::path path() const { return path_; }
    [[nodiscard]] std::filesystem::path torrent_of(const std::string& root) const;

  private:
    SeedFolder(std::filesystem::path path, FileLock lock)
        : path_(std::move(path)), lock_(std::move(lock)) {}
    Status read();

    std::filesystem::path path_;
    FileLock lock_;
    Content content_;
};

}  // namespace gym::app
