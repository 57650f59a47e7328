// Downloads from a server that misbehaves in every way that its test asks for.
#include "gym/data/remote.hpp"

#include <gtest/gtest.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <mutex>
#include <sstream>
#include <thread>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::data {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::must;

/// Answers each request, whose head is given, with the bytes that `answer` returns, and closes the
/// connection.
class Server {
  public:
    using Answer = std::function<std::string(const std::string& request)>;
    explicit Server(Answer answer)
        : answer_(std::move(answer)),
          acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          thread_([this] { serve(); }) {}
    ~Server() {
        stopping_ = true;
        tcp::socket wake(io_);
        boost::system::error_code ignored;
        wake.connect(acceptor_.local_endpoint(ignored), ignored);
        thread_.join();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    [[nodiscard]] std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + path;
    }
    [[nodiscard]] std::vector<std::string> requests() {
        const std::scoped_lock lock(mutex_);
        return requests_;
    }

  private:
    void serve() {
        while (true) {
            boost::system::error_code error;
            tcp::socket socket(io_);
            acceptor_.accept(socket, error);
            if (stopping_) return;
            asio::streambuf buffer;
            const std::size_t size = asio::read_until(socket, buffer, "\r\n\r\n", error);
            if (error) continue;
            const std::string request(
                asio::buffers_begin(buffer.data()),
                asio::buffers_begin(buffer.data()) + static_cast<std::ptrdiff_t>(size));
            {
                const std::scoped_lock lock(mutex_);
                requests_.push_back(request);
            }
            asio::write(socket, asio::buffer(answer_(request)), error);
        }
    }
    Answer answer_;
    asio::io_context io_;
    tcp::acceptor acceptor_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<std::string> requests_;
    std::thread thread_;
};

std::string reply(const std::string& status, const std::string& headers, std::size_t length,
                  const std::string& body) {
    return "HTTP/1.1 " + status +
           "\r\nConnection: close\r\nContent-Length: " + std::to_string(length) + "\r\n" + headers +
           "\r\n" + body;
}

/// The first byte that a request asks for.
std::size_t range_of(const std::string& request) {
    constexpr std::string_view kName = "Range: bytes=";
    const std::size_t at = request.find(kName);
    return at == std::string::npos ? 0 : std::stoul(request.substr(at + kName.size()));
}

