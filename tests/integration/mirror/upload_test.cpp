// Uploads to a mirror over real sockets: who may, what is kept, and what bad input leaves behind.
#include "gym/mirror/upload.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "blob_site.hpp"
#include "gym/common/file.hpp"
#include "gym/http/connection.hpp"
#include "gym/mirror/pull_through.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/rpc/upload_ticket.hpp"
#include "temporary_folder.hpp"

namespace gym::mirror {
namespace {

using testing::BlobSite;
using testing::Fault;
using testing::noise;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

crypto::Eip712Domain domain() {
    return protocol::signing_domain(31'337, Address::from(Bytes(20, 7)).value());
}

/// Says "200" and a page to whatever it is asked, as a hotel's network does.
class Hotel final : public http_server::Handler {
  public:
    Hotel() : server_(http_server::Server::start({}, *this).value()) {}
    Admission admit(const http_server::Request&) override { return {.body_bytes_max = 8 << 20}; }
    http_server::Response handle(const http_server::Request&) override {
        ++asked;
        return {200, "text/html", {}, "<html>Welcome to the hotel</html>"};
    }
    http_server::Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {status, "text/html", {}, "<html>Sorry</html>"};
    }
    void connections(std::int64_t) override {}
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port());
    }
    std::atomic<int> asked{0};

  private:
    std::unique_ptr<http_server::Server> server_;
};

class UploadTest : public ::testing::Test {
  protected:
    /// A mirror that takes uploads, of an origin that has nothing.
    struct Mirror {
        Mirror(const PullOptions& options, std::set<Address> coordinators, const Clock& clock,
               std::uint32_t at_once_max)
            : pull(PullThrough::open(options, {}).value()),
              gate(domain(), std::move(coordinators), 64 * kMiB, clock),
              handler(*pull, {}, {&gate, pull.get(), at_once_max}) {
            http_server::ServerOptions listen;
            listen.body_silence_ms = 400;
            server = http_server::Server::start(listen, handler).value();
        }
        [[nodiscard]] std::string url() const {
            return "http://127.0.0.1:" + std::to_string(server->port());
        }
        std::unique_ptr<PullThrough> pull;
        rpc::TicketGate gate;
        BlobHandler handler;
        std::unique_ptr<http_server::Server> server;
    };

