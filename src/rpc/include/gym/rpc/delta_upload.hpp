#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "gym/blob/verified_blob.hpp"
#include "gym/crypto/key.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/mirror/upload.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::rpc {

/// Brings a worker's deltas to where they are needed: of a public job to as many mirrors as the
/// coordinator says, which is one unless it is older; the worker then names them. Otherwise, and
/// where fewer take it, to the coordinator. Thread-safe.
class DeltaUpload {
  public:
    /// One mirror that loses a delta must cost no worker its pay: there has to be another one that
    /// can copy it.
    static constexpr std::size_t kMirrorsMin = 2;

    /// References must outlive it.
    DeltaUpload(Coordinator& coordinator, const crypto::PrivateKey& key, const Clock& clock)
        : coordinator_(coordinator), key_(key), clock_(clock) {}

    /// @param known what downloads have measured of mirrors: the near ones are asked first.
    /// @errors those of Coordinator::put_blob().
    Status send(const blob::VerifiedBlob& delta, const std::vector<mirror::SourceReport>& known);
    /// Sends it to the coordinator, whatever mirrors have.
    Status send_here(const blob::VerifiedBlob& delta);
    /// Sends the coordinator what no mirror gave it; does not ask long after the last delta that
    /// was named, or the start. @param delta of a root, if it is here.
    using FindDelta = std::function<Result<blob::VerifiedBlob>(const Digest& root)>;
    Status send_wanted(const FindDelta& delta);

    struct Traffic {
        std::uint64_t mirror_bytes = 0;
        std::uint64_t coordinator_bytes = 0;
    };
    [[nodiscard]] Traffic traffic() const { return {mirror_bytes_, coordinator_bytes_}; }

  private:
    /// Whether the coordinator knows now which mirrors have it.
    [[nodiscard]] Result<bool> place(const blob::VerifiedBlob& delta,
                                     const std::vector<mirror::SourceReport>& known);

    Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    const Clock& clock_;
    mirror::Uploader uploader_;
    /// A round waits for a delta for minutes.
    static constexpr std::chrono::hours kAskFor{1};
    std::atomic<std::chrono::steady_clock::time_point> asks_until_{
        std::chrono::steady_clock::now() + kAskFor};
    std::atomic<std::uint64_t> mirror_bytes_{0}, coordinator_bytes_{0};
};

}  // namespace gym::rpc
