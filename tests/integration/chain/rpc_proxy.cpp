#include "rpc_proxy.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "gym/common/assert.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;

constexpr std::size_t kBodyBytesMax = 64 << 20;
constexpr int kPollMs = 50;

void send_all(int open, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t count = ::send(open, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) return;
        sent += static_cast<std::size_t>(count);
    }
}

/// The body of one HTTP message with a content length; nothing when the other side is gone.
std::optional<std::string> read_message(int open) {
    std::string text;
    char buffer[16'384];
    for (;;) {
        const std::size_t head = text.find("\r\n\r\n");
        if (head != std::string::npos) {
            std::string header = text.substr(0, head);
            for (char& c : header)
                c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            const std::size_t length = header.find("content-length: ");
            GYM_ASSERT(length != std::string::npos, "client and node say how long a message is");
            const std::size_t body = std::stoul(header.substr(length + 16));
            GYM_ASSERT(body <= kBodyBytesMax, "bounded");
            if (text.size() >= head + 4 + body) return text.substr(head + 4, body);
        }
        const ssize_t count = ::recv(open, buffer, sizeof buffer, 0);
        if (count <= 0) return std::nullopt;
        text.append(buffer, static_cast<std::size_t>(count));
    }
}

std::string http_message(const std::string& first_line, const std::string& body) {
    return first_line +
           "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

int connect_to(const std::string& host_port) {
    const int open = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoul(host_port.substr(host_port.rfind(':') + 1))));
    GYM_ASSERT(::connect(open, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
               "the node listens");
    return open;
}

std::vector<json::object> as_list(const json::value& value) {
    std::vector<json::object> out;
    if (value.is_object()) out.push_back(value.as_object());
    if (value.is_array())
        for (const json::value& item : value.as_array())
            out.push_back(item.as_object());
    return out;
}

}  // namespace

RpcProxy::RpcProxy(const std::string& node) : node_host_port_(node.substr(node.find("//") + 2)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    GYM_ASSERT(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
    GYM_ASSERT(::listen(listener_, 8) == 0, "listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
}

RpcProxy::~RpcProxy() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    if (const int open = connection_.load(); open >= 0) ::shutdown(open, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
}

void RpcProxy::tell(Lie lie) {
    const std::lock_guard lock(mutex_);
    lie_ = std::move(lie);
}

void RpcProxy::trouble(Trouble trouble) {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(trouble);
}

void RpcProxy::serve() {
    while (!stopping_) {
        const int open = ::accept(listener_, nullptr, nullptr);
        if (open < 0) return;
        connection_ = open;
        serve_connection(open);
        connection_ = -1;
        ::close(open);
    }
}

void RpcProxy::serve_connection(int open) {
    while (!stopping_) {
        const auto body = read_message(open);
        if (!body) return;
        const json::value request = json::parse(*body);
        const std::string method(as_list(request).front().at("method").as_string());
        Fault fault = Fault::kNone;
        {
            const std::lock_guard lock(mutex_);
            if (trouble_) fault = trouble_(method);
        }
        if (fault == Fault::kSilence) {  // until the other side gives up
            pollfd gone{open, POLLRDHUP, 0};
            while (!stopping_ && ::poll(&gone, 1, kPollMs) == 0) {
            }
            return;
        }
        const std::string bytes = answer(*body, fault);
        if (bytes.empty()) return;
        send_all(open, bytes);
    }
}

std::string RpcProxy::answer(const std::string& body, Fault fault) {
    if (fault == Fault::kClose) return {};
    if (fault == Fault::kServerError)
        return http_message("HTTP/1.1 503 Service Unavailable", "busy");
    const auto requests = as_list(json::parse(body));
    if (fault == Fault::kSwallow) {
        const json::object taken{{"jsonrpc", "2.0"},
                                 {"id", requests.front().at("id")},
                                 {"result", "0x" + std::string(64, '1')}};
        return http_message("HTTP/1.1 200 OK", json::serialize(taken));
    }
    json::value reply = json::parse(pass_on(body));
    if (fault == Fault::kLoseReply) return {};
    const std::lock_guard lock(mutex_);
    const auto lie_about = [&](json::value& one) {
        if (!lie_) return;
        json::object& object = one.as_object();
        for (const json::object& asked : requests)
            if (asked.at("id") == object.at("id")) {
                ++replies_;
                const json::value* params = asked.if_contains("params");
                lie_(std::string(asked.at("method").as_string()),
                     params ? params->as_array() : json::array{}, object);
            }
    };
    if (reply.is_array())
        for (json::value& one : reply.as_array())
            lie_about(one);
    else
        lie_about(reply);
    return http_message("HTTP/1.1 200 OK", json::serialize(reply));
}

std::string RpcProxy::pass_on(const std::string& body) const {
    const int open = connect_to(node_host_port_);
    send_all(open,
             http_message("POST / HTTP/1.1\r\nHost: " + node_host_port_ + "\r\nConnection: close",
                          body));
    const auto reply = read_message(open);
    ::close(open);
    GYM_ASSERT(reply, "the node answers");
    return *reply;
}

}  // namespace gym::testing
