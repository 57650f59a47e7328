#include "gym/mirror/piece_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/descriptor.hpp"
#include "gym/common/file.hpp"
#include "gym/common/file_lock.hpp"
#include "incoming_blob.hpp"
#include "piece_io.hpp"

namespace gym::mirror {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListSuffix = ".pieces";
constexpr const char* kPartPrefix = ".part-";
/// Blobs that stay open after their last use, so that their pieces are not hashed again.
constexpr std::size_t kOpenMax = 64;
/// For so long a blob that could not be stored is known without the disk, which is tried again
/// then.
constexpr std::chrono::seconds kUnstoredFor{60};
/// How exact the order of use is that survives a restart.
constexpr std::int64_t kTouchSeconds = 60;
constexpr std::uint64_t kListBytesMax = std::uint64_t{1} << 30;

std::int64_t now_s() {
    return static_cast<std::int64_t>(::time(nullptr));
}

class Blob;

/// The files and what they take.
class Folder final : public BlobIntake {
  public:
    Folder(fs::path path, std::uint64_t bytes_max, FileLock lock)
        : path_(std::move(path)), bytes_max_(bytes_max), lock_(std::move(lock)) {}

    Status scan();
    std::shared_ptr<Blob> find(const Digest& root, const std::shared_ptr<Folder>& self) {
        const std::scoped_lock lock(mutex_);
        return find_locked(root, self);
    }
    /// Finds the blob or adds it.
    std::shared_ptr<Blob> add(std::shared_ptr<const blob::PieceList> list,
                              const std::shared_ptr<Folder>& self);
    /// Makes room for `bytes`, which count until settle(). @return whether there is room.
    bool reserve(std::uint64_t bytes);
    void settle(const Digest& root, std::uint64_t reserved);
    /// Removes the blob that was used least recently. @return whether there was one.
    bool evict_one();

    /// Room for a blob that is being sent here, until end_receive(). @errors kOutOfRange.
    Status begin_receive(std::uint64_t bytes, std::uint64_t pinned_bytes_max);
    void end_receive(std::uint64_t bytes) override;
    /// A path for its bytes until it has its name.
    [[nodiscard]] fs::path part_path(const Digest& root);
    Status adopt(const blob::PieceList& list, const fs::path& part,
                 std::chrono::seconds kept) override;

    /// Lets go of the blobs that nobody reads; they hold this folder.
    void forget_recent() {
        const std::scoped_lock lock(mutex_);
        recent_.clear();
        unstored_.clear();
    }

    [[nodiscard]] std::uint64_t bytes() const {
        const std::scoped_lock lock(mutex_);
        return used_ + reserved_;
    }
    [[nodiscard]] std::uint64_t blobs() const {
        const std::scoped_lock lock(mutex_);
        return entries_.size();
    }
    [[nodiscard]] std::uint64_t evicted() const {
        const std::scoped_lock lock(mutex_);
        return evicted_;
    }

  private:
    struct Entry {
        std::uint64_t bytes = 0;
        std::list<Digest>::iterator order;
        std::weak_ptr<Blob> open;
        /// Of a blob that is not to be evicted: until when, which is later than now.
        std::int64_t touched_s = 0;
    };
    using Entries = std::map<Digest, Entry>;

    [[nodiscard]] fs::path data_path(const Digest& root) const {
        const std::string name = to_hex(root.view());
        return path_ / name.substr(0, 2) / name;
    }
    [[nodiscard]] fs::path list_path(const Digest& root) const {
        return data_path(root).string() + kListSuffix;
    }
    std::shared_ptr<Blob> find_locked(const Digest& root, const std::shared_ptr<Folder>& self);
    std::shared_ptr<Blob> find_unstored(const Digest& root);
    std::shared_ptr<Blob> add_unstored(std::shared_ptr<const blob::PieceList> list,
                                       const std::shared_ptr<Folder>& self);
    void measure(const Digest& root, Entry& entry);
    void touch(const Digest& root, Entry& entry);
    void keep_open(const std::shared_ptr<Blob>& blob);
    void remove(Entries::iterator entry);
    bool evict_locked();
    bool reserve_locked(std::uint64_t bytes);
    std::shared_ptr<Blob> open_locked(const Digest& root, Entry& entry,
                                      std::shared_ptr<const blob::PieceList> list, bool is_new,
                                      const std::shared_ptr<Folder>& self);
    void scan_file(const fs::path& file, std::vector<std::pair<std::int64_t, Digest>>& found);

