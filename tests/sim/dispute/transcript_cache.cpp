#include "transcript_cache.hpp"

namespace gym::game::sim {
namespace {

Result<TranscriptCache::Reached> after(GameTranscript transcript, const Move& move) {
    GYM_CHECK(transcript.play(move));
    return TranscriptCache::Reached(std::move(transcript));
}

Digest nameless(Cursor cursor) {
    cursor.node = {};
    return hash_of(cursor);
}

}  // namespace

TranscriptCache::Reached::Reached(GameTranscript reached)
    : transcript(std::move(reached)),
      at(hash_of(transcript.at())),
      plan(transcript.at().stage == Stage::kUnit ? nameless(transcript.at()) : at) {}

const TranscriptCache::Reached* TranscriptCache::begin(const UnitFacts& facts,
                                                       const Cursor& start) {
    // Its frame is the hash of the facts, its node the name of the unit.
    const auto key = std::pair{start.frame, start.node};
    const auto known = begun_.find(key);
    if (known != begun_.end()) return &known->second;
    return &begun_.emplace(key, Reached(GameTranscript(facts, start))).first->second;
}

Result<const TranscriptCache::Reached*> TranscriptCache::play(
    const Reached* from, const std::shared_ptr<const SentMove>& sent) {
    auto known = played_.find({from, sent});
    if (known == played_.end())
        known = played_.emplace(std::pair{from, sent}, after(from->transcript, sent->move)).first;
    if (!known->second.ok()) return known->second.error();
    return &*known->second;
}

}  // namespace gym::game::sim
