#include "gym/node/backoff.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace gym::node {

bool is_transient(ErrorCode code) noexcept {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kCancelled ||
           code == ErrorCode::kUnauthenticated || code == ErrorCode::kIo ||
           code == ErrorCode::kInternal;
}

void Backoff::failed(const Error& error, const std::stop_token& stop) {
    if (error.message != last_message_) spdlog::warn("{}", error.message);
    last_message_ = error.message;
    timer_.wait(pause_, stop);
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(30'000));
}

void Backoff::succeeded() {
    pause_ = std::chrono::milliseconds(1'000);
    last_message_.clear();
}

}  // namespace gym::node
