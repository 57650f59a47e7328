#include "connection_error.hpp"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <array>
#include <string>

#include "status_map.hpp"
#include "tls_probe.hpp"

namespace gym::rpc {
namespace {

/// The system's reason out of gRPC's chain of reasons; empty if there is none.
std::string reason_of(const std::string& message) {
    static constexpr std::string_view kMark = "Failed to connect to remote host: ";
    if (const std::size_t at = message.rfind(kMark); at != std::string::npos)
        return message.substr(at + kMark.size());
    if (message.find("DNS resolution failed") != std::string::npos)
        return "its name is not known (DNS)";
    return "";
}

}  // namespace

Error call_error(const grpc::Status& status, std::string_view method, const ClientConfig& config) {
    const bool own_words = !status.error_details().empty();
    if (!own_words && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
        return fail(ErrorCode::kUnavailable, "the coordinator at " + config.target +
                                                 " does not answer in time (" +
                                                 std::string(method) + ")");
    if (!own_words && status.error_code() == grpc::StatusCode::UNAVAILABLE) {
        const std::string reason = reason_of(status.error_message());
        return fail(ErrorCode::kUnavailable,
                    "no coordinator answers at " + config.target + ": " +
                        (reason.empty() ? status.error_message() : reason));
    }
    return from_grpc(status, std::string(method) + " at " + config.target);
}

Error first_call_error(const Error& error, const ClientConfig& config) {
    if (error.code != ErrorCode::kUnavailable || config.stop.stop_requested()) return error;
    const std::string reason = explain_tls(config.target, config.tls_ca_file);
    if (reason.empty()) return error;
    return fail(ErrorCode::kUnauthenticated,
                "no TLS connection to the coordinator at " + config.target + ": " + reason);
}

void quiet_grpc_log() {
    gpr_set_log_function([](gpr_log_func_args* line) { spdlog::debug("grpc: {}", line->message); });
}

}  // namespace gym::rpc
