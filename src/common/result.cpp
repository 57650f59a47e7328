#include "gym/common/result.hpp"

namespace gym {

std::string_view to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::kInvalidArgument:
            return "invalid_argument";
        case ErrorCode::kMalformed:
            return "malformed";
        case ErrorCode::kShapeMismatch:
            return "shape_mismatch";
        case ErrorCode::kNotFound:
            return "not_found";
        case ErrorCode::kAlreadyExists:
            return "already_exists";
        case ErrorCode::kConflict:
            return "conflict";
        case ErrorCode::kUnauthenticated:
            return "unauthenticated";
        case ErrorCode::kPermissionDenied:
            return "permission_denied";
        case ErrorCode::kInsufficientFunds:
            return "insufficient_funds";
        case ErrorCode::kOutOfRange:
            return "out_of_range";
        case ErrorCode::kMismatch:
            return "mismatch";
        case ErrorCode::kUnavailable:
            return "unavailable";
        case ErrorCode::kTimeout:
            return "timeout";
        case ErrorCode::kCancelled:
            return "cancelled";
        case ErrorCode::kIo:
            return "io";
        case ErrorCode::kInternal:
            return "internal";
    }
    return "unknown";
}

}  // namespace gym
