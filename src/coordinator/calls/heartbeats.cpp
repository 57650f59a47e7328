#include "calls/heartbeats.hpp"

#include <algorithm>
#include <map>

#include "gym/registry/challenges.hpp"

namespace gym::coordinator {
namespace {

using registry::AnswerOutcome;
using registry::ArrivedAnswer;

std::string name_of(const Digest& nonce) {
    return "challenge " + short_id(nonce);
}

/// Why an answer counts nothing, in one sentence; empty if it counts.
std::string refusal(const AnswerOutcome outcome, const protocol::UptimeChallenge& challenge,
                    UnixMs at_ms) {
    const std::string name = name_of(challenge.nonce);
    switch (outcome) {
        case AnswerOutcome::kCounted:
        case AnswerOutcome::kRepeated:  // a call whose reply was lost comes again
            return {};
        case AnswerOutcome::kLate:
            return name + " was answered " + std::to_string(at_ms - challenge.deadline_ms) +
                   " ms after its deadline, which was " +
                   std::to_string(challenge.deadline_ms - challenge.issued_ms) +
                   " ms after its issue";
        case AnswerOutcome::kWithdrawn:
            return name + " was withdrawn: no coordinator was there meanwhile";
        case AnswerOutcome::kUnknown:
            break;
    }
    return name + " was not put to this node";
}

/// Counts the answers in `beats`. @return why those that count nothing do not, by their place.
Result<std::map<std::size_t, std::string>> take_answers(const Context& context, db::Transaction& tx,
                                                        std::span<const Beat> beats) {
    std::map<std::size_t, std::string> refused;
    std::vector<ArrivedAnswer> all;
    for (const Beat& beat : beats)
        if (beat.answer) all.push_back({beat.node, *beat.answer, beat.at_ms});
    if (all.empty()) return refused;
    GYM_TRY(const auto known, registry::find_challenges(tx, all));
    std::vector<ArrivedAnswer> good;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < beats.size(); ++i) {
        if (!beats[i].answer) continue;
        const auto challenge = known.find(beats[i].answer->nonce);
        if (challenge == known.end()) {
            refused[i] = name_of(beats[i].answer->nonce) + " was not put to this node";
            continue;
        }
        const Status is_signed = protocol::check_uptime(context.options.domain, beats[i].node,
                                                        challenge->second, *beats[i].answer);
        if (!is_signed.ok()) {
            refused[i] = name_of(challenge->first) + ": " + is_signed.error().message;
            continue;
        }
        good.push_back({beats[i].node, *beats[i].answer, beats[i].at_ms});
        places.push_back(i);
    }
    GYM_TRY(const auto outcomes, registry::answer_challenges(tx, good));
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string why = refusal(outcomes[i], known.at(good[i].answer.nonce), good[i].at_ms);
        if (!why.empty()) refused[places[i]] = std::move(why);
    }
    return refused;
}

/// The last moment at which each node was there.
std::vector<registry::Sighting> merge(std::span<const Beat> beats,
                                      const std::vector<registry::Sighting>& unmarked) {
    std::map<Address, UnixMs> last;
    for (const registry::Sighting& seen : unmarked)
        last[seen.node] = std::max(last[seen.node], seen.at_ms);
    for (const Beat& beat : beats)
        last[beat.node] = std::max(last[beat.node], beat.at_ms);
    std::vector<registry::Sighting> out;
    out.reserve(last.size());
    for (const auto& [node, at_ms] : last)
        out.push_back({node, at_ms});
    return out;
}

Result<BeatAnswers> take(const Context& context, db::Transaction& tx, std::span<const Beat> beats,
                         const std::vector<registry::Sighting>& sightings) {
    GYM_TRY(const auto marked, registry::see_nodes(tx, sightings));
    GYM_TRY(const auto refused, take_answers(context, tx, beats));
    GYM_TRY(const auto challenges, registry::open_challenges(tx, sightings));
    std::vector<Address> nodes;
    for (const registry::Sighting& seen : sightings)
        nodes.push_back(seen.node);
    GYM_TRY(const auto standings, registry::standings_of(tx, nodes));
    BeatAnswers out;
    for (const registry::Sighting& seen : sightings)
        if (standings.contains(seen.node) && !marked.contains(seen.node))
            out.unmarked.push_back(seen);
    for (std::size_t i = 0; i < beats.size(); ++i) {
        const auto standing = standings.find(beats[i].node);
        if (standing == standings.end()) {
            out.answers.emplace_back(
                fail(ErrorCode::kNotFound, "node " + beats[i].node.hex() + " is not registered"));
            continue;
        }
        records::HeartbeatAnswer answer;
        answer.excluded_because = standing->second.excluded_because.value_or("");
        if (const auto why = refused.find(i); why != refused.end())
            answer.answer_refused = why->second;
        if (const auto open = challenges.find(beats[i].node); open != challenges.end())
            answer.challenge = open->second;
        answer.server_ms = context.now();
        out.answers.emplace_back(std::move(answer));
    }
    return out;
}

}  // namespace

BeatAnswers heartbeats(const Context& context, std::span<const Beat> beats,
                       std::vector<registry::Sighting> unmarked) {
    const auto sightings = merge(beats, unmarked);
    const bool answered = std::any_of(beats.begin(), beats.end(),
                                      [](const Beat& beat) { return beat.answer.has_value(); });
    db::TransactOptions options;
    options.idempotent = true;
    // A crash of the database may forget that a node was there a moment ago, but no answer.
    options.disk_wait = answered ? db::DiskWait::kInCommit : db::DiskWait::kNone;
    auto taken = context.deps.database.transact(
        [&](db::Transaction& tx) { return take(context, tx, beats, sightings); }, options);
    if (taken.ok()) return std::move(*taken);
    BeatAnswers out;
    out.answers.assign(beats.size(), taken.error());
    out.unmarked = std::move(unmarked);
    return out;
}

Result<records::HeartbeatAnswer> heartbeat(const Context& context, const Beat& beat) {
    const BeatAnswers out = heartbeats(context, {&beat, 1}, {});
    for (const registry::Sighting& seen : out.unmarked)
        GYM_CHECK(context.transact_idempotent(
            [&](db::Transaction& tx) { return registry::heartbeat(tx, seen.node, seen.at_ms); }));
    return out.answers.front();
}

}  // namespace gym::coordinator
