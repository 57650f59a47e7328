#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gym/records/network.hpp"
#include "gym/records/node.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"
#include "gym/v1/node_service.pb.h"

/// The one place that maps wire messages to records. Everything that comes in is checked:
/// lengths, enum values, amounts, canonical encodings. @errors of every reader: kMalformed, naming
/// the field.
namespace gym::rpc::wire {

inline constexpr std::size_t kTextBytesMax = 1024;

[[nodiscard]] std::string text_of(ByteView bytes);
[[nodiscard]] inline ByteView bytes_of(const std::string& field) {
    return as_bytes(field);
}
template <std::size_t N, class Tag>
[[nodiscard]] std::string text_of(const FixedBytes<N, Tag>& value) {
    return text_of(value.view());
}
/// A fixed-size field, with its name in the error.
template <class Fixed>
[[nodiscard]] Result<Fixed> read(std::string_view name, const std::string& field) {
    auto value = Fixed::from(as_bytes(field));
    if (!value.ok()) return value.error().in(name);
    return value;
}
/// The same, absent when empty.
template <class Fixed>
[[nodiscard]] Result<std::optional<Fixed>> read_optional(std::string_view name,
                                                         const std::string& field) {
    if (field.empty()) return std::optional<Fixed>();
    GYM_TRY(Fixed value, read<Fixed>(name, field));
    return std::optional<Fixed>(value);
}
/// A text for people: valid UTF-8 by proto3, at most kTextBytesMax.
[[nodiscard]] Result<std::string> read_text(std::string_view name, const std::string& field);

void write(const protocol::UnitKey& key, v1::UnitKey& out);
[[nodiscard]] Result<protocol::UnitKey> read(const v1::UnitKey& in);
void write(const records::NodeProfile& profile, v1::NodeProfile& out);
[[nodiscard]] Result<records::NodeProfile> read(const v1::NodeProfile& in);
void write(const records::NetworkDescription& info, v1::GetNetworkResponse& out);
[[nodiscard]] Result<records::NetworkDescription> read(const v1::GetNetworkResponse& in);
void write(const records::Heartbeat& beat, v1::HeartbeatRequest& out);
[[nodiscard]] Result<records::Heartbeat> read(const v1::HeartbeatRequest& in);
void write(const records::HeartbeatAnswer& answer, v1::HeartbeatResponse& out);
[[nodiscard]] Result<records::HeartbeatAnswer> read(const v1::HeartbeatResponse& in);
/// At most kComputedMax. @errors kMalformed.
[[nodiscard]] Result<std::vector<Digest>> read_computed(const v1::NextTaskRequest& in);
void write(const std::optional<records::Task>& task, v1::NextTaskResponse& out);
[[nodiscard]] Result<std::optional<records::Task>> read(const v1::NextTaskResponse& in);
void write(const records::CommitmentSubmission& submission, v1::SubmitCommitmentRequest& out);
[[nodiscard]] Result<records::CommitmentSubmission> read(const v1::SubmitCommitmentRequest& in);
void write(const records::CommitmentAck& accepted, v1::SubmitCommitmentResponse& out);
[[nodiscard]] Result<records::CommitmentAck> read(const v1::SubmitCommitmentResponse& in);
void write(const records::ReportCommit& commit, v1::SubmitReportCommitRequest& out);
[[nodiscard]] Result<records::ReportCommit> read(const v1::SubmitReportCommitRequest& in);
void write(const records::ReportReveal& reveal, v1::SubmitReportRevealRequest& out);
/// The verifier is the authenticated caller: it is not on the wire.
[[nodiscard]] Result<records::ReportReveal> read(const v1::SubmitReportRevealRequest& in,
                                                 const Address& verifier);
void write(const records::UnitReceipt& view, v1::UnitView& out);
[[nodiscard]] Result<records::UnitReceipt> read(const v1::UnitView& in);
void write(const records::NodeStatus& status, v1::NodeStatus& out);
[[nodiscard]] Result<records::NodeStatus> read(const v1::NodeStatus& in);

}  // namespace gym::rpc::wire
