#include "gym/coordinator/adapters/drand_relays.hpp"

#include <spdlog/spdlog.h>

#include <boost/json.hpp>
#include <chrono>
#include <optional>

#include "gym/common/printable.hpp"
#include "gym/contracts/drand_beacon.hpp"
#include "gym/http/connection.hpp"

namespace gym::coordinator {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// A round waits for its beacon meanwhile, and so does everything else that asks the chain.
constexpr std::uint32_t kRelayTimeoutMs = 3'000;
constexpr std::uint64_t kReplyBytesMax = 64 << 10;
constexpr std::size_t kAnswerShown = 100;
constexpr std::chrono::seconds kPause{3};  // after all have failed

/// The signature in {"round": N, "signature": "HEX", ..}.
Result<Bytes> parse_beacon(const std::string& body, std::uint64_t round) {
    boost::system::error_code error;
    const auto value = boost::json::parse(body, error);
    const auto* const object = error ? nullptr : value.if_object();
    const auto* const number = object == nullptr ? nullptr : object->if_contains("round");
    const auto* const text = object == nullptr ? nullptr : object->if_contains("signature");
    if (number == nullptr || text == nullptr || !text->is_string())
        return fail(ErrorCode::kMalformed, "answers with something other than a beacon: " +
                                               printable_ascii(body, kAnswerShown));
    boost::system::error_code none;
    if (number->to_number<std::uint64_t>(none) != round || none)
        return fail(ErrorCode::kMismatch, "answers with another round's beacon");
    auto signature = from_hex(std::string_view(text->as_string()));
    if (!signature.ok() || signature->size() != contracts::kDrandSignatureBytes)
        return fail(ErrorCode::kMalformed, "answers with a signature that is not 48 bytes");
    return signature;
}

struct Relay {
    std::string url;
    std::string path;  ///< of the URL, without the last /
    std::unique_ptr<http::Connection> connection;
};

class HttpRelays final : public DrandRelays {
  public:
    explicit HttpRelays(std::vector<Relay> relays) : relays_(std::move(relays)) {}

    Result<Bytes> signature(std::uint64_t round, const Accept& accept) override {
        if (failed_ && SteadyClock::now() < asked_again_) return *failed_;
        std::string answers;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            const std::size_t at = (first_ + i) % relays_.size();
            Relay& relay = relays_[at];
            auto beacon = ask(relay, round);
            if (beacon.ok()) {
                const Status right = accept(*beacon);
                if (right.ok()) return found(at, std::move(*beacon));
                if (right.error().code == ErrorCode::kUnavailable ||
                    right.error().code == ErrorCode::kTimeout)
                    return right.error();
                beacon = right.error().in("gives a wrong signature");
            }
            answers += (answers.empty() ? "" : "; ") + relay.url + " " + beacon.error().message;
        }
        failed_ = fail(ErrorCode::kUnavailable, "no relay gives the beacon of drand's round " +
                                                    std::to_string(round) + ": " + answers);
        asked_again_ = SteadyClock::now() + kPause;
        return *failed_;
    }

  private:
    static Result<Bytes> ask(Relay& relay, std::uint64_t round) {
        const http::Request request{.target = relay.path + "/public/" + std::to_string(round),
                                    .headers = {{"Accept", "application/json"}}};
        const bool reused = relay.connection->is_open();
        auto reply = relay.connection->exchange(request);
        // An idle connection that the other side has closed says nothing about the relay.
        if (!reply.ok() && reused) reply = relay.connection->exchange(request);
        if (!reply.ok()) return reply.error();
        if (reply->status != 200)
            return fail(ErrorCode::kUnavailable, "answers HTTP " + std::to_string(reply->status));
        return parse_beacon(reply->body, round);
    }

    Bytes found(std::size_t at, Bytes signature) {
        if (at != first_) spdlog::info("drand: {} is asked first from now on", relays_[at].url);
        first_ = at;
        failed_.reset();
        return signature;
    }

    std::vector<Relay> relays_;
    std::size_t first_ = 0;
    std::optional<Error> failed_;
    SteadyClock::time_point asked_again_;
};

}  // namespace

Result<std::unique_ptr<DrandRelays>> make_drand_relays(const std::vector<std::string>& urls) {
    if (urls.empty() || urls.size() > kDrandRelaysMax)
        return fail(ErrorCode::kInvalidArgument,
                    "1 to " + std::to_string(kDrandRelaysMax) + " drand relays are needed");
    std::vector<Relay> relays;
    for (const std::string& text : urls) {
        const auto url = http::parse_url(text);
        if (!url.ok()) return url.error().in("drand relay '" + text + "'");
        std::string path = url->target;
        while (path.ends_with('/'))
            path.pop_back();
        relays.push_back({text, path,
                          http::Connection::create(*url, {.peer = "drand relay",
                                                          .timeout_ms = kRelayTimeoutMs,
                                                          .reply_bytes_max = kReplyBytesMax})});
    }
    return std::unique_ptr<DrandRelays>(std::make_unique<HttpRelays>(std::move(relays)));
}

}  // namespace gym::coordinator
