#include "gym/worker/prefix_sender.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "unit_watch.hpp"

namespace gym::worker {
namespace {

/// Of a unit's time, so that a short one is paid for, too.
constexpr int kPrefixesOfUnit = 8;
/// Twice what the coordinator asks for: messages take their time.
constexpr std::chrono::milliseconds kApart{2 * protocol::kPrefixEveryMsMin};

}  // namespace

struct PrefixSender::Sending {
    std::uint32_t steps = 0;
    Status sent;
    std::atomic<bool> done = false;
    std::jthread thread;  // last: it uses the others
};

PrefixSender::PrefixSender(rpc::Coordinator& coordinator, const crypto::PrivateKey& key,
                           node::Timer& timer, std::optional<std::chrono::milliseconds> every)
    : coordinator_(coordinator), key_(key), timer_(timer), every_(every) {}

PrefixSender::~PrefixSender() = default;

void PrefixSender::begin(const protocol::UnitPrefix& unit, std::span<const engine::StepRecord> done,
                         std::optional<std::chrono::milliseconds> left) {
    end();
    if (!every_) return;
    const auto network = coordinator_.network();
    if (!network.ok()) return;
    domain_ = network->domain();
    newest_ = unit;
    is_refused_ = false;
    sent_steps_ = 0;
    for (const engine::StepRecord& record : done)
        newest_.link = engine::record_hash(newest_.link, record);
    newest_.steps = static_cast<std::uint32_t>(done.size());
    unit_every_ = *every_;
    if (left) unit_every_ = std::min(unit_every_, std::max(kApart, *left / kPrefixesOfUnit));
    stepped_at_ = sent_at_ = timer_.now();
    next_ = stepped_at_ + unit_every_;
}

void PrefixSender::expect_end(std::optional<std::chrono::milliseconds> left) {
    if (!domain_ || !left) return;
    const SteadyTime now = timer_.now();
    const auto step = now - stepped_at_;
    stepped_at_ = now;
    if (*left <= step + std::chrono::milliseconds(kClockSlackMs))
        next_ = std::min(next_, sent_at_ + kApart);
}

void PrefixSender::after_step(const engine::StepRecord& record) {
    if (!domain_) return;
    newest_.link = engine::record_hash(newest_.link, record);
    ++newest_.steps;
    collect(false);
    const SteadyTime now = timer_.now();
    if (sending_ != nullptr || now < next_) return;
    sent_at_ = now;
    next_ = now + unit_every_;
    send();
}

void PrefixSender::end() {
    collect(true);
    domain_.reset();
}

PrefixSender::Said PrefixSender::say_last() {
    const auto prefix = unsent();
    if (!domain_) return {};
    Said out{sent_steps_, false};
    if (!prefix) return out;
    out.is_open = coordinator_.submit_prefix(*prefix).ok();
    if (out.is_open) out.taken = newest_.steps;
    return out;
}

std::optional<protocol::SignedPrefix> PrefixSender::unsent() {
    collect(true);
    if (!domain_ || newest_.steps == sent_steps_) return std::nullopt;
    return protocol::sign(*domain_, newest_, key_);
}

void PrefixSender::send() {
    sending_ = std::make_unique<Sending>();
    sending_->steps = newest_.steps;
    sending_->thread =
        std::jthread([this, to = sending_.get(), prefix = protocol::sign(*domain_, newest_, key_)] {
            to->sent = coordinator_.submit_prefix(prefix);
            to->done = true;
        });
}

void PrefixSender::collect(bool waits) {
    if (sending_ == nullptr || (!waits && !sending_->done)) return;
    if (sending_->thread.joinable()) sending_->thread.join();
    if (sending_->sent.ok()) {
        sent_steps_ = sending_->steps;
    } else {
        const Error& error = sending_->sent.error();
        is_refused_ = error.code == ErrorCode::kConflict || error.code == ErrorCode::kTimeout;
        spdlog::debug("what {} steps gave is not with the coordinator: {}", sending_->steps,
                      error.message);
    }
    sending_.reset();
}

}  // namespace gym::worker
