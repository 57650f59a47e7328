#include "gym/http_server/server.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "session.hpp"

namespace gym::http_server {

namespace asio = boost::asio;
using asio::ip::tcp;

/// The acceptor and the set of sessions live on one thread (`io_thread`); handlers run in
/// `workers`.
struct Server::Impl final : SessionHost {
    Impl(const ServerOptions& server_options, Handler& request_handler)
        : options(server_options),
          handler(request_handler),
          acceptor(io),
          accept_pause(io),
          workers(server_options.threads),
          bodies(server_options.bodies_bytes_max, server_options.owner_bodies_bytes_max) {}

    Status listen() {
        boost::system::error_code error;
        const auto address = asio::ip::make_address(options.address, error);
        if (error)
            return fail(ErrorCode::kInvalidArgument,
                        "listen.address '" + options.address + "' is no IP address");
        const tcp::endpoint endpoint(address, options.port);
        acceptor.open(endpoint.protocol(), error);
        if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
        if (!error) acceptor.bind(endpoint, error);
        if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
        if (error)
            return fail(ErrorCode::kIo, "cannot listen on " + options.address + ":" +
                                            std::to_string(options.port) + ": " + error.message());
        port = acceptor.local_endpoint(error).port();
        return {};
    }

    void accept() {
        acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
            if (stopping) return;
            if (error) {
                // Out of descriptors, for one: they come back as connections end.
                spdlog::warn("accept: {}", error.message());
                accept_pause.expires_after(std::chrono::milliseconds(100));
                accept_pause.async_wait([this](boost::system::error_code) {
                    if (!stopping) accept();
                });
                return;
            }
            // Refusals cost a slot too, for a short while; beyond twice the limit they get none.
            if (sessions.size() < 2 * std::size_t{options.connections_max})
                start_session(std::move(socket));
            accept();
        });
    }

    void start_session(tcp::socket socket) {
        const bool crowded = sessions.size() >= options.connections_max;
        auto session = make_session(std::move(socket), options, handler, *this);
        const std::size_t most = options.peer_connections_max;
        std::size_t& of_peer = parties[session->party()];
        if (most != 0 && of_peer >= 2 * most) return;  // `session` closes its socket
        ++of_peer;
        sessions.insert(session);
        handler.connections(static_cast<std::int64_t>(sessions.size()));
        session->start(crowded || (most != 0 && of_peer > most));
    }

    // SessionHost
    asio::thread_pool& pool() override { return workers; }
    bool stream_begins() override {
        if (streams >= options.streams_max) return false;
        ++streams;
        return true;
    }
    void stream_ended() override { --streams; }
    BodyMemory::Room body_begins(const std::string& owner, std::uint64_t bytes) override {
        return bodies.reserve(owner, bytes);
    }
    void body_ended(const std::string& owner, std::uint64_t bytes) override {
        bodies.release(owner, bytes);
    }
    void ended(const std::shared_ptr<Session>& session) override {
        if (sessions.erase(session) == 0) return;
        const auto party = parties.find(session->party());
        if (--party->second == 0) parties.erase(party);
        handler.connections(static_cast<std::int64_t>(sessions.size()));
        if (sessions.empty() && stopping) notify_idle();
    }

    void notify_idle() {
        const std::lock_guard lock(mutex);
        idle = true;
        changed.notify_all();
    }

    void drain() {
        stopping = true;
        boost::system::error_code ignored;
        acceptor.close(ignored);
        accept_pause.cancel();
        // A copy: a session that ends takes itself out of the set.
        const auto open = sessions;
        for (const auto& session : open)
            session->drain();
        if (sessions.empty()) notify_idle();
    }

    ServerOptions options;
    Handler& handler;
    std::uint16_t port = 0;
    asio::io_context io{1};
    // `io` does not count requests that run in `workers` as its work: it must not end meanwhile.
    asio::executor_work_guard<asio::io_context::executor_type> keep_running{io.get_executor()};
    tcp::acceptor acceptor;
    asio::steady_timer accept_pause;
    asio::thread_pool workers;
    std::set<std::shared_ptr<Session>> sessions;
    std::map<std::string, std::size_t> parties;  ///< connections of each
    std::uint32_t streams = 0;
    BodyMemory bodies;
    bool stopping = false;
    std::thread io_thread;
    bool stopped = false;

    std::mutex mutex;
    std::condition_variable changed;
    bool idle = false;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler& handler) {
    if (options.threads == 0 || options.connections_max == 0)
        return fail(ErrorCode::kInvalidArgument, "a server needs a thread and a connection");
    auto impl = std::make_unique<Impl>(options, handler);
    GYM_CHECK(impl->listen());
    impl->accept();
    impl->io_thread = std::thread([raw = impl.get()] { raw->io.run(); });
    return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const noexcept {
    return impl_->port;
}

void Server::stop(std::uint32_t grace_ms) {
    if (impl_->stopped) return;
    impl_->stopped = true;
    asio::post(impl_->io, [raw = impl_.get()] { raw->drain(); });
    {
        std::unique_lock lock(impl_->mutex);
        impl_->changed.wait_for(lock, std::chrono::milliseconds(grace_ms),
                                [this] { return impl_->idle; });
    }
    // Handlers first: they post into the sockets' thread. What is queued and not begun is dropped.
    impl_->workers.stop();
    impl_->workers.join();
    impl_->io.stop();
    impl_->io_thread.join();
    impl_->sessions.clear();
}

Server::~Server() {
    stop(0);
}

}  // namespace gym::http_server