    void SetUp() override {
        content_ = noise(3 * kMiB + 4'321);
        root_ = blob::blob_root(content_);
        start("mirror");
    }
    PullOptions options(const std::string& name) {
        PullOptions out;
        out.folder = dir_.path() / name;
        out.origins = {origin_.url()};
        out.bytes_max = 32 * kMiB;
        out.uploads_bytes_max = 16 * kMiB;
        out.absent_ms = 0;
        return out;
    }
    void start(const std::string& name, std::uint32_t at_once_max = 4) {
        mirror_.reset();
        mirror_ = std::make_unique<Mirror>(options(name), std::set{coordinator_.address()}, clock_,
                                           at_once_max);
    }
    using Headers = Uploader::Headers;
    rpc::UploadTicket ticket(const Digest& root, std::uint64_t size) {
        return rpc::sign_ticket(
            domain(), {worker_.address(), root, size, clock_.now_ms() + 60'000, {}}, coordinator_);
    }
    Headers headers(const rpc::UploadTicket& of) {
        return rpc::upload_headers(domain(), rpc::encode(of), worker_, clock_.now_ms());
    }
    Headers headers(const Digest& root, std::uint64_t size) { return headers(ticket(root, size)); }
    http::Reply put(const Digest& root, ByteView content, const Headers& with) {
        http::Request request;
        request.method = "PUT";
        request.target = "/b/" + to_hex(root.view());
        request.headers = with;
        request.content =
            std::string_view(reinterpret_cast<const char*>(content.data()), content.size());
        const auto at = http::Connection::create(http::parse_url(mirror_->url()).value(), {});
        auto reply = at->exchange(request);
        EXPECT_TRUE(reply.ok()) << reply.error().message;
        return reply.ok() ? std::move(reply).value() : http::Reply{};
    }
    http::Reply get(const Digest& root, const Headers& with = {}) {
        http::Request request;
        request.target = "/b/" + to_hex(root.view());
        request.headers = with;
        const auto at = http::Connection::create(http::parse_url(mirror_->url()).value(), {});
        return at->exchange(request).value();
    }
    /// A request as bytes: what no client of ours would send.
    int begin_raw(const Digest& root, const Headers& with, std::uint64_t announced, ByteView sent) {
        const int file = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(mirror_->server->port());
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        std::string text = "PUT /b/" + to_hex(root.view()) + " HTTP/1.1\r\nHost: mirror\r\n";
        for (const auto& [name, value] : with)
            text += name + ": " + value + "\r\n";
        text += "Content-Length: " + std::to_string(announced) + "\r\n\r\n";
        text.append(sent.begin(), sent.end());
        EXPECT_EQ(::send(file, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
        return file;
    }
    static std::string answer(int file) {
        std::string out(4'096, 0);
        const ssize_t got = ::recv(file, out.data(), out.size(), 0);
        out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        return out;
    }
    /// Files but the lock.
    std::size_t files(const std::string& name = "mirror") {
        std::size_t out = 0;
        for (const auto& file : std::filesystem::recursive_directory_iterator(dir_.path() / name))
            out += file.is_regular_file() && file.path().filename() != "lock" ? 1 : 0;
        return out;
    }
    void expect_untouched() {
        // The file goes first, then its share of the folder's bound.
        for (int i = 0; i < 250 && (files() > 0 || mirror_->pull->bytes_kept() > 0); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(files(), 0U);
        EXPECT_EQ(mirror_->pull->bytes_kept(), 0U);
        EXPECT_EQ(get(root_).status, 404U);
    }

    TemporaryFolder dir_ = TemporaryFolder::create("gym-upload-").value();
    const crypto::PrivateKey worker_ = crypto::PrivateKey::generate();
    const crypto::PrivateKey coordinator_ = crypto::PrivateKey::generate();
    const SystemClock clock_;
    blob::MemoryStore nothing_;
    BlobSite origin_{nothing_};
    Bytes content_;
    Digest root_;
    std::unique_ptr<Mirror> mirror_;
};

TEST_F(UploadTest, IsKeptAndServedAndNotTakenTwice) {
    EXPECT_EQ(put(root_, content_, headers(root_, content_.size())).status, 201U);
    const http::Reply served = get(root_);
    EXPECT_EQ(served.status, 200U);
    EXPECT_EQ(Bytes(served.body.begin(), served.body.end()), content_);
    EXPECT_EQ(get(root_, {{"Cache-Control", "only-if-cached"}}).status, 200U);
    EXPECT_EQ(origin_.lists, 0U);
    const std::uint64_t received = mirror_->handler.bytes_received();
    EXPECT_EQ(received, content_.size());
    EXPECT_EQ(put(root_, content_, headers(root_, content_.size())).status, 200U);
    EXPECT_EQ(mirror_->handler.bytes_received(), received) << "it was sent again";
    const Digest none = blob::blob_root(Bytes());
    EXPECT_EQ(put(none, Bytes(), headers(none, 0)).status, 201U);
}

TEST_F(UploadTest, ASizeOfWholePiecesIsKept) {
    for (const std::uint64_t size : {std::uint64_t{1}, kMiB, 2 * kMiB}) {
        const Bytes bytes = noise(size, 5);
        const Digest root = blob::blob_root(bytes);
        EXPECT_EQ(put(root, bytes, headers(root, size)).status, 201U) << size;
        EXPECT_EQ(get(root).body.size(), size);
    }
}

TEST_F(UploadTest, OtherBytesGetNoName) {
    content_[2 * kMiB] ^= 1;
    const http::Reply reply = put(root_, content_, headers(root_, content_.size()));
    EXPECT_EQ(reply.status, 422U);
    EXPECT_NE(reply.body.find("hashes to"), std::string::npos) << reply.body;
    expect_untouched();
}

TEST_F(UploadTest, AnotherSizeThanTheTicketsIsRefusedBeforeItIsSent) {
    const http::Reply longer = put(root_, content_, headers(root_, content_.size() - 1));
    EXPECT_EQ(longer.status, 422U);
    EXPECT_NE(longer.body.find("Content-Length"), std::string::npos) << longer.body;
    EXPECT_EQ(put(root_, content_, headers(root_, content_.size() + 1)).status, 422U);
    EXPECT_EQ(put(root_, content_, headers(root_, 65 * kMiB)).status, 507U);
    EXPECT_EQ(mirror_->handler.bytes_received(), 0U);
    expect_untouched();
}

TEST_F(UploadTest, ABodyThatBreaksOffLeavesNothing) {
    start("one", 1);
    for (int i = 0; i < 3; ++i) {
        const int peer = begin_raw(root_, headers(root_, content_.size()), content_.size(),
                                   ByteView(content_).first(kMiB + 17));
        ::close(peer);
    }
    unsigned status = 503;  // until the mirror has seen that they are gone
    for (int i = 0; i < 100 && status == 503; ++i) {
        status = put(root_, content_, headers(root_, content_.size())).status;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(status, 201U);
    EXPECT_EQ(files("one"), 2U) << "the blob and its list";
}

TEST_F(UploadTest, APeerThatStopsTalkingIsEnded) {
    const int peer = begin_raw(root_, headers(root_, content_.size()), content_.size(),
                               ByteView(content_).first(kMiB));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(answer(peer).starts_with("HTTP/1.1 408"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    ::close(peer);
    expect_untouched();
}

TEST_F(UploadTest, MoreThanMayBeUnderWayIsRefused) {
    start("one", 1);
    const int peer = begin_raw(root_, headers(root_, content_.size()), content_.size(),
                               ByteView(content_).first(100));
    for (int i = 0; i < 500 && files("one") == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Bytes other = noise(1'000, 9);
    const Digest root = blob::blob_root(other);
    EXPECT_EQ(put(root, other, headers(root, other.size())).status, 503U);
    ::close(peer);
}

TEST_F(UploadTest, ASignatureCountsOnce) {
    const Headers once = headers(root_, content_.size());
    content_[0] ^= 1;
    EXPECT_EQ(put(root_, content_, once).status, 422U);
    content_[0] ^= 1;
    const http::Reply again = put(root_, content_, once);
    EXPECT_EQ(again.status, 401U);
    EXPECT_NE(again.body.find("replayed"), std::string::npos) << again.body;
    expect_untouched();
}

TEST_F(UploadTest, NobodyUploadsWithoutATicketOfTheCoordinator) {
    const std::uint64_t size = content_.size();
    EXPECT_EQ(put(root_, content_, {}).status, 401U);
    EXPECT_EQ(put(root_, content_, {{"Gym-Ticket", "zz"}, {"Gym-Auth", "00"}}).status, 401U);
    Headers cut = headers(root_, size);
    cut[0].second.resize(10);
    EXPECT_EQ(put(root_, content_, cut).status, 401U);

    const crypto::PrivateKey stranger = crypto::PrivateKey::generate();
    const rpc::UploadTicket own = rpc::sign_ticket(
        domain(), {worker_.address(), root_, size, clock_.now_ms() + 60'000, {}}, stranger);
    EXPECT_EQ(put(root_, content_, headers(own)).status, 403U);
    rpc::UploadTicket larger = ticket(root_, size - 1);
    larger.size_bytes = size;
    EXPECT_EQ(put(root_, content_, headers(larger)).status, 403U);
    const rpc::UploadTicket old = rpc::sign_ticket(
        domain(), {worker_.address(), root_, size, clock_.now_ms() - 1, {}}, coordinator_);
    EXPECT_EQ(put(root_, content_, headers(old)).status, 403U);
    EXPECT_EQ(put(root_, content_, headers(blob::blob_root(Bytes{1}), size)).status, 403U);
    const Headers stolen =
        rpc::upload_headers(domain(), rpc::encode(ticket(root_, size)), stranger, clock_.now_ms());
    EXPECT_EQ(put(root_, content_, stolen).status, 403U) << "another node's ticket";
    Headers forged = headers(root_, size);
    forged[1].second[40] = forged[1].second[40] == '0' ? '1' : '0';
    EXPECT_NE(put(root_, content_, forged).status / 100, 2U);
    const Headers of_another_time = rpc::upload_headers(domain(), rpc::encode(ticket(root_, size)),
                                                        worker_, clock_.now_ms() - 3'600'000);
    EXPECT_EQ(put(root_, content_, of_another_time).status, 401U);
    EXPECT_EQ(mirror_->handler.bytes_received(), 0U);
    expect_untouched();
}

TEST_F(UploadTest, WhatIsKeptForItsUploaderIsNotPushedOut) {
    Digest last;
    std::vector<Digest> kept;
    unsigned status = 201;
    for (std::uint32_t seed = 10; seed < 30 && status == 201; ++seed) {
        const Bytes bytes = noise(3 * kMiB, seed);
        last = blob::blob_root(bytes);
        status = put(last, bytes, headers(last, bytes.size())).status;
        if (status == 201) kept.push_back(last);
    }
    EXPECT_EQ(status, 507U) << "sixteen MiB are for uploads";
    EXPECT_EQ(kept.size(), 5U);
    for (std::uint32_t seed = 40; seed < 60; ++seed)  // 60 MiB of others through 32
        (void)get(nothing_.put(noise(3 * kMiB, seed)).value());
    for (const Digest& root : kept)
        EXPECT_EQ(get(root, {{"Cache-Control", "only-if-cached"}}).status, 200U);
    start("mirror");
    for (const Digest& root : kept)
        EXPECT_EQ(get(root, {{"Cache-Control", "only-if-cached"}}).status, 200U) << "restarted";
}

TEST_F(UploadTest, APartOfACrashIsRemoved) {
    const auto part = dir_.path() / "mirror" / "ab" / ".part-of-a-crash";
    std::filesystem::create_directories(part.parent_path());
    ASSERT_TRUE(write_file_atomic(part, as_bytes("half")).ok());
    start("mirror");
    EXPECT_FALSE(std::filesystem::exists(part));
}

TEST_F(UploadTest, TwoCopiesAreMadeWhateverTheOthersDo) {
    Mirror second(options("second"), {coordinator_.address()}, clock_, 4);
    Mirror closed(options("closed"), {worker_.address()}, clock_, 4);  // of another network
    Hotel hotel;
    BlobSite reader(nothing_);  // a server of files
    Uploader uploader;
    const auto sign = [&]() -> Result<Headers> { return headers(root_, content_.size()); };
    const auto placed =
        uploader.place({hotel.url(), reader.url(), closed.url(), mirror_->url(), second.url()},
                       root_, content_, 2, sign, {});
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    EXPECT_TRUE(placed->empty()) << "after three failures the coordinator takes it";
    EXPECT_EQ(hotel.asked, 1);
    // The next time those that failed come last.
    const auto again =
        uploader.place({hotel.url(), reader.url(), closed.url(), mirror_->url(), second.url()},
                       root_, content_, 2, sign, {});
    EXPECT_EQ(*again, (std::vector<std::string>{mirror_->url(), second.url()}));
    EXPECT_EQ(hotel.asked, 1);
    const auto one =
        uploader.place({"http://127.0.0.1:1", mirror_->url()}, root_, content_, 2, sign, {});
    EXPECT_EQ(*one, std::vector<std::string>{mirror_->url()});
}

}  // namespace
}  // namespace gym::mirror
