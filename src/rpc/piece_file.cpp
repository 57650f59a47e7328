#include "piece_file.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gym::rpc {

static_assert(blob::kPieceBytes % vault::kPieceBytes == 0, "a piece is whole sealed records");

Result<PieceFile> PieceFile::open(const std::filesystem::path& path, const vault::StoreKey& key,
                                  const blob::PieceList& list) {
    auto parts = vault::SealedParts::open(path, key, list.root(), list.size_bytes());
    if (!parts.ok()) return of_disk(parts.error()).error();
    return PieceFile(list, std::move(parts).value());
}

Status PieceFile::of_disk(const Status& status) {
    if (status.ok()) return status;
    Error error = status.error();
    error.code = ErrorCode::kIo;
    return error;
}

bool PieceFile::has(std::uint64_t index) {
    Bytes bytes(static_cast<std::size_t>(list_.size_of(index)));
    const auto read = parts_.read(list_.offset(index), bytes);
    return read.ok() && *read && list_.matches(index, bytes);
}

Status PieceFile::write(std::uint64_t index, ByteView bytes) {
    GYM_CHECK(of_disk(parts_.write(list_.offset(index), bytes)));
    *written_ += bytes.size();
    return {};
}

Result<std::uint64_t> PieceFile::complete_from(Coordinator& coordinator,
                                               const std::function<void(std::uint64_t)>& received) {
    std::uint64_t index = 0, sent = 0;
    while (index < list_.count() && has(index))
        ++index;
    Bytes piece;
    const auto take_piece = [&]() -> Status {
        if (!list_.matches(index, piece))
            return fail(ErrorCode::kMismatch, "piece " + std::to_string(index) + " of blob " +
                                                  list_.root().hex() +
                                                  " from the coordinator has wrong bytes");
        GYM_CHECK(write(index, piece));
        ++index;
        piece.clear();
        return {};
    };
    const auto sink = [&](ByteView chunk, std::uint64_t size_bytes) -> Status {
        if (size_bytes != list_.size_bytes())
            return fail(ErrorCode::kMismatch,
                        "the coordinator says that blob " + list_.root().hex() + " has " +
                            std::to_string(size_bytes) + " bytes, its root says " +
                            std::to_string(list_.size_bytes()));
        sent += chunk.size();
        while (!chunk.empty()) {
            if (index == list_.count())
                return fail(ErrorCode::kMismatch,
                            "blob " + list_.root().hex() + " is longer than its size");
            const std::size_t room = static_cast<std::size_t>(list_.size_of(index)) - piece.size();
            const ByteView part = chunk.first(std::min(room, chunk.size()));
            piece.insert(piece.end(), part.begin(), part.end());
            chunk = chunk.subspan(part.size());
            if (part.size() == room) GYM_CHECK(take_piece());
        }
        received(sent);
        return {};
    };
    if (index < list_.count())
        GYM_CHECK(coordinator.get_blob(list_.root(), list_.offset(index), sink));
    if (index < list_.count())
        return fail(ErrorCode::kUnavailable,
                    "the download of blob " + list_.root().hex() + " ended early");
    return sent;
}

}  // namespace gym::rpc
