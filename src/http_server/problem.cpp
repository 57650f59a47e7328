#include "gym/http_server/problem.hpp"

#include <boost/json.hpp>
#include <string>

namespace gym::http_server {

unsigned http_status(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::kMalformed:
            return 400;
        case ErrorCode::kInvalidArgument:
        case ErrorCode::kShapeMismatch:
        case ErrorCode::kOutOfRange:
        case ErrorCode::kMismatch:
            return 422;
        case ErrorCode::kUnauthenticated:
            return 401;
        case ErrorCode::kInsufficientFunds:
            return 402;
        case ErrorCode::kPermissionDenied:
            return 403;
        case ErrorCode::kNotFound:
            return 404;
        case ErrorCode::kAlreadyExists:
        case ErrorCode::kConflict:
            return 409;
        case ErrorCode::kUnavailable:
        case ErrorCode::kTimeout:
        case ErrorCode::kCancelled:
            return 503;
        case ErrorCode::kIo:
        case ErrorCode::kInternal:
            return 500;
    }
    return 500;
}

std::string_view phrase(unsigned status) noexcept {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 206:
            return "Partial Content";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 402:
            return "Payment Required";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 411:
            return "Length Required";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 416:
            return "Range Not Satisfiable";
        case 422:
            return "Unprocessable Content";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        case 507:
            return "Insufficient Storage";
        default:
            return "Internal Server Error";
    }
}

Response problem(unsigned status, std::string_view code, std::string_view detail,
                 std::string_view request_id) {
    Response response;
    response.status = status;
    response.content_type = "application/problem+json";
    if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    if (status == 503 || status == 429) response.headers.emplace_back("Retry-After", "1");
    response.body =
        boost::json::serialize(boost::json::object{{"type", "urn:gym:problem:" + std::string(code)},
                                                   {"title", phrase(status)},
                                                   {"status", status},
                                                   {"detail", detail},
                                                   {"request_id", request_id}}) +
        "\n";
    return response;
}

Response problem(const Error& error, std::string_view request_id) {
    const unsigned status = http_status(error.code);
    std::string_view detail = error.message;
    if (status == 500) detail = "the server failed; its log has the request id";
    if (status == 503) detail = "a service behind the API does not answer; try again";
    return problem(status, to_string(error.code), detail, request_id);
}

}  // namespace gym::http_server