class RemoteTest : public ::testing::Test {
  protected:
    static RemoteOptions quick(unsigned attempts) {
        return {.attempts_max = attempts, .retry_pause = std::chrono::milliseconds(0)};
    }
    Status download(const Server& server, unsigned attempts = 1,
                    const std::string& path = "/a.txt") {
        Remote remote(quick(attempts));
        const auto inputs = must(remote.expand(server.url(path), {}));
        return remote.download(inputs.at(0), to_);
    }
    std::string content() {
        const Bytes bytes = must(read_file(to_));
        return {bytes.begin(), bytes.end()};
    }
    testing::TemporaryFolder place_;
    const std::filesystem::path to_ = place_ / "copy";
    std::string text_ = [] {
        std::string out;
        for (int i = 0; i < 20'000; ++i)
            out += "line " + std::to_string(i) + "\n";
        return out;
    }();
};

TEST_F(RemoteTest, AFileArrivesWhole) {
    const Server server(
        [&](const std::string&) { return reply("200 OK", "", text_.size(), text_); });
    must(download(server));
    EXPECT_EQ(content(), text_);
    EXPECT_FALSE(std::filesystem::exists(to_.string() + ".part"));
}

TEST_F(RemoteTest, ACutConnectionContinuesWhereItStopped) {
    Server server([&](const std::string& request) {
        const std::size_t from = range_of(request);
        const std::string rest = text_.substr(from);
        return reply(from == 0 ? "200 OK" : "206 Partial Content", "ETag: \"v1\"\r\n", rest.size(),
                     rest.substr(0, 50'000));  // never more
    });
    must(download(server, 100));
    EXPECT_EQ(content(), text_);
    const auto requests = server.requests();
    ASSERT_GT(requests.size(), 2U);
    EXPECT_EQ(range_of(requests[1]), 50'000U);
    EXPECT_NE(requests[1].find("If-Range: \"v1\""), std::string::npos) << requests[1];
}

TEST_F(RemoteTest, ADownloadThatFailedContinuesInTheNextRun) {
    bool cut = true;
    Server server([&](const std::string& request) {
        const std::string rest = text_.substr(range_of(request));
        return reply(range_of(request) == 0 ? "200 OK" : "206 Partial Content", "ETag: \"v1\"\r\n",
                     rest.size(), cut ? rest.substr(0, rest.size() / 2) : rest);
    });
    const Status failed = download(server, 2);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(failed.error().message.find("cut the connection"), std::string::npos);
    EXPECT_NE(failed.error().message.find("run the same command again"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(to_));
    cut = false;
    must(download(server));
    EXPECT_EQ(content(), text_);
    EXPECT_GT(range_of(server.requests().back()), text_.size() / 2);
}

TEST_F(RemoteTest, AFileThatChangedOrCannotBeResumedIsReadFromTheBeginning) {
    for (const char* tag : {"ETag: \"v2\"\r\n", ""}) {
        int calls = 0;
        const Server server([&](const std::string&) {
            return ++calls == 1 ? reply("200 OK", "ETag: \"v1\"\r\n", 1000, "old content")
                                : reply("200 OK", tag, text_.size(), text_);
        });
        must(download(server, 2));
        EXPECT_EQ(content(), text_);
        std::filesystem::remove(to_);
    }
}

TEST_F(RemoteTest, ErrorsOfTheServerAreToldApart) {
    const auto error_of = [&](const std::string& status, unsigned attempts, std::size_t requests) {
        Server server([&](const std::string&) { return reply(status, "", 4, "oops"); });
        const Status failed = download(server, attempts);
        EXPECT_FALSE(failed.ok());
        EXPECT_EQ(server.requests().size(), requests) << status;
        EXPECT_NE(failed.error().message.find("/a.txt: HTTP status " + status.substr(0, 3)),
                  std::string::npos)
            << failed.error().message;
        return failed.error().code;
    };
    EXPECT_EQ(error_of("404 Not Found", 3, 1), ErrorCode::kNotFound);
    EXPECT_EQ(error_of("403 Forbidden", 3, 1), ErrorCode::kPermissionDenied);
    EXPECT_EQ(error_of("503 Slow Down", 3, 3), ErrorCode::kUnavailable);
    EXPECT_FALSE(std::filesystem::exists(to_));
}

TEST_F(RemoteTest, ARedirectionIsFollowedButNotToANearerAddress) {
    const Server server([&](const std::string& request) {
        return request.starts_with("GET /a.txt") ? reply("302 Found", "Location: /b.txt\r\n", 0, "")
                                                 : reply("200 OK", "", text_.size(), text_);
    });
    must(download(server));
    EXPECT_EQ(content(), text_);
    std::filesystem::remove(to_);
    for (const AddressKind kind :
         {AddressKind::kInternet, AddressKind::kPrivate, AddressKind::kLinkLocal}) {
        RemoteOptions options = quick(3);
        options.redirects_to = kind;
        Remote remote(std::move(options));
        const auto inputs = must(remote.expand(server.url("/a.txt"), {}));
        const Status refused = remote.download(inputs.at(0), to_);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
        EXPECT_NE(refused.error().message.find("redirects to 127.0.0.1"), std::string::npos)
            << refused.error().message;
        EXPECT_FALSE(std::filesystem::exists(to_));
    }
    const auto requests = const_cast<Server&>(server).requests();
    EXPECT_EQ(std::ranges::count_if(
                  requests, [](const std::string& r) { return r.starts_with("GET /b.txt"); }),
              1)
        << "not even asked";
}

TEST(AddressKinds, AreToldApart) {
    using enum AddressKind;
    const std::vector<std::pair<std::string, AddressKind>> known{
        {"8.8.8.8", kInternet},
        {"172.15.0.1", kInternet},
        {"2001:4860:4860::8888", kInternet},
        {"10.1.2.3", kPrivate},
        {"172.16.0.1", kPrivate},
        {"172.31.255.255", kPrivate},
        {"192.168.0.1", kPrivate},
        {"100.64.0.1", kPrivate},
        {"fd00:ec2::254", kPrivate},
        {"::ffff:10.0.0.1", kPrivate},
        {"169.254.169.254", kLinkLocal},
        {"::ffff:169.254.169.254", kLinkLocal},
        {"64:ff9b::a9fe:a9fe", kLinkLocal},
        {"fe80::1%eth0", kLinkLocal},
        {"127.0.0.53", kThisMachine},
        {"0.0.0.0", kThisMachine},
        {"::1", kThisMachine},
        {"::", kThisMachine},
        {"::ffff:127.0.0.1", kThisMachine},
        {"not an address", kThisMachine}};
    for (const auto& [address, kind] : known)
        EXPECT_EQ(kind_of_address(address), kind) << address;
}

TEST_F(RemoteTest, NobodyWhoListensIsUnavailable) {
    std::string url;
    {
        const Server server([](const std::string&) { return std::string(); });
        url = server.url("/a.txt");
    }
    Remote remote(quick(2));
    const auto inputs = must(remote.expand(url, {}));
    const Status failed = remote.download(inputs.at(0), to_);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
}

TEST_F(RemoteTest, AnInterruptionEndsTheDownload) {
    const Server server(
        [&](const std::string&) { return reply("200 OK", "", text_.size(), text_); });
    RemoteOptions options = quick(3);
    options.stopped = [] { return true; };
    Remote remote(options);
    const auto inputs = must(remote.expand(server.url("/a.txt"), {}));
    EXPECT_EQ(remote.download(inputs.at(0), to_).error().code, ErrorCode::kCancelled);
}

TEST_F(RemoteTest, AUrlsPathDecidesAboutTheFormat) {
    Remote remote(quick(1));
    EXPECT_EQ(must(remote.expand("https://x.org/a.jsonl.zst?key=1", {})).at(0).format,
              Format::kJsonLines);
    EXPECT_EQ(must(remote.expand("s3://bucket/a.parquet", {})).at(0).format, Format::kParquet);
    EXPECT_EQ(remote.expand("s3://", {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(is_remote("s3://a/b"));
    EXPECT_FALSE(is_remote("folder/a.txt"));
}

/// The value of a request's header.
std::string header_of(const std::string& request, const std::string& name) {
    std::string lower = request;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::size_t at = lower.find("\r\n" + name + ":");
    if (at == std::string::npos) return {};
    const std::size_t begin = request.find_first_not_of(' ', at + name.size() + 3);
    return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string hmac(const std::string& key, const std::string& text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned size = 0;
    ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
    return {reinterpret_cast<const char*>(out.data()), size};
}
std::string hex_of(const std::string& bytes) {
    return to_hex(as_bytes(bytes));
}

/// The signature that a request of `secret` has to have (AWS, "Create a signed AWS API request").
std::string signature_of(const std::string& request, const std::string& secret) {
    const std::string authorization = header_of(request, "authorization");
    const auto part = [&](const std::string& name) {
        const std::size_t begin = authorization.find(name + "=") + name.size() + 1;
        return authorization.substr(begin, authorization.find(',', begin) - begin);
    };
    const std::string scope = part("Credential").substr(part("Credential").find('/') + 1);
    const std::size_t space = request.find(' ');
    std::string target = request.substr(space + 1, request.find(' ', space + 1) - space - 1), query;
    if (const std::size_t mark = target.find('?'); mark != std::string::npos) {
        query = target.substr(mark + 1);
        target.resize(mark);
    }
    std::string canonical = "GET\n" + target + "\n" + query + "\n";
    std::istringstream names(part("SignedHeaders"));
    for (std::string name; std::getline(names, name, ';');)
        canonical += name + ":" + header_of(request, name) + "\n";
    canonical += "\n" + part("SignedHeaders") + "\n" + header_of(request, "x-amz-content-sha256");
    std::string key = "AWS4" + secret;
    std::istringstream steps(scope);
    for (std::string step; std::getline(steps, step, '/');)
        key = hmac(key, step);
    return hex_of(hmac(key, "AWS4-HMAC-SHA256\n" + header_of(request, "x-amz-date") + "\n" + scope +
                                "\n" + to_hex(commit::sha256(as_bytes(canonical)).view())));
}

TEST_F(RemoteTest, RequestsToABucketCarryASignatureThatItsOwnerCanCheck) {
    const std::string empty = "<ListBucketResult></ListBucketResult>";
    Server server([&](const std::string& request) {
        return request.find("?list") != std::string::npos
                   ? reply("200 OK", "", empty.size(), empty)
                   : reply("200 OK", "ETag: \"v1\"\r\n", text_.size(), text_.substr(0, 1000));
    });
    RemoteOptions options = quick(2);
    options.s3_endpoint = server.url("");
    options.s3_key = "KEY";
    options.s3_secret = "SE/CRET";
    options.s3_token = "TOKEN";
    options.s3_region = "eu-north-1";
    Remote remote(options);
    EXPECT_FALSE(remote.expand("s3://bucket/with blank & \u00e4/", {}).ok());  // there is nothing
    const auto inputs = must(remote.expand("s3://bucket/dir/with blank + \u00e4.txt", {}));
    EXPECT_FALSE(remote.download(inputs.at(0), to_).ok());  // cut twice, the second time in a range
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 3U);
    for (const std::string& request : requests) {
        const std::string authorization = header_of(request, "authorization");
        EXPECT_NE(authorization.find("/eu-north-1/s3/aws4_request"), std::string::npos);
        EXPECT_TRUE(authorization.ends_with("Signature=" + signature_of(request, "SE/CRET")))
            << request;
        EXPECT_FALSE(authorization.ends_with("Signature=" + signature_of(request, "OTHER")));
        EXPECT_EQ(header_of(request, "x-amz-security-token"), "TOKEN");
    }
    EXPECT_EQ(range_of(requests[2]), 1000U);
}

TEST_F(RemoteTest, ABucketsObjectsAreListedOverPagesAndSorted) {
    const std::string first =
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>t+/=</NextContinuationToken>"
        "<Contents><Key>p/b &amp; c.txt</Key><Size>3</Size><ETag>\"e\"</ETag></Contents>"
        "<Contents><Key>p/</Key><Size>0</Size></Contents></ListBucketResult>";
    const std::string second =
        "<ListBucketResult><IsTruncated>false</IsTruncated>"
        "<Contents><Key>p/a.txt</Key><Size>1</Size></Contents></ListBucketResult>";
    Server server([&](const std::string& request) {
        const bool next = request.find("continuation-token=t%2B%2F%3D") != std::string::npos;
        const std::string& xml = next ? second : first;
        return reply("200 OK", "", xml.size(), xml);
    });
    RemoteOptions options = quick(1);
    options.s3_endpoint = server.url("");
    options.s3_key = "KEY";
    options.s3_secret = "SECRET";
    Remote remote(options);
    const auto inputs = must(remote.expand("s3://bucket/p/", {}));
    ASSERT_EQ(inputs.size(), 2U);
    EXPECT_EQ(inputs[0].name, "s3://bucket/p/a.txt");
    EXPECT_EQ(inputs[1].name, "s3://bucket/p/b & c.txt");
    EXPECT_EQ(inputs[1].version, "\"e\"");
    EXPECT_NE(server.requests()[0].find("GET /bucket?list-type=2&prefix=p%2F HTTP"),
              std::string::npos)
        << server.requests()[0];
    EXPECT_NE(server.requests()[0].find("AWS4-HMAC-SHA256 Credential=KEY/"), std::string::npos);
}

TEST_F(RemoteTest, ListsThatAreNoneOrTooDeepAreErrors) {
    std::string xml;
    const Server server([&](const std::string&) { return reply("200 OK", "", xml.size(), xml); });
    RemoteOptions options = quick(1);
    options.s3_endpoint = server.url("");
    Remote remote(options);
    std::string deep = "<ListBucketResult>";
    for (int i = 0; i < 2'000'000; ++i)
        deep += "<a>";
    const std::string closed = deep + "</ListBucketResult>";
    const std::string key = "<ListBucketResult><Contents><Key>";
    for (const std::string& text :
         {std::string(), std::string("<html>no</html>"), deep, closed, key, key + "a</Key>",
          key + "a</Key><Size>-1</Size></Contents></ListBucketResult>",
          std::string("<ListBucketResult><Contents></Contents></ListBucketResult>"),
          std::string("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")}) {
        xml = text;
        EXPECT_FALSE(remote.expand("s3://bucket/p/", {}).ok()) << text.substr(0, 80);
    }
    xml =
        "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3/\"><Contents><Key>p/&#228;"
        "&#x1F600;&lt;&amp;.txt</Key></Contents></ListBucketResult>";
    EXPECT_EQ(must(remote.expand("s3://bucket/p/", {})).at(0).name,
              "s3://bucket/p/\u00e4\U0001F600<&.txt");
}

}  // namespace
}  // namespace gym::data
