// Second copies over real sockets: a mirror that is told fetches an upload from another mirror.
#include "gym/mirror/copy.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "blob_site.hpp"
#include "gym/http/connection.hpp"
#include "gym/mirror/pull_through.hpp"
#include "gym/mirror/upload.hpp"
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

/// A mirror that takes uploads of one coordinator and copies from `peers`.
class Mirror final : public http_server::Handler {
  public:
    Mirror(std::filesystem::path folder, std::string origin, const Address& coordinator)
        : folder_(std::move(folder)),
          origin_(std::move(origin)),
          gate_(domain(), {coordinator}, 64 * kMiB, clock_) {
        http_server::ServerOptions listen;
        listen.threads = 16;
        server_ = http_server::Server::start(listen, *this).value();
    }
    ~Mirror() override { server_->stop(); }
    Mirror(const Mirror&) = delete;
    Mirror& operator=(const Mirror&) = delete;

    /// As a new process over the same folder.
    void start(std::vector<std::string> peers) {
        handler_.reset();
        pull_.reset();
        PullOptions options;
        options.folder = folder_;
        options.origins = {origin_};
        options.peers = std::move(peers);
        options.self = options.peers.empty() ? "" : url();
        options.absent_ms = 0;
        options.fetch.silence_ms = 300;
        options.fetch.ban_ms = 1;
        options.fetch.ban_ms_max = 1;
        options.uploads_bytes_max = 16 * kMiB;
        pull_ = PullThrough::open(options, {}).value();
        handler_ = std::make_unique<BlobHandler>(*pull_, std::function<std::string()>(),
                                                 Uploads{&gate_, pull_.get(), 4});
    }
    Admission admit(const http_server::Request& head) override {
        if (head.method == "GET" && handler_ == nullptr) return {};
        return handler_->admit(head);
    }
    http_server::Response handle(const http_server::Request& request) override {
        return handler_->handle(request);
    }
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view id) override {
        return handler_->refuse(status, detail, id);
    }
    http_server::Response refuse_body(const Error& error, std::string_view id) override {
        return handler_->refuse_body(error, id);
    }
    void connections(std::int64_t) override {}
    void stop() { server_->stop(0); }
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port());
    }
    [[nodiscard]] std::uint64_t uploaded() const { return handler_->bytes_received(); }
    [[nodiscard]] std::uint64_t copied() const { return pull_->counters().peer_bytes; }
    [[nodiscard]] std::size_t files() const {
        std::size_t out = 0;
        for (const auto& file : std::filesystem::recursive_directory_iterator(folder_))
            out += file.is_regular_file() && file.path().filename() != "lock" ? 1 : 0;
        return out;
    }

  private:
    const std::filesystem::path folder_;
    const std::string origin_;
    const SystemClock clock_;
    rpc::TicketGate gate_;
    std::unique_ptr<PullThrough> pull_;
    std::unique_ptr<BlobHandler> handler_;
    std::unique_ptr<http_server::Server> server_;
};

