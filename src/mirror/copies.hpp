#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gym/mirror/copy.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/mirror/piece_cache.hpp"
#include "gym/mirror/pull_through.hpp"

namespace gym::mirror {

/// Fetches blobs whole from other mirrors, in threads of its own, and keeps them as uploads. Only
/// peers that the operator named are asked. What was under way when the process ended is ordered
/// again by whoever ordered it. Thread-safe.
class Copies {
  public:
    static constexpr std::size_t kAtOnce = 4;
    static constexpr std::size_t kWaitingMax = 256;  ///< those under way included

    /// `cache` must outlive it. @errors kInvalidArgument, as Fetcher::create().
    [[nodiscard]] static Result<std::unique_ptr<Copies>> create(const PullOptions& options,
                                                                PieceCache& cache,
                                                                const std::stop_token& stop);
    ~Copies();
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;

    /// Begins to copy the blob, or says that it is under way; a failure is told once. If
    /// `source` is not a peer of this mirror, it asks all its peers instead.
    /// @errors kPermissionDenied: this mirror has no peers; kUnavailable: too many wait;
    /// kMismatch: the last try failed, and why.
    [[nodiscard]] Result<CopyState> order(const Digest& root, std::uint64_t size_bytes,
                                          const std::string& source);
    /// Of pieces that arrived.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    struct Copy {
        Digest root;
        std::uint64_t size_bytes = 0;
        Fetcher* from = nullptr;
    };
    struct Progress {
        bool failed = false;
        std::string why;
    };

    Copies(PieceCache& cache, const PullOptions& options);
    void work(const std::stop_token& stop);
    [[nodiscard]] Status fetch(const Copy& copy, const std::stop_token& stop);
    void note_failure(const Digest& root, const Error& error);

    PieceCache& cache_;
    const std::uint64_t bytes_max_;
    const std::chrono::seconds kept_;
    std::chrono::milliseconds retry_{0};
    std::map<std::string, std::unique_ptr<Fetcher>> peers_;  ///< each alone, by trimmed_url()
    std::unique_ptr<Fetcher> all_;
    std::atomic<std::uint64_t> bytes_{0};

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Copy> waiting_;
    std::map<Digest, Progress> known_;  ///< those that wait, are under way, or failed
    std::deque<Digest> failed_;         ///< oldest first, kWaitingMax at most
    std::stop_source ended_;
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop_;
    std::vector<std::jthread> threads_;  // last: they use everything above
};

}  // namespace gym::mirror
