#include "gym/worker/prefix_sender.hpp"

#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <thread>

namespace gym::worker {

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

void PrefixSender::begin(const protocol::UnitPrefix& unit,
                         std::span<const engine::StepRecord> done) {
    end();
    if (!every_) return;
    const auto network = coordinator_.network();
    if (!network.ok()) return;
    domain_ = network->domain();
    newest_ = unit;
    sent_steps_ = 0;
    for (const engine::StepRecord& record : done)
        newest_.link = engine::record_hash(newest_.link, record);
    newest_.steps = static_cast<std::uint32_t>(done.size());
    next_ = timer_.now() + *every_;
}

void PrefixSender::after_step(const engine::StepRecord& record) {
    if (!domain_) return;
    newest_.link = engine::record_hash(newest_.link, record);
    ++newest_.steps;
    collect(false);
    if (sending_ != nullptr || timer_.now() < next_) return;
    next_ = timer_.now() + *every_;
    send();
}

void PrefixSender::end() {
    collect(true);
    domain_.reset();
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
    if (sending_->sent.ok())
        sent_steps_ = sending_->steps;
    else
        spdlog::debug("what {} steps gave is not with the coordinator: {}", sending_->steps,
                      sending_->sent.error().message);
    sending_.reset();
}

}  // namespace gym::worker
