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

namespace gym::mirror {

/// What a server of blobs serves. Thread-safe.
class BlobSource {
  public:
    virtual ~BlobSource() = default;
    /// @param peer IP address that asks. @errors kNotFound, also for what is not for everybody;
    /// kOutOfRange: the peer or all peers together ask for too much; kUnavailable, kIo.
    virtual Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                                  const std::string& peer) = 0;
    /// The bytes. Its reads may wait for other servers. @errors as pieces().
    virtual Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                                 const std::string& peer) = 0;
};

/// Handler of an HTTP server of blobs (docs/PROTOCOL.md, "Blobs by HTTP"): GET and HEAD of
/// /b/ROOT and /b/ROOT.pieces to everybody, /metrics to this machine alone. Thread-safe.
class BlobHandler final : public http_server::Handler {
  public:
    /// @param more_metrics appended to the answer of /metrics: lines in Prometheus' text format.
    explicit BlobHandler(BlobSource& source, std::function<std::string()> more_metrics = {})
        : source_(source), more_metrics_(std::move(more_metrics)) {}

    Admission admit(const http_server::Request& head) override;
    http_server::Response handle(const http_server::Request& request) override;
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view request_id) override;
    void connections(std::int64_t open) override { connections_ = open; }

    /// Of blobs and lists, as they were read to be sent.
    [[nodiscard]] std::uint64_t bytes_sent() const { return *bytes_sent_; }

  private:
    [[nodiscard]] http_server::Response answer_blob(const http_server::Request& request,
                                                    std::string_view name);
    [[nodiscard]] http_server::Response answer_metrics() const;
    http_server::Response count(http_server::Response response);

    BlobSource& source_;
    const std::function<std::string()> more_metrics_;
    std::atomic<std::int64_t> connections_{0};
    /// Shared with the answers that are being sent.
    const std::shared_ptr<std::atomic<std::uint64_t>> bytes_sent_ =
        std::make_shared<std::atomic<std::uint64_t>>(0);
    std::array<std::atomic<std::uint64_t>, 6> requests_{};  ///< by the first digit of the status
};

}  // namespace gym::mirror
