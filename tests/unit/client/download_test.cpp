// Downloads of a job's model: in pieces, continued, and never taken for what they are not.
#include "gym/client/download.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <functional>
#include <vector>

#include "gym/blob/verified_blob.hpp"
#include "gym/common/file.hpp"
#include "gym/http_server/server.hpp"
#include "temporary_folder.hpp"

namespace gym::client {
namespace {

using http_server::Request;
using http_server::Response;

/// Serves `content` by Range, with the faults that a test asks for.
class RangeApi final : public http_server::Handler {
  public:
    Admission admit(const Request&) override { return {}; }
    Response handle(const Request& request) override {
        const std::string range(request.header("range"));
        ranges.push_back(range);
        if (fail_at > 0 && ranges.size() == fail_at) return {503, "text/plain", {}, "busy"};
        const std::size_t dash = range.find('-');
        const std::uint64_t first = std::stoull(range.substr(6, dash - 6));
        const std::uint64_t last = std::stoull(range.substr(dash + 1));
        Response response{206, "application/octet-stream", {}, {}};
        response.body.assign(content.begin() + static_cast<std::ptrdiff_t>(first),
                             content.begin() + static_cast<std::ptrdiff_t>(last + 1));
        if (edit) edit(response);
        return response;
    }
    Response refuse(unsigned status, std::string_view, std::string_view) override {
        return {status, "text/plain", {}, {}};
    }
    void connections(std::int64_t) override {}

    Bytes content;
    std::vector<std::string> ranges;  // as they were asked for
    std::size_t fail_at = 0;          // this request, from 1
    std::function<void(Response&)> edit;
};

class DownloadTest : public ::testing::Test {
  protected:
    void SetUp() override {
        for (std::size_t i = 0; i < 10'500; ++i)
            api_.content.push_back(static_cast<std::uint8_t>(i * 31 % 251));
        wanted_.job.data.back() = 1;
        wanted_.round = 2;
        wanted_.blob.blob = blob::blob_root(api_.content);
        wanted_.blob.bytes = api_.content.size();
        options_.piece_bytes = 1'000;
        server_ = http_server::Server::start({}, api_).value();
    }
    void TearDown() override { server_->stop(1'000); }

    Status run(std::chrono::milliseconds retry_for = {}) {
        const ApiClient api({.url = "http://127.0.0.1:" + std::to_string(server_->port()),
                             .key = "gym_any",
                             .retry_for = retry_for});
        return download(api, wanted_, file_, options_);
    }
    [[nodiscard]] Bytes found() const { return read_file(file_).value(); }

    RangeApi api_;
    std::unique_ptr<http_server::Server> server_;
    testing::TemporaryFolder place_;
    const std::filesystem::path file_ = place_.path() / "part";
    WantedPart wanted_;
    DownloadOptions options_;
};

TEST_F(DownloadTest, ComesInPiecesAndReportsEachOfThem) {
    std::vector<std::uint64_t> seen;
    options_.progress = [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, 10'500U);
        seen.push_back(done);
    };
    const Status done = run();
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(found(), api_.content);
    EXPECT_EQ(api_.ranges.size(), 11U);
    EXPECT_EQ(api_.ranges.front(), "bytes=0-999");
    EXPECT_EQ(api_.ranges.back(), "bytes=10000-10499");
    EXPECT_EQ(seen.size(), 11U);
    EXPECT_EQ(seen.back(), 10'500U);
    ASSERT_TRUE(run().ok()) << "what is there is hashed and not downloaded again";
    EXPECT_EQ(api_.ranges.size(), 11U);
}

TEST_F(DownloadTest, ContinuesBehindAnInterruption) {
    options_.interrupted = [&] { return api_.ranges.size() == 4; };
    const Status stopped = run();
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    EXPECT_NE(stopped.error().message.find("4000 of 10500 bytes are kept"), std::string::npos)
        << stopped.error().message;
    options_.interrupted = {};
    api_.fail_at = 7;
    const Status failed = run();
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(api_.ranges[4], "bytes=4000-4999");
    api_.fail_at = 0;
    ASSERT_TRUE(run().ok());
    EXPECT_EQ(api_.ranges[7], "bytes=6000-6999") << "the piece that failed";
    EXPECT_EQ(found(), api_.content);
}

TEST_F(DownloadTest, AsksAgainWithinItsPatience) {
    api_.fail_at = 3;
    ASSERT_TRUE(run(std::chrono::seconds(20)).ok());
    EXPECT_EQ(api_.ranges[2], api_.ranges[3]);
    EXPECT_EQ(found(), api_.content);
}

TEST_F(DownloadTest, AnAlteredDownloadIsDeletedAndNamed) {
    api_.edit = [&](Response& response) {
        if (api_.ranges.size() == 5) response.body[10] = static_cast<char>(response.body[10] ^ 1);
    };
    const Status altered = run();
    ASSERT_FALSE(altered.ok());
    EXPECT_EQ(altered.error().code, ErrorCode::kMismatch);
    EXPECT_NE(altered.error().message.find(wanted_.blob.blob.hex()), std::string::npos);
    EXPECT_TRUE(found().empty());
    api_.edit = {};
    ASSERT_TRUE(run().ok()) << "the next attempt begins anew";
    EXPECT_EQ(found(), api_.content);
}

TEST_F(DownloadTest, WhatLiesThereAndIsSomethingElseIsReplaced) {
    ASSERT_TRUE(write_file_atomic(file_, Bytes(2'000, 9)).ok());
    ASSERT_TRUE(run().ok());
    EXPECT_EQ(found(), api_.content);
    ASSERT_TRUE(write_file_atomic(file_, Bytes(20'000, 9)).ok());
    ASSERT_TRUE(run().ok()) << "longer than what is wanted";
    EXPECT_EQ(found(), api_.content);
}

TEST_F(DownloadTest, APieceOfAnotherSizeIsRefused) {
    for (const bool longer : {true, false}) {
        api_.edit = [&](Response& response) { response.body.resize(longer ? 1'001 : 999); };
        const Status wrong = run();
        ASSERT_FALSE(wrong.ok());
        EXPECT_EQ(wrong.error().code, ErrorCode::kMalformed) << wrong.error().message;
    }
}

TEST_F(DownloadTest, AFullDiskIsToldAndWhatArrivedStays) {
    const Status full = download(
        ApiClient({.url = "http://127.0.0.1:" + std::to_string(server_->port()), .key = {}}),
        wanted_, "/dev/full", options_);
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::kIo);
    EXPECT_NE(full.error().message.find("No space left on device"), std::string::npos)
        << full.error().message;
}

}  // namespace
}  // namespace gym::client
