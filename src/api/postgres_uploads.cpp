#include <algorithm>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "gym/api/turns.hpp"
#include "gym/api/uploads.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/file_lock.hpp"
#include "gym/common/memory.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/engine/state_layout.hpp"

namespace gym::api {

namespace fs = std::filesystem;

// Not anonymous: PostgresUploads::Impl, which has external linkage, holds values of these types.
namespace uploads {

constexpr std::size_t kCheckedPieceBytes = std::size_t{1} << 20;
constexpr std::uint32_t kSweptMax = 100;  // expired uploads that one request removes
constexpr std::int64_t kUploadLock = 0x67796d2e75706c64;  // "gym.upld"

/// What a file's bytes are, read once, in bounded memory.
struct Checked {
    Digest root;
    std::optional<engine::StateSummary> state;
    Status usable;  ///< why it is a state that no job can begin from
};
Result<Checked> check_file(const blob::BlobReader& file) {
    const std::uint64_t size_bytes = file.size();
    commit::ChunkTreeHasher hasher;
    std::optional<engine::StateScanner> scanner;
    Checked out;
    Bytes piece;
    for (std::uint64_t at = 0; at < size_bytes;) {
        piece.resize(
            static_cast<std::size_t>(std::min<std::uint64_t>(kCheckedPieceBytes, size_bytes - at)));
        GYM_CHECK(file.read(at, piece));
        if (at == 0 && engine::begins_as_state(piece)) scanner.emplace();
        hasher.update(piece);
        if (scanner && out.usable.ok()) out.usable = scanner->append(piece);
        at += piece.size();
    }
    out.root = commit::tensor_digest(commit::DType::kU8, {&size_bytes, 1}, hasher.root());
    if (!scanner || !out.usable.ok()) return out;
    auto summary = std::move(*scanner).finish();
    if (summary.ok())
        out.state = std::move(summary).value();
    else
        out.usable = summary.error();
    return out;
}

struct UploadRow {
    std::uint64_t size_bytes = 0;
    UnixMs touched_at_ms = 0;
    bool complete = false;
    std::optional<Digest> state_root;
};

Result<std::optional<UploadRow>> find_row(db::Transaction& tx, const Address& owner,
                                          const Digest& root) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT size_bytes, touched_at_ms, completed_at_ms, state_root FROM "
                             "api.upload WHERE owner = $1 AND root = $2",
                             {owner, root}));
    if (!row) return std::optional<UploadRow>();
    return std::optional(
        UploadRow{row->get<std::uint64_t>("size_bytes"), row->get<UnixMs>("touched_at_ms"),
                  !row->is_null("completed_at_ms"), row->get<std::optional<Digest>>("state_root")});
}

}  // namespace uploads

using uploads::Checked;
using uploads::UploadRow;

fs::path UploadFiles::of(const Address& owner, const Digest& root) const {
    return folder_ / to_hex(owner.view()) / to_hex(root.view());
}

fs::path UploadFiles::lock_of(const Address& owner, const Digest& root) const {
    return of(owner, root).string() + ".lock";
}

Status UploadFiles::prepare(const Address& owner) const {
    const fs::path folder = folder_ / to_hex(owner.view());
    std::error_code code;
    fs::create_directories(folder, code);
    if (!code) return {};
    return fail(ErrorCode::kIo, "cannot create " + folder.string() + ": " + code.message());
}

std::uint64_t UploadFiles::received(const Address& owner, const Digest& root) const {
    return vault::received_bytes(of(owner, root), *key_, root).value_or(0);
}

Result<vault::SealWriter> UploadFiles::append_to(const Address& owner, const Digest& root,
                                                 std::uint64_t size_bytes) const {
    const fs::path path = of(owner, root);
    auto begun = vault::SealWriter::resume(path, *key_, root);
    if (begun.ok() && begun->size_bytes() == size_bytes) return begun;
    const bool of_no_use = begun.ok() || begun.error().code == ErrorCode::kNotFound ||
                           begun.error().code == ErrorCode::kMismatch;
    if (!of_no_use) return begun;
    return vault::SealWriter::create(path, *key_, root, size_bytes);
}

Result<std::unique_ptr<const blob::BlobReader>> UploadFiles::open(const Address& owner,
                                                                  const Digest& root) const {
    return vault::open_sealed(of(owner, root), *key_, root);
}

