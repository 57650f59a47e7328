#pragma once

#include <memory>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/common/result.hpp"

namespace gym::chain {

/// Posts JSON to one URL over a connection that is kept alive, again if that failed. Not
/// thread-safe.
class HttpTransport {
  public:
    /// @errors kInvalidArgument for a URL that is not http(s)://host[:port][/path], or options out
    /// of bounds.
    static Result<std::unique_ptr<HttpTransport>> create(const std::string& url,
                                                         const HttpOptions& options);
    virtual ~HttpTransport() = default;

    /// The body of a reply with status 200; retries as HttpOptions says.
    /// @errors kUnavailable (refused, closed early, status 429 or 5xx), kTimeout, kMalformed (no
    /// HTTP, reply too long), kInternal (another status). Messages name host and port, never the
    /// path, which may hold a key.
    virtual Result<std::string> post(const std::string& body) = 0;
};

}  // namespace gym::chain
