#include "membership.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace gym::torrent {
namespace {

namespace fs = std::filesystem;

unsigned digit_of(char c) {
    return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>(c - 'a') + 10;
}

constexpr std::size_t kDigitBits = 4;

}  // namespace

Membership::Membership(fs::path path, Descriptor file, const Digest& root, std::uint64_t size_bytes)
    : path_(std::move(path)),
      file_(std::move(file)),
      root_(root),
      size_bytes_(size_bytes),
      right_(static_cast<std::size_t>(blob::piece_count(size_bytes))),
      have_(right_.size()) {}

Result<std::shared_ptr<Membership>> Membership::open(const fs::path& file, const Digest& root,
                                                     std::uint64_t size_bytes) {
    Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (opened.get() < 0) return system_error(file, "open");
    return std::shared_ptr<Membership>(new Membership(file, std::move(opened), root, size_bytes));
}

void Membership::arrived(std::uint64_t index, bool by_peer) {
    const std::scoped_lock lock(mutex_);
    if (over_ || index >= right_.size() || right_[static_cast<std::size_t>(index)] ||
        arrived_.size() >= 2 * right_.size())
        return;
    arrived_.emplace_back(index, by_peer);
    changed_.notify_all();
}

void Membership::set_have(std::string_view hex) {
    if (hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) return;
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < have_.size(); ++i) {
        const std::size_t digit = i / kDigitBits;
        const unsigned bit = 1U << (kDigitBits - 1 - i % kDigitBits);
        have_[i] = digit < hex.size() && (digit_of(hex[digit]) & bit) != 0;
    }
}

void Membership::end() {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    arrived_.clear();
    have_.assign(have_.size(), false);
}

bool Membership::is_over() const {
    const std::scoped_lock lock(mutex_);
    return over_;
}

std::optional<mirror::Peers::Piece> Membership::take(std::chrono::milliseconds wait) {
    std::pair<std::uint64_t, bool> next;
    {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, wait, [this] { return !arrived_.empty(); }))
            return std::nullopt;
        next = arrived_.front();
        arrived_.pop_front();
    }
    auto bytes = read(next.first);
    // A file that cannot be read has no pieces: a source is asked for them.
    if (!bytes.ok()) return std::nullopt;
    return mirror::Peers::Piece{next.first, std::move(bytes).value(), next.second};
}

Result<Bytes> Membership::read(std::uint64_t index) const {
    const std::uint64_t offset = index * blob::kPieceBytes;
    Bytes out(static_cast<std::size_t>(std::min(blob::kPieceBytes, size_bytes_ - offset)));
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got = ::pread(file_.get(), out.data() + done, out.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fail(ErrorCode::kIo, path_.string() + " is shorter than it must be");
        done += static_cast<std::size_t>(got);
    }
    return out;
}

bool Membership::have(std::uint64_t index) const {
    const std::scoped_lock lock(mutex_);
    return have_[static_cast<std::size_t>(index)];
}

Result<bool> Membership::write(std::uint64_t index, ByteView bytes) {
    {
        const std::scoped_lock lock(mutex_);
        if (over_ || right_[static_cast<std::size_t>(index)]) return false;
    }
    std::uint64_t offset = index * blob::kPieceBytes;
    while (!bytes.empty()) {
        const ssize_t put =
            ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return fail(ErrorCode::kIo, path_.string() + ": " + std::strerror(errno));
        offset += static_cast<std::uint64_t>(put);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    note_right(index);
    return true;
}

void Membership::note_right(std::uint64_t index) {
    const std::scoped_lock lock(mutex_);
    if (right_[static_cast<std::size_t>(index)]) return;
    right_[static_cast<std::size_t>(index)] = true;
    ++right_count_;
}

bool Membership::is_whole() const {
    const std::scoped_lock lock(mutex_);
    return right_count_ == right_.size();
}

}  // namespace gym::torrent
