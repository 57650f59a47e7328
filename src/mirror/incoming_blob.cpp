#include "incoming_blob.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "piece_io.hpp"

namespace gym::mirror {
namespace {

namespace fs = std::filesystem;

/// The file and the room, until the blob is finished or given up.
class Part {
  public:
    explicit Part(IncomingPart part) : part_(std::move(part)) {}
    ~Part() {
        std::error_code ignored;
        fs::remove(part_.path, ignored);
        part_.intake->end_receive(part_.size_bytes);
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    [[nodiscard]] std::uint64_t size_bytes() const { return part_.size_bytes; }
    Status write(std::uint64_t offset, ByteView bytes) {
        return write_at(part_.file.get(), part_.path, offset, bytes);
    }
    Status adopt(const blob::PieceList& list) {
        return part_.intake->adopt(list, part_.path, part_.kept);
    }

  private:
    const IncomingPart part_;
};

class Incoming final : public IncomingBlob {
  public:
    Incoming(const Digest& root, IncomingPart part)
        : root_(root), size_bytes_(part.size_bytes), part_(std::move(part)), list_(size_bytes_) {}

    Status write(ByteView bytes) override {
        if (bytes.size() > size_bytes_ - written_ - piece_.size())
            return fail(ErrorCode::kOutOfRange, "the body is longer than the " +
                                                    std::to_string(size_bytes_) +
                                                    " bytes that the ticket is for");
        while (!bytes.empty()) {
            const std::uint64_t whole = std::min(blob::kPieceBytes, size_bytes_ - written_);
            const std::size_t part = std::min<std::size_t>(bytes.size(), whole - piece_.size());
            piece_.insert(piece_.end(), bytes.begin(),
                          bytes.begin() + static_cast<std::ptrdiff_t>(part));
            bytes = bytes.subspan(part);
            if (piece_.size() < whole) continue;
            list_.add(piece_);
            GYM_CHECK(part_.write(written_, piece_));
            written_ += piece_.size();
            piece_.clear();
        }
        return {};
    }
    Status finish() override {
        if (written_ != size_bytes_)
            return fail(ErrorCode::kMismatch, std::to_string(written_ + piece_.size()) +
                                                  " bytes arrived where " +
                                                  std::to_string(size_bytes_) + " were announced");
        const blob::PieceList list = std::move(list_).finish();
        if (list.root() != root_)
            return fail(ErrorCode::kMismatch,
                        "the body hashes to " + list.root().hex() + ", not to " + root_.hex());
        return part_.adopt(list);
    }

  private:
    const Digest root_;
    const std::uint64_t size_bytes_;
    Part part_;
    blob::PieceListBuilder list_;
    Bytes piece_;
    std::uint64_t written_ = 0;
};

class Pieces final : public IncomingPieces {
  public:
    explicit Pieces(IncomingPart part) : part_(std::move(part)) {}
    bool has(std::uint64_t) override { return false; }
    Status write(std::uint64_t index, ByteView bytes) override {
        return part_.write(index * blob::kPieceBytes, bytes);
    }
    Status finish(const blob::PieceList& list) override { return part_.adopt(list); }

  private:
    Part part_;
};

}  // namespace

std::unique_ptr<IncomingBlob> make_incoming(const Digest& root, IncomingPart part) {
    return std::make_unique<Incoming>(root, std::move(part));
}

std::unique_ptr<IncomingPieces> make_incoming_pieces(IncomingPart part) {
    return std::make_unique<Pieces>(std::move(part));
}

}  // namespace gym::mirror
