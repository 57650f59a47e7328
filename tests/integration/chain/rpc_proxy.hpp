#pragma once

#include <boost/json.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace gym::testing {

/// A node in front of a node: an HTTP server on loopback that passes JSON-RPC on and lets a test
/// change what comes back, leave it out, or keep it for itself. Serves one connection at a time.
class RpcProxy {
  public:
    /// @param node URL of the real one, "http://127.0.0.1:PORT".
    explicit RpcProxy(const std::string& node);
    ~RpcProxy();
    RpcProxy(const RpcProxy&) = delete;
    RpcProxy& operator=(const RpcProxy&) = delete;

    [[nodiscard]] const std::string& url() const { return url_; }

    /// Called with each reply, an object with "result" or "error" that it may change.
    using Lie = std::function<void(const std::string& method, const boost::json::array& params,
                                   boost::json::object& reply)>;
    /// Replaces the lie; an empty one is the truth.
    void tell(Lie lie);

    enum class Fault {
        kNone,
        kServerError,  ///< HTTP 503
        kClose,        ///< of the connection, nothing passed on
        kSilence,      ///< until the other side gives up
        kLoseReply,    ///< passed on, the connection closed instead of an answer
        kSwallow,      ///< not passed on, answered with a hash as if it were
    };
    /// Called with each request before it is passed on.
    using Trouble = std::function<Fault(const std::string& method)>;
    void trouble(Trouble trouble);

    /// Replies that a lie was asked about, by now.
    [[nodiscard]] int replies() const { return replies_; }

  private:
    void serve();
    void serve_connection(int open);
    /// The whole HTTP answer; empty to close without one.
    std::string answer(const std::string& body, Fault fault);
    std::string pass_on(const std::string& body) const;

    std::string node_host_port_;
    std::string url_;
    int listener_ = -1;
    std::mutex mutex_;
    Lie lie_;
    Trouble trouble_;
    std::atomic<int> connection_{-1};
    std::atomic<int> replies_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace gym::testing
