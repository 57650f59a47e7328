#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <set>
#include <string>

#include "body_memory.hpp"
#include "gym/http_server/server.hpp"

namespace gym::http_server {

/// One connection. All methods on the sockets' thread.
class Session {
  public:
    virtual ~Session() = default;
    /// `crowded`: answer 503 to whatever comes and close.
    virtual void start(bool crowded) = 0;
    /// No further request: closes at once when idle, else after the running one.
    virtual void drain() = 0;
    /// Whose connection it is (party_of()); empty if it was closed before anybody asked.
    [[nodiscard]] virtual const std::string& party() const = 0;
};

class SessionHost {
  public:
    virtual ~SessionHost() = default;
    /// Where handlers run.
    virtual boost::asio::thread_pool& pool() = 0;
    /// Whether one more answer may be read while it is sent; then stream_ended() follows.
    virtual bool stream_begins() = 0;
    virtual void stream_ended() = 0;
    /// Whether one more body of up to `bytes` may be in memory; if kTaken, body_ended() follows.
    virtual BodyMemory::Room body_begins(const std::string& owner, std::uint64_t bytes) = 0;
    virtual void body_ended(const std::string& owner, std::uint64_t bytes) = 0;
    /// The session is over; the host lets go of it.
    virtual void ended(const std::shared_ptr<Session>& session) = 0;
};

/// `handler` and `host` must outlive the session.
[[nodiscard]] std::shared_ptr<Session> make_session(boost::asio::ip::tcp::socket socket,
                                                    const ServerOptions& options, Handler& handler,
                                                    SessionHost& host);

}  // namespace gym::http_server
