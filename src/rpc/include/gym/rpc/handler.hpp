#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/verified_blob.hpp"
#include "gym/records/network.hpp"
#include "gym/records/node.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::rpc {

/// A heartbeat of an authenticated node.
struct ArrivedBeat {
    Address caller;
    UnixMs at_ms = 0;  ///< when it arrived
    records::Heartbeat beat;
};

/// Handler of a server: the calls of rpc::Coordinator, made by an authenticated
/// `caller`. Called from many threads at once; a call may block on a database, never on another
/// node. The server has checked signature, freshness, replay and sizes; the handler decides who may
/// do what.
class NodeHandler {
  public:
    virtual ~NodeHandler() = default;

    virtual Result<records::NetworkDescription> network() = 0;
    /// Whether `address` may call anything but register_node(). Asked about each address until it
    /// is: the server remembers those.
    virtual Result<bool> is_registered(const Address& address) = 0;
    /// All of them, asked once, at the start: after a restart all nodes call at once.
    virtual Result<std::vector<Address>> registered_nodes() = 0;
    virtual Result<bool> register_node(const Address& caller,
                                       const records::NodeProfile& profile) = 0;
    /// Heartbeats that arrived together; one result for each. A node may be among them twice.
    virtual std::vector<Result<records::HeartbeatAnswer>> heartbeats(
        std::span<const ArrivedBeat> beats) = 0;
    virtual Status leave(const Address& caller) = 0;
    /// What each caller is to do now; one result for each. The server asks again about those that
    /// have nothing when it is told to (Server::wake), until their wait is over. @param computed
    /// units that some of them say they are done with.
    virtual std::vector<Result<std::optional<records::Task>>> next_tasks(
        std::span<const Address> callers, std::span<const Digest> computed) = 0;

    /// A blob for `caller`, which is read a part at a time while it is sent. Its bytes are as they
    /// are stored: the node checks them against the root.
    virtual Result<std::shared_ptr<const blob::BlobReader>> open_blob(const Address& caller,
                                                                      const Digest& root) = 0;
    /// Whether `caller` may upload `size_bytes` under `root`, asked before the first byte is read.
    virtual Status allow_upload(const Address& caller, const Digest& root,
                                std::uint64_t size_bytes) = 0;
    virtual Status put_blob(const Address& caller, const blob::VerifiedBlob& blob) = 0;

    /// The defaults of the next three are those of a network without mirrors.
    virtual Result<UploadPermit> permit_upload(const Address& /*caller*/, const Digest& /*root*/,
                                               std::uint64_t /*size_bytes*/) {
        return UploadPermit{};
    }
    virtual Status name_delta(const Address& /*caller*/, const Digest& /*root*/,
                              const std::vector<std::string>& /*mirrors*/) {
        return fail(ErrorCode::kInvalidArgument, "this network has no mirrors");
    }
    virtual Result<std::vector<Digest>> wanted_deltas(const Address& /*caller*/) {
        return std::vector<Digest>();
    }

    virtual Result<records::CommitmentAck> submit_commitment(
        const Address& caller, const records::CommitmentSubmission& submission) = 0;
    virtual Result<Bytes> submit_report_commit(const Address& caller,
                                               const records::ReportCommit& commit) = 0;
    virtual Result<bool> submit_report_reveal(const Address& caller,
                                              const records::ReportReveal& reveal) = 0;
    virtual Status submit_prefix(const Address& caller, const protocol::SignedPrefix& prefix) = 0;
    virtual Status defend_unit(const Address& caller, const Digest& unit) = 0;

    virtual Result<records::NodeStatus> node_status(const Address& caller,
                                                    const Address& subject) = 0;
    virtual Result<protocol::RoundRecord> round_record(const Address& caller, const Digest& job_id,
                                                       std::uint64_t round) = 0;
    virtual Result<records::UnitReceipt> unit(const Address& caller, const Digest& unit_id) = 0;
};

}  // namespace gym::rpc
