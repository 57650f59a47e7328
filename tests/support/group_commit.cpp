#include "group_commit.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "ledger_client.hpp"

namespace gym::ledger {

class GroupCommit::Worker {
  public:
    Worker(db::Database& database, const Clock& clock, GroupCommitOptions options)
        : database_(database), clock_(clock), options_(options), thread_([this] { run(); }) {}

    ~Worker() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    std::future<Outcome> submit(std::vector<TransferRequest> requests) {
        Item item{std::move(requests), {}, std::chrono::steady_clock::now()};
        std::future<Outcome> future = item.promise.get_future();
        const std::size_t count = item.requests.size();
        const std::scoped_lock lock(mutex_);
        if (count > options_.batch_max) {
            item.promise.set_value(
                fail(ErrorCode::kInvalidArgument, "more transfers than a batch takes"));
        } else if (waiting_ + count > options_.queue_max) {
            item.promise.set_value(fail(ErrorCode::kUnavailable, "the ledger's queue is full"));
        } else {
            waiting_ += count;
            queue_.push_back(std::move(item));
            changed_.notify_all();
        }
        return future;
    }

  private:
    struct Item {
        std::vector<TransferRequest> requests;
        std::promise<Outcome> promise;
        std::chrono::steady_clock::time_point arrived;
    };

    void run() {
        for (;;) {
            std::vector<Item> batch = next_batch();
            if (batch.empty()) return;
            book(batch);
        }
    }

    /// Waits for work, then for more of it until the first has waited for `linger`; what arrived
    /// during the batch before has. Empty: stopping and nothing left.
    std::vector<Item> next_batch() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (!queue_.empty())
            changed_.wait_until(lock, queue_.front().arrived + options_.linger,
                                [&] { return stopping_ || waiting_ >= options_.batch_max; });
        std::vector<Item> batch;
        std::size_t count = 0;
        while (!queue_.empty() && count + queue_.front().requests.size() <= options_.batch_max) {
            count += queue_.front().requests.size();
            batch.push_back(std::move(queue_.front()));
            queue_.pop_front();
        }
        waiting_ -= count;
        return batch;
    }

    void book(std::vector<Item>& batch) {
        std::vector<TransferRequest> all;
        for (Item& item : batch)
            all.insert(all.end(), item.requests.begin(), item.requests.end());
        const Outcome outcome = Ledger(database_, clock_).submit(all);
        if (!outcome.ok() && batch.size() > 1) {
            // One item that the database refuses as a whole must not take its neighbours down.
            for (Item& item : batch)
                item.promise.set_value(Ledger(database_, clock_).submit(item.requests));
            return;
        }
        std::size_t at = 0;
        for (Item& item : batch) {
            if (!outcome.ok()) {
                item.promise.set_value(outcome.error());
                continue;
            }
            const auto first = outcome->begin() + static_cast<std::ptrdiff_t>(at);
            at += item.requests.size();
            item.promise.set_value(std::vector<TransferStatus>(
                first, first + static_cast<std::ptrdiff_t>(item.requests.size())));
        }
    }

    db::Database& database_;
    const Clock& clock_;
    const GroupCommitOptions options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Item> queue_;   // guarded by mutex_
    std::size_t waiting_ = 0;  // requests in queue_, guarded by mutex_
    bool stopping_ = false;    // guarded by mutex_
    std::thread thread_;
};

GroupCommit::GroupCommit(db::Database& database, const Clock& clock, GroupCommitOptions options)
    : worker_(std::make_unique<Worker>(database, clock, options)) {}
GroupCommit::~GroupCommit() = default;

std::future<GroupCommit::Outcome> GroupCommit::submit(std::vector<TransferRequest> requests) {
    return worker_->submit(std::move(requests));
}

}  // namespace gym::ledger