void UploadFiles::remove(const Address& owner, const Digest& root) const {
    std::error_code ignored;
    fs::remove(of(owner, root), ignored);
    fs::remove(lock_of(owner, root), ignored);
}

struct PostgresUploads::Impl {
    db::Database& database;
    const UploadFiles files;
    const Clock& clock;
    const UploadLimits limits;
    Turns checking{};  // one blob is read at a time: it takes the disk anyhow

    template <class F>
    auto write(F&& body) {
        db::TransactOptions options;
        options.idempotent = true;
        return database.transact(std::forward<F>(body), options);
    }

    [[nodiscard]] Upload view(const Address& owner, const Digest& root,
                              const UploadRow& row) const {
        Upload out;
        out.root = root;
        out.size_bytes = row.size_bytes;
        out.complete = row.complete;
        out.received_bytes = row.complete ? row.size_bytes : files.received(owner, root);
        out.state_root = row.state_root;
        out.expires_at_ms = row.touched_at_ms + limits.keep_ms;
        return out;
    }

    Result<UploadRow> row_of(const Address& owner, const Digest& root) {
        GYM_TRY(const auto row,
                database.transact(
                    [&](db::Transaction& tx) { return uploads::find_row(tx, owner, root); },
                    {.read_only = true}));
        if (row) return *row;
        return fail(ErrorCode::kNotFound, "no upload of blob " + root.hex());
    }

    /// Forgets uploads that nobody touched for long.
    Status sweep() {
        struct Gone {
            Address owner;
            Digest root;
        };
        GYM_TRY(const auto gone, write([&](db::Transaction& tx) -> Result<std::vector<Gone>> {
                    GYM_TRY(const db::Rows rows,
                            tx.exec("DELETE FROM api.upload WHERE (owner, root) IN (SELECT owner, "
                                    "root FROM api.upload WHERE touched_at_ms < $1 LIMIT $2) "
                                    "RETURNING owner, root",
                                    {clock.now_ms() - limits.keep_ms, uploads::kSweptMax}));
                    std::vector<Gone> out;
                    for (const db::Row row : rows)
                        out.push_back({row.get<Address>("owner"), row.get<Digest>("root")});
                    return out;
                }));
        for (const Gone& one : gone)
            files.remove(one.owner, one.root);
        return {};
    }

    /// The row of an upload, new or as it stands. Reserves its size of the owner's quota.
    Result<UploadRow> reserve(const UploadPart& part) {
        return write([&](db::Transaction& tx) -> Result<UploadRow> {
            // Or two requests at once would each see room for itself.
            GYM_CHECK(tx.exec("SELECT pg_advisory_xact_lock($1)", {uploads::kUploadLock}));
            GYM_TRY(const auto row, uploads::find_row(tx, part.owner, part.root));
            const UnixMs now_ms = clock.now_ms();
            if (row) {
                GYM_CHECK(
                    tx.exec("UPDATE api.upload SET touched_at_ms = $3 WHERE owner = $1 AND "
                            "root = $2",
                            {part.owner, part.root, now_ms}));
                UploadRow out = *row;
                out.touched_at_ms = now_ms;
                return out;
            }
            GYM_TRY(const db::Row used,
                    tx.exec_one("SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes, count(*) "
                                "AS uploads FROM api.upload WHERE owner = $1",
                                {part.owner}));
            if (used.get<std::uint64_t>("uploads") >= limits.owner_uploads_max)
                return fail(ErrorCode::kOutOfRange,
                            "you may have " + std::to_string(limits.owner_uploads_max) +
                                " uploads at one time: forget one with DELETE /v1/blobs/{root}");
            const auto bytes = used.get<std::uint64_t>("bytes");
            if (bytes > limits.owner_bytes_max || part.size_bytes > limits.owner_bytes_max - bytes)
                return fail(ErrorCode::kOutOfRange,
                            "your uploads may have " + memory_text(limits.owner_bytes_max) +
                                " together; they have " + memory_text(bytes) +
                                ", and this blob has " + memory_text(part.size_bytes) +
                                ": forget one with DELETE /v1/blobs/{root}");
            GYM_CHECK(
                tx.exec("INSERT INTO api.upload (owner, root, size_bytes, touched_at_ms) "
                        "VALUES ($1, $2, $3, $4)",
                        {part.owner, part.root, part.size_bytes, now_ms}));
            return UploadRow{part.size_bytes, now_ms, false, {}};
        });
    }

