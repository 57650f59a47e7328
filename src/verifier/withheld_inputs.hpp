#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/result.hpp"
#include "gym/game/withheld.hpp"
#include "gym/player/claim.hpp"
#include "gym/program/program.hpp"
#include "gym/records/task.hpp"

namespace gym::verifier {

/// Tries of a round's units that fail for want of their inputs before these are asked for on chain,
/// and the time from the first of them: an outage of a coordinator's blobs costs it no games.
inline constexpr unsigned kInputTries = 5;
inline constexpr std::chrono::minutes kInputWait{30};

/// Whether a try fails for what the coordinator gives, or does not give. It may answer with other
/// bytes, or refuse. A full disk of the verifier is another matter.
[[nodiscard]] bool is_want_of_inputs(ErrorCode code) noexcept;

/// A chunk of the parameters of a program's state, as `random` chooses among all.
[[nodiscard]] game::WithheldData chunk_of_base(const program::Program& train, std::uint64_t random);

/// Withdraws the claims that ask for inputs of this record's units: they are there.
/// @errors of ClaimStore::withdraw().
Status withdraw_claims(player::ClaimStore& claims, const protocol::RoundTerms& record);

/// Inputs of rounds that their coordinator does not give. Not thread-safe.
class WithheldInputs {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// Notes a try that failed. @return what to ask for on chain, once there are kInputTries and
    /// the first is kInputWait ago, until asked(): a chunk of each input that `store` does not
    /// have. Not of the state if the program is not there, by which its chunk is chosen.
    std::vector<game::WithheldData> missed(const records::VerifyTask& task,
                                           const blob::BlobStore& store, TimePoint now);
    /// Nothing more is asked for in the task's round.
    void asked(const records::VerifyTask& task);
    /// A unit of the task's round could be run.
    void found(const records::VerifyTask& task);

  private:
    struct Tries {
        unsigned count = 0;
        TimePoint first;
        bool asked = false;
    };
    std::map<Digest, Tries> tries_;  ///< by round record
};

}  // namespace gym::verifier
