#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/registry/delta_places.hpp"

namespace gym::coordinator {

/// Has each delta that a worker sent to one mirror fetched by a second one, which is told where it
/// is by an order with a ticket of the coordinator. The bytes go from mirror to mirror. A mirror
/// counts as having it after it has shown the list of its pieces and, of its first copy and of one
/// in kShownEvery, a piece drawn at random. One that refuses, stalls or lies is left for a while,
/// and another is told, as long as a round needs the delta. What was ordered is in the database:
/// another instance continues. References must outlive it. Thread-safe.
class DeltaCopier {
  public:
    static constexpr std::uint64_t kShownEvery = 8;

    DeltaCopier(db::Database& database, const Clock& clock, crypto::Eip712Domain domain,
                const crypto::PrivateKey& key, std::uint64_t blob_bytes_max)
        : database_(database),
          clock_(clock),
          domain_(std::move(domain)),
          key_(key),
          blob_bytes_max_(blob_bytes_max) {}

    /// The network's, of which those that lack a delta are told to fetch it.
    void set_mirrors(std::vector<std::string> mirrors);
    /// Orders what is due, and looks after what was ordered. @return how many deltas are at two
    /// mirrors now. @errors those of the database.
    Result<std::uint32_t> pass(const std::stop_token& stop);
    /// Of pieces that mirrors showed.
    [[nodiscard]] std::uint64_t bytes_received() const { return bytes_received_; }

  private:
    /// kUnderWay: also while no mirror can be told.
    enum class Outcome { kCopied, kUnderWay, kFailed };
    struct Step {
        Outcome outcome = Outcome::kFailed;
        std::string why = {};       ///< of kFailed
        std::int64_t left_ms = 0;   ///< of kFailed: for so long the mirror is told nothing
        std::int64_t pause_ms = 0;  ///< of kUnderWay: until it is looked after again
    };

    [[nodiscard]] Result<bool> step(registry::DeltaCopy copy, const std::stop_token& stop);
    [[nodiscard]] Step look_after(registry::DeltaCopy& copy, const std::stop_token& stop);
    [[nodiscard]] Result<std::uint64_t> size_at_source(const registry::DeltaCopy& copy,
                                                       const std::stop_token& stop);
    /// Whether the mirror shows what only one that has the blob can.
    [[nodiscard]] Status check(const std::string& mirror, const Digest& root,
                               const std::stop_token& stop);
    /// The next mirror that lacks it; empty: there is none.
    [[nodiscard]] std::string choose(const registry::DeltaCopy& copy);
    void leave(const std::string& mirror, std::int64_t ms);
    [[nodiscard]] bool must_show(const std::string& mirror);
    [[nodiscard]] Result<std::shared_ptr<mirror::Fetcher>> fetcher_of(const std::string& mirror);

    db::Database& database_;
    const Clock& clock_;
    const crypto::Eip712Domain domain_;
    const crypto::PrivateKey& key_;
    const std::uint64_t blob_bytes_max_;

    std::atomic<std::uint64_t> bytes_received_{0};
    std::mutex mutex_;
    std::vector<std::string> mirrors_;
    std::set<std::string> proven_;  ///< mirrors that showed a piece since they were left last
    std::map<std::string, UnixMs> left_until_ms_;
    std::map<std::string, std::shared_ptr<mirror::Fetcher>> fetchers_;
    std::map<Digest, std::uint64_t> sizes_;  ///< of deltas whose copy is under way
};

}  // namespace gym::coordinator
