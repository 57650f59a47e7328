#include "gym/mirror/blob_handler.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/http/connection.hpp"
#include "gym/http_server/download.hpp"
#include "gym/http_server/problem.hpp"

namespace gym::mirror {
namespace {

using http_server::Request;
using http_server::Response;

constexpr std::string_view kPrefix = "/b/";
constexpr std::string_view kListSuffix = ".pieces";
constexpr std::size_t kRootDigits = 2 * Digest::kSize;
// What a root names never changes.
constexpr const char* kForever = "public, max-age=31536000, immutable";

class BytesReader final : public blob::BlobReader {
  public:
    explicit BytesReader(Bytes bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return {};
    }

  private:
    const Bytes bytes_;
};

class CountingReader final : public blob::BlobReader {
  public:
    CountingReader(std::shared_ptr<const blob::BlobReader> inner,
                   std::shared_ptr<std::atomic<std::uint64_t>> count)
        : inner_(std::move(inner)), count_(std::move(count)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        GYM_CHECK(inner_->read(offset, out));
        *count_ += out.size();
        return {};
    }

  private:
    const std::shared_ptr<const blob::BlobReader> inner_;
    const std::shared_ptr<std::atomic<std::uint64_t>> count_;
};

/// ROOT as it is written in paths: 64 lower-case digits. One spelling, so that no cache holds two.
Result<Digest> parse_root(std::string_view text) {
    auto root = Digest::parse(text);
    if (text.size() == kRootDigits && root.ok() && to_hex(root->view()) == text) return root;
    return fail(ErrorCode::kNotFound,
                "a blob's path is /b/ROOT or /b/ROOT.pieces, where ROOT has 64 lower-case "
                "hexadecimal digits");
}

Response refusal(const Error& error, const Request& request) {
    const bool too_much = error.code == ErrorCode::kOutOfRange;
    Response out =
        too_much ? http_server::problem(429, "too_many_requests", error.message, request.request_id)
                 : http_server::problem(error, request.request_id);
    if (out.status == 404) out.headers.emplace_back("Cache-Control", "no-store");
    if (out.status == 500) spdlog::error("request {}: {}", request.request_id, error.message);
    return out;
}

}  // namespace

http_server::Handler::Admission BlobHandler::admit(const Request& head) {
    if (head.method == "GET" || head.method == "HEAD") return {};
    Response refused =
        http_server::problem(405, "method", "blobs are read with GET and HEAD", head.request_id);
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return {.refused = count(std::move(refused))};
}

Response BlobHandler::handle(const Request& request) {
    const std::string_view target(request.target);
    if (target.starts_with(kPrefix))
        return count(answer_blob(request, target.substr(kPrefix.size())));
    // To others it does not exist.
    if (target == "/metrics" && http::is_loopback(request.peer)) return answer_metrics();
    return count(refusal(fail(ErrorCode::kNotFound, "there is nothing but /b/ROOT here"), request));
}

Response BlobHandler::answer_blob(const Request& request, std::string_view name) {
    const bool is_list = name.ends_with(kListSuffix);
    if (is_list) name.remove_suffix(kListSuffix.size());
    const auto root = parse_root(name);
    if (!root.ok()) return refusal(root.error(), request);
    std::shared_ptr<const blob::BlobReader> content;
    if (is_list) {
        const auto list = source_.pieces(*root, request.peer);
        if (!list.ok()) return refusal(list.error(), request);
        content = std::make_shared<BytesReader>((*list)->encode());
    } else {
        auto opened = source_.open(*root, request.peer);
        if (!opened.ok()) return refusal(opened.error(), request);
        content = std::move(opened).value();
    }
    const std::string file(name);
    return http_server::answer_download(
        request, {std::make_shared<CountingReader>(std::move(content), bytes_sent_), file,
                  file + (is_list ? std::string(kListSuffix) : std::string()), kForever});
}

Response BlobHandler::answer_metrics() const {
    std::string text =
        "# TYPE gym_blob_http_bytes_total counter\n"
        "gym_blob_http_bytes_total " +
        std::to_string(*bytes_sent_) +
        "\n# TYPE gym_blob_http_connections gauge\ngym_blob_http_connections " +
        std::to_string(connections_) + "\n# TYPE gym_blob_http_requests_total counter\n";
    for (std::size_t i = 2; i < requests_.size(); ++i)
        text += "gym_blob_http_requests_total{status=\"" + std::to_string(i) + "xx\"} " +
                std::to_string(requests_[i]) + "\n";
    if (more_metrics_) text += more_metrics_();
    return {200, "text/plain; version=0.0.4", {}, std::move(text)};
}

Response BlobHandler::count(Response response) {
    ++requests_[std::min<std::size_t>(response.status / 100, requests_.size() - 1)];
    return response;
}

Response BlobHandler::refuse(unsigned status, std::string_view detail,
                             std::string_view request_id) {
    return count(http_server::problem(status, "http", detail, request_id));
}

}  // namespace gym::mirror
