#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/rpc/handler.hpp"

namespace gym::coordinator {

/// Handler of rpc::Server: the coordinator core and its blob store, for authenticated nodes.
/// References must outlive the service. Thread-safe.
/// @param network told to nodes, with the clock's time; its blob_bytes_max bounds uploads.
/// @param tasks_kept_ms for how long after the end of its last unit of a job a node may still fetch
/// what that needed: longer than a unit can be in a game.
class GrpcService final : public rpc::NodeHandler {
  public:
    GrpcService(Coordinator& core, db::Database& database, blob::BlobStore& blobs,
                const Clock& clock, records::NetworkDescription network,
                std::int64_t tasks_kept_ms = kTasksKeptMs)
        : core_(core),
          database_(database),
          blobs_(blobs),
          clock_(clock),
          network_(std::move(network)),
          tasks_kept_ms_(tasks_kept_ms) {}
    /// Lets workers of public jobs upload to mirrors, by tickets that `key` signs. The key must
    /// outlive the service. Called before the service is used.
    void permit_uploads(const crypto::PrivateKey& key) { ticket_key_ = &key; }
    /// Names other mirrors to nodes from now on.
    void set_mirrors(std::vector<std::string> mirrors);
    static constexpr std::int64_t kTasksKeptMs = 24 * std::int64_t{3'600'000};

    Result<records::NetworkDescription> network() override;
    Result<bool> is_registered(const Address& address) override;
    Result<std::vector<Address>> registered_nodes() override;
    Result<bool> register_node(const Address& caller, const records::NodeProfile& profile) override;
    std::vector<Result<records::HeartbeatAnswer>> heartbeats(
        std::span<const rpc::ArrivedBeat> beats) override;
    Status leave(const Address& caller) override;
    std::vector<Result<std::optional<records::Task>>> next_tasks(
        std::span<const Address> callers, std::span<const Digest> computed) override;
    Result<std::shared_ptr<const blob::BlobReader>> open_blob(const Address& caller,
                                                              const Digest& root) override;
    Status allow_upload(const Address& caller, const Digest& root,
                        std::uint64_t size_bytes) override;
    Status put_blob(const Address& caller, const blob::VerifiedBlob& blob) override;
    Result<rpc::UploadPermit> permit_upload(const Address& caller, const Digest& root,
                                            std::uint64_t size_bytes) override;
    Status name_delta(const Address& caller, const Digest& root,
                      const std::vector<std::string>& mirrors) override;
    Result<std::vector<Digest>> wanted_deltas(const Address& caller) override;
    Result<records::CommitmentAck> submit_commitment(
        const Address& caller, const records::CommitmentSubmission& submission) override;
    Result<Bytes> submit_report_commit(const Address& caller,
                                       const records::ReportCommit& commit) override;
    Result<bool> submit_report_reveal(const Address& caller,
                                      const records::ReportReveal& reveal) override;
    Status submit_prefix(const Address& caller, const protocol::SignedPrefix& prefix) override;
    Status defend_unit(const Address& caller, const Digest& unit) override;
    Result<records::NodeStatus> node_status(const Address& caller, const Address& subject) override;
    Result<protocol::RoundRecord> round_record(const Address& caller, const Digest& job_id,
                                               std::uint64_t round) override;
    Result<records::UnitReceipt> unit(const Address& caller, const Digest& unit_id) override;

    /// Of the blobs that nodes fetched here; a download that is not finished counts whole.
    [[nodiscard]] std::uint64_t blob_bytes() const { return blob_bytes_; }
    /// Of the blobs that nodes uploaded here whole.
    [[nodiscard]] std::uint64_t uploaded_bytes() const { return uploaded_bytes_; }

  private:
    Result<std::optional<registry::Node>> find_node(const Address& address);
    Result<bool> may_fetch(const Address& caller, const Digest& root);
    [[nodiscard]] Error lost_blob(const Digest& root);
    [[nodiscard]] Error refuse_blob(const Address& caller, const Digest& root);
    Status count_upload(const Address& caller, const Digest& unit, const Digest& root,
                        std::size_t roots_max);
    /// Whether the upload is the caller's to make now. @errors kPermissionDenied, kOutOfRange.
    Result<UploadLimit> check_upload(const Address& caller, const Digest& root,
                                     std::uint64_t size_bytes, std::size_t roots_max);
    [[nodiscard]] std::vector<std::string> mirrors();

    Coordinator& core_;
    db::Database& database_;
    blob::BlobStore& blobs_;
    const Clock& clock_;
    const records::NetworkDescription network_;  ///< but for the mirrors
    std::mutex mirrors_mutex_;
    std::optional<std::vector<std::string>> mirrors_;  ///< absent: those of network_
    const crypto::PrivateKey* ticket_key_ = nullptr;
    const std::int64_t tasks_kept_ms_;

    static constexpr std::size_t kKnownNodesMax = 1'000'000;

    /// A worker's uploads for its unit, counted so that it cannot fill the disk. An entry per
    /// worker that ever had a unit; a restart forgets them.
    struct Uploads {
        Digest unit;
        std::set<Digest> roots;
    };
    static constexpr std::size_t kUploadsPerUnitMax = 8;
    /// Different uploads of a unit that get tickets: each mirror keeps each for a day.
    static constexpr std::size_t kTicketsPerUnitMax = 2;
    std::atomic<std::uint64_t> blob_bytes_{0}, uploaded_bytes_{0};
    std::mutex uploads_mutex_;
    std::map<Address, Uploads> uploads_;
};

}  // namespace gym::coordinator