    /// Forgets an upload that turned out to be no good.
    Status drop(const UploadPart& part) {
        GYM_CHECK(write([&](db::Transaction& tx) {
            return tx.exec("DELETE FROM api.upload WHERE owner = $1 AND root = $2",
                           {part.owner, part.root});
        }));
        files.remove(part.owner, part.root);
        return {};
    }

    /// Checks all bytes of a blob and makes it complete.
    Result<Upload> complete(const UploadPart& part) {
        const auto turn = checking.take(part.owner, clock.now_ms());
        if (!turn)
            return fail(ErrorCode::kUnavailable, "another upload is being checked; ask again");
        GYM_TRY(const auto file, files.open(part.owner, part.root));
        GYM_TRY(const Checked checked, uploads::check_file(*file));
        Status good = checked.usable;
        if (checked.root != part.root)
            good = fail(ErrorCode::kMismatch, "its bytes hash to " + checked.root.hex());
        if (!good.ok()) {
            GYM_CHECK(drop(part));
            Error error = good.error();
            error.message = "blob " + part.root.hex() + ": " + error.message +
                            "; what was received of it is removed";
            return error;
        }
        return write([&](db::Transaction& tx) { return note_complete(tx, part, checked); });
    }

    Result<Upload> note_complete(db::Transaction& tx, const UploadPart& part,
                                 const Checked& checked) {
        std::optional<Digest> state_root;
        std::optional<Bytes> layout;
        if (checked.state) {
            state_root = checked.state->root;
            layout = engine::encode_layout(checked.state->layout);
        }
        GYM_CHECK(
            tx.exec("UPDATE api.upload SET completed_at_ms = $3, state_root = $4, "
                    "state_layout = $5 WHERE owner = $1 AND root = $2",
                    {part.owner, part.root, clock.now_ms(), state_root, layout}));
        GYM_TRY(const auto row, uploads::find_row(tx, part.owner, part.root));
        if (row) return view(part.owner, part.root, *row);
        return fail(ErrorCode::kNotFound, "the upload was forgotten meanwhile");
    }
};

namespace {

/// Appends a part's bytes to its file. Holds the lock of the blob.
class FileSink final : public UploadSink {
  public:
    FileSink(UploadPart part, vault::SealWriter file, FileLock lock,
             std::function<Result<Upload>(const UploadPart&, std::uint64_t)> end)
        : part_(part), lock_(std::move(lock)), file_(std::move(file)), end_(std::move(end)) {}
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;
    /// What arrived of a request that is cut is kept.
    ~FileSink() override { [[maybe_unused]] const Status kept = file_.flush(); }

    Status write(ByteView piece) override {
        if (piece.size() > part_.length_bytes - taken_bytes_)
            return fail(ErrorCode::kMalformed, "more bytes than Content-Range says");
        const Status appended = file_.append(piece);
        if (!appended.ok()) {
            Error error = appended.error();
            if (error.code == ErrorCode::kOutOfRange)
                error.message = "the server's disk is full; what arrived is kept: try again later";
            return error;
        }
        taken_bytes_ += piece.size();
        return {};
    }

    Result<Upload> finish() override {
        if (taken_bytes_ != part_.length_bytes)
            return fail(ErrorCode::kMalformed, "fewer bytes than Content-Range says");
        GYM_CHECK(file_.sync());
        return end_(part_, file_.received_bytes());
    }

