#include "status_map.hpp"

#include <array>
#include <optional>

namespace gym::rpc {
namespace {

struct Row {
    ErrorCode ours;
    grpc::StatusCode theirs;
};

// For a grpc code without our details (made by the library itself) the first row that has it
// counts.
constexpr std::array<Row, 16> kRows{{
    {ErrorCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT},
    {ErrorCode::kMalformed, grpc::StatusCode::INVALID_ARGUMENT},
    {ErrorCode::kShapeMismatch, grpc::StatusCode::INVALID_ARGUMENT},
    {ErrorCode::kNotFound, grpc::StatusCode::NOT_FOUND},
    {ErrorCode::kAlreadyExists, grpc::StatusCode::ALREADY_EXISTS},
    {ErrorCode::kConflict, grpc::StatusCode::FAILED_PRECONDITION},
    {ErrorCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED},
    {ErrorCode::kPermissionDenied, grpc::StatusCode::PERMISSION_DENIED},
    {ErrorCode::kInsufficientFunds, grpc::StatusCode::FAILED_PRECONDITION},
    {ErrorCode::kOutOfRange, grpc::StatusCode::OUT_OF_RANGE},
    {ErrorCode::kMismatch, grpc::StatusCode::DATA_LOSS},
    {ErrorCode::kUnavailable, grpc::StatusCode::UNAVAILABLE},
    {ErrorCode::kTimeout, grpc::StatusCode::DEADLINE_EXCEEDED},
    {ErrorCode::kCancelled, grpc::StatusCode::CANCELLED},
    {ErrorCode::kIo, grpc::StatusCode::INTERNAL},
    {ErrorCode::kInternal, grpc::StatusCode::INTERNAL},
}};

std::optional<ErrorCode> named(std::string_view name) {
    for (const Row& row : kRows)
        if (to_string(row.ours) == name) return row.ours;
    return std::nullopt;
}

ErrorCode nearest(grpc::StatusCode code) {
    // Codes of gRPC itself for a message or a metadata block beyond the bounds.
    if (code == grpc::StatusCode::RESOURCE_EXHAUSTED) return ErrorCode::kOutOfRange;
    if (code == grpc::StatusCode::INTERNAL) return ErrorCode::kInternal;
    // No answer in time is a peer that is away. kTimeout is kept for what the coordinator calls
    // late.
    if (code == grpc::StatusCode::DEADLINE_EXCEEDED) return ErrorCode::kUnavailable;
    for (const Row& row : kRows)
        if (row.theirs == code) return row.ours;
    return ErrorCode::kInternal;
}

}  // namespace

grpc::Status to_grpc(const Error& error) {
    for (const Row& row : kRows)
        if (row.ours == error.code)
            return {row.theirs, error.message, std::string(to_string(error.code))};
    return {grpc::StatusCode::INTERNAL, error.message};
}

grpc::Status to_grpc(const Status& status) {
    return status.ok() ? grpc::Status::OK : to_grpc(status.error());
}

Error from_grpc(const grpc::Status& status, std::string_view where) {
    const ErrorCode code = named(status.error_details()).value_or(nearest(status.error_code()));
    return fail(code, status.error_message()).in(where);
}

}  // namespace gym::rpc
