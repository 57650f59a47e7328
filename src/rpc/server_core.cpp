#include "server_core.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <string>

namespace gym::rpc {

std::string signed_bytes(const google::protobuf::Message& message) {
    std::string out;
    {
        google::protobuf::io::StringOutputStream stream(&out);
        google::protobuf::io::CodedOutputStream coded(&stream);
        coded.SetSerializationDeterministic(true);
        message.SerializeWithCachedSizes((message.ByteSizeLong(), &coded));
    }
    return out;
}

Status guarded(const std::function<Status()>& body) {
    try {
        return body();
    } catch (const std::exception& error) {
        spdlog::error("handler threw: {}", error.what());
        return fail(ErrorCode::kInternal, "the coordinator failed; its log says why");
    }
}

ServerCore::ServerCore(const ServerConfig& config, NodeHandler& handler, const Clock& clock,
                       records::NetworkDescription network)
    : config_(config),
      handler_(handler),
      clock_(clock),
      domain_(network.domain()),
      pool_(config.threads, config.calls_max),
      ticker_(config.poll_interval_ms, [this] { tick(); }) {}

Status ServerCore::enter_call() {
    if (calls_.fetch_add(1) < config_.calls_max) return {};
    leave_call();
    return fail(
        ErrorCode::kUnavailable,
        "the coordinator is busy: " + std::to_string(config_.calls_max) + " calls are in flight");
}

void ServerCore::leave_call() {
    calls_.fetch_sub(1);
}

Result<Address> ServerCore::authenticate(const grpc::CallbackServerContext& context,
                                         std::string_view method,
                                         const google::protobuf::Message& request,
                                         bool must_be_registered) {
    const auto [first, last] = context.client_metadata().equal_range(kAuthMetadataKey);
    if (first == last || std::next(first) != last)
        return fail(ErrorCode::kUnauthenticated,
                    "the call must carry " + std::string(kAuthMetadataKey) + " once");
    const std::string_view header(first->second.data(), first->second.size());
    GYM_TRY(const CallAuth auth, decode_call_auth(as_bytes(header)));
    const std::string bytes = signed_bytes(request);
    GYM_CHECK(check_call(domain_, method, as_bytes(bytes), auth, clock_.now_ms(), replay_guard_));
    if (must_be_registered) {
        GYM_TRY(const bool registered, handler_.is_registered(auth.caller));
        if (!registered)
            return fail(ErrorCode::kPermissionDenied,
                        auth.caller.hex() + " is not registered: run `gym node register`");
    }
    return auth.caller;
}

Status ServerCore::enter_poll(const Address& caller) {
    const std::scoped_lock lock(mutex_);
    std::uint32_t& polls = polls_[caller];
    if (polls >= kPollsPerCallerMax)
        return fail(ErrorCode::kUnavailable, caller.hex() + " waits for a task in " +
                                                 std::to_string(polls) + " calls already");
    ++polls;
    return {};
}

void ServerCore::leave_poll(const Address& caller) {
    const std::scoped_lock lock(mutex_);
    const auto found = polls_.find(caller);
    if (--found->second == 0) polls_.erase(found);
}

void ServerCore::park(std::function<void()> ask_again) {
    const std::scoped_lock lock(mutex_);
    parked_.push_back(std::move(ask_again));
}

void ServerCore::watch(Transfer& transfer) {
    const std::scoped_lock lock(mutex_);
    transfers_.insert(&transfer);
}

void ServerCore::unwatch(Transfer& transfer) {
    const std::scoped_lock lock(mutex_);
    transfers_.erase(&transfer);
}

Status ServerCore::reserve_upload(std::uint64_t size_bytes) {
    if (size_bytes > config_.blob_bytes_max)
        return fail(ErrorCode::kOutOfRange,
                    "a blob of " + std::to_string(size_bytes) + " bytes where at most " +
                        std::to_string(config_.blob_bytes_max) + " are allowed");
    if (upload_bytes_.fetch_add(size_bytes) + size_bytes > config_.upload_bytes_max) {
        release_upload(size_bytes);
        return fail(ErrorCode::kUnavailable, "too many uploads at once, try again later");
    }
    return {};
}

void ServerCore::release_upload(std::uint64_t size_bytes) {
    upload_bytes_.fetch_sub(size_bytes);
}

void ServerCore::begin_stop() {
    stopping_ = true;
    wake();
}

void ServerCore::tick() {
    std::vector<std::function<void()>> due;
    {
        const std::scoped_lock lock(mutex_);
        due.swap(parked_);
        const auto oldest =
            std::chrono::steady_clock::now() - std::chrono::milliseconds(config_.silence_ms_max);
        for (Transfer* transfer : transfers_)
            if (transfer->last() < oldest) transfer->cancel();
    }
    for (std::function<void()>& ask_again : due)
        if (!pool_.submit(ask_again)) park(std::move(ask_again));
}

}  // namespace gym::rpc
