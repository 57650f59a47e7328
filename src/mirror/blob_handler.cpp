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
constexpr std::string_view kListSuffix = ".pieces", kTorrentSuffix = ".torrent";
constexpr std::string_view kAnnounce = "/announce";
constexpr std::size_t kRootDigits = 2 * Digest::kSize;
// What a root names never changes.
constexpr const char* kForever = "public, max-age=31536000, immutable";

class BytesReader final : public blob::BlobReader {
  public:
    explicit BytesReader(std::shared_ptr<const Bytes> bytes) : bytes_(std::move(bytes)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_->size(); }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        std::copy_n(bytes_->begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return {};
    }

  private:
    const std::shared_ptr<const Bytes> bytes_;
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
    return fail(
        ErrorCode::kNotFound,
        "a blob's path is /b/ROOT, /b/ROOT.pieces or /b/ROOT.torrent, where ROOT has 64 lower-case "
        "hexadecimal digits");
}

Asker asker_of(const Request& request) {
    using Reach = Asker::Reach;
    const bool here = request.header("cache-control").find("only-if-cached") != std::string::npos;
    const bool mirror = !request.header("gym-mirror").empty();
    return {request.peer, here ? Reach::kHere : mirror ? Reach::kOrigins : Reach::kAnywhere};
}

/// Counts while it lives.
class UploadSink final : public http_server::BodySink {
  public:
    UploadSink(std::unique_ptr<IncomingBlob> blob, std::shared_ptr<BlobHandler::Intake> intake)
        : blob_(std::move(blob)), intake_(std::move(intake)) {}
    ~UploadSink() override { --intake_->at_once; }
    UploadSink(const UploadSink&) = delete;
    UploadSink& operator=(const UploadSink&) = delete;

    Status write(ByteView piece) override {
        intake_->bytes += piece.size();
        return blob_->write(piece);
    }
    Status finish() { return blob_->finish(); }

  private:
    const std::unique_ptr<IncomingBlob> blob_;
    const std::shared_ptr<BlobHandler::Intake> intake_;
};

/// Why an upload is not taken, in the words of the error: it is the uploader's, or about room here.
Response refuse_upload(const Error& error, std::string_view request_id) {
    const bool full = error.code == ErrorCode::kOutOfRange;
    const unsigned status = full ? 507 : http_server::http_status(error.code);
    if (status == 500) return http_server::problem(error, request_id);
    Response out = http_server::problem(status, full ? "no_room" : to_string(error.code),
                                        error.message, request_id);
    for (auto& [name, value] : out.headers)
        if (name == "WWW-Authenticate") value = "Gym-Auth";
    return out;
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
    if (head.method == "PUT" && uploads_.gate != nullptr) return admit_upload(head);
    const bool puts = uploads_.gate != nullptr;
    Response refused = http_server::problem(
        405, "method",
        std::string("blobs are read with GET and HEAD") + (puts ? ", uploaded with PUT" : ""),
        head.request_id);
    refused.headers.emplace_back("Allow", puts ? "GET, HEAD, PUT" : "GET, HEAD");
    return {.refused = count(std::move(refused))};
}

http_server::Handler::Admission BlobHandler::admit_upload(const Request& head) {
    auto begun = begin_upload(head);
    if (begun.ok()) return std::move(begun).value();
    return {.refused = count(refuse_upload(begun.error(), head.request_id))};
}

Result<http_server::Handler::Admission> BlobHandler::begin_upload(const Request& head) {
    const std::string_view target(head.target);
    if (!target.starts_with(kPrefix))
        return fail(ErrorCode::kNotFound, "a blob is uploaded to /b/ROOT");
    GYM_TRY(const Digest root, parse_root(target.substr(kPrefix.size())));
    GYM_TRY(const std::uint64_t size, uploads_.gate->admit(root, head));
    if (!head.header(kCopyFromHeader).empty()) return order_copy(head, root, size);
    const std::string_view length = head.header("content-length");
    if (!length.empty() && length != std::to_string(size))
        return fail(ErrorCode::kMismatch, "the ticket is for " + std::to_string(size) +
                                              " bytes, Content-Length says " + std::string(length));
    GYM_TRY(const bool known, uploads_.target->has(root));
    if (known) return Admission{.refused = count({.status = 200, .headers = {}, .body = "{}\n"})};
    if (++intake_->at_once > uploads_.at_once_max) {
        --intake_->at_once;
        return fail(ErrorCode::kUnavailable, "too many uploads are under way; try again");
    }
    auto incoming = uploads_.target->receive(root, size);
    if (!incoming.ok()) {
        --intake_->at_once;
        if (incoming.error().code == ErrorCode::kIo)
            spdlog::error("request {}: {}", head.request_id, incoming.error().message);
        return incoming.error();
    }
    return Admission{.refused = {},
                     .body_bytes_max = size,
                     .sink = std::make_shared<UploadSink>(std::move(incoming).value(), intake_)};
}