    const fs::path path_;
    const std::uint64_t bytes_max_;
    const FileLock lock_;
    mutable std::mutex mutex_;
    Entries entries_;
    std::list<Digest> order_;  ///< least recently used first
    std::deque<std::shared_ptr<Blob>> recent_;
    /// Blobs that the disk or the bound had no room for, and until when they are known.
    std::deque<std::pair<std::chrono::steady_clock::time_point, std::shared_ptr<Blob>>> unstored_;
    std::uint64_t used_ = 0;
    std::uint64_t reserved_ = 0;
    std::uint64_t receiving_ = 0;  ///< of these, for blobs that are being sent here
    std::uint64_t parts_ = 0;      ///< that were begun, for their names
    std::uint64_t evicted_ = 0;
};

class Blob final : public CachedBlob {
  public:
    /// @param file below 0: nothing is stored. `is_new`: the file has no pieces.
    Blob(std::shared_ptr<const blob::PieceList> list, fs::path path, int file, bool is_new,
         std::shared_ptr<Folder> folder)
        : list_(std::move(list)),
          path_(std::move(path)),
          file_(file),
          folder_(std::move(folder)),
          states_(list_->count(), file < 0 || is_new ? State::kAbsent : State::kUnknown) {}

    [[nodiscard]] const std::shared_ptr<const blob::PieceList>& pieces() const override {
        return list_;
    }

    Result<bool> read(std::uint64_t index, std::uint64_t offset,
                      std::span<std::uint8_t> out) override {
        GYM_ASSERT(index < list_->count() && offset <= list_->size_of(index) &&
                       out.size() <= list_->size_of(index) - offset,
                   "a read beyond the piece");
        if (state(index) == State::kUnknown) GYM_CHECK(look(index));
        if (state(index) == State::kAbsent) return false;
        GYM_TRY(const bool whole, read_at(file_.get(), path_, list_->offset(index) + offset, out));
        if (!whole) set(index, State::kAbsent);  // somebody cut the file
        return whole;
    }

    Status write(std::uint64_t index, ByteView bytes) override {
        GYM_ASSERT(bytes.size() == list_->size_of(index), "a whole piece");
        if (file_.get() < 0 || !folder_->reserve(bytes.size()))
            return fail(ErrorCode::kOutOfRange,
                        "the cache has no room for a piece of blob " + list_->root().hex());
        Status written = write_at(file_.get(), path_, list_->offset(index), bytes);
        while (!written.ok() && written.error().code == ErrorCode::kOutOfRange &&
               folder_->evict_one())
            written = write_at(file_.get(), path_, list_->offset(index), bytes);
        if (written.ok()) set(index, State::kPresent);
        folder_->settle(list_->root(), bytes.size());
        return written;
    }

    Result<bool> is_complete() override {
        // Strangers ask: it must not hash a gigabyte. A file of a process before without holes is
        // taken for whole; its pieces are hashed when they are read.
        if (list_->count() == 1 && state(0) == State::kUnknown) GYM_CHECK(look(0));
        const std::scoped_lock lock(mutex_);
        const auto has = [this](State state) {
            return std::ranges::find(states_, state) != states_.end();
        };
        if (has(State::kAbsent)) return false;
        return !has(State::kUnknown) || bytes_on_disk(path_) >= list_->size_bytes();
    }

  private:
    enum class State : std::uint8_t { kUnknown, kAbsent, kPresent };

    [[nodiscard]] State state(std::uint64_t index) const {
        const std::scoped_lock lock(mutex_);
        return states_[static_cast<std::size_t>(index)];
    }
    void set(std::uint64_t index, State state) {
        const std::scoped_lock lock(mutex_);
        states_[static_cast<std::size_t>(index)] = state;
    }
    /// Whether the bytes of a process before are the piece.
    Status look(std::uint64_t index) {
        Bytes bytes(static_cast<std::size_t>(list_->size_of(index)));
        GYM_TRY(const bool whole, read_at(file_.get(), path_, list_->offset(index), bytes));
        const bool right = whole && list_->matches(index, bytes);
        const std::scoped_lock lock(mutex_);
        State& known = states_[static_cast<std::size_t>(index)];
        if (known == State::kUnknown) known = right ? State::kPresent : State::kAbsent;
        return {};
    }

