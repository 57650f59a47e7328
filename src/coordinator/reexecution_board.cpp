#include "gym/coordinator/reexecution_board.hpp"

namespace gym::coordinator {

bool ReexecutionBoard::has_room(const Digest& job, UnixMs now_ms) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(of_job_, [&](const auto& entry) {
        return entry.first != job && entry.second.result &&
               now_ms - entry.second.finished_ms > kUntakenMs;
    });
    return !of_job_.contains(job) && of_job_.size() < kRunsMax;
}

void ReexecutionBoard::begin(const Digest& job, const Key& key) {
    const std::scoped_lock lock(mutex_);
    of_job_.insert_or_assign(job, Entry{key});
}

void ReexecutionBoard::finish(const Digest& job, const Key& key, Result<Compute::Reexecuted> result,
                              UnixMs now_ms) {
    const std::scoped_lock lock(mutex_);
    const auto entry = of_job_.find(job);
    if (entry == of_job_.end() || entry->second.key != key || entry->second.result) return;
    entry->second.result = std::move(result);
    entry->second.finished_ms = now_ms;
}

std::optional<ReexecutionBoard::Finished> ReexecutionBoard::take(const Digest& job) {
    const std::scoped_lock lock(mutex_);
    const auto entry = of_job_.find(job);
    if (entry == of_job_.end() || !entry->second.result) return std::nullopt;
    Finished out{entry->second.key, std::move(*entry->second.result)};
    of_job_.erase(entry);
    return out;
}

std::size_t ReexecutionBoard::size() const {
    const std::scoped_lock lock(mutex_);
    return of_job_.size();
}

void ReexecutionBoard::note_known(const Key& key) {
    constexpr std::size_t kKnownMax = 10'000;
    const std::scoped_lock lock(mutex_);
    if (known_.size() >= kKnownMax) known_.clear();
    known_.insert(key);
}

bool ReexecutionBoard::is_known(const Key& key) const {
    const std::scoped_lock lock(mutex_);
    return known_.contains(key);
}

}  // namespace gym::coordinator
