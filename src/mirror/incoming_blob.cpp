#include "incoming_blob.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "piece_io.hpp"

namespace gym::mirror {
namespace {

namespace fs = std::filesystem;

class Incoming final : public IncomingBlob {
  public:
    Incoming(const Digest& root, std::uint64_t size_bytes, std::chrono::seconds kept, fs::path part,
             Descriptor file, std::shared_ptr<BlobIntake> folder)
        : root_(root),
          size_bytes_(size_bytes),
          kept_(kept),
          part_(std::move(part)),
          file_(std::move(file)),
          folder_(std::move(folder)),
          list_(size_bytes) {}
    ~Incoming() override {
        std::error_code ignored;
        fs::remove(part_, ignored);
        folder_->end_receive(size_bytes_);
    }
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;

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
            GYM_CHECK(write_at(file_.get(), part_, written_, piece_));
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
        return folder_->adopt(list, part_, kept_);
    }

  private:
    const Digest root_;
    const std::uint64_t size_bytes_;
    const std::chrono::seconds kept_;
    const fs::path part_;
    const Descriptor file_;
    const std::shared_ptr<BlobIntake> folder_;
    blob::PieceListBuilder list_;
    Bytes piece_;
    std::uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<IncomingBlob> make_incoming(const Digest& root, std::uint64_t size_bytes,
                                            std::chrono::seconds kept, fs::path part,
                                            Descriptor file, std::shared_ptr<BlobIntake> intake) {
    return std::make_unique<Incoming>(root, size_bytes, kept, std::move(part), std::move(file),
                                      std::move(intake));
}

}  // namespace gym::mirror