    const std::shared_ptr<const blob::PieceList> list_;
    const fs::path path_;
    const Descriptor file_;
    const std::shared_ptr<Folder> folder_;
    mutable std::mutex mutex_;
    std::vector<State> states_;
};

void Folder::scan_file(const fs::path& file, std::vector<std::pair<std::int64_t, Digest>>& found) {
    std::error_code ignored;
    std::string name = file.filename().string();
    const bool is_list = name.ends_with(kListSuffix);
    if (is_list) name.resize(name.size() - std::strlen(kListSuffix));
    const auto root = Digest::parse(name);
    const bool ours = root.ok() && to_hex(root->view()) == name;
    if (ours && is_list) {
        struct stat info {};
        if (::stat(file.c_str(), &info) == 0) found.emplace_back(info.st_mtim.tv_sec, *root);
    } else if ((ours && !fs::exists(list_path(*root), ignored)) ||
               (name.starts_with('.') && name.find(".pieces.") != std::string::npos) ||
               name.starts_with(kPartPrefix)) {
        fs::remove(file, ignored);  // what a crash left
    }
}

Status Folder::scan() {
    std::vector<std::pair<std::int64_t, Digest>> found;
    std::error_code code;
    for (fs::directory_iterator at(path_, code), end; !code && at != end; at.increment(code)) {
        if (!at->is_directory() || at->path().filename().string().size() != 2) continue;
        std::error_code inner;
        for (fs::directory_iterator file(at->path(), inner), last; !inner && file != last;
             file.increment(inner))
            scan_file(file->path(), found);
        if (inner) return fail(ErrorCode::kIo, at->path().string() + ": " + inner.message());
    }
    if (code) return fail(ErrorCode::kIo, path_.string() + ": " + code.message());
    std::ranges::sort(found);
    const std::scoped_lock lock(mutex_);
    for (const auto& [touched_s, root] : found) {
        Entry& entry = entries_[root];
        entry.order = order_.insert(order_.end(), root);
        entry.touched_s = touched_s;
        measure(root, entry);
    }
    reserve_locked(0);  // the bound may be lower than the last time
    return {};
}

void Folder::measure(const Digest& root, Entry& entry) {
    used_ -= entry.bytes;
    entry.bytes = bytes_on_disk(data_path(root)) + bytes_on_disk(list_path(root));
    used_ += entry.bytes;
}

void Folder::touch(const Digest& root, Entry& entry) {
    order_.splice(order_.end(), order_, entry.order);
    const std::int64_t now = now_s();
    if (now - entry.touched_s < kTouchSeconds) return;
    entry.touched_s = now;
    // Without it the order after a restart is only less exact.
    static_cast<void>(::utimensat(AT_FDCWD, list_path(root).c_str(), nullptr, 0));
}

void Folder::keep_open(const std::shared_ptr<Blob>& blob) {
    if (const auto found = std::ranges::find(recent_, blob); found != recent_.end())
        recent_.erase(found);
    recent_.push_back(blob);
    if (recent_.size() > kOpenMax) recent_.pop_front();
}

void Folder::remove(Entries::iterator entry) {
    const Digest root = entry->first;
    std::erase_if(recent_, [&](const auto& blob) { return blob->pieces()->root() == root; });
    std::error_code ignored;
    fs::remove(list_path(root), ignored);
    fs::remove(data_path(root), ignored);
    used_ -= entry->second.bytes;
    order_.erase(entry->second.order);
    entries_.erase(entry);
}

bool Folder::evict_locked() {
    const std::int64_t now = now_s();
    for (const Digest& root : order_) {
        const auto entry = entries_.find(root);
        if (entry->second.touched_s > now) continue;  // the mirror promised its uploader to keep it
        const std::shared_ptr<Blob> open = entry->second.open.lock();
        const bool is_recent = open && std::ranges::find(recent_, open) != recent_.end();
        if (open && open.use_count() > (is_recent ? 2 : 1)) continue;  // somebody reads it
        remove(entry);
        ++evicted_;
        return true;
    }
    return false;
}

bool Folder::evict_one() {
    const std::scoped_lock lock(mutex_);
    return evict_locked();
}

bool Folder::reserve_locked(std::uint64_t bytes) {
    while (used_ + reserved_ > bytes_max_ || bytes > bytes_max_ - used_ - reserved_)
        if (!evict_locked()) return false;
    reserved_ += bytes;
    return true;
}

bool Folder::reserve(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    return reserve_locked(bytes);
}

void Folder::settle(const Digest& root, std::uint64_t reserved) {
    const std::scoped_lock lock(mutex_);
    reserved_ -= reserved;
    if (const auto entry = entries_.find(root); entry != entries_.end())
        measure(root, entry->second);
}

std::shared_ptr<Blob> Folder::open_locked(const Digest& root, Entry& entry,
                                          std::shared_ptr<const blob::PieceList> list, bool is_new,
                                          const std::shared_ptr<Folder>& self) {
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | (is_new ? O_TRUNC : 0);
    const int file = ::open(data_path(root).c_str(), flags, 0644);
    if (file >= 0 && ::ftruncate(file, static_cast<off_t>(list->size_bytes())) != 0) {
        ::close(file);
        return nullptr;
    }
    if (file < 0) return nullptr;
    auto blob = std::make_shared<Blob>(std::move(list), data_path(root), file, is_new, self);
    entry.open = blob;
    keep_open(blob);
    return blob;
}

std::shared_ptr<Blob> Folder::find_locked(const Digest& root, const std::shared_ptr<Folder>& self) {
    const auto found = entries_.find(root);
    if (found == entries_.end()) return find_unstored(root);
    Entry& entry = found->second;
    if (auto open = entry.open.lock()) {
        touch(root, entry);
        keep_open(open);
        return open;
    }
    const auto bytes = read_file(list_path(root), kListBytesMax);
    auto list =
        bytes.ok() ? blob::PieceList::decode(root, *bytes) : Result<blob::PieceList>(bytes.error());
    std::shared_ptr<Blob> blob;
    if (list.ok()) {
        touch(root, entry);
        blob = open_locked(root, entry,
                           std::make_shared<const blob::PieceList>(std::move(list).value()), false,
                           self);
    }
    if (!blob) remove(found);  // it rotted, or somebody removed it
    return blob;
}

std::shared_ptr<Blob> Folder::find_unstored(const Digest& root) {
    const auto now = std::chrono::steady_clock::now();
    while (!unstored_.empty() && unstored_.front().first <= now)
        unstored_.pop_front();
    for (const auto& [until, blob] : unstored_)
        if (blob->pieces()->root() == root) return blob;
    return nullptr;
}

std::shared_ptr<Blob> Folder::add_unstored(std::shared_ptr<const blob::PieceList> list,
                                           const std::shared_ptr<Folder>& self) {
    auto blob = std::make_shared<Blob>(std::move(list), fs::path(), -1, true, self);
    unstored_.emplace_back(std::chrono::steady_clock::now() + kUnstoredFor, blob);
    if (unstored_.size() > kOpenMax) unstored_.pop_front();
    return blob;
}

std::shared_ptr<Blob> Folder::add(std::shared_ptr<const blob::PieceList> list,
                                  const std::shared_ptr<Folder>& self) {
    const Digest root = list->root();
    const Bytes encoded = list->encode();
    const std::scoped_lock lock(mutex_);
    if (auto known = find_locked(root, self)) return known;
    if (!reserve_locked(encoded.size())) return add_unstored(std::move(list), self);
    std::error_code ignored;
    fs::create_directories(list_path(root).parent_path(), ignored);
    const Status written = write_file_atomic(list_path(root), encoded);
    reserved_ -= encoded.size();
    if (!written.ok()) return add_unstored(std::move(list), self);
    const auto at = entries_.try_emplace(root).first;
    at->second.order = order_.insert(order_.end(), root);
    at->second.touched_s = now_s();
    measure(root, at->second);
    auto blob = open_locked(root, at->second, list, true, self);
    if (blob) return blob;
    remove(at);
    return add_unstored(std::move(list), self);
}

Status Folder::begin_receive(std::uint64_t bytes, std::uint64_t pinned_bytes_max) {
    const std::scoped_lock lock(mutex_);
    const std::int64_t now = now_s();
    std::uint64_t pinned = receiving_;
    for (const auto& [root, entry] : entries_)
        if (entry.touched_s > now) pinned += entry.bytes;
    if (pinned > pinned_bytes_max || bytes > pinned_bytes_max - pinned || !reserve_locked(bytes))
        return fail(ErrorCode::kOutOfRange,
                    "the mirror has no room for an upload of " + std::to_string(bytes) + " bytes");
    receiving_ += bytes;
    return {};
}

void Folder::end_receive(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    reserved_ -= bytes;
    receiving_ -= bytes;
}

fs::path Folder::part_path(const Digest& root) {
    const std::scoped_lock lock(mutex_);
    return data_path(root).parent_path() /
           (kPartPrefix + to_hex(root.view()) + "-" + std::to_string(++parts_));
}

Status Folder::adopt(const blob::PieceList& list, const fs::path& part, std::chrono::seconds kept) {
    const Digest& root = list.root();
    const std::scoped_lock lock(mutex_);
    // Those who read an incomplete one hold a file of their own, which they may finish.
    if (const auto known = entries_.find(root); known != entries_.end()) remove(known);
    std::error_code code;
    fs::rename(part, data_path(root), code);
    if (code) return fail(ErrorCode::kIo, part.string() + ": " + code.message());
    const Status written = write_file_atomic(list_path(root), list.encode());
    if (!written.ok()) {
        fs::remove(data_path(root), code);
        return written;
    }
    Entry& entry = entries_[root];
    entry.order = order_.insert(order_.end(), root);
    entry.touched_s = now_s() + kept.count();
    const timespec until{entry.touched_s, 0};
    const std::array<timespec, 2> times{until, until};
    // Without it the blob is only less safe after a restart.
    static_cast<void>(::utimensat(AT_FDCWD, list_path(root).c_str(), times.data(), 0));
    measure(root, entry);
    return {};
}

class FolderCache final : public PieceCache {
  public:
    explicit FolderCache(std::shared_ptr<Folder> folder) : folder_(std::move(folder)) {}
    ~FolderCache() override { folder_->forget_recent(); }
    FolderCache(const FolderCache&) = delete;
    FolderCache& operator=(const FolderCache&) = delete;

