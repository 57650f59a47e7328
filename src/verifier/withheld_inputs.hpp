#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/game/withheld.hpp"
#include "gym/program/program.hpp"
#include "gym/records/task.hpp"

namespace gym::verifier {

/// Tries of a unit that fail for want of its inputs before these are asked for on chain.
inline constexpr unsigned kInputTries = 5;

/// A chunk of the parameters of a program's state, as `random` chooses among all.
[[nodiscard]] game::WithheldData chunk_of_base(const program::Program& train, std::uint64_t random);

/// Inputs of units that their coordinator does not give. Not thread-safe.
class WithheldInputs {
  public:
    /// Notes a try that failed. @return what to ask for on chain, with the try that makes them
    /// kInputTries, and no other: a chunk of each input that `store` does not have. Nothing if the
    /// program is not there, by which a chunk of the state is chosen.
    std::vector<game::WithheldData> missed(const records::VerifyTask& task,
                                           const blob::BlobStore& store);
    /// The unit could be run.
    void found(const Digest& unit) { tries_.erase(unit); }

  private:
    std::map<Digest, unsigned> tries_;  ///< by unit
};

}  // namespace gym::verifier
