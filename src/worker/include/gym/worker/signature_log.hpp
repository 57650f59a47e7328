#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::worker {

/// Commitments that the node's key has signed.
struct Signed {
    Digest round_record;
    Digest digest;  ///< protocol::signing_digest()

    friend bool operator==(const Signed&, const Signed&) = default;
};

/// Every (job, round, slot, attempt) that this node ever signed for, kept when the unit itself is
/// long forgotten: two different commitments to one slot would cost the whole stake, whatever a
/// coordinator asks for a second time. One file a job, lines of a fixed size with a checksum,
/// appended and synced before the signature leaves the process. Not thread-safe.
class SignatureLog {
  public:
    /// @errors kIo.
    static Result<SignatureLog> open(const std::filesystem::path& directory);

    /// The signature made for `unit`. @errors kIo; kMalformed naming a damaged file.
    [[nodiscard]] Result<std::optional<Signed>> find(const protocol::UnitKey& unit);
    /// Notes what is about to be signed. Noting the same again succeeds.
    /// @errors kConflict: something else was signed for `unit`; as find().
    Status add(const protocol::UnitKey& unit, const Signed& what);

  private:
    using Slots = std::map<protocol::UnitKey, Signed>;
    explicit SignatureLog(std::filesystem::path directory) : directory_(std::move(directory)) {}
    [[nodiscard]] std::filesystem::path path_of(const Digest& job_id) const;
    Result<Slots*> load(const Digest& job_id);
    std::filesystem::path directory_;
    std::optional<Digest> job_;  ///< whose slots are in memory
    Slots slots_;
};

}  // namespace gym::worker