  private:
    const UploadPart part_;
    FileLock lock_;  // released after the file is written
    vault::SealWriter file_;
    std::function<Result<Upload>(const UploadPart&, std::uint64_t)> end_;
    std::uint64_t taken_bytes_ = 0;
};

Error out_of_place(const UploadPart& part, std::uint64_t received) {
    return fail(ErrorCode::kConflict, "blob " + part.root.hex() + " has " +
                                          std::to_string(received) + " of " +
                                          std::to_string(part.size_bytes) +
                                          " bytes: continue with the byte at that offset");
}

/// Holds off other requests about a blob. @errors kConflict, kIo.
Result<FileLock> lock_blob(const UploadFiles& files, const Address& owner, const Digest& root) {
    GYM_CHECK(files.prepare(owner));
    auto lock = FileLock::acquire(files.lock_of(owner, root), "a request");
    if (lock.ok() || lock.error().code != ErrorCode::kConflict) return lock;
    return fail(ErrorCode::kConflict,
                "another request sends blob " + root.hex() + " at this moment");
}

/// Whether a part of these numbers can belong to any blob.
Status check_numbers(const UploadPart& part, const UploadLimits& limits) {
    if (part.size_bytes == 0) return fail(ErrorCode::kInvalidArgument, "a blob of no bytes");
    if (part.size_bytes > limits.bytes_max)
        return fail(ErrorCode::kOutOfRange, "a blob of " + memory_text(part.size_bytes) +
                                                "; at most " + memory_text(limits.bytes_max) +
                                                " are allowed");
    const std::uint64_t offset = part.offset.value_or(0);
    if (offset <= part.size_bytes && part.length_bytes <= part.size_bytes - offset) return {};
    return fail(ErrorCode::kMalformed, "the part runs over the blob's end");
}

Status check_disk(const UploadPart& part, const fs::path& folder) {
    std::error_code code;
    const fs::space_info space = fs::space(folder, code);
    const std::uint64_t left = part.size_bytes - part.offset.value_or(part.size_bytes);
    if (code || space.available >= left) return {};
    return fail(ErrorCode::kOutOfRange, "the server's disk has room for " +
                                            memory_text(space.available) + ", and " +
                                            memory_text(left) + " of the blob are missing");
}

}  // namespace

PostgresUploads::PostgresUploads(db::Database& database, UploadFiles files, const Clock& clock,
                                 UploadLimits limits)
    : impl_(new Impl{database, std::move(files), clock, limits}) {}
PostgresUploads::~PostgresUploads() = default;

Result<std::shared_ptr<UploadSink>> PostgresUploads::begin(const UploadPart& part) {
    GYM_CHECK(check_numbers(part, impl_->limits));
    GYM_CHECK(impl_->sweep());
    GYM_TRY(const UploadRow row, impl_->reserve(part));
    if (row.size_bytes != part.size_bytes)
        return fail(ErrorCode::kConflict,
                    "the upload of blob " + part.root.hex() + " began with a size of " +
                        std::to_string(row.size_bytes) +
                        " bytes; forget it first with DELETE if that was wrong");
    if (row.complete) return fail(ErrorCode::kConflict, "blob " + part.root.hex() + " is complete");
    GYM_CHECK(impl_->files.prepare(part.owner));
    GYM_CHECK(check_disk(part, impl_->files.folder()));
    GYM_TRY(FileLock lock, lock_blob(impl_->files, part.owner, part.root));
    // Forgotten meanwhile, its bytes would count for nobody.
    GYM_TRY([[maybe_unused]] const UploadRow still, impl_->row_of(part.owner, part.root));
    GYM_TRY(vault::SealWriter file, impl_->files.append_to(part.owner, part.root, part.size_bytes));
    const std::uint64_t received = file.received_bytes();
    if (part.offset.value_or(part.size_bytes) != received) return out_of_place(part, received);
    auto end = [impl = impl_](const UploadPart& of, std::uint64_t bytes) -> Result<Upload> {
        if (bytes == of.size_bytes) return impl->complete(of);
        GYM_TRY(const UploadRow now, impl->row_of(of.owner, of.root));
        return impl->view(of.owner, of.root, now);
    };
    return std::shared_ptr<UploadSink>(
        std::make_shared<FileSink>(part, std::move(file), std::move(lock), std::move(end)));
}

Result<Upload> PostgresUploads::upload(const Address& owner, const Digest& root) {
    GYM_TRY(const UploadRow row, impl_->row_of(owner, root));
    return impl_->view(owner, root, row);
}

Result<Upload> PostgresUploads::forget(const Address& owner, const Digest& root) {
    GYM_CHECK(impl_->row_of(owner, root));
    // A file that is removed while bytes arrive would keep them, and count for nobody.
    GYM_TRY(const FileLock lock, lock_blob(impl_->files, owner, root));
    GYM_TRY(const UploadRow row, impl_->row_of(owner, root));
    const Upload before = impl_->view(owner, root, row);
    GYM_CHECK(impl_->drop({owner, root, row.size_bytes, {}, 0}));
    return before;
}

}  // namespace gym::api
