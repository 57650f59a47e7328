#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/ppm.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/dataset_parts.hpp"
#include "gym/registry/visibility.hpp"

namespace gym::registry {

/// The registered dataset that most of another's tokens are like.
struct NearestDataset {
    Digest root;
    std::uint32_t ppm = 0;  ///< of the sampled tokens; above 0
};

/// The parts of a dataset that were compared with others (quality::DatasetSketch).
struct DatasetSample {
    std::uint32_t level = 0;
    std::uint32_t chunks = 0;
    std::uint64_t compared_tokens = 0;
};

/// How a dataset's usefulness was measured: losses are the bits of a binary32.
struct DatasetMeasurement {
    Digest evaluation;
    Digest state_root;  ///< of the training state after the steps on the dataset
    std::uint32_t before_bits = 0;
    std::uint32_t after_bits = 0;
    std::uint32_t baseline_bits = 0;
    UnixMs measured_at_ms = 0;
};

struct Dataset {
    Digest root;  ///< blob::Dataset::root
    Digest blob;  ///< blob root of the token file
    Address owner;
    std::string name;
    std::string licence;  ///< an SPDX license expression; NOASSERTION: registered before one was
                          ///< required
    std::uint64_t tokens = 0;
    std::uint32_t vocabulary = 0;
    std::optional<Digest> tokenizer;  ///< root that the token file names; absent: it names none
    std::optional<Digest> manifest;   ///< its root; absent: nobody gave it; registration ignores it
    Amount price_wei_per_mtoken;      ///< per million tokens consumed by final units; zero: free
    Access access{.visibility = Visibility::kPublic, .allowed = {}};
    std::uint32_t novelty_ppm = kPpm;
    std::uint32_t usefulness_ppm = kPpm;
    /// novelty * usefulness / 10^6, computed by the database; registration ignores it.
    std::uint32_t quality_ppm = kPpm;
    std::optional<DatasetSample> sample;  ///< absent: registered before there were sketches
    /// Absent: nothing before it is like any of it, or the viewer may not see what is.
    std::optional<NearestDataset> nearest;
    /// Absent: usefulness is the network's default; registration ignores it.
    std::optional<DatasetMeasurement> measurement;
    /// Of a mix, in its order; then price and quality are theirs (mix_terms()), and registration
    /// wants its own as 0. Empty: no mix.
    std::vector<DatasetPart> parts;
    std::uint64_t number = 0;  ///< from 1 in the order of registration, which sets it
    UnixMs registered_at_ms = 0;
    /// The versions of names that it is, "zoo@2", newest first, at most kDatasetNamesMax.
    /// add_names() reads them, nothing else does.
    std::vector<std::string> names = {};

    /// For people: its newest name, or else the label that it was registered with.
    [[nodiscard]] const std::string& shown_name() const {
        return names.empty() ? name : names.front();
    }
};
inline constexpr std::uint32_t kDatasetNamesMax = 16;

/// The most that a million tokens may cost: 10^12 tokens of money. No product with it overflows.
[[nodiscard]] Amount dataset_price_max();

/// Holds all other registrations up until the transaction ends: what is registered does not change
/// between a lookup and what is stored on its account. Needs READ COMMITTED.
Status lock_registrations(db::Transaction& tx);

/// Registers a dataset under the next number; registering the same one again (same root, blob and
/// owner) changes nothing, its name neither.
/// @return whether it is new. @errors kConflict if the root belongs to someone else, or to the
/// same owner with another licence or price; kInvalidArgument for a record that the schema refuses.
Result<bool> register_dataset(db::Transaction& tx, const Dataset& dataset);
/// @errors kNotFound, also for one that the viewer may not see.
Result<Dataset> get_dataset(db::Transaction& tx, const Digest& root,
                            const Viewer& viewer = Viewer::service());
Result<std::optional<Dataset>> find_dataset(db::Transaction& tx, const Digest& root,
                                            const Viewer& viewer = Viewer::service());
/// @errors kConflict, as register_dataset(), if `offered` is not what `stored` is.
Status check_same_offer(const Dataset& stored, const Dataset& offered);
/// Who may see it from now on. What was fetched before stays with those who fetched it, and running
/// jobs continue. @errors kNotFound; kPermissionDenied if it belongs to another owner who lets
/// `owner` see it; kInvalidArgument as check_visibility().
Status set_dataset_access(db::Transaction& tx, const Digest& root, const Address& owner,
                          const Access& access);

struct DatasetFilter {
    std::optional<Address> owner;
    std::uint32_t limit = 100;  ///< at most 1,000
    std::uint32_t offset = 0;
    Viewer viewer = Viewer::service();
};
/// Newest first, those that the viewer may see.
Result<std::vector<Dataset>> list_datasets(db::Transaction& tx, const DatasetFilter& filter);

/// Keys that one statement asks for or writes; add_keys() makes as many as it needs.
inline constexpr std::size_t kDatasetKeysMax = 16'384;

struct KnownKey {
    std::uint64_t key = 0;
    std::uint64_t dataset = 0;  ///< number of the first that had it
};
/// Those of `keys` that are registered; looks at no other.
/// @param keys at most kDatasetKeysMax. @errors kOutOfRange for more.
Result<std::vector<KnownKey>> known_keys(db::Transaction& tx, std::span<const std::uint64_t> keys);
/// Assigns the keys of `keys` that are new to `dataset`.
Status add_keys(db::Transaction& tx, std::span<const std::uint64_t> keys, std::uint64_t dataset);
/// The highest sampling level of a registered dataset; 0 if there is none.
Result<std::uint32_t> sample_level_max(db::Transaction& tx);
/// @errors kNotFound.
Result<Digest> dataset_root(db::Transaction& tx, std::uint64_t number);

}  // namespace gym::registry
