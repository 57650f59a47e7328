#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "http_transport.hpp"

namespace gym::chain {

/// ASCII letters only: for comparing what nodes say.
[[nodiscard]] std::string lower_case(std::string_view text);

/// The error that a node reports instead of a result.
struct RpcError {
    std::int64_t code = 0;
    std::string message;
    Bytes data;  ///< revert data, if it sent some

    [[nodiscard]] bool is_revert() const;
    /// Whether the same question may be answered later: rate limits, a block or its state that the
    /// node does not have now.
    [[nodiscard]] bool is_passing() const;
    /// As an Error: kUnavailable when it passes, kInternal otherwise.
    [[nodiscard]] Error as_error(const std::string& method) const;
};
using RpcReply = std::variant<boost::json::value, RpcError>;

/// JSON-RPC 2.0 over HTTP: requests, batches, checked replies. Not thread-safe.
class JsonRpc {
  public:
    explicit JsonRpc(std::unique_ptr<HttpTransport> transport) : transport_(std::move(transport)) {}

    /// @errors as HttpTransport; kMalformed for a reply that is not JSON-RPC or not to this
    /// request.
    Result<RpcReply> call(const std::string& method, const boost::json::array& params);
    /// A reply for each of `params`, in order, by one HTTP request.
    Result<std::vector<RpcReply>> batch(const std::string& method,
                                        const std::vector<boost::json::array>& params);
    /// call(), with what the node reports turned into an error.
    Result<boost::json::value> result(const std::string& method, const boost::json::array& params);

  private:
    boost::json::object request(const std::string& method, const boost::json::array& params);
    Result<boost::json::value> exchange(const std::string& method, const boost::json::value& body);

    std::unique_ptr<HttpTransport> transport_;
    std::int64_t next_id_ = 1;
};

}  // namespace gym::chain
