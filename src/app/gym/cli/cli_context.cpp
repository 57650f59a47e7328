#include "cli/cli_context.hpp"

#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>
#include <string>

#include "gym/common/printable.hpp"

namespace gym::app {
namespace {

/// JSON has neither NaN nor infinities, which Boost.JSON would print: null instead.
void make_finite(boost::json::value& value) {
    if (value.is_double() && !std::isfinite(value.get_double())) {
        value = nullptr;
    } else if (value.is_object()) {
        for (auto& member : value.get_object())
            make_finite(member.value());
    } else if (value.is_array()) {
        for (auto& element : value.get_array())
            make_finite(element);
    }
}

}  // namespace

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
    finish_with(exit_code_of(error.code), to_string(error.code), error.message);
}

void CliContext::finish_with(ExitCode exit, std::string_view code, const std::string& text) {
    exit_code = exit;
    // Libraries and servers end their messages with a line feed, which would print an empty line.
    const std::string message = text.substr(0, text.find_last_not_of("\r\n\t ") + 1);
    if (json) {
        print_json({{"error", {{"code", std::string(code)}, {"message", message}}}});
        return;
    }
    std::fflush(stdout);  // what was printed before comes before
    // It quotes strangers: names in a bucket, answers of servers. They must not steer the terminal.
    std::fprintf(stderr, "%s: %s\n", program, without_controls(message).c_str());
}

void CliContext::print_json(const boost::json::object& object) const {
    boost::json::value value = object;
    make_finite(value);
    std::printf("%s\n", boost::json::serialize(value).c_str());
    std::fflush(stdout);
}

}  // namespace gym::app
