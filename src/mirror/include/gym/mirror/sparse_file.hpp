#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "gym/blob/piece_list.hpp"
#include "gym/common/descriptor.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/fetcher.hpp"

namespace gym::mirror {

/// A blob in the clear, in a file in which its pieces appear in any order. A piece is there if it
/// has its digest, so that a file that a crash left is continued. One thread at a time asks has();
/// write() may be called from several.
class SparseFile : public PieceSink {
  public:
    /// @param list must outlive the file. @errors kIo, kNotFound (no such folder).
    [[nodiscard]] static Result<SparseFile> open(std::filesystem::path path,
                                                 const blob::PieceList& list);

    bool has(std::uint64_t index) override;
    /// @errors kIo, also for a full disk.
    Status write(std::uint64_t index, ByteView bytes) override;
    /// Cuts off what is behind the blob's end, and gives the file its name.
    /// @pre every piece is there. @errors kIo.
    Status finish_as(const std::filesystem::path& file);

  private:
    SparseFile(std::filesystem::path path, Descriptor file, const blob::PieceList& list)
        : path_(std::move(path)), file_(std::move(file)), list_(list) {}

    std::filesystem::path path_;
    Descriptor file_;
    const blob::PieceList& list_;
};

}  // namespace gym::mirror
