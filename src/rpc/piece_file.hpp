#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "gym/blob/piece_list.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/vault/sealed_parts.hpp"

namespace gym::rpc {

/// The pieces of a blob on a node's disk, sealed: what mirrors sent is checked before it is there,
/// and again when a later process continues it.
class PieceFile final : public mirror::PieceSink {
  public:
    /// @errors kIo.
    [[nodiscard]] static Result<PieceFile> open(const std::filesystem::path& path,
                                                const vault::StoreKey& key,
                                                const blob::PieceList& list);

    bool has(std::uint64_t index) override;
    Status write(std::uint64_t index, ByteView bytes) override;
    /// The pieces that are missing, from the coordinator. @return the bytes that it sent.
    /// @errors kMismatch for a piece that is none; kIo; those of get_blob().
    [[nodiscard]] Result<std::uint64_t> complete_from(
        Coordinator& coordinator, const std::function<void(std::uint64_t)>& received);
    Status finish() { return of_disk(parts_.finish()); }
    /// Of all write() since open().
    [[nodiscard]] std::uint64_t bytes_written() const { return *written_; }

  private:
    PieceFile(const blob::PieceList& list, vault::SealedParts parts)
        : list_(list), parts_(std::move(parts)) {}
    /// An error of this disk, not of who sends the blob.
    [[nodiscard]] static Status of_disk(const Status& status);

    const blob::PieceList& list_;
    vault::SealedParts parts_;
    std::unique_ptr<std::atomic<std::uint64_t>> written_ =
        std::make_unique<std::atomic<std::uint64_t>>(0);
};

}  // namespace gym::rpc
