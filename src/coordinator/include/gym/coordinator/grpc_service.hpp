#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "gym/blob/blob_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/coordinator/coordinator.hpp"
#include "gym/db/database.hpp"
#include "gym/rpc/handler.hpp"

namespace gym::coordinator {

struct GrpcServiceOptions {
    std::uint64_t chain_id = 0;
    Address commitment_log;
    std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
    std::uint32_t heartbeat_every_ms = 5'000;
    std::string software_version;
    std::uint32_t beacon_delay_blocks = 2;  ///< as Options::beacon_delay_blocks
    Address stake;                          ///< contract with the workers' stakes
    Address dispute_game;                   ///< contract whose verdicts the coordinator follows
    Amount minimum_stake;                   ///< as Options::minimum_stake
};

/// What rpc::Server serves: the coordinator core and its blob store, asked by authenticated nodes.
/// References must outlive the service. Thread-safe.
class GrpcService final : public rpc::NodeHandler {
  public:
    GrpcService(Coordinator& core, db::Database& database, blob::BlobStore& blobs,
                const Clock& clock, GrpcServiceOptions options)
        : core_(core),
          database_(database),
          blobs_(blobs),
          clock_(clock),
          options_(std::move(options)) {}

    Result<rpc::NetworkInfo> network() override;
    Result<bool> is_registered(const Address& address) override;
    Result<bool> register_node(const Address& caller, const rpc::NodeProfile& profile) override;
    Result<rpc::HeartbeatAnswer> heartbeat(const Address& caller, const rpc::Beat& beat) override;
    Status leave(const Address& caller) override;
    Result<std::optional<rpc::Task>> next_task(const Address& caller) override;
    Result<Bytes> get_blob(const Address& caller, const Digest& root) override;
    Status allow_upload(const Address& caller, const Digest& root,
                        std::uint64_t size_bytes) override;
    Status put_blob(const Address& caller, const blob::VerifiedBlob& blob) override;
    Result<rpc::CommitmentAccepted> submit_commitment(
        const Address& caller, const rpc::CommitmentSubmission& submission) override;
    Result<Bytes> submit_report_commit(const Address& caller,
                                       const rpc::ReportCommit& commit) override;
    Result<bool> submit_report_reveal(const Address& caller,
                                      const rpc::ReportReveal& reveal) override;
    Status defend_unit(const Address& caller, const Digest& unit) override;
    Result<rpc::NodeStatus> node_status(const Address& caller, const Address& subject) override;
    Result<protocol::RoundRecord> round_record(const Address& caller, const Digest& job_id,
                                               std::uint64_t round) override;
    Result<rpc::UnitView> unit(const Address& caller, const Digest& unit_id) override;

  private:
    Result<std::optional<registry::Node>> find_node(const Address& address);
    Status count_upload(const Address& caller, const Digest& unit, const Digest& root);

    Coordinator& core_;
    db::Database& database_;
    blob::BlobStore& blobs_;
    const Clock& clock_;
    const GrpcServiceOptions options_;

    /// What a worker uploaded for its unit, so that it cannot fill the disk. An entry per worker
    /// that ever had a unit; a restart forgets them.
    struct Uploads {
        Digest unit;
        std::set<Digest> roots;
    };
    static constexpr std::size_t kUploadsPerUnitMax = 8;
    std::mutex uploads_mutex_;
    std::map<Address, Uploads> uploads_;
};

}  // namespace gym::coordinator
