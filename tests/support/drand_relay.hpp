#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "gym/http_server/server.hpp"

namespace gym::testing {

/// A server of beacons on this machine that answers as a test says.
class DrandRelay final : public http_server::Handler {
  public:
    /// @param answer the body for a round; empty: 404, as of a round that has not begun.
    using Answer = std::function<std::string(std::uint64_t round)>;
    explicit DrandRelay(Answer answer)
        : answer_(std::move(answer)), server_(http_server::Server::start({}, *this).value()) {}
    ~DrandRelay() override { server_->stop(2'000); }
    DrandRelay(const DrandRelay&) = delete;
    DrandRelay& operator=(const DrandRelay&) = delete;

    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port()) + "/" + kChain;
    }
    static std::string beacon(std::uint64_t round, ByteView signature) {
        return "{\"round\":" + std::to_string(round) + R"(,"randomness":"00","signature":")" +
               to_hex(signature) + "\"}";
    }

    Admission admit(const http_server::Request&) override { return {}; }
    http_server::Response handle(const http_server::Request& request) override {
        ++asked;
        const std::string before = std::string("/") + kChain + "/public/";
        http_server::Response response;
        response.body = request.target.starts_with(before)
                            ? answer_(std::stoull(request.target.substr(before.size())))
                            : "";
        if (response.body.empty()) response.status = 404;
        return response;
    }
    http_server::Response refuse(unsigned status, std::string_view, std::string_view) override {
        http_server::Response response;
        response.status = status;
        return response;
    }
    void connections(std::int64_t) override {}

    std::atomic<unsigned> asked = 0;

  private:
    static constexpr const char* kChain = "c0ffee";

    const Answer answer_;
    std::unique_ptr<http_server::Server> server_;  // last: it uses everything above
};

}  // namespace gym::testing