class CopyTest : public ::testing::Test {
  protected:
    void SetUp() override {
        start(first_);
        start(second_);
    }
    void start(Mirror& mirror, const std::vector<std::string>& more = {}) {
        std::vector<std::string> peers{first_.url(), second_.url()};
        peers.insert(peers.end(), more.begin(), more.end());
        mirror.start(peers);
    }
    using Headers = Uploader::Headers;
    Headers headers(const Digest& root, std::uint64_t size, const crypto::PrivateKey& who,
                    const crypto::PrivateKey& signer) {
        const rpc::UploadTicket ticket = rpc::sign_ticket(
            domain(), {who.address(), root, size, clock_.now_ms() + 60'000, {}}, signer);
        return rpc::upload_headers(domain(), rpc::encode(ticket), who, clock_.now_ms());
    }
    /// What a worker does.
    void upload(const std::string& url) {
        Uploader uploader;
        const auto placed = uploader.place(
            {url}, root_, content_, 1,
            [&] { return Result(headers(root_, content_.size(), worker_, coordinator_)); }, {});
        ASSERT_EQ(placed.value(), std::vector<std::string>{url});
    }
    /// What the coordinator does.
    Result<CopyState> order(const Mirror& target, const std::string& source) {
        return order_copy(target.url(), root_, source,
                          headers(root_, content_.size(), coordinator_, coordinator_), {});
    }
    /// Repeats the order until it ends.
    Result<CopyState> copy(const Mirror& target, const std::string& source) {
        for (int i = 0; i < 1'000; ++i) {
            auto state = order(target, source);
            if (!state.ok() || *state == CopyState::kHere) return state;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return fail(ErrorCode::kTimeout, "ten seconds");
    }
    http::Reply get(const std::string& url, const Headers& with = {}) {
        http::Request request;
        request.target = "/b/" + to_hex(root_.view());
        request.headers = with;
        return http::Connection::create(http::parse_url(url).value(), {})
            ->exchange(request)
            .value();
    }
    [[nodiscard]] bool has(const Mirror& mirror) {
        const http::Reply reply = get(mirror.url(), {{"Cache-Control", "only-if-cached"}});
        return reply.status == 200 && Bytes(reply.body.begin(), reply.body.end()) == content_;
    }

    TemporaryFolder dir_ = TemporaryFolder::create("gym-copy-").value();
    const crypto::PrivateKey worker_ = crypto::PrivateKey::generate();
    const crypto::PrivateKey coordinator_ = crypto::PrivateKey::generate();
    const SystemClock clock_;
    blob::MemoryStore nothing_;
    BlobSite origin_{nothing_};
    Mirror first_{dir_.path() / "first", origin_.url(), coordinator_.address()};
    Mirror second_{dir_.path() / "second", origin_.url(), coordinator_.address()};
    const Bytes content_ = noise(5 * kMiB + 4'321);
    const Digest root_ = blob::blob_root(content_);
};

TEST_F(CopyTest, ASecondMirrorHasItAndItsUploaderSentItOnce) {
    upload(first_.url());
    EXPECT_FALSE(has(second_));
    EXPECT_EQ(copy(second_, first_.url()).value(), CopyState::kHere);
    EXPECT_TRUE(has(second_));
    EXPECT_EQ(first_.uploaded(), content_.size());
    EXPECT_EQ(second_.uploaded(), 0U);
    EXPECT_EQ(second_.copied(), content_.size());
    EXPECT_EQ(origin_.lists, 0U);
    first_.stop();
    start(second_);
    EXPECT_TRUE(has(second_)) << "restarted, and alone";
}

TEST_F(CopyTest, ABlobThatIsThereIsNotFetchedAgain) {
    upload(first_.url());
    ASSERT_TRUE(copy(second_, first_.url()).ok());
    EXPECT_EQ(order(second_, first_.url()).value(), CopyState::kHere);
    EXPECT_EQ(order(first_, second_.url()).value(), CopyState::kHere);
    EXPECT_EQ(first_.copied(), 0U);
    EXPECT_EQ(second_.copied(), content_.size());
}

TEST_F(CopyTest, NobodyOrdersWithoutATicketOfTheCoordinator) {
    upload(first_.url());
    const crypto::PrivateKey stranger = crypto::PrivateKey::generate();
    const std::uint64_t size = content_.size();
    EXPECT_FALSE(order_copy(second_.url(), root_, first_.url(), {}, {}).ok());
    EXPECT_FALSE(
        order_copy(second_.url(), root_, first_.url(), headers(root_, size, stranger, stranger), {})
            .ok());
    const Headers once = headers(root_, size, coordinator_, coordinator_);
    const Digest other = blob::blob_root(Bytes{1});
    EXPECT_FALSE(order_copy(second_.url(), other, first_.url(), once, {}).ok());
    EXPECT_TRUE(order_copy(second_.url(), root_, first_.url(), once, {}).ok());
    EXPECT_FALSE(order_copy(second_.url(), root_, first_.url(), once, {}).ok()) << "replayed";
}

TEST_F(CopyTest, NoWorkersOrderFailsInThePlaceOfTheCoordinators) {
    upload(first_.url());
    for (const std::uint64_t size : {content_.size() - 1, content_.size()}) {
        const auto refused = order_copy(second_.url(), root_, second_.url(),
                                        headers(root_, size, worker_, coordinator_), {});
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
        EXPECT_NE(refused.error().message.find("only a coordinator"), std::string::npos)
            << refused.error().message;
    }
    EXPECT_EQ(copy(second_, first_.url()).value(), CopyState::kHere);
}

TEST_F(CopyTest, AnAddressThatIsNoPeerIsNeverAsked) {
    blob::MemoryStore store;
    ASSERT_TRUE(store.put(content_).ok());
    BlobSite stranger(store);
    const auto refused = copy(second_, stranger.url());
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("422"), std::string::npos) << refused.error().message;
    upload(first_.url());
    EXPECT_TRUE(copy(second_, stranger.url()).ok()) << "its peers are asked";
    EXPECT_EQ(stranger.lists + stranger.pieces, 0U);
    second_.start({});
    EXPECT_EQ(order(second_, first_.url()).value(), CopyState::kHere);
}

TEST_F(CopyTest, AMirrorWithoutPeersRefuses) {
    upload(first_.url());
    second_.start({});
    const auto refused = order(second_, first_.url());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(refused.error().message.find("names no peers"), std::string::npos);
}

TEST_F(CopyTest, ALyingOrStallingPeerLeavesNothingAndIsTold) {
    blob::MemoryStore store;
    ASSERT_TRUE(store.put(content_).ok());
    BlobSite peer(store);
    start(second_, {peer.url()});
    for (const Fault fault : {Fault::kLies, Fault::kStalls, Fault::kTruncates, Fault::kHtml,
                              Fault::kAbsent, Fault::kListsLie}) {
        peer.fault = fault;
        const auto begin = std::chrono::steady_clock::now();
        const auto refused = copy(second_, peer.url());
        ASSERT_FALSE(refused.ok()) << static_cast<int>(fault);
        EXPECT_EQ(refused.error().code, ErrorCode::kMismatch) << refused.error().message;
        EXPECT_NE(refused.error().message.find("not copied"), std::string::npos);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
        EXPECT_EQ(second_.files(), 0U) << static_cast<int>(fault);
    }
    peer.fault = Fault::kNone;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // what failed is left for 1 ms
    EXPECT_TRUE(copy(second_, peer.url()).ok());
    EXPECT_TRUE(has(second_));
}

TEST_F(CopyTest, AnotherSizeThanTheTicketsIsNotKept) {
    upload(first_.url());
    const auto order = [&] {
        return order_copy(second_.url(), root_, first_.url(),
                          headers(root_, content_.size() - 1, coordinator_, coordinator_), {});
    };
    Result<CopyState> state = order();
    for (int i = 0; i < 500 && state.ok(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        state = order();
    }
    ASSERT_FALSE(state.ok());
    EXPECT_NE(state.error().message.find("the ticket is for"), std::string::npos);
    EXPECT_EQ(second_.files(), 0U);
}

TEST_F(CopyTest, CopiesAreBoundedAndHaveTheRoomOfUploads) {
    const Bytes large = noise(17 * kMiB, 3);
    blob::MemoryStore store;
    const Digest root = store.put(large).value();
    BlobSite peer(store);
    peer.delay_ms = 60'000;
    start(second_, {peer.url()});
    const auto order = [&](std::uint32_t seed) {
        const Bytes one = noise(100, seed);
        const Digest its = blob::blob_root(one);
        return order_copy(second_.url(), its, peer.url(),
                          headers(its, one.size(), coordinator_, coordinator_), {});
    };
    Result<CopyState> state = CopyState::kUnderWay;
    std::uint32_t orders = 0;
    for (; state.ok() && orders < 2'000; ++orders)
        state = order(orders);
    ASSERT_FALSE(state.ok());
    EXPECT_EQ(state.error().code, ErrorCode::kOutOfRange) << state.error().message;
    EXPECT_GE(orders, 256U);
    peer.delay_ms = 0;
    start(second_, {peer.url()});
    const auto too_large = [&] {
        return order_copy(second_.url(), root, peer.url(),
                          headers(root, large.size(), coordinator_, coordinator_), {});
    };
    state = too_large();
    for (int i = 0; i < 500 && state.ok(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        state = too_large();
    }
    ASSERT_FALSE(state.ok());
    EXPECT_NE(state.error().message.find("no room"), std::string::npos) << state.error().message;
}

TEST_F(CopyTest, AMirrorThatIsKilledMeanwhileBeginsAnewWhenItIsToldAgain) {
    blob::MemoryStore store;
    ASSERT_TRUE(store.put(content_).ok());
    BlobSite peer(store);
    peer.delay_ms = 200;
    start(second_, {peer.url()});
    EXPECT_EQ(order(second_, peer.url()).value(), CopyState::kUnderWay);
    for (int i = 0; i < 500 && peer.pieces == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    peer.delay_ms = 0;
    start(second_, {peer.url()});
    EXPECT_FALSE(has(second_));
    EXPECT_TRUE(copy(second_, peer.url()).ok());
    EXPECT_TRUE(has(second_));
}

}  // namespace
}  // namespace gym::mirror
