#include "gym/mirror/blob_handler.hpp"

#include <gtest/gtest.h>

#include "blob_site.hpp"
#include "gym/http/connection.hpp"

namespace gym::mirror {
namespace {

using testing::noise;

class BlobHandlerTest : public ::testing::Test {
  protected:
    http::Reply ask(const std::string& target, const std::string& range = {},
                    const std::string& method = "GET") {
        http::Request request;
        request.method = method;
        request.target = target;
        if (!range.empty()) request.headers = {{"Range", range}};
        const auto connection = http::Connection::create(
            http::parse_url("http://127.0.0.1:" + std::to_string(server_->port())).value(), {});
        return connection->exchange(request).value();
    }

    blob::MemoryStore store_;
    const Bytes content_ = noise(2'500'000);
    const std::string root_ = to_hex(store_.put(content_).value().view());
    testing::StoreSource source_{store_};
    BlobHandler handler_{source_, [] { return std::string("gym_extra 7\n"); }};
    std::unique_ptr<http_server::Server> server_ = http_server::Server::start({}, handler_).value();
};

TEST_F(BlobHandlerTest, SendsABlobWithWhatCachesNeed) {
    const auto reply = ask("/b/" + root_);
    EXPECT_EQ(reply.status, 200U);
    EXPECT_TRUE(std::ranges::equal(as_bytes(reply.body), content_));
    EXPECT_EQ(reply.header("etag"), "\"" + root_ + "\"");
    EXPECT_EQ(reply.header("accept-ranges"), "bytes");
    EXPECT_NE(reply.header("cache-control").find("immutable"), std::string::npos);
    EXPECT_NE(reply.header("cache-control").find("public"), std::string::npos);
    EXPECT_EQ(handler_.bytes_sent(), content_.size());
}

TEST_F(BlobHandlerTest, SendsRanges) {
    const auto part = ask("/b/" + root_, "bytes=1048576-1048580");
    EXPECT_EQ(part.status, 206U);
    EXPECT_EQ(part.header("content-range"), "bytes 1048576-1048580/2500000");
    EXPECT_TRUE(std::ranges::equal(as_bytes(part.body), ByteView(content_).subspan(1'048'576, 5)));
    EXPECT_EQ(ask("/b/" + root_, "bytes=2499999-").body.size(), 1U);
    EXPECT_EQ(ask("/b/" + root_, "bytes=2500000-").status, 416U);
}

TEST_F(BlobHandlerTest, SendsTheListOfPieces) {
    const auto reply = ask("/b/" + root_ + ".pieces");
    EXPECT_EQ(reply.status, 200U);
    const auto list = blob::PieceList::decode(Digest::parse(root_).value(), as_bytes(reply.body));
    ASSERT_TRUE(list.ok()) << list.error().message;
    EXPECT_EQ(list->count(), 3U);
}

TEST_F(BlobHandlerTest, RefusesTheRest) {
    EXPECT_EQ(ask("/b/" + std::string(64, '0')).status, 404U);
    EXPECT_EQ(ask("/b/" + std::string(64, '0')).header("cache-control"), "no-store");
    EXPECT_EQ(ask("/b/0x" + root_).status, 404U);
    std::string upper = root_;
    for (char& c : upper)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(ask("/b/" + upper).status, 404U) << "one spelling";
    EXPECT_EQ(ask("/b/../etc/passwd").status, 404U);
    EXPECT_EQ(ask("/b/").status, 404U);
    EXPECT_EQ(ask("/").status, 404U);
    const auto post = ask("/b/" + root_, {}, "POST");
    EXPECT_EQ(post.status, 405U);
    EXPECT_EQ(post.header("allow"), "GET, HEAD");
    EXPECT_EQ(handler_.bytes_sent(), 0U);
}

TEST_F(BlobHandlerTest, CountsForThisMachine) {
    ask("/b/" + root_, "bytes=0-9");
    ask("/b/nothing");
    const std::string text = ask("/metrics").body;
    EXPECT_NE(text.find("gym_blob_http_bytes_total 10\n"), std::string::npos) << text;
    EXPECT_NE(text.find("{status=\"2xx\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("{status=\"4xx\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("gym_extra 7\n"), std::string::npos);
    http_server::Request from_afar;
    from_afar.target = "/metrics";
    from_afar.peer = "192.0.2.7";
    EXPECT_EQ(handler_.handle(from_afar).status, 404U);
}

}  // namespace
}  // namespace gym::mirror
