#include <utility>

#include "gym/api/postgres.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/printable.hpp"
#include "gym/quality/nearest.hpp"
#include "gym/quality/novelty.hpp"
#include "gym/registry/licence.hpp"
#include "postgres_calls.hpp"

// Registration of datasets: what of the tokens was there before (src/quality) is asked of the
// registry under the lock of all registrations, so that of two copies only the first is new.
namespace gym::api {
namespace {

static_assert(quality::kLookupKeysMax <= registry::kDatasetKeysMax);
constexpr std::size_t kNameBytesMax = 128;

/// The terms, without looking at the tokens.
Status check_offer(const DatasetOffer& offer) {
    if (offer.name.empty() || offer.name.size() > kNameBytesMax)
        return fail(ErrorCode::kInvalidArgument, "the dataset's name must be 1 to 128 bytes long");
    if (!is_printable(offer.name))
        return fail(ErrorCode::kInvalidArgument,
                    "the dataset's name has a control character: others read it on a terminal");
    GYM_CHECK(registry::check_licence(offer.licence));
    const Amount most = registry::dataset_price_max();
    if (offer.price_wei_per_mtoken <= most) return {};
    return fail(ErrorCode::kOutOfRange, "the price is " + offer.price_wei_per_mtoken.to_tokens() +
                                            " tokens per million tokens of text, at most " +
                                            most.to_tokens());
}

registry::Dataset record_of(const DatasetOffer& offer, const blob::Dataset& decoded) {
    registry::Dataset out;
    out.root = decoded.root();
    out.owner = offer.owner;
    out.name = offer.name;
    out.licence = offer.licence;
    out.price_wei_per_mtoken = offer.price_wei_per_mtoken;
    out.tokens = decoded.tokens().size();
    out.vocabulary = decoded.vocabulary();
    return out;
}

/// Compares the sketch with all that is registered: fills in novelty and nearest dataset.
Status compare(db::Transaction& tx, const quality::DatasetSketch& sketch,
               registry::Dataset& dataset) {
    quality::KeyOwners owners;
    quality::Registered registered;
    GYM_TRY(registered.level_max, registry::sample_level_max(tx));
    registered.known =
        [&](std::span<const std::uint64_t> keys) -> Result<std::vector<std::uint64_t>> {
        GYM_TRY(const auto known, registry::known_keys(tx, keys));
        std::vector<std::uint64_t> out;
        out.reserve(known.size());
        for (const registry::KnownKey& one : known) {
            owners.emplace(one.key, one.dataset);
            out.push_back(one.key);
        }
        return out;
    };
    GYM_TRY(const quality::Novelty novelty, quality::novelty(sketch, registered));
    dataset.novelty_ppm = novelty.ppm;
    dataset.nearest.reset();
    const auto found = quality::nearest(sketch, owners);
    if (!found) return {};
    GYM_TRY(const Digest root, registry::dataset_root(tx, found->dataset));
    dataset.nearest = registry::NearestDataset{root, found->ppm};
    return {};
}

/// The record as it stands, if the root is registered. @errors kConflict with other terms.
Result<std::optional<AddedDataset>> registered_before(db::Transaction& tx,
                                                      const registry::Dataset& offered) {
    GYM_TRY(auto stored, registry::find_dataset(tx, offered.root));
    if (!stored) return std::optional<AddedDataset>();
    GYM_CHECK(registry::check_same_offer(*stored, offered));
    return std::optional(AddedDataset{*std::move(stored), false});
}

Result<AddedDataset> add_new(db::Transaction& tx, const quality::DatasetSketch& sketch,
                             registry::Dataset dataset) {
    GYM_CHECK(registry::lock_registrations(tx));
    GYM_TRY(const auto before, registered_before(tx, dataset));
    if (before) return *before;
    GYM_CHECK(compare(tx, sketch, dataset));
    AddedDataset out;
    GYM_TRY(out.is_new, registry::register_dataset(tx, dataset));
    GYM_TRY(out.dataset, registry::get_dataset(tx, dataset.root));
    GYM_CHECK(registry::add_keys(tx, quality::distinct_keys(sketch), out.dataset.number));
    return out;
}

}  // namespace

Result<AddedDataset> PostgresBackend::add_dataset(const DatasetOffer& offer) {
    GYM_CHECK(check_offer(offer));
    GYM_TRY(const auto decoded, blob::Dataset::decode(offer.file, offer.root));
    registry::Dataset dataset = record_of(offer, decoded);
    dataset.usefulness_ppm = options_.usefulness_default_ppm;
    dataset.registered_at_ms = clock_.now_ms();
    // Before the row that promises the bytes; also if the row is there, in case they were lost.
    GYM_TRY(dataset.blob, blobs_.put(offer.file));
    GYM_TRY(const auto before, calls::read(database_, options_, [&](db::Transaction& tx) {
                return registered_before(tx, dataset);
            }));
    if (before) return *before;
    // Seconds for large files: outside of the lock that others wait for.
    const quality::DatasetSketch sketch = quality::sketch(decoded.tokens());
    dataset.sample = registry::DatasetSample{
        sketch.level, static_cast<std::uint32_t>(sketch.chunks.size()), sketch.compared_tokens};
    return calls::write(database_, options_,
                        [&](db::Transaction& tx) { return add_new(tx, sketch, dataset); });
}

}  // namespace gym::api
