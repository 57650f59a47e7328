#include "withheld_inputs.hpp"

#include "gym/commit/merkle.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/program/codec.hpp"

namespace gym::verifier {
namespace {

using game::Wanted;
using game::WithheldData;

/// Rounds of which tries are remembered: of others they begin anew.
constexpr std::size_t kRoundsMax = 64;
/// The length of a dataset is in its head, which is missing, too: one of its first chunks is asked
/// for.
constexpr std::uint64_t kTokenChunks = 1'024;
/// Of a dataset with a head; without one the tokens are all that there is.
constexpr std::uint32_t kTokens = 1;

std::uint64_t random_number() {
    const Digest random = crypto::random_digest();
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < sizeof out; ++i)
        out = out << 8 | random.data[i];
    return out;
}

std::uint64_t chunks_of(const program::Slot& slot) {
    return (program::size_bytes(slot) + commit::kChunkBytes - 1) / commit::kChunkBytes;
}

bool is_missing(const blob::BlobStore& store, const Digest& blob) {
    const auto has = store.has(blob);
    return has.ok() && !*has;
}

}  // namespace

WithheldData chunk_of_base(const program::Program& train, std::uint64_t random) {
    std::uint64_t all = 0;
    for (const program::Slot& slot : train.slots())
        if (slot.kind == program::SlotKind::kParam) all += chunks_of(slot);
    WithheldData out{Wanted::kBase, 0, all == 0 ? 0 : random % all};
    for (const program::Slot& slot : train.slots()) {
        if (slot.kind != program::SlotKind::kParam) continue;
        const std::uint64_t chunks = chunks_of(slot);
        if (out.chunk < chunks) break;
        out.chunk -= chunks;
        ++out.tensor;
    }
    return out;
}

bool is_want_of_inputs(ErrorCode code) noexcept {
    return code == ErrorCode::kNotFound || code == ErrorCode::kUnavailable ||
           code == ErrorCode::kTimeout || code == ErrorCode::kMismatch ||
           code == ErrorCode::kPermissionDenied;
}

Status withdraw_claims(player::ClaimStore& claims, const protocol::RoundTerms& record) {
    for (const auto& claim : claims.list()) {
        if (claim->subject != player::Subject::kWithheld) continue;
        GYM_TRY(const game::WithheldEvidence asked, player::withheld_evidence_of(*claim));
        const bool base = asked.data.what == Wanted::kBase &&
                          asked.record.base_state_root == record.base_state_root;
        const bool dataset =
            asked.data.what == Wanted::kDataset && asked.record.dataset_root == record.dataset_root;
        if (base || dataset) GYM_CHECK(claims.withdraw(*claim));
    }
    return {};
}

std::vector<WithheldData> WithheldInputs::missed(const records::VerifyTask& task,
                                                 const blob::BlobStore& store, TimePoint now) {
    std::vector<WithheldData> out;
    const Digest round = protocol::hash(task.record);
    if (tries_.size() >= kRoundsMax && !tries_.contains(round)) tries_.clear();
    Tries& tries = tries_.try_emplace(round, Tries{0, now}).first->second;
    ++tries.count;
    if (tries.asked || tries.count < kInputTries || now - tries.first < kInputWait) return out;
    if (task.inputs.dataset_blob && is_missing(store, *task.inputs.dataset_blob))
        out.push_back({Wanted::kDataset, kTokens, random_number() % kTokenChunks});
    if (!is_missing(store, task.inputs.base_state_blob)) return out;
    const auto bytes = store.get(task.inputs.program_blob);
    if (!bytes.ok()) return out;
    const auto train = program::decode(*bytes);
    if (train.ok()) out.push_back(chunk_of_base(*train, random_number()));
    return out;
}

void WithheldInputs::asked(const records::VerifyTask& task) {
    tries_[protocol::hash(task.record)].asked = true;
}

void WithheldInputs::found(const records::VerifyTask& task) {
    tries_.erase(protocol::hash(task.record));
}

}  // namespace gym::verifier
