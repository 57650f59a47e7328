#pragma once

#include "gym/rpc/coordinator.hpp"
#include "gym/rpc/handler.hpp"

namespace gym::testing {

/// A handler asked directly, without a network, as one authenticated caller.
class LocalCoordinator final : public rpc::Coordinator {
  public:
    LocalCoordinator(rpc::NodeHandler& handler, const Address& caller)
        : handler_(handler), caller_(caller) {}

    Result<records::NetworkDescription> network() override { return handler_.network(); }
    Result<bool> register_node(const records::NodeProfile& profile) override {
        return handler_.register_node(caller_, profile);
    }
    Result<records::HeartbeatAnswer> heartbeat(const records::Heartbeat& beat) override {
        const rpc::ArrivedBeat arrived{caller_, SystemClock().now_ms(), beat};
        return std::move(handler_.heartbeats({&arrived, 1}).front());
    }
    Status leave() override { return handler_.leave(caller_); }
    Result<std::optional<records::Task>> next_task(std::chrono::milliseconds,
                                                   std::span<const Digest> computed) override {
        return std::move(handler_.next_tasks({&caller_, 1}, computed).front());
    }
    /// In pieces of `chunk_bytes`; breaks off after `chunks_until_cut` of them, once.
    Status get_blob(const Digest& root, std::uint64_t offset, const ChunkSink& sink) override;
    Status put_blob(const Digest& root, ByteView content) override;
    Result<records::CommitmentAck> submit_commitment(
        const records::CommitmentSubmission& submission) override {
        return handler_.submit_commitment(caller_, submission);
    }
    Result<Bytes> submit_report_commit(const records::ReportCommit& commit) override {
        return handler_.submit_report_commit(caller_, commit);
    }
    Result<bool> submit_report_reveal(const records::ReportReveal& reveal) override {
        return handler_.submit_report_reveal(caller_, reveal);
    }
    Status submit_prefix(const protocol::SignedPrefix& prefix) override {
        return handler_.submit_prefix(caller_, prefix);
    }
    Status defend_unit(const Digest& unit) override { return handler_.defend_unit(caller_, unit); }
    Result<records::NodeStatus> node_status(const std::optional<Address>& address) override {
        return handler_.node_status(caller_, address.value_or(caller_));
    }
    Result<Bytes> round_record(const Digest& job_id, std::uint64_t round) override {
        if (!record.empty()) return record;
        GYM_TRY(const protocol::RoundRecord known, handler_.round_record(caller_, job_id, round));
        return protocol::encode(known);
    }
    Result<records::UnitReceipt> unit(const Digest& unit_id) override {
        return handler_.unit(caller_, unit_id);
    }

    Bytes record;  ///< what is served for any round's record; empty: what the handler has
    std::size_t chunk_bytes = 1'000;
    std::optional<unsigned> chunks_until_cut;
    std::uint64_t bytes_sent = 0;

  private:
    rpc::NodeHandler& handler_;
    const Address caller_;
};

}  // namespace gym::testing