    Result<std::shared_ptr<CachedBlob>> find(const Digest& root) override {
        return std::shared_ptr<CachedBlob>(folder_->find(root, folder_));
    }
    Result<std::shared_ptr<CachedBlob>> add(blob::PieceList list) override {
        return std::shared_ptr<CachedBlob>(
            folder_->add(std::make_shared<const blob::PieceList>(std::move(list)), folder_));
    }
    Result<std::unique_ptr<IncomingBlob>> receive(const Digest& root, std::uint64_t size_bytes,
                                                  std::chrono::seconds kept,
                                                  std::uint64_t bytes_max) override {
        GYM_TRY(IncomingPart part, begin(root, size_bytes, kept, bytes_max));
        return make_incoming(root, std::move(part));
    }
    Result<std::unique_ptr<IncomingPieces>> receive_pieces(const Digest& root,
                                                           std::uint64_t size_bytes,
                                                           std::chrono::seconds kept,
                                                           std::uint64_t bytes_max) override {
        GYM_TRY(IncomingPart part, begin(root, size_bytes, kept, bytes_max));
        return make_incoming_pieces(std::move(part));
    }
    [[nodiscard]] std::uint64_t bytes() const override { return folder_->bytes(); }
    [[nodiscard]] std::uint64_t blobs() const override { return folder_->blobs(); }
    [[nodiscard]] std::uint64_t evicted() const override { return folder_->evicted(); }

