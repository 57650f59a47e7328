#include "hostile_crowd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "gym/commit/codec.hpp"
#include "gym/common/clock.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/rpc/call_auth.hpp"

namespace gym::testing {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kKinds = 4;
constexpr int kSources = 250;
constexpr std::string_view kGreetingBytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kSettings = 4, kHeaders = 1;
constexpr char kEndOfHeaders = 4;

/// A frame of HTTP/2 (RFC 9113, section 4.1).
std::string frame(char type, char flags, std::uint32_t stream, std::string_view payload) {
    std::string out;
    for (const int shift : {16, 8, 0})
        out += static_cast<char>(payload.size() >> shift);
    out += type;
    out += flags;
    for (const int shift : {24, 16, 8, 0})
        out += static_cast<char>(stream >> shift);
    return out.append(payload);
}

/// A string of HPACK without Huffman's code (RFC 7541, section 5).
std::string text(std::string_view value) {
    constexpr std::size_t kPrefixMax = 127;
    std::string out;
    if (value.size() < kPrefixMax) {
        out += static_cast<char>(value.size());
    } else {
        out += static_cast<char>(kPrefixMax);
        std::size_t rest = value.size() - kPrefixMax;
        for (; rest >= 128; rest /= 128)
            out += static_cast<char>(rest % 128 + 128);
        out += static_cast<char>(rest);
    }
    return out.append(value);
}

std::string field(std::string_view name, std::string_view value) {
    return '\0' + text(name) + text(value);
}

std::string head_of_call(const std::string& auth) {
    std::string out = field(":method", "POST") + field(":scheme", "http") +
                      field(":path", "/gym.v1.NodeService/PutBlob") +
                      field(":authority", "coordinator") +
                      field("content-type", "application/grpc") + field("te", "trailers");
    if (!auth.empty()) out += field(rpc::kAuthMetadataKey, auth);
    return out;
}

std::string stolen_auth(const Address& victim) {
    rpc::CallAuth auth;
    auth.caller = victim;
    auth.unix_ms = SystemClock().now_ms();
    auth.nonce = crypto::random_digest();
    auth.signature.data.fill(1);
    const Bytes bytes = rpc::encode(auth);
    std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // with EVP_EncodeBlock's final zero
    out.resize(
        static_cast<std::size_t>(::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                                   bytes.data(), static_cast<int>(bytes.size()))));
    return out;
}

bool send_all(int socket, const std::string& bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
}

}  // namespace

HostileCrowd::HostileCrowd(std::uint16_t port, std::size_t count, const Address& victim,
                           std::chrono::milliseconds again)
    : port_(port), victim_(victim), again_(again), connections_(count) {
    const auto now = steady_clock::now();
    for (std::size_t i = 0; i < count; ++i)
        connections_[i].next = now + 2 * again * i / count;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void HostileCrowd::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const auto begun = steady_clock::now();
        std::size_t open = 0;
        for (std::size_t i = 0; i < connections_.size() && !stop.stop_requested(); ++i) {
            tend(i);
            open += connections_[i].socket ? 1 : 0;
        }
        open_ = open;
        std::this_thread::sleep_until(begun + std::chrono::milliseconds(200));
    }
}

void HostileCrowd::tend(std::size_t index) {
    Connection& connection = connections_[index];
    const auto now = steady_clock::now();
    if (!connection.socket) {
        if (now >= connection.next) dial(index);
        return;
    }
    if (!drain(connection)) {
        ++closed_;
        connection.socket.reset();
        connection.next = now + again_;
        return;
    }
    if (static_cast<Kind>(index % kKinds) >= Kind::kUnsigned && now >= connection.next) call(index);
}

void HostileCrowd::dial(std::size_t index) {
    Connection& connection = connections_[index];
    connection.next = steady_clock::now() + again_ * (index % 100) / 100;
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in source{}, target{};
    source.sin_family = target.sin_family = AF_INET;
    source.sin_addr.s_addr =
        htonl((127U << 24U) + 2 + static_cast<std::uint32_t>(index % kSources));
    target.sin_port = htons(port_);
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source) != 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0)
        return;
    if (static_cast<Kind>(index % kKinds) != Kind::kSilent)
        send_all(socket.get(), std::string(kGreetingBytes) + frame(kSettings, 0, 0, {}));
    connection.socket.emplace(std::move(socket));
    connection.stream = 1;
}

void HostileCrowd::call(std::size_t index) {
    Connection& connection = connections_[index];
    const bool is_stolen = static_cast<Kind>(index % kKinds) == Kind::kStolen;
    const std::string head = head_of_call(is_stolen ? stolen_auth(victim_) : std::string());
    if (send_all(connection.socket->get(), frame(kHeaders, kEndOfHeaders, connection.stream, head)))
        ++calls_;
    connection.stream += 2;
    connection.next = steady_clock::now() + again_;
}

bool HostileCrowd::drain(const Connection& connection) {
    std::array<char, 4'096> bytes{};
    for (;;) {
        const ssize_t got =
            ::recv(connection.socket->get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    }
}

}  // namespace gym::testing
