#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "gym/blob/piece_list.hpp"
#include "gym/common/descriptor.hpp"
#include "gym/mirror/piece_cache.hpp"

namespace gym::mirror {

/// The folder that a blob is being sent to.
class BlobIntake {
  public:
    virtual ~BlobIntake() = default;
    /// Gives a file its name. @errors kIo.
    virtual Status adopt(const blob::PieceList& list, const std::filesystem::path& part,
                         std::chrono::seconds kept) = 0;
    /// The room that was reserved for it is free again.
    virtual void end_receive(std::uint64_t bytes) = 0;
};

/// A file with a part of a blob, and the room that is reserved for it.
struct IncomingPart {
    std::uint64_t size_bytes = 0;  ///< of the whole blob
    std::chrono::seconds kept{0};
    std::filesystem::path path;  ///< of the open `file`, which is removed unless it is finished
    Descriptor file;
    std::shared_ptr<BlobIntake> intake;
};

[[nodiscard]] std::unique_ptr<IncomingBlob> make_incoming(const Digest& root, IncomingPart part);
[[nodiscard]] std::unique_ptr<IncomingPieces> make_incoming_pieces(IncomingPart part);

}  // namespace gym::mirror
