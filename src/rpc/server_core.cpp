#include "server_core.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "status_map.hpp"
#include "wire.hpp"

namespace gym::rpc {
namespace {

constexpr unsigned kShortThreads = 2, kUrgentThreads = 2;
constexpr std::size_t kBatchMax = 256;
/// Between two batches: what a heartbeat or a poll waits at most under a light load.
constexpr std::chrono::milliseconds kBatchPause{10};
/// How far a poll's end may be off.
constexpr std::int64_t kTickMs = 10;
/// Of the memory for uploads, what a node with several at a time may have.
constexpr std::uint64_t kUploadsShare = 4;
/// Between two looks for peers that are gone.
constexpr std::chrono::milliseconds kSweepEvery{250};

Status check_count(std::size_t answers, std::size_t calls) {
    if (answers == calls) return {};
    return fail(ErrorCode::kInternal, "the coordinator failed: " + std::to_string(answers) +
                                          " answers to " + std::to_string(calls) + " calls");
}

}  // namespace

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
                       const records::NetworkDescription& network)
    : config_(config),
      handler_(handler),
      clock_(clock),
      polls_(config.polls_max),
      admission_(config, handler, clock, network.domain()),
      pool_(config.threads, kLaneCount * std::size_t{config.calls_max} + config.polls_max),
      urgent_pool_(kUrgentThreads, config.calls_max),
      short_pool_(kShortThreads, std::size_t{config.calls_max} + config.polls_max),
      beats_(kBatchMax, kBatchPause, [this](auto batch) { answer_beats(std::move(batch)); }),
      asks_(kBatchMax, kBatchPause, [this](auto batch) { ask_all(std::move(batch)); }),
      ticker_(kTickMs, [this] { tick(); }) {}

Status ServerCore::check(const Admitted& admitted, const google::protobuf::Message& request) {
    const std::string bytes = signed_bytes(request);
    count_message(bytes.size() + kCallAuthBytes);
    return admitted.check(as_bytes(bytes));
}

void ServerCore::answer_beats(std::vector<OpenBeat> batch) {
    std::vector<ArrivedBeat> beats;
    beats.reserve(batch.size());
    for (OpenBeat& open : batch)
        beats.push_back(std::move(open.beat));
    std::vector<Result<records::HeartbeatAnswer>> answers;
    const Status status = guarded([&]() -> Status {
        answers = handler_.heartbeats(beats);
        return check_count(answers.size(), beats.size());
    });
    for (std::size_t i = 0; i < batch.size(); ++i)
        batch[i].end(status.ok() ? answers[i] : status.error());
}

void ServerCore::wake(std::span<const Address> callers) {
    for (PollPtr& poll : polls_.wake(callers))
        ask(std::move(poll));
}

void ServerCore::wake_all() {
    for (PollPtr& poll : polls_.wake_all())
        ask(std::move(poll));
}

void ServerCore::ask_all(std::vector<PollPtr> batch) {
    if (stopping_) {  // without a question: the database may be what is stopping, too
        for (const PollPtr& poll : batch)
            end(poll, {});
        return;
    }
    const std::uint64_t wakes = polls_.wakes();
    std::vector<Address> callers;
    std::vector<Digest> computed;
    callers.reserve(batch.size());
    for (const PollPtr& poll : batch) {
        callers.push_back(poll->caller);
        std::ranges::copy(poll->computed, std::back_inserter(computed));
    }
    std::vector<Result<std::optional<records::Task>>> tasks;
    const Status status = guarded([&]() -> Status {
        tasks = handler_.next_tasks(callers, computed);
        return check_count(tasks.size(), callers.size());
    });
    for (std::size_t i = 0; i < batch.size(); ++i)
        settle(batch[i], status.ok() ? std::move(tasks[i]) : status.error(), wakes);
}

