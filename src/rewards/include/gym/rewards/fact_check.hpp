#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/registry/orders.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/rewards/epoch_file.hpp"

// Compares the credits of an epoch with public records of jobs and units. check_epoch_file() checks
// a file in itself.
namespace gym::rewards {

/// A provider of a job on a mix, by the terms of the job's submission.
struct DataPartFacts {
    Digest root;
    Address owner;
    std::uint64_t tokens = 0;  ///< of the mix that are its own
    Amount price_wei_per_mtoken;
    std::uint32_t quality_ppm = 0;
};

struct JobFacts {
    Address owner;
    Amount price_wei_per_pflop;
    /// FLOPs of a step, counted from the job's program. 0: unknown.
    std::uint64_t flops_per_step = 0;
    std::uint64_t steps_per_unit = 0;  ///< at most: a slow worker's unit may have fewer
    Address data_owner;
    Amount data_price_wei_per_mtoken;
    std::uint32_t data_quality_ppm = 0;
    std::vector<DataPartFacts> data_parts = {};      ///< in the mix's order; empty: it is no mix
    std::vector<registry::StoredOrder> orders = {};  ///< that its owner signed
};

struct UnitFacts {
    Digest id;
    bool is_train = false;
    protocol::UnitState state = protocol::UnitState::kAssigned;
    Address worker, owner;
    std::uint64_t flops = 0;
    std::uint64_t tokens = 0;
    std::string reason_code = {};  ///< why it ended in this state; may be empty
};

/// A source of public records. Every method: @errors kNotFound for an unknown id, and the errors of
/// the source.
class FactSource {
  public:
    virtual ~FactSource() = default;
    virtual Result<JobFacts> job(const Digest& id) = 0;
    /// All units of a round, in whatever state.
    virtual Result<std::vector<UnitFacts>> units(const Digest& job_id, std::uint64_t round) = 0;
    /// The verifiers with accepted reports on the unit, one entry for each report.
    virtual Result<std::vector<Address>> accepted_reports(const Digest& unit) = 0;
    /// The decided prefixes of a round's units.
    virtual Result<std::vector<registry::Prefix>> prefixes(const Digest& job_id,
                                                           std::uint64_t round) = 0;
    /// The state of a credit for a final unit, or a verified prefix, that no file has yet; nothing
    /// if it waits for nothing.
    virtual Result<std::optional<CreditState>> waiting_credit(const Digest& unit) = 0;
};

/// Compares the last of `files` (epochs 1, 2, .. without a gap; those before it say what was paid
/// already) with the records: units that are not final, repeated, mispriced or another's, counts
/// that are not the unit's, final units and verified prefixes of its rounds without a credit,
/// bonuses and fees on more than there was, owners that pay another's units. One sentence a
/// deviation, in the order of the file's credits; empty if all holds. @errors those of the source.
[[nodiscard]] Result<std::vector<std::string>> check_facts(const std::vector<EpochFile>& files,
                                                           FactSource& facts);

}  // namespace gym::rewards
