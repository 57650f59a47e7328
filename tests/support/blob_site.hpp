#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gym/blob/blob_store.hpp"
#include "gym/http_server/server.hpp"
#include "gym/mirror/blob_handler.hpp"

namespace gym::testing {

inline Bytes noise(std::uint64_t size, std::uint32_t seed = 1) {
    Bytes out(size);
    std::uint32_t state = seed * 2'654'435'761U + 1;
    for (std::uint8_t& byte : out) {
        state = state * 1'664'525 + 1'013'904'223;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return out;
}

/// Everything in a store. Readers and lists are made once: a MemoryStore's readers are copies.
class StoreSource final : public mirror::BlobSource {
  public:
    explicit StoreSource(const blob::BlobStore& store) : store_(store) {}
    Result<std::shared_ptr<const blob::PieceList>> pieces(const Digest& root,
                                                          const mirror::Asker&) override {
        GYM_TRY(const Known known, find(root));
        return known.list;
    }
    Result<std::shared_ptr<const blob::BlobReader>> open(const Digest& root,
                                                         const mirror::Asker&) override {
        GYM_TRY(const Known known, find(root));
        return known.reader;
    }

  private:
    struct Known {
        std::shared_ptr<const blob::BlobReader> reader;
        std::shared_ptr<const blob::PieceList> list;
    };
    Result<Known> find(const Digest& root) {
        const std::scoped_lock lock(mutex_);
        if (const auto found = known_.find(root); found != known_.end()) return found->second;
        GYM_TRY(auto reader, store_.open_reader(root));
        GYM_TRY(blob::PieceList list, blob::PieceList::of(*reader));
        return known_[root] = {std::move(reader),
                               std::make_shared<const blob::PieceList>(std::move(list))};
    }

    const blob::BlobStore& store_;
    std::mutex mutex_;
    std::map<Digest, Known> known_;
};

enum class Fault {
    kNone,
    kLies,       ///< one byte of each piece is another
    kStalls,     ///< accepts the question and answers nothing
    kTrickles,   ///< sends a quarter of a piece every half second
    kTruncates,  ///< closes in the middle of a piece
    kHtml,       ///< a page with status 200, as hotels do
    kRedirects,
    kNoRanges,  ///< all of the blob, whatever is asked for
    kOtherSize,
    kFails,  ///< 503
    kAbsent,
    kListsLie,
};

/// A server of blobs with one fault.
class BlobSite final : public http_server::Handler {
  public:
    explicit BlobSite(const blob::BlobStore& store, Fault wanted = Fault::kNone)
        : fault(wanted), source_(store), honest_(source_) {
        http_server::ServerOptions options;
        options.threads = 8;
        server_ = http_server::Server::start(options, *this).value();
    }
    ~BlobSite() override {
        {
            const std::scoped_lock lock(mutex_);
            closing_ = true;
        }
        changed_.notify_all();
        server_->stop(2'000);
    }
    BlobSite(const BlobSite&) = delete;
    BlobSite& operator=(const BlobSite&) = delete;

    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_->port());
    }

    Admission admit(const http_server::Request& head) override { return honest_.admit(head); }
    http_server::Response handle(const http_server::Request& request) override {
        const bool is_list = request.target.ends_with(".pieces");
        if (!request.target.ends_with("/latency")) ++(is_list ? lists : pieces);
        http_server::Response response = honest_.handle(request);
        return is_list ? spoil_list(std::move(response))
                       : spoil_piece(request, std::move(response));
    }
    http_server::Response refuse(unsigned status, std::string_view detail,
                                 std::string_view request_id) override {
        return honest_.refuse(status, detail, request_id);
    }
    void connections(std::int64_t open) override { honest_.connections(open); }

    std::atomic<Fault> fault;
    std::atomic<std::size_t> lists{0}, pieces{0};  ///< questions, without those for nothing
    std::atomic<std::uint32_t> delay_ms{0};        ///< of each answer

  private:
    class AlteredReader final : public blob::BlobReader {
      public:
        AlteredReader(std::shared_ptr<const blob::BlobReader> inner, std::uint64_t break_at,
                      std::chrono::milliseconds pause = {})
            : inner_(std::move(inner)), break_at_(break_at), pause_(pause) {}
        [[nodiscard]] std::uint64_t size() const noexcept override { return inner_->size(); }
        Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
            std::this_thread::sleep_for(pause_);
            if (offset + out.size() > break_at_) return fail(ErrorCode::kIo, "as the test wants");
            GYM_CHECK(inner_->read(offset, out));
            if (break_at_ == UINT64_MAX && pause_.count() == 0 && !out.empty()) out.front() ^= 1;
            return {};
        }

      private:
        const std::shared_ptr<const blob::BlobReader> inner_;
        const std::uint64_t break_at_;
        const std::chrono::milliseconds pause_;
    };

    void wait(std::chrono::milliseconds pause) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, pause, [this] { return closing_; });
    }
    static http_server::Response page() {
        return {200, "text/html", {}, "<!DOCTYPE html><html>Welcome to the hotel</html>"};
    }
    http_server::Response common(http_server::Response response) {
        if (delay_ms > 0) wait(std::chrono::milliseconds(delay_ms));
        switch (fault.load()) {
            case Fault::kHtml:
                return page();
            case Fault::kRedirects:
                return {302, "text/plain", {{"Location", "http://127.0.0.1:9/"}}, ""};
            case Fault::kFails:
                return {503, "text/plain", {}, "busy"};
            case Fault::kAbsent:
                return {404, "text/html", {}, "<html>no such page</html>"};
            default:
                return response;
        }
    }
    http_server::Response spoil_list(http_server::Response response) {
        if (fault == Fault::kListsLie) return {200, "text/plain", {}, "GYMPIEC1 and nothing else"};
        return common(std::move(response));
    }
    http_server::Response spoil_piece(const http_server::Request& request,
                                      http_server::Response response) {
        if (!response.stream) return common(std::move(response));
        auto& stream = *response.stream;
        switch (fault.load()) {
            case Fault::kLies:
                stream.source = std::make_shared<AlteredReader>(stream.source, UINT64_MAX);
                break;
            case Fault::kTrickles:
                stream.source = std::make_shared<AlteredReader>(stream.source, UINT64_MAX,
                                                                std::chrono::milliseconds(500));
                break;
            case Fault::kTruncates:
                stream.source =
                    std::make_shared<AlteredReader>(stream.source, stream.offset + stream.size / 2);
                break;
            case Fault::kStalls:
                wait(std::chrono::seconds(60));
                break;
            case Fault::kNoRanges: {
                http_server::Request whole = request;
                whole.headers.erase("range");
                return honest_.handle(whole);
            }
            case Fault::kOtherSize:
                for (auto& [name, value] : response.headers)
                    if (name == "Content-Range") value += "0";
                break;
            default:
                break;
        }
        return common(std::move(response));
    }

    StoreSource source_;
    mirror::BlobHandler honest_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closing_ = false;
    std::unique_ptr<http_server::Server> server_;  // last: it uses everything above
};

}  // namespace gym::testing
