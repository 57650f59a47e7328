#include "dispute_client.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/game/calldata.hpp"
#include "gym/game/state.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/protocol/report_claim.hpp"

namespace gym::player {
namespace {

/// Other ids under which something that failed is tried again.
constexpr int kRepeatsMax = 8;

constexpr std::uint64_t kWithdrawGas = 50'000;
constexpr std::uint64_t kTipWei = 1'000'000'000;  ///< a gas: what nodes ask for at least
constexpr std::uint64_t kWorthTransactions = 50;

std::string describe(const OpenGame& game) {
    const game::Cursor& at = game.transcript.at();
    std::string where = std::string(game::to_string(at.stage));
    if (game.transcript.step()) where += fmt::format(", step {}", game.transcript.step()->step);
    if (at.leaves > 1)
        where += fmt::format(", node {} of height {} of {} leaves", at.index, at.height, at.leaves);
    return where;
}

/// What `id` is called when it is tried for the `repeat`-th time after the first.
std::string repeated(const std::string& id, int repeat) {
    return repeat == 0 ? id : fmt::format("{}#{}", id, repeat);
}

std::string move_id(const Digest& game, const Digest& position) {
    return "dispute-move:" + game.hex() + ":" + position.hex();
}

}  // namespace

std::vector<WithheldGame> withheld_games_of(
    std::span<const LoggedEvent> events,
    FunctionRef<void(const Digest& game, const std::string& why)> unreadable) {
    std::vector<WithheldGame> out;
    for (const LoggedEvent& logged : events) {
        const auto* opened = std::get_if<contracts::Opened>(&logged.event);
        if (opened == nullptr) continue;
        auto call = game::read_withheld(opened->data);
        if (call.ok())
            out.push_back({opened->game, opened->unit, std::move(call).value().evidence});
        else if (call.error().code != ErrorCode::kNotFound)
            unreadable(opened->game, call.error().message);
    }
    return out;
}

bool is_worth_withdrawing(const Amount& due, const Amount& base_fee_wei) {
    const auto price = base_fee_wei.plus(Amount(kTipWei));
    if (!price.ok()) return false;
    const auto least = price->mul_div(Amount(kWithdrawGas * kWorthTransactions), Amount(1));
    return least.ok() && due >= *least;
}

PlayerSetup setup_of_reports(const PlayerSetup& units, const Address& report_game) {
    PlayerSetup out = units;
    out.contract = contracts::DisputeGame(report_game);
    out.log_of_reports = units.domain.verifying_contract.value();
    out.domain = protocol::report_domain(units.domain.chain_id.value(), report_game);
    return out;
}

bool ends_tick(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
           error.code == ErrorCode::kCancelled;
}

Status DisputeClient::refresh() {
    GYM_TRY(const auto head, setup_.client.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the node has no latest block");
    head_ = *head;
    setup_.claims.note_head(head_.number);
    return logs_.follow(head_);
}

Result<const game::DisputeTerms*> DisputeClient::terms() {
    if (!terms_) {
        GYM_TRY(terms_, setup_.contract.terms(setup_.client));
    }
    return &*terms_;
}

Result<std::uint64_t> DisputeClient::window_blocks() {
    if (!window_blocks_) {
        GYM_TRY(const auto opening, setup_.contract.opening(setup_.client));
        if (opening.commitment_log != setup_.commitment_log())
            return fail(ErrorCode::kMismatch, "dispute_game " + setup_.contract.address().hex() +
                                                  " is about commitments in " +
                                                  opening.commitment_log.hex() +
                                                  ", the network's are elsewhere");
        window_blocks_ = opening.window_blocks;
    }
    return *window_blocks_;
}

Result<std::vector<ClaimStore::Shared>> DisputeClient::claims(Role role) {
    ClaimStore& store = setup_.claims;
    for (const ClaimStore::Shared& claim : store.list()) {
        if (claim->from_block != 0) continue;
        Claim dated = *claim;
        dated.from_block =
            std::max<std::uint64_t>(1, head_.number - std::min(head_.number, chain::kReorgBlocks));
        GYM_CHECK(store.save(dated));
    }
    std::vector<ClaimStore::Shared> out = store.list();
    std::erase_if(out, [&](const auto& claim) {
        const bool of_reports = claim->subject == Subject::kReport;
        return claim->role != role || of_reports != setup_.plays_reports();
    });
    return out;
}

Result<std::optional<contracts::CommitmentLog::Epoch>> DisputeClient::epoch_of(
    const Digest& job_id, std::uint64_t round, const std::optional<Digest>& record) {
    const contracts::CommitmentLog log(setup_.commitment_log());
    GYM_TRY(const auto posted, log.round_of(setup_.client, job_id, round));
    const bool another = record && posted.round_record_hash != *record;
    if (posted.epoch == 0 || another) return std::optional<contracts::CommitmentLog::Epoch>();
    GYM_TRY(const auto epoch, log.epoch_of(setup_.client, posted.epoch));
    return std::optional(epoch);
}

Result<std::optional<std::uint64_t>> DisputeClient::aggregate_block(const Digest& job_id,
                                                                    std::uint64_t round) {
    const contracts::CommitmentLog log(setup_.commitment_log());
    GYM_TRY(const auto posted, log.aggregate_of(setup_.client, job_id, round));
    if (posted.unit.is_zero()) return std::optional<std::uint64_t>();
    return std::optional(posted.block_number);
}

Result<std::optional<game::EpochRoots>> DisputeClient::epoch_roots(
    const protocol::RoundTerms& record) {
    GYM_TRY(const auto own, epoch_of(record.job_id, record.round));
    if (!own) return std::optional<game::EpochRoots>();
    game::EpochRoots roots{{own->commitments_root, own->count}, {}};
    if (record.round > 1) {
        GYM_TRY(const auto previous,
                epoch_of(record.job_id, record.round - 1, record.previous_record));
        if (previous) roots.previous = {previous->commitments_root, previous->count};
    }
    return std::optional(roots);
}

Status DisputeClient::forget(const Claim& claim) {
    signers_.erase(protocol::commitment_leaf(claim.evidence.commitment));
    GYM_CHECK(setup_.claims.remove(claim));
    setup_.units.release(claim);
    return {};
}

Status DisputeClient::send(const std::string& id, const contracts::ContractCall& call) {
    for (int repeat = 0; repeat < kRepeatsMax; ++repeat) {
        const std::string name = repeated(id, repeat);
        const auto known = setup_.transactions.find(name);
        if (known.ok() && !chain::is_settled(known->state)) return {};  // on its way
        if (known.ok() && known->state != chain::IntentState::kRejected) continue;
        if (!known.ok() && known.error().code != ErrorCode::kNotFound) return known.error();
        const auto sent = setup_.transactions.submit(call.intent(name));
        // A plan that was made again with other fees in it: what waits under the name is gone.
        if (!sent.ok() && sent.error().code == ErrorCode::kConflict) continue;
        if (!sent.ok()) return sent.error();
        return {};
    }
    return fail(ErrorCode::kConflict, call.label + ": the chain refused it again and again");
}

Result<bool> DisputeClient::is_on_its_way(const std::string& id) {
    for (int repeat = 0; repeat < kRepeatsMax; ++repeat) {
        const auto known = setup_.transactions.find(repeated(id, repeat));
        if (!known.ok() && known.error().code == ErrorCode::kNotFound) return false;
        if (!known.ok()) return known.error();
        if (!chain::is_settled(known->state)) return true;
    }
    return false;
}

Result<bool> DisputeClient::is_moving(const Digest& game, const Digest& position) {
    return is_on_its_way(move_id(game, position));
}

Status DisputeClient::broadcast() {
    GYM_TRY(const chain::TickReport report, setup_.transactions.tick());
    for (const std::string& warning : report.warnings)
        if (emitted_.insert(warning).second) spdlog::warn("disputes: {}", warning);
    return {};
}

Result<std::vector<LoggedEvent>> DisputeClient::opened_against(const Address& asserter,
                                                               std::uint64_t first_block) {
    Digest topic;  // an address on the right of a word
    std::ranges::copy(asserter.view(), topic.data.end() - Address::kSize);
    GYM_TRY(const auto logs,
            logs_.read(setup_.contract.address(), {{}, {}, {}, topic}, first_block));
    return parse_events(setup_.contract, logs);
}

Result<std::set<Digest>> DisputeClient::units_opened(const Address& asserter,
                                                     std::uint64_t first_block) {
    GYM_TRY(const auto events, opened_against(asserter, first_block));
    std::set<Digest> units;
    for (const LoggedEvent& logged : events)
        if (const auto* opened = std::get_if<contracts::Opened>(&logged.event))
            units.insert(opened->unit);
    return units;
}

Result<std::vector<WithheldGame>> DisputeClient::withheld_games(const Address& asserter,
                                                                std::uint64_t first_block) {
    GYM_TRY(const auto events, opened_against(asserter, first_block));
    Claim subject;
    subject.subject = Subject::kWithheld;
    return withheld_games_of(events, [&](const Digest& game, const std::string& why) {
        emit_once("stuck", subject, game, "its opening cannot be read: " + why);
    });
}

Result<bool> DisputeClient::is_asked_for_delta(const Claim& claim, std::uint64_t first_block) {
    GYM_TRY(const Address signer, signer_of(claim));
    GYM_TRY(const auto games, withheld_games(signer, first_block));
    for (const WithheldGame& game : games) {
        const bool of_claim = game::is_of_delta(game.evidence.data.what) &&
                              game.evidence.commitment == claim.evidence.commitment;
        if (!of_claim) continue;
        GYM_TRY(const auto state,
                setup_.contract.game_of(setup_.client, game.id, chain::BlockId(head_.hash)));
        if (game::is_open(state.status)) return true;
    }
    return false;
}

Result<Address> DisputeClient::signer_of(const Claim& claim) {
    const protocol::SignedCommitment& one = claim.evidence.commitment;
    const Digest leaf = protocol::commitment_leaf(one);
    const auto known = signers_.find(leaf);
    if (known != signers_.end()) return known->second;
    GYM_TRY(const Address signer,
            crypto::recover_address(protocol::signing_digest(setup_.domain, one.commitment),
                                    one.signature));
    signers_.emplace(leaf, signer);
    return signer;
}

Result<std::optional<game::WithheldFacts>> DisputeClient::withheld_facts(
    const game::WithheldEvidence& evidence) {
    const contracts::CommitmentLog log(setup_.commitment_log());
    const auto read = [&](std::uint64_t round) -> Result<game::PostedEpoch> {
        game::PostedEpoch out;
        GYM_TRY(const auto posted, log.round_of(setup_.client, evidence.record.job_id, round));
        if (posted.epoch == 0) return out;
        GYM_TRY(const auto epoch, log.epoch_of(setup_.client, posted.epoch));
        out.tree = {epoch.commitments_root, epoch.count};
        GYM_TRY(out.poster, log.poster_of(setup_.client, posted.epoch));
        return out;
    };
    game::PostedEpochs epochs;
    GYM_TRY(epochs.own, read(evidence.record.round));
    GYM_TRY(epochs.next, read(evidence.record.round + 1));
    auto facts = game::withheld_facts_of(setup_.domain, evidence, epochs);
    if (facts.ok()) return std::optional(std::move(facts).value());
    if (facts.error().code != ErrorCode::kNotFound) return facts.error();
    return std::optional<game::WithheldFacts>();
}

Result<OpenGame> DisputeClient::withheld_game(const Digest& game, const Digest& unit,
                                              const game::DataRequest& request) {
    const game::UnitFacts facts(request);
    GYM_TRY(const auto state,
            setup_.contract.game_of(setup_.client, game, chain::BlockId(head_.hash)));
    return OpenGame{game, state, game::GameTranscript(facts, game::start_of(unit, facts))};
}

Result<OpenGames> DisputeClient::open_games(const Claim& claim, const Digest& unit) {
    GYM_TRY(const auto logs,
            logs_.read(setup_.contract.address(), topics_of_unit(unit), claim.from_block));
    GYM_TRY(const auto events, parse_events(setup_.contract, logs));
    OpenGames out;
    if (events.empty()) return out;
    std::optional<game::EpochRoots> epochs;
    if (claim.subject == Subject::kAggregate) {
        GYM_TRY(epochs, epoch_roots(claim.evidence.record));
    }
    const UnitLog log = replay(events, epochs);
    for (const GameRecord& record : log.games) {
        if (record.ended) continue;
        if (!record.transcript && record.unreadable.empty()) continue;  // its opening decided it
        GYM_TRY(const auto state,
                setup_.contract.game_of(setup_.client, record.id, chain::BlockId(head_.hash)));
        if (!game::is_open(state.status)) continue;
        std::string unreadable = record.unreadable;
        if (record.transcript) {
            OpenGame game{record.id, state, *record.transcript};
            const Status followed = log.follow(game.transcript, state.position);
            if (followed.ok()) {
                out.playable.push_back(std::move(game));
                continue;
            }
            unreadable = followed.error().message;
        }
        ++out.stuck;
        emit_once("stuck", claim, record.id, unreadable);
    }
    return out;
}

Result<bool> DisputeClient::end_by_clock(const Claim& claim, const OpenGame& game) {
    const bool asserter = game.state.status == game::GameStatus::kAsserterMoves;
    const std::uint64_t left =
        asserter ? game.state.asserter_clock_s : game.state.challenger_clock_s;
    if (head_.timestamp_s <= game.state.since_s + left) return false;
    emit_once("timeout", claim, game.id,
              asserter ? "the asserter's clock ran out" : "the challenger's clock ran out");
    GYM_CHECK(send("dispute-timeout:" + game.id.hex(), setup_.contract.timeout(game.id)));
    return true;
}

Status DisputeClient::play(const Claim& claim, const OpenGame& game, const game::Move& move) {
    const std::string name(game::name_of(move));
    emit_once(game::is_answer(move)  ? "answered"
              : game::is_proof(move) ? "proved"
                                     : "moved",
              claim, game.id, name + " at " + describe(game));
    return send(move_id(game.id, game.state.position),
                setup_.contract.move(game::encode_call({game.id, game.transcript.at(), move}),
                                     name + " in dispute game " + game.id.hex()));
}

Status DisputeClient::withdraw_ether(bool games_open) {
    GYM_TRY(const Amount due, setup_.contract.ether_of(setup_.client, self()));
    if (due.is_zero()) return {};
    if (games_open && !is_worth_withdrawing(due, head_.base_fee_wei)) return {};
    const std::string what = setup_.plays_reports() ? "report-ether:" : "dispute-ether:";
    return send(what + std::to_string(head_.number / 64), setup_.contract.withdraw_ether());
}

void DisputeClient::emit(const char* name, const Claim& claim, const Digest& game,
                         std::string detail) {
    spdlog::info("{}: dispute {}: {}", protocol::name_unit(claim.key), name, detail);
    if (setup_.on_event) setup_.on_event({name, claim.key, game, std::move(detail)});
}

void DisputeClient::emit_once(const char* name, const Claim& claim, const Digest& game,
                              std::string detail) {
    if (emitted_.insert(game.hex() + name + detail).second)
        emit(name, claim, game, std::move(detail));
}

}  // namespace gym::player