Result<http_server::Handler::Admission> BlobHandler::order_copy(const Request& head,
                                                                const Digest& root,
                                                                std::uint64_t size_bytes) {
    const std::string_view length = head.header("content-length");
    if (!length.empty() && length != "0")
        return fail(ErrorCode::kMismatch, "an order for a copy has no body");
    GYM_TRY(const CopyState state,
            uploads_.target->copy(root, size_bytes, std::string(head.header(kCopyFromHeader))));
    const unsigned status = state == CopyState::kHere ? 200 : 202;
    return Admission{.refused = count({.status = status, .headers = {}, .body = "{}\n"})};
}

Response BlobHandler::finish_upload(const Request& request) {
    const auto sink = std::static_pointer_cast<UploadSink>(request.sink);
    const Status finished = sink->finish();
    if (!finished.ok()) return refuse_body(finished.error(), request.request_id);
    return count({.status = 201, .headers = {}, .body = "{}\n"});
}

Response BlobHandler::refuse_body(const Error& error, std::string_view request_id) {
    if (error.code == ErrorCode::kIo) spdlog::error("request {}: {}", request_id, error.message);
    return count(refuse_upload(error, request_id));
}

Response BlobHandler::handle(const Request& request) {
    if (request.sink) return finish_upload(request);
    const std::string_view target(request.target);
    if (target.starts_with(kPrefix))
        return count(answer_blob(request, target.substr(kPrefix.size())));
    if (torrents_ != nullptr && target.substr(0, target.find('?')) == kAnnounce)
        return count(answer_announce(request));
    // To others it does not exist.
    if (target == "/metrics" && http::is_loopback(request.peer)) return answer_metrics();
    return count(refusal(fail(ErrorCode::kNotFound, "there is nothing but /b/ROOT here"), request));
}

Response BlobHandler::answer_blob(const Request& request, std::string_view name) {
    std::string_view suffix;
    if (name.ends_with(kListSuffix)) suffix = kListSuffix;
    if (torrents_ != nullptr && name.ends_with(kTorrentSuffix)) suffix = kTorrentSuffix;
    name.remove_suffix(suffix.size());
    const auto root = parse_root(name);
    if (!root.ok()) return refusal(root.error(), request);
    if (suffix == kListSuffix) {
        const auto list = source_.pieces(*root, asker_of(request));
        if (!list.ok()) return refusal(list.error(), request);
        const auto bytes = std::make_shared<const Bytes>((*list)->encode());
        return answer_file(request, std::make_shared<BytesReader>(bytes), *root, suffix);
    }
    if (suffix == kTorrentSuffix) {
        auto file = torrents_->torrent(*root, asker_of(request));
        if (!file.ok()) return refusal(file.error(), request);
        return answer_file(request, std::make_shared<BytesReader>(std::move(file).value()), *root,
                           suffix);
    }
    auto opened = source_.open(*root, asker_of(request));
    if (!opened.ok()) return refusal(opened.error(), request);
    return answer_file(request, std::move(opened).value(), *root, suffix);
}

Response BlobHandler::answer_file(const Request& request,
                                  std::shared_ptr<const blob::BlobReader> content,
                                  const Digest& root, std::string_view suffix) {
    const std::string name = to_hex(root.view());
    return http_server::answer_download(
        request, {std::make_shared<CountingReader>(std::move(content), bytes_sent_), name,
                  name + std::string(suffix), kForever});
}

Response BlobHandler::answer_announce(const Request& request) {
    const std::string_view target(request.target);
    const std::size_t query = target.find('?');
    const std::string_view asked =
        query == std::string_view::npos ? std::string_view() : target.substr(query + 1);
    return {200,
            "text/plain",
            {{"Cache-Control", "no-store"}},
            torrents_->announce(asked, request.peer)};
}

Response BlobHandler::answer_metrics() const {
    std::string text =
        "# TYPE gym_blob_http_bytes_total counter\n"
        "gym_blob_http_bytes_total " +
        std::to_string(*bytes_sent_) +
        "\n# TYPE gym_blob_http_received_bytes_total counter\n"
        "gym_blob_http_received_bytes_total " +
        std::to_string(bytes_received()) +
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
