#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/rpc/handler.hpp"

namespace gym::testing {

/// A coordinator without database, chain or clock: keeps what nodes say and answers what a test put
/// in. Checks only what a test of a node needs. Thread-safe.
class MemoryHandler final : public rpc::NodeHandler {
  public:
    static constexpr std::uint64_t kChainId = 31337;
    [[nodiscard]] static records::NetworkDescription network_info();

    Result<records::NetworkDescription> network() override {
        const std::scoped_lock lock(mutex);
        return info;
    }
    Result<bool> is_registered(const Address& address) override;
    Result<std::vector<Address>> registered_nodes() override;
    // The answer of node_status().
    UnixMs last_seen_ms = 0;  ///< 0: not known
    std::string excluded_because, stake_because;
    Result<bool> register_node(const Address& caller, const records::NodeProfile& profile) override;
    Result<records::HeartbeatAnswer> heartbeat(const Address& caller,
                                               const records::Heartbeat& beat);
    std::vector<Result<records::HeartbeatAnswer>> heartbeats(
        std::span<const rpc::ArrivedBeat> beats) override;
    Status leave(const Address& caller) override;
    Result<std::optional<records::Task>> next_task(const Address& caller,
                                                   std::span<const Digest> computed = {});
    std::vector<Result<std::optional<records::Task>>> next_tasks(
        std::span<const Address> callers, std::span<const Digest> computed) override;
    Result<std::shared_ptr<const blob::BlobReader>> open_blob(const Address& caller,
                                                              const Digest& root) override;
    Status allow_upload(const Address& caller, const Digest& root,
                        std::uint64_t size_bytes) override;
    Status put_blob(const Address& caller, const blob::VerifiedBlob& blob) override;
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

    // Set and read by tests. Lock `mutex` while nodes run.
    std::mutex mutex;
    records::NetworkDescription info = network_info();  ///< change it before a server asks for it
    blob::MemoryStore blobs;
    std::set<Address> registered;
    int looked_up = 0;                                      ///< is_registered() calls
    std::map<Address, records::NodeProfile> profiles;       ///< as last registered
    std::optional<records::TrainTask> next_task_of_worker;  ///< once it has computed that of tasks
    std::map<Address, records::Task> tasks;  ///< handed out until the unit is committed or revealed
    std::map<Digest, records::UnitReceipt> units;
    std::vector<protocol::RoundRecord> records;  ///< whole, for whoever asks
    std::map<Digest, records::CommitmentSubmission> commitments;
    std::map<Digest, records::ReportCommit> report_commits;
    std::map<Digest, records::ReportReveal> reveals;
    bool calls_every_report_equal = false;
    std::set<Digest> defended;
    std::vector<protocol::SignedPrefix> prefixes;  ///< in order; a verifier's ends its task
    /// Uptime challenges, the first of which each heartbeat brings until it is answered.
    std::vector<protocol::UptimeChallenge> challenges;
    std::vector<protocol::UptimeAnswer> answers;  ///< to them, in order
    bool forgets_answers = false;                 ///< it asks the same again and again
    std::string told_excluded;                    ///< in the answer to each heartbeat
    std::vector<std::string> phases;              ///< of each heartbeat
    std::vector<UnixMs> arrived_ms;               ///< each heartbeat, by the server's clock
    std::string answer_refused;                   ///< what it says of every answer
    std::vector<std::string> calls;               ///< names, in order
    std::map<std::string, Error> failures;        ///< a call by this name fails so
    /// Bytes sent instead of a blob's own: a coordinator that lies.
    std::map<Digest, Bytes> lies;
    std::set<Digest> silent;                        ///< blobs that it does not answer about
    std::atomic<std::uint64_t> blob_bytes_read{0};  ///< of the blobs that were opened

  private:
    /// Notes the call; the error a test planted for it.
    Status enter(const char* name);
};

}  // namespace gym::testing
