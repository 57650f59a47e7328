#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gym/blob/piece_list.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/http_server/handler.hpp"
#include "gym/mirror/copy.hpp"
#include "gym/mirror/piece_cache.hpp"
#include "gym/mirror/torrents.hpp"

namespace gym::mirror {

/// Whose question it is, and where the answer may be looked for.
struct Asker {
    /// kOrigins: another mirror, for which no third one fetches (Gym-Mirror). kHere: what is kept
    /// here whole (Cache-Control: only-if-cached).
    enum class Reach { kAnywhere, kOrigins, kHere };
    std::string peer;  ///< IP address
    Reach reach = Reach::kAnywhere;
};

/// The header by which a mirror says that it asks as one.
inline constexpr const char* kMirrorHeader = "Gym-Mirror";

/// What a server of blobs serves. Thread-safe.
class BlobSource {
  public:
    virtual ~BlobSource() = default;
    /// @errors kNotFound, also for what is not for everybody; kOutOfRange: the peer or all peers
    /// together ask for too much; kUnavailable, kIo.
    virtual Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                                  const Asker& asker) = 0;
    /// The bytes. Its reads may wait for other servers. @errors as pieces().
    virtual Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                                 const Asker& asker) = 0;
};

/// Decides who may upload. Thread-safe.
class UploadGate {
  public:
    virtual ~UploadGate() = default;
    /// @return the size that the blob must have. @errors kUnauthenticated, kPermissionDenied,
    /// kUnavailable (too many of the caller's at once).
    virtual Result<std::uint64_t> admit(const Digest& root, const http_server::Request& head) = 0;
};

/// Where uploads are kept. Thread-safe.
class UploadTarget {
  public:
    virtual ~UploadTarget() = default;
    /// Whether the whole blob is here. @errors kIo.
    virtual Result<bool> has(const Digest& root) = 0;
    /// @errors kOutOfRange: no room; kIo.
    virtual Result<std::unique_ptr<IncomingBlob>> receive(const Digest& root,
                                                          std::uint64_t size_bytes) = 0;
    /// Begins to fetch the blob from the mirror `source`, or says where that stands; it is kept as
    /// an upload. @errors kPermissionDenied: it fetches from no other mirror; kUnavailable: too
    /// many copies wait; kMismatch: the last try failed, and why; kIo.
    virtual Result<CopyState> copy(const Digest& root, std::uint64_t size_bytes,
                                   const std::string& source) = 0;
};

/// Uploads of a handler; without a gate none is taken.
struct Uploads {
    UploadGate* gate = nullptr;
    UploadTarget* target = nullptr;
    std::uint32_t at_once_max = 16;  ///< more are answered 503
};

/// Handler of an HTTP server of blobs (docs/PROTOCOL.md, "Blobs by HTTP"): GET and HEAD of
/// /b/ROOT, /b/ROOT.pieces and, with torrents, /b/ROOT.torrent and /announce to everybody, PUT of
/// /b/ROOT to those whom the gate admits (with Gym-Copy-From: an order to fetch it from another
/// mirror), /metrics to this machine alone. Thread-safe.
class BlobHandler final : public http_server::Handler {
  public:
    /// @param more_metrics appended to the answer of /metrics: lines in Prometheus' text format.
    /// @param torrents null: none are served.
    explicit BlobHandler(BlobSource& source, std::function<std::string()> more_metrics = {},
                         Uploads uploads = {}, TorrentSite* torrents = nullptr)
        : source_(source),
          more_metrics_(std::move(more_metrics)),
          uploads_(uploads),
          torrents_(torrents) {}

    Admission admit(const http_server::Request& head) override;
    http_server::Response handle(const http_server::Request& request) override;
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view request_id) override;
    http_server::Response refuse_body(const Error& error, std::string_view request_id) override;
    void connections(std::int64_t open) override { connections_ = open; }

    /// Of blobs and lists, as they were read to be sent.
    [[nodiscard]] std::uint64_t bytes_sent() const { return *bytes_sent_; }
    /// Of uploads, also of those that were refused in the end.
    [[nodiscard]] std::uint64_t bytes_received() const { return intake_->bytes; }

    /// What the uploads that are under way count; shared with them.
    struct Intake {
        std::atomic<std::uint64_t> bytes{0};
        std::atomic<std::uint32_t> at_once{0};
    };

  private:
    [[nodiscard]] Admission admit_upload(const http_server::Request& head);
    [[nodiscard]] Result<Admission> begin_upload(const http_server::Request& head);
    [[nodiscard]] Result<Admission> order_copy(const http_server::Request& head, const Digest& root,
                                               std::uint64_t size_bytes);
    [[nodiscard]] http_server::Response finish_upload(const http_server::Request& request);
    [[nodiscard]] http_server::Response answer_blob(const http_server::Request& request,
                                                    std::string_view name);
    [[nodiscard]] http_server::Response answer_file(const http_server::Request& request,
                                                    std::shared_ptr<const blob::BlobReader> content,
                                                    const Digest& root, std::string_view suffix);
    [[nodiscard]] http_server::Response answer_announce(const http_server::Request& request);
    [[nodiscard]] http_server::Response answer_metrics() const;
    http_server::Response count(http_server::Response response);

    BlobSource& source_;
    const std::function<std::string()> more_metrics_;
    const Uploads uploads_;
    TorrentSite* const torrents_;
    const std::shared_ptr<Intake> intake_ = std::make_shared<Intake>();
    std::atomic<std::int64_t> connections_{0};
    /// Shared with the answers that are being sent.
    const std::shared_ptr<std::atomic<std::uint64_t>> bytes_sent_ =
        std::make_shared<std::atomic<std::uint64_t>>(0);
    std::array<std::atomic<std::uint64_t>, 6> requests_{};  ///< by the first digit of the status
};

}  // namespace gym::mirror