  private:
    Result<IncomingPart> begin(const Digest& root, std::uint64_t size_bytes,
                               std::chrono::seconds kept, std::uint64_t bytes_max) {
        GYM_CHECK(folder_->begin_receive(size_bytes, bytes_max));
        const fs::path path = folder_->part_path(root);
        std::error_code ignored;
        fs::create_directories(path.parent_path(), ignored);
        Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
        if (file.get() < 0) {
            folder_->end_receive(size_bytes);
            return fail(ErrorCode::kIo, path.string() + ": " + std::strerror(errno));
        }
        return IncomingPart{size_bytes, kept, path, std::move(file), folder_};
    }

    const std::shared_ptr<Folder> folder_;
};

}  // namespace

Result<std::unique_ptr<PieceCache>> PieceCache::open(const fs::path& folder,
                                                     std::uint64_t bytes_max) {
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return fail(ErrorCode::kIo, folder.string() + ": " + code.message());
    GYM_TRY(FileLock lock, FileLock::acquire(folder / "lock",
                                             "gym mirror, process " + std::to_string(::getpid())));
    auto held = std::make_shared<Folder>(folder, bytes_max, std::move(lock));
    GYM_CHECK(held->scan());
    return std::unique_ptr<PieceCache>(std::make_unique<FolderCache>(std::move(held)));
}

}  // namespace gym::mirror