/// Ends a poll for which there is something, an error or no time left; parks it otherwise.
void ServerCore::settle(const PollPtr& poll, Result<std::optional<records::Task>> task,
                        std::uint64_t wakes) {
    if (poll->context->IsCancelled())
        return end(poll, fail(ErrorCode::kCancelled, "the poll was broken off"));
    if (!task.ok()) return end(poll, task.error());
    if (*task) return give(poll, std::move(**task));
    if (stopping_ || std::chrono::steady_clock::now() >= poll->deadline) return end(poll, {});
    if (!polls_.park(poll, wakes)) ask(poll);
}

/// Writes the answer in the pool: the task of an aggregate holds a round's whole record.
void ServerCore::give(const PollPtr& poll, records::Task task) {
    const auto shared = std::make_shared<const std::optional<records::Task>>(std::move(task));
    const auto write = [this, poll, shared] {
        end(poll, guarded([&]() -> Status {
                wire::write(*shared, *poll->response);
                count_message(poll->response->ByteSizeLong());
                return {};
            }));
    };
    if (!pool_.submit(write)) write();
}

void ServerCore::end(const PollPtr& poll, const Status& status) {
    polls_.leave(poll->caller);
    poll->reactor->Finish(to_grpc(status));
}

void ServerCore::watch(Transfer& transfer) {
    const std::scoped_lock lock(mutex_);
    transfers_.insert(&transfer);
}

void ServerCore::unwatch(Transfer& transfer) {
    const std::scoped_lock lock(mutex_);
    transfers_.erase(&transfer);
}

Status ServerCore::reserve_upload(const Address& caller, std::uint64_t size_bytes) {
    if (size_bytes > config_.blob_bytes_max)
        return fail(ErrorCode::kOutOfRange,
                    "a blob of " + std::to_string(size_bytes) + " bytes where at most " +
                        std::to_string(config_.blob_bytes_max) + " are allowed");
    const std::scoped_lock lock(mutex_);
    if (size_bytes > config_.upload_bytes_max - upload_bytes_)
        return fail(ErrorCode::kUnavailable, "too many uploads at once, try again later");
    const auto own = upload_bytes_of_caller_.find(caller);
    if (own != upload_bytes_of_caller_.end() &&
        own->second + size_bytes > config_.upload_bytes_max / kUploadsShare)
        return fail(ErrorCode::kUnavailable, "too many uploads of " + caller.hex() +
                                                 " at once: the others have to end first");
    upload_bytes_ += size_bytes;
    if (size_bytes > 0) upload_bytes_of_caller_[caller] += size_bytes;
    return {};
}

void ServerCore::release_upload(const Address& caller, std::uint64_t size_bytes) {
    const std::scoped_lock lock(mutex_);
    upload_bytes_ -= size_bytes;
    const auto own = upload_bytes_of_caller_.find(caller);
    own->second -= size_bytes;
    if (own->second == 0) upload_bytes_of_caller_.erase(own);
}

void ServerCore::begin_stop() {
    stopping_ = true;
    wake_all();
}

void ServerCore::end_stop() {
    ticker_.stop();
    asks_.stop();
    beats_.stop();
}

void ServerCore::tick() {
    const SteadyTime now = std::chrono::steady_clock::now();
    for (const PollPtr& poll : polls_.take_over(now))
        end(poll, {});
    if (config_.ask_every_ms > 0 &&
        now - asked_ >= std::chrono::milliseconds(config_.ask_every_ms)) {
        asked_ = now;
        wake_all();
    }
    if (now - swept_ < kSweepEvery) return;
    swept_ = now;
    for (const PollPtr& poll : polls_.take_cancelled())
        end(poll, fail(ErrorCode::kCancelled, "the poll was broken off"));
    const std::scoped_lock lock(mutex_);
    for (Transfer* transfer : transfers_)
        if (transfer->last() < now - std::chrono::milliseconds(config_.silence_ms_max) ||
            transfer->end() < now)
            transfer->cancel();
}

}  // namespace gym::rpc
