#include "cli_context.hpp"

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <string>

namespace gym::app {

ExitCode exit_code_of(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::kInvalidArgument:
        case ErrorCode::kOutOfRange:
            return ExitCode::kUsage;
        case ErrorCode::kMismatch:
            return ExitCode::kMismatch;
        case ErrorCode::kUnavailable:
        case ErrorCode::kTimeout:
            return ExitCode::kUnavailable;
        case ErrorCode::kUnauthenticated:
        case ErrorCode::kPermissionDenied:
        case ErrorCode::kInsufficientFunds:
        case ErrorCode::kConflict:
        case ErrorCode::kAlreadyExists:
            return ExitCode::kRejected;
        case ErrorCode::kCancelled:
            return ExitCode::kCancelled;
        case ErrorCode::kMalformed:
        case ErrorCode::kShapeMismatch:
        case ErrorCode::kNotFound:
        case ErrorCode::kIo:
        case ErrorCode::kInternal:
            return ExitCode::kFailed;
    }
    return ExitCode::kFailed;
}

void CliContext::finish(const Status& status) {
    if (status.ok()) return;
    const Error& error = status.error();
    exit_code = exit_code_of(error.code);
    if (json) {
        print_json({{"error",
                     {{"code", std::string(to_string(error.code))}, {"message", error.message}}}});
        return;
    }
    std::fprintf(stderr, "%s: %s\n", program, error.message.c_str());
}

void CliContext::print_json(const boost::json::object& object) const {
    std::printf("%s\n", boost::json::serialize(object).c_str());
    std::fflush(stdout);
}

}  // namespace gym::app
