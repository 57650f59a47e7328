#include "gym/verifier/round_watch.hpp"

#include <algorithm>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/common/file.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::verifier {
namespace {

constexpr std::uint16_t kRoundFormat = 1;
constexpr std::uint32_t kPartBytesMax = 64U << 20;
constexpr const char* kSuffix = ".round";

std::string differ(const std::string& what, const Digest& next, const Digest& committed) {
    return what + " is " + next.hex() + ", the aggregate that was committed to made " +
           committed.hex();
}

}  // namespace

Bytes encode(const WatchedRound& round) {
    commit::Encoder out;
    out.u16(kRoundFormat).bytes(protocol::encode(round.record));
    out.bytes(protocol::encode(round.commitment));
    protocol::encode_included(round.deltas, out);
    return out.take();
}

Result<WatchedRound> decode_watched_round(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kRoundFormat)
        return fail(ErrorCode::kMalformed, "watched round format " + std::to_string(format));
    WatchedRound out;
    GYM_TRY(const ByteView record, in.bytes(kPartBytesMax));
    GYM_TRY(out.record, protocol::decode_round_record(record));
    GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
    GYM_TRY(out.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(out.deltas, protocol::decode_included(in));
    GYM_CHECK(in.expect_end());
    return out;
}

NextRecordAudit audit_next_record(const WatchedRound& round, ByteView next) {
    NextRecordAudit out;
    const std::string name = "the record of round " + std::to_string(round.record.round + 1);
    const protocol::UnitCommitment& made = round.commitment.commitment;
    const auto head = protocol::read_round_head(next);
    if (!head.ok()) {
        out.contradictions.push_back(name + " is none: " + head.error().message);
        return out;  // the chain's rules refuse it, too, and no node works on it
    }
    const bool follows = head->job_id == round.record.job_id && head->round != 0 &&
                         head->round - 1 == round.record.round;
    if (!follows) {
        out.contradictions.push_back(name + " does not continue from the record of round " +
                                     std::to_string(round.record.round));
        return out;  // the chain's rules compare only records of consecutive rounds
    }
    const Digest before = protocol::hash(round.record);
    if (head->previous_record != before)
        out.contradictions.push_back(
            differ("the record before it in " + name, head->previous_record, before));
    if (head->base_state_root != made.final_state_root)
        out.contradictions.push_back(
            differ("the base state in " + name, head->base_state_root, made.final_state_root));
    if (head->momentum_root != made.delta_root)
        out.contradictions.push_back(
            differ("the momentum in " + name, head->momentum_root, made.delta_root));
    out.conflict = !out.contradictions.empty();
    const auto record = protocol::decode_round_record(next);
    if (!record.ok())
        out.contradictions.push_back(name +
                                     " is not as records are written: " + record.error().message);
    else if (record->included != round.deltas)
        out.contradictions.push_back(name + " says that the aggregate was made from " +
                                     std::to_string(record->included.size()) +
                                     " deltas, which are not the " +
                                     std::to_string(round.deltas.size()) + " that were shown");
    return out;
}

std::filesystem::path RoundWatch::path_of(const protocol::UnitKey& unit) const {
    return directory_ / (to_hex(protocol::unit_id(unit).view()) + kSuffix);
}

Result<RoundWatch> RoundWatch::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    RoundWatch out(directory);
    for (const auto& file : std::filesystem::directory_iterator(directory, code)) {
        if (file.path().extension() != kSuffix) continue;
        GYM_TRY(const Bytes bytes, read_file(file.path()));
        auto round = decode_watched_round(bytes);
        if (!round.ok()) return round.error().in(file.path().string());
        out.rounds_.push_back(std::move(*round));
    }
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    std::ranges::sort(out.rounds_, {}, [](const auto& round) { return round.record.round; });
    return out;
}

Result<WatchedRound> RoundWatch::add(const WatchedRound& round) {
    const auto known = std::ranges::find(rounds_, round.unit(), &WatchedRound::unit);
    if (known != rounds_.end()) return *known;
    while (rounds_.size() >= kRoundsMax)
        GYM_CHECK(remove(rounds_.front().unit()));
    GYM_CHECK(write_file_atomic(path_of(round.unit()), encode(round), 0600));
    rounds_.push_back(round);
    return round;
}

Status RoundWatch::remove(const protocol::UnitKey& unit) {
    const std::filesystem::path path = path_of(unit);
    std::error_code code;
    std::filesystem::remove(path, code);
    if (code) return fail(ErrorCode::kIo, path.string() + ": " + code.message());
    std::erase_if(rounds_, [&](const WatchedRound& round) { return round.unit() == unit; });
    return {};
}

}  // namespace gym::verifier
