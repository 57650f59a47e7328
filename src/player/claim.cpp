#include "gym/player/claim.hpp"

#include <algorithm>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"

namespace gym::player {
namespace {

constexpr const char* kSuffix = ".claim";
constexpr const char* kWithdrawnSuffix = ".withdrawn";  ///< of an empty file beside the claim's

}  // namespace

std::string_view to_string(Subject subject) noexcept {
    switch (subject) {
        case Subject::kTrainUnit:
            return "train_unit";
        case Subject::kAggregate:
            return "aggregate";
        case Subject::kConflict:
            return "conflict";
        case Subject::kReport:
            return "report";
        case Subject::kWithheld:
            return "withheld";
    }
    return "unknown";
}

std::string Claim::name() const {
    std::string unit = to_hex(protocol::unit_id(key).view());
    if (subject == Subject::kReport)
        return unit + "-report-" +
               to_hex(commit::sha256(protocol::encode(evidence.commitment)).view());
    if (subject == Subject::kWithheld) return unit + "-withheld-" + to_hex(other);
    if (subject != Subject::kConflict) return unit;
    return unit + "-" + to_hex(commit::sha256(other).view());
}

std::vector<Digest> blobs_of(const Claim& claim) {
    std::vector<Digest> out;
    for (const Digest& blob : {claim.program_blob, claim.base_state_blob, claim.momentum_blob})
        if (!blob.is_zero()) out.push_back(blob);
    if (claim.subject != Subject::kAggregate && !claim.dataset_blob.is_zero())
        out.push_back(claim.dataset_blob);
    for (const protocol::IncludedDelta& delta : claim.deltas)
        out.push_back(delta.delta_root);
    return out;
}

std::vector<game::OuterDelta> outer_deltas_of(const Claim& claim) {
    std::vector<game::OuterDelta> out;
    for (const protocol::IncludedDelta& delta : claim.deltas)
        out.push_back(game::outer_delta_of(delta));
    return out;
}

Result<std::unique_ptr<ClaimStore>> ClaimStore::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    std::unique_ptr<ClaimStore> store(new ClaimStore(directory));
    for (const auto& file : std::filesystem::directory_iterator(directory, code)) {
        if (file.path().extension() != kSuffix) continue;
        GYM_TRY(const Bytes bytes, read_file(file.path()));
        auto claim = decode_claim(bytes);
        if (!claim.ok()) return claim.error().in(file.path().string());
        store->claims_.push_back(std::make_shared<const Claim>(std::move(claim).value()));
    }
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    GYM_CHECK(store->read_marks());
    return store;
}

/// A mark without its claim was left by a process that ended between two removals.
Status ClaimStore::read_marks() {
    std::error_code code;
    std::set<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(directory_, code))
        if (file.path().extension() == kWithdrawnSuffix) found.insert(file.path().stem().string());
    if (code) return fail(ErrorCode::kIo, directory_.string() + ": " + code.message());
    for (const Shared& claim : claims_)
        if (found.erase(claim->name()) != 0) withdrawn_.insert(claim->name());
    for (const std::string& name : found)
        std::filesystem::remove(mark_of(name), code);
    return {};
}

std::filesystem::path ClaimStore::path_of(const Claim& claim) const {
    return directory_ / (claim.name() + kSuffix);
}

std::filesystem::path ClaimStore::mark_of(const std::string& name) const {
    return directory_ / (name + kWithdrawnSuffix);
}

Status ClaimStore::save(const Claim& claim) {
    GYM_CHECK(check(claim));
    const std::scoped_lock lock(mutex_);
    GYM_CHECK(write_file_atomic(path_of(claim), encode(claim), 0600));
    const auto added = std::make_shared<const Claim>(claim);
    std::erase_if(claims_,
                  [name = claim.name()](const Shared& other) { return other->name() == name; });
    claims_.push_back(added);
    return {};
}

Status ClaimStore::remove(const Claim& claim) {
    const std::scoped_lock lock(mutex_);
    const std::filesystem::path path = path_of(claim);
    std::error_code code;
    std::filesystem::remove(path, code);
    if (code) return fail(ErrorCode::kIo, path.string() + ": " + code.message());
    // The name as a value: `claim` may be one of these.
    const std::string name = claim.name();
    std::erase_if(claims_, [&](const Shared& other) { return other->name() == name; });
    if (withdrawn_.erase(name) != 0) std::filesystem::remove(mark_of(name), code);
    return {};
}

Status ClaimStore::withdraw(const Claim& claim) {
    const std::scoped_lock lock(mutex_);
    const std::string name = claim.name();
    const bool known =
        std::ranges::any_of(claims_, [&](const Shared& other) { return other->name() == name; });
    if (!known || withdrawn_.contains(name)) return {};
    GYM_CHECK(write_file_atomic(mark_of(name), ByteView(), 0600));
    withdrawn_.insert(name);
    return {};
}

bool ClaimStore::is_withdrawn(const Claim& claim) const {
    const std::scoped_lock lock(mutex_);
    return withdrawn_.contains(claim.name());
}

std::vector<ClaimStore::Shared> ClaimStore::list() const {
    const std::scoped_lock lock(mutex_);
    return claims_;
}

ClaimStore::Shared ClaimStore::find(const Claim& claim) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(
        claims_, [name = claim.name()](const Shared& other) { return other->name() == name; });
    return found == claims_.end() ? nullptr : *found;
}

bool ClaimStore::contains(const Claim& claim) const {
    return find(claim) != nullptr;
}

bool ClaimStore::has_any(Role role) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(claims_,
                               [role](const Shared& claim) { return claim->role == role; });
}

bool ClaimStore::needs(const Digest& blob) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(claims_, [&](const Shared& claim) {
        const std::vector<Digest> blobs = blobs_of(*claim);
        return std::ranges::find(blobs, blob) != blobs.end();
    });
}

}  // namespace gym::player
