#include "connection_error.hpp"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <string>

#include "connection_probe.hpp"
#include "status_map.hpp"

namespace gym::rpc {
namespace {

std::string no_answer_from(const ClientConfig& config) {
    return "no coordinator answers at " + config.target;
}

}  // namespace

Error call_error(const grpc::Status& status, std::string_view method, const ClientConfig& config) {
    const bool own_words = !status.error_details().empty();
    if (!own_words && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
        return fail(ErrorCode::kUnavailable, "the coordinator at " + config.target +
                                                 " does not answer in time (" +
                                                 std::string(method) + ")");
    // The same words whatever gRPC found this time: an outage is one thing to a reader.
    if (!own_words && status.error_code() == grpc::StatusCode::UNAVAILABLE)
        return fail(ErrorCode::kUnavailable, no_answer_from(config));
    return from_grpc(status, std::string(method) + " at " + config.target);
}

Error first_call_error(const Error& error, const ClientConfig& config) {
    if (error.code != ErrorCode::kUnavailable || config.stop.stop_requested()) return error;
    if (const std::string reason = explain_connection(config.target); !reason.empty())
        return fail(ErrorCode::kUnavailable, no_answer_from(config) + ": " + reason);
    if (error.message != no_answer_from(config)) return error;  // connected, then silent or busy
    if (const std::string reason = explain_tls(config.target, config.tls_ca_file); !reason.empty())
        return fail(ErrorCode::kUnauthenticated,
                    "no TLS connection to the coordinator at " + config.target + ": " + reason);
    return fail(ErrorCode::kUnavailable, error.message +
                                             ": something listens there, but not (yet) as a "
                                             "coordinator; is it the right port?");
}

void quiet_grpc_log() {
    gpr_set_log_function([](gpr_log_func_args* line) { spdlog::debug("grpc: {}", line->message); });
}

}  // namespace gym::rpc
