#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::http_server {

/// Takes the body of a request piece by piece, as it arrives. Called from one thread at a time.
class BodySink {
  public:
    virtual ~BodySink() = default;
    /// The next bytes. After an error nothing more comes; the request is answered with it.
    [[nodiscard]] virtual Status write(ByteView piece) = 0;
};

/// An HTTP request as handlers see it; no socket behind it.
struct Request {
    std::string method = "GET";  ///< upper case
    std::string target = "/";    ///< as sent: path and query
    /// Names in lower case. A header that came twice has the values joined with ", ".
    std::map<std::string, std::string, std::less<>> headers;
    std::string body;
    std::string request_id;
    std::string peer;                     ///< IP address that the connection comes from
    std::shared_ptr<BodySink> sink = {};  ///< took the body, if the admission named one

    [[nodiscard]] std::string_view header(std::string_view lower_case_name) const {
        const auto found = headers.find(lower_case_name);
        return found == headers.end() ? std::string_view{} : std::string_view(found->second);
    }
};

/// A part of something large, which is read while it is sent: a piece at a time is in memory.
struct BodyStream {
    std::shared_ptr<const blob::BlobReader> source;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct Response {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::optional<BodyStream> stream = {};  ///< in the place of `body`
};

/// Handler that a server calls. Thread-safe.
class Handler {
  public:
    virtual ~Handler() = default;

    /// Decides by method, target and headers alone, before a byte of the body is read. A response
    /// refuses the request; otherwise the most bytes that its body may have.
    struct Admission {
        std::optional<Response> refused;
        std::uint64_t body_bytes_max = 0;
        /// Takes the body in the place of Request::body, so that no body is held in memory.
        std::shared_ptr<BodySink> sink = {};
        /// Whose key the request has: a body in memory counts for it. Empty: nobody's.
        std::string owner = {};
    };
    [[nodiscard]] virtual Admission admit(const Request& head) = 0;
    /// Answers a request that was admitted. Never throws.
    [[nodiscard]] virtual Response handle(const Request& request) = 0;
    /// A request that never reached handle(): too large, too slow, or not HTTP.
    [[nodiscard]] virtual Response refuse(unsigned status, std::string_view detail,
                                          std::string_view request_id) = 0;
    /// A request whose sink refused its body.
    [[nodiscard]] virtual Response refuse_body(const Error& error, std::string_view request_id) {
        return refuse(500, error.message, request_id);
    }
    /// Connections that are open now, for the metrics.
    virtual void connections(std::int64_t open) = 0;
};

}  // namespace gym::http_server
