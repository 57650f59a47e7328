#include "parked_polls.hpp"

#include <string>

namespace gym::rpc {

Status ParkedPolls::enter(const Address& caller) {
    const std::scoped_lock lock(mutex_);
    if (polls_ >= polls_max_)
        return fail(
            ErrorCode::kUnavailable,
            "the coordinator is busy: " + std::to_string(polls_max_) + " nodes wait for a task");
    std::uint32_t& polls = of_caller_[caller];
    if (polls >= kPollsPerCallerMax)
        return fail(ErrorCode::kUnavailable, caller.hex() + " waits for a task in " +
                                                 std::to_string(polls) + " calls already");
    ++polls;
    ++polls_;
    return {};
}

void ParkedPolls::leave(const Address& caller) {
    const std::scoped_lock lock(mutex_);
    --polls_;
    const auto found = of_caller_.find(caller);
    if (--found->second == 0) of_caller_.erase(found);
}

std::uint64_t ParkedPolls::wakes() const {
    const std::scoped_lock lock(mutex_);
    return wakes_;
}

bool ParkedPolls::park(const PollPtr& poll, std::uint64_t wakes) {
    const std::scoped_lock lock(mutex_);
    if (wakes != wakes_) return false;
    by_caller_.emplace(poll->caller, parked_.emplace(poll->deadline, poll));
    return true;
}

ParkedPolls::ByDeadline::iterator ParkedPolls::take_locked(ByDeadline::iterator at,
                                                           std::vector<PollPtr>& out) {
    const auto [first, last] = by_caller_.equal_range(at->second->caller);
    for (auto entry = first; entry != last; ++entry)
        if (entry->second == at) {
            by_caller_.erase(entry);
            break;
        }
    out.push_back(std::move(at->second));
    return parked_.erase(at);
}

std::vector<PollPtr> ParkedPolls::wake(std::span<const Address> callers) {
    std::vector<PollPtr> out;
    const std::scoped_lock lock(mutex_);
    if (callers.empty()) return out;
    ++wakes_;
    for (const Address& caller : callers)
        for (auto found = by_caller_.find(caller); found != by_caller_.end();
             found = by_caller_.find(caller))
            take_locked(found->second, out);
    return out;
}

std::vector<PollPtr> ParkedPolls::wake_all() {
    std::vector<PollPtr> out;
    const std::scoped_lock lock(mutex_);
    ++wakes_;
    for (auto at = parked_.begin(); at != parked_.end();)
        at = take_locked(at, out);
    return out;
}

std::vector<PollPtr> ParkedPolls::take_over(std::chrono::steady_clock::time_point now) {
    std::vector<PollPtr> out;
    const std::scoped_lock lock(mutex_);
    while (!parked_.empty() && parked_.begin()->first <= now)
        take_locked(parked_.begin(), out);
    return out;
}

std::vector<PollPtr> ParkedPolls::take_cancelled() {
    std::vector<PollPtr> out;
    const std::scoped_lock lock(mutex_);
    for (auto at = parked_.begin(); at != parked_.end();)
        at = at->second->context->IsCancelled() ? take_locked(at, out) : std::next(at);
    return out;
}

}  // namespace gym::rpc
