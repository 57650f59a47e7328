#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "gym/rewards/epoch_file.hpp"
#include "gym/rewards/settlement_chain.hpp"

// What JobEscrow's caps leave of an epoch, so that no epoch is closed whose release it refuses.
namespace gym::rewards {

using RoundName = std::pair<Digest, std::uint64_t>;  // job and round

struct EpochChoice {
    std::vector<FileCredit> credits;
    std::set<RoundName> held;  ///< rounds whose credits wait for a later epoch
};

using PayerOf = std::function<Result<Address>(const FileCredit&)>;

/// Whole rounds, in the order in which their first credits stand, as many as the caps allow. A
/// round that is above a cap by itself keeps no other waiting; if there is nothing else it is taken
/// alone, so that its epoch says what it waits for. @errors of `payer_of`.
[[nodiscard]] Result<EpochChoice> choose_rounds(std::vector<FileCredit> credits,
                                                const ReleaseCaps& caps, const PayerOf& payer_of);

}  // namespace gym::rewards
