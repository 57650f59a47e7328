#include "gym/player/claim.hpp"

#include <algorithm>

#include "gym/commit/codec.hpp"
#include "gym/common/file.hpp"

namespace gym::player {
namespace {

constexpr std::uint16_t kFormat = 2;
constexpr std::uint32_t kPartBytesMax = 64U << 20;
constexpr std::uint32_t kPathMax = 64;
constexpr const char* kSuffix = ".claim";

Result<Role> decode_role(commit::Decoder& in) {
    GYM_TRY(const std::uint8_t role, in.u8());
    if (role == static_cast<std::uint8_t>(Role::kDefend)) return Role::kDefend;
    if (role == static_cast<std::uint8_t>(Role::kChallenge)) return Role::kChallenge;
    return fail(ErrorCode::kMalformed, "a claim has no role " + std::to_string(role));
}

Result<game::Evidence> decode_evidence(commit::Decoder& in) {
    game::Evidence evidence;
    GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
    GYM_TRY(evidence.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const ByteView record, in.bytes(kPartBytesMax));
    GYM_TRY(evidence.record, protocol::decode_round_record(record));
    GYM_TRY(evidence.index, in.u32());
    GYM_TRY(const std::uint32_t count, in.count(kPathMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(const Digest sibling, in.digest());
        evidence.path.push_back(sibling);
    }
    return evidence;
}

}  // namespace

Bytes encode(const Claim& claim) {
    commit::Encoder out;
    out.u16(kFormat).u8(static_cast<std::uint8_t>(claim.role));
    out.fixed(claim.key.job_id).u64(claim.key.round).u32(claim.key.slot).u32(claim.key.attempt);
    out.bytes(protocol::encode(claim.evidence.commitment));
    out.bytes(protocol::encode(claim.evidence.record)).u32(claim.evidence.index);
    out.u32(static_cast<std::uint32_t>(claim.evidence.path.size()));
    for (const Digest& sibling : claim.evidence.path)
        out.fixed(sibling);
    out.fixed(claim.program_blob).fixed(claim.dataset_blob).fixed(claim.base_state_blob);
    out.u64(claim.from_block).u64(claim.epoch_block).fixed(claim.salt);
    return out.take();
}

Result<Claim> decode_claim(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "claim format " + std::to_string(format));
    Claim claim;
    GYM_TRY(claim.role, decode_role(in));
    GYM_TRY(claim.key.job_id, in.digest());
    GYM_TRY(claim.key.round, in.u64());
    GYM_TRY(claim.key.slot, in.u32());
    GYM_TRY(claim.key.attempt, in.u32());
    GYM_TRY(claim.evidence, decode_evidence(in));
    GYM_TRY(claim.program_blob, in.digest());
    GYM_TRY(claim.dataset_blob, in.digest());
    GYM_TRY(claim.base_state_blob, in.digest());
    GYM_TRY(claim.from_block, in.u64());
    GYM_TRY(claim.epoch_block, in.u64());
    GYM_TRY(claim.salt, in.digest());
    GYM_CHECK(in.expect_end());
    return claim;
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
    return store;
}

std::filesystem::path ClaimStore::path_of(const protocol::UnitKey& key) const {
    return directory_ / (to_hex(protocol::unit_id(key).view()) + kSuffix);
}

Status ClaimStore::save(const Claim& claim) {
    const std::scoped_lock lock(mutex_);
    GYM_CHECK(write_file_atomic(path_of(claim.key), encode(claim), 0600));
    std::erase_if(claims_, [&](const Shared& other) { return other->key == claim.key; });
    claims_.push_back(std::make_shared<const Claim>(claim));
    return {};
}

Status ClaimStore::remove(const protocol::UnitKey& key) {
    const std::scoped_lock lock(mutex_);
    std::error_code code;
    std::filesystem::remove(path_of(key), code);
    if (code) return fail(ErrorCode::kIo, path_of(key).string() + ": " + code.message());
    std::erase_if(claims_, [&](const Shared& other) { return other->key == key; });
    return {};
}

std::vector<ClaimStore::Shared> ClaimStore::list() const {
    const std::scoped_lock lock(mutex_);
    return claims_;
}

bool ClaimStore::needs(const Digest& blob) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(claims_, [&](const Shared& claim) {
        return claim->program_blob == blob || claim->dataset_blob == blob ||
               claim->base_state_blob == blob;
    });
}

}  // namespace gym::player
