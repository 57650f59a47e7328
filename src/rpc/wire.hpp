#pragma once

#include <string>
#include <string_view>

#include "gym/rpc/messages.hpp"
#include "gym/v1/node_service.pb.h"

/// The one place that maps wire messages to our records. Everything that comes in is checked:
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
void write(const NodeProfile& profile, v1::NodeProfile& out);
[[nodiscard]] Result<NodeProfile> read(const v1::NodeProfile& in);
void write(const NetworkInfo& info, v1::GetNetworkResponse& out);
[[nodiscard]] Result<NetworkInfo> read(const v1::GetNetworkResponse& in);
void write(const Beat& beat, v1::HeartbeatRequest& out);
[[nodiscard]] Result<Beat> read(const v1::HeartbeatRequest& in);
void write(const HeartbeatAnswer& answer, v1::HeartbeatResponse& out);
[[nodiscard]] Result<HeartbeatAnswer> read(const v1::HeartbeatResponse& in);
void write(const std::optional<Task>& task, v1::NextTaskResponse& out);
[[nodiscard]] Result<std::optional<Task>> read(const v1::NextTaskResponse& in);
void write(const CommitmentSubmission& submission, v1::SubmitCommitmentRequest& out);
[[nodiscard]] Result<CommitmentSubmission> read(const v1::SubmitCommitmentRequest& in);
void write(const CommitmentAccepted& accepted, v1::SubmitCommitmentResponse& out);
[[nodiscard]] Result<CommitmentAccepted> read(const v1::SubmitCommitmentResponse& in);
void write(const ReportCommit& commit, v1::SubmitReportCommitRequest& out);
[[nodiscard]] Result<ReportCommit> read(const v1::SubmitReportCommitRequest& in);
void write(const ReportReveal& reveal, v1::SubmitReportRevealRequest& out);
/// The verifier is the authenticated caller: it is not on the wire.
[[nodiscard]] Result<ReportReveal> read(const v1::SubmitReportRevealRequest& in,
                                        const Address& verifier);
void write(const UnitView& view, v1::UnitView& out);
[[nodiscard]] Result<UnitView> read(const v1::UnitView& in);
void write(const NodeStatus& status, v1::NodeStatus& out);
[[nodiscard]] Result<NodeStatus> read(const v1::NodeStatus& in);

}  // namespace gym::rpc::wire
