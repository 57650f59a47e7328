// wan_link between two real network namespaces.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "gym/common/descriptor.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"

#include "must.hpp"
#include "plan.hpp"
#include "temporary_folder.hpp"

namespace gym::wan {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::must;
namespace json = boost::json;

constexpr std::uint16_t kPort = 7'000;
constexpr int kCommandMs = 20'000;

Result<std::string> ip(std::vector<std::string> words) {
    words.insert(words.begin(), "ip");
    return run_command({.argv = std::move(words)}, kCommandMs);
}

sockaddr_in place(const std::string& address) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(kPort);
    out.sin_addr.s_addr = htonl(must(parse_address(address)));
    return out;
}

/// A socket of a namespace, which it stays wherever it is used.
int socket_in(const std::string& netns, int type) {
    int out = -1;
    std::thread([&] {
        const Descriptor file(::open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC));
        if (::setns(file.get(), CLONE_NEWNET) == 0) out = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    }).join();
    EXPECT_GE(out, 0) << netns;
    return out;
}

class WanNamespaces : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const std::string& netns : {a_, b_}) {
            const auto made = ip({"netns", "add", netns});
            ASSERT_TRUE(made.ok() || made.error().code != ErrorCode::kNotFound)
                << "`ip` of Debian's iproute2 is missing: run make setup";
            if (!made.ok()) GTEST_SKIP() << "no network namespace: " << made.error().message;
        }
        if (::access("/dev/net/tun", R_OK | W_OK) != 0)
            GTEST_SKIP() << "/dev/net/tun cannot be opened";
        ASSERT_NO_FATAL_FAILURE(start());
    }
    void start() {
        const auto file = folder_.path() / "plan.yaml";
        const std::string text =
            "inside_delay_us: 1000\nbetween_delay_us: 40000\nqueue_bytes: 100000\nseed: 7\nhosts:\n"
            "  - {name: a, region: eu, netns: " +
            a_ +
            ", address: 10.77.0.1, up_kbit_per_s: 8000,"
            " down_kbit_per_s: 80000}\n"
            "  - {name: b, region: us, netns: " +
            b_ +
            ", address: 10.77.1.1, up_kbit_per_s: 8000,"
            " down_kbit_per_s: 80000}\n";
        ASSERT_TRUE(write_file_atomic(file, as_bytes(text)).ok());
        int in[2], out[2];
        ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
        ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
        SubprocessOptions options;
        options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/wan_link",
                        file.string()};
        options.input = in[0];
        options.output = out[1];
        options.log_file = folder_.path() / "log";
        link_.emplace(must(Subprocess::start(options)));
        ::close(in[0]);
        ::close(out[1]);
        input_ = in[1];
        output_ = out[0];
        ASSERT_EQ(answer(), R"({"ready":true})");
    }
    void TearDown() override {
        if (link_) {
            ::close(input_);  // its end is that of the program
            EXPECT_EQ(must(link_->wait(10'000)), 0);
            ::close(output_);
        }
        for (const std::string& netns : {a_, b_})
            (void)ip({"netns", "del", netns});
    }
    std::string answer() {
        std::string line;
        for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';)
            line += c;
        return line;
    }
    std::string command(const std::string& line) {
        EXPECT_EQ(::write(input_, (line + "\n").c_str(), line.size() + 1),
                  static_cast<ssize_t>(line.size() + 1));
        return answer();
    }
    std::int64_t count(const std::string& from, const char* what) {
        const json::value stats = json::parse(command("stats"));
        for (const json::value& row : stats.at("pairs").as_array())
            if (row.at("from") == json::value(from)) return row.at(what).to_number<std::int64_t>();
        return 0;
    }
    /// Sends a datagram from a to b. @return milliseconds until it came; -1: it did not.
    static long ping(int from, int to) {
        const sockaddr_in target = place("10.77.1.1");
        const auto begin = steady_clock::now();
        EXPECT_EQ(
            ::sendto(from, "x", 1, 0, reinterpret_cast<const sockaddr*>(&target), sizeof target),
            1);
        pollfd polled{to, POLLIN, 0};
        char c = 0;
        if (::poll(&polled, 1, 1'000) != 1 || ::recv(to, &c, 1, 0) != 1) return -1;
        return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count();
    }

    const std::string a_ = "gymwan-" + std::to_string(::getpid()) + "-a";
    const std::string b_ = "gymwan-" + std::to_string(::getpid()) + "-b";
    testing::TemporaryFolder folder_;
    std::optional<Subprocess> link_;
    int input_ = -1, output_ = -1;
};

TEST_F(WanNamespaces, PacketsTakeTheDelayAndACutRegionGetsNone) {
    const Descriptor from(socket_in(a_, SOCK_DGRAM)), to(socket_in(b_, SOCK_DGRAM));
    const sockaddr_in here = place("10.77.1.1");
    ASSERT_EQ(::bind(to.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
    const long took = ping(from.get(), to.get());
    EXPECT_GE(took, 40);
    EXPECT_EQ(count("a", "packets"), 1);
    ASSERT_EQ(command("cut us"), R"({"ok":true})");
    EXPECT_EQ(ping(from.get(), to.get()), -1);
    EXPECT_EQ(count("a", "cut"), 1);
    ASSERT_EQ(command("heal us"), R"({"ok":true})");
    EXPECT_GE(ping(from.get(), to.get()), 40);
    ASSERT_EQ(command("loss 0 1000000"), R"({"ok":true})");
    EXPECT_EQ(ping(from.get(), to.get()), -1);
    EXPECT_EQ(count("a", "lost"), 1);
}

TEST_F(WanNamespaces, TcpSendsAllThroughLossAtNoMoreThanTheRate) {
    const Descriptor listener(socket_in(b_, SOCK_STREAM)), from(socket_in(a_, SOCK_STREAM));
    const sockaddr_in there = place("10.77.1.1");
    const auto* const address = reinterpret_cast<const sockaddr*>(&there);
    ASSERT_EQ(::bind(listener.get(), address, sizeof there), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(command("loss 0 10000"), R"({"ok":true})");
    Bytes sent(600'000), got;
    for (std::size_t i = 0; i < sent.size(); ++i)
        sent[i] = static_cast<std::uint8_t>(i * i % 251);
    const auto begin = steady_clock::now();
    std::jthread sender([&] {
        EXPECT_EQ(::connect(from.get(), address, sizeof there), 0);
        for (std::size_t at = 0; at < sent.size();) {
            const ssize_t size = ::send(from.get(), sent.data() + at, sent.size() - at, 0);
            ASSERT_GT(size, 0);
            at += static_cast<std::size_t>(size);
        }
        ::shutdown(from.get(), SHUT_WR);
    });
    const Descriptor to(::accept(listener.get(), nullptr, nullptr));
    Bytes buffer(1 << 16);
    for (ssize_t size = 0; (size = ::recv(to.get(), buffer.data(), buffer.size(), 0)) > 0;)
        got.insert(got.end(), buffer.begin(), buffer.begin() + size);
    EXPECT_EQ(got, sent);
    // 4.8 Mbit over 8 Mbit/s.
    EXPECT_GE(steady_clock::now() - begin, milliseconds(600));
    EXPECT_GT(count("a", "lost"), 0);
    EXPECT_GT(count("a", "bytes"), 600'000);
}

}  // namespace
}  // namespace gym::wan
