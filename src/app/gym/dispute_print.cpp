#include "dispute_print.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "dispute_words.hpp"
#include "gym/common/clock.hpp"
#include "gym/crypto/key.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using chain::GameStatus;

std::string text_of(std::uint64_t value) {
    return std::to_string(value);
}

std::string utc(std::uint64_t unix_s) {
    return utc_text(static_cast<UnixMs>(unix_s) * 1'000);
}

/// The moves up to and with number `count` decide what is known at it.
Whereabouts whereabouts_until(const GameLog& log, const GameMove& last) {
    GameLog cut = log;
    std::size_t count = 0;
    while (count < log.moves.size() && &log.moves[count] != &last)
        ++count;
    cut.moves.resize(std::min(count + 1, log.moves.size()));
    return whereabouts(cut);
}

std::string turn_words(const DisputeReport& report) {
    switch (report.now.game.status) {
        case GameStatus::kAsserterMoves:
            return "the asserter must answer";
        case GameStatus::kChallengerMoves:
            return "the challenger must move";
        case GameStatus::kUpheld:
            return "over: the challenger ran out of time, the unit stands as far as this game goes";
        case GameStatus::kFaultProven:
            return "over: the fault is proven";
        case GameStatus::kFaultByClock:
            return "over: the asserter ran out of time";
        case GameStatus::kMoot:
            return "over: another game showed the unit to be faulty";
        case GameStatus::kNone:
            return "unknown to the contract";
    }
    return "?";
}

/// Where the game is, or where it ended.
std::string place_of(const DisputeReport& report) {
    const Whereabouts where = whereabouts(report.log);
    if (report.log.fault) return fault_words(*report.log.fault, where);
    const chain::GameCursor& cursor =
        report.log.moves.empty() ? report.log.opened.cursor : report.log.moves.back().event.next;
    return place_words(cursor, where);
}

std::string bond_words(const DisputeReport& report) {
    const std::string bond = report.terms.bond.to_tokens() + " tokens";
    if (!report.log.ended) return bond + ", held";
    if (report.log.ended->burned.is_zero()) return bond + ", returned";
    return bond + ", lost: " + report.log.ended->burned.to_tokens() + " burned, " +
           report.log.ended->to_asserter.to_tokens() + " to the asserter";
}

json::object fault_json(const DisputeReport& report) {
    const chain::FaultFound& fault = *report.log.fault;
    const Whereabouts where = whereabouts(report.log);
    return {{"place", fault_words(fault, where)},
            {"element", fault.element.to_string()},
            {"claimed", fault.claimed.hex()},
            {"claimed_text", value_words(fault.claimed, fault, where)},
            {"computed", fault.computed.hex()},
            {"computed_text", value_words(fault.computed, fault, where)}};
}

json::value stake_json(const DisputeReport& report) {
    if (!report.unit.settled) return nullptr;
    json::object out{{"taken_wei", report.unit.settled->taken.to_string()},
                     {"finder", report.unit.settled->finder.hex()},
                     {"transaction", report.unit.settled_in->hex()}};
    if (report.now.slashed) {
        out["burned_wei"] = report.now.slashed->burned.to_string();
        out["reward_wei"] = report.now.slashed->reward.to_string();
        out["compensation_wei"] = report.now.slashed->compensation.to_string();
    }
    return out;
}

void line(const char* label, const std::string& text) {
    std::printf("%-18s %s\n", label, text.c_str());
}

void print_head(const DisputeReport& report) {
    const chain::Opened& opened = report.log.opened;
    line("game", report.log.id().hex());
    line("unit", opened.unit.hex());
    line("asserter", crypto::to_checksum(opened.asserter));
    line("challenger", crypto::to_checksum(opened.challenger));
    line("opened", "in block " + text_of(report.log.opened_block));
    line("place", place_of(report));
    line("turn", turn_words(report));
    line("clocks", "asserter " + text_of(report.now.clocks.asserter_s) + " s, challenger " +
                       text_of(report.now.clocks.challenger_s) + " s left");
}

void print_money(const DisputeReport& report) {
    const std::uint64_t asserter = gas_of_side(report.log, true);
    const std::uint64_t challenger = gas_of_side(report.log, false);
    line("gas", "asserter " + text_of(asserter) + ", challenger " + text_of(challenger) +
                    ", together " + text_of(asserter + challenger) + " in " +
                    text_of(report.log.transactions.size()) + " transactions");
    line("escrow", report.now.game.escrow_wei.to_tokens() + " ETH left, " +
                       report.log.gas_paid_wei.to_tokens() + " ETH paid to the asserter");
    line("bond", bond_words(report));
}

/// What has no move in the logs: announcement, opening, proof.
void print_others(const DisputeReport& report, bool before_moves) {
    const auto& moves = report.log.moves;
    for (const GameTransaction& one : report.log.transactions) {
        const std::string name = move_name(one.call);
        const bool begins = name == "announce" || name == "open";
        const bool is_move = std::ranges::any_of(
            moves, [&](const GameMove& move) { return move.transaction == one.hash; });
        if (is_move || begins != before_moves) continue;
        std::printf("block %s  challenger  %s  (%s)\n", text_of(one.block_number).c_str(),
                    name.c_str(), one.hash.hex().c_str());
    }
}

void print_end(const DisputeReport& report) {
    if (report.log.fault) {
        const Whereabouts where = whereabouts(report.log);
        line("claimed", value_words(report.log.fault->claimed, *report.log.fault, where));
        line("computed", value_words(report.log.fault->computed, *report.log.fault, where) +
                             ", by the contract");
    }
    if (report.now.slashed) {
        const chain::Slashed& slash = *report.now.slashed;
        line("slashed", report.unit.settled->taken.to_tokens() + " tokens of the asserter's stake");
        line("burned", slash.burned.to_tokens() + " tokens");
        if (!slash.compensation.is_zero())
            line("compensation", slash.compensation.to_tokens() + " tokens");
        line("reward",
             slash.reward.to_tokens() + " tokens to " + crypto::to_checksum(slash.finder));
    } else if (report.now.unit.proven_at_s != 0) {
        line("settling", "the stake is taken from " +
                             utc(report.now.unit.proven_at_s + report.terms.settling_s) +
                             " on, for " + crypto::to_checksum(report.now.unit.finder));
    }
}

}  // namespace

std::uint64_t gas_of_side(const GameLog& log, bool asserter) {
    std::uint64_t out = 0;
    for (const GameTransaction& transaction : log.transactions)
        if (transaction.by_asserter == asserter) out += transaction.gas_used;
    return out;
}

json::object to_json(const GameMove& move, const GameLog& log) {
    return {{"move", move_name(move.event.data)},
            {"by", move.event.by_asserter ? "asserter" : "challenger"},
            {"place", place_words(move.event.next, whereabouts_until(log, move))},
            {"stage", move.event.next.stage},
            {"height", move.event.next.height},
            {"index", move.event.next.index},
            {"leaves", move.event.next.leaves},
            {"calldata_bytes", move.event.data.size()},
            {"block", move.block_number},
            {"transaction", move.transaction.hex()}};
}

json::object to_json(const DisputeReport& report) {
    json::array moves;
    for (const GameMove& move : report.log.moves)
        moves.push_back(to_json(move, report.log));
    json::array transactions;
    for (const GameTransaction& transaction : report.log.transactions)
        transactions.push_back(
            json::object{{"call", move_name(transaction.call)},
                         {"transaction", transaction.hash.hex()},
                         {"block", transaction.block_number},
                         {"by", transaction.by_asserter ? "asserter" : "challenger"},
                         {"gas_used", transaction.gas_used}});
    json::object out{{"game", report.log.id().hex()},
                     {"unit", report.log.opened.unit.hex()},
                     {"asserter", report.log.opened.asserter.hex()},
                     {"challenger", report.log.opened.challenger.hex()},
                     {"status", std::string(to_string(report.now.game.status))},
                     {"open", is_open(report.now.game.status)},
                     {"place", place_of(report)},
                     {"opened_block", report.log.opened_block},
                     {"asserter_clock_s", report.now.clocks.asserter_s},
                     {"challenger_clock_s", report.now.clocks.challenger_s},
                     {"asserter_gas", gas_of_side(report.log, true)},
                     {"challenger_gas", gas_of_side(report.log, false)},
                     {"escrow_wei", report.now.game.escrow_wei.to_string()},
                     {"gas_paid_wei", report.log.gas_paid_wei.to_string()},
                     {"bond_wei", report.terms.bond.to_string()},
                     {"moves", std::move(moves)},
                     {"transactions", std::move(transactions)}};
    out["fault"] = report.log.fault ? json::value(fault_json(report)) : json::value(nullptr);
    out["bond_burned_wei"] =
        report.log.ended ? json::value(report.log.ended->burned.to_string()) : json::value(nullptr);
    out["unit_faulty"] = report.now.unit.proven_at_s != 0;
    out["slash"] = stake_json(report);
    return out;
}

std::string summary_line(const DisputeReport& report) {
    const auto brief = [](const std::string& hex) { return hex.substr(0, 12); };
    std::string out =
        brief(report.log.id().hex()) + "  unit " + brief(report.log.opened.unit.hex()) + "  " +
        std::string(to_string(report.now.game.status)) + "  " + place_of(report) + "  " +
        text_of(report.log.moves.size()) + " moves, gas " + text_of(report.now.game.asserter_gas) +
        " + " + text_of(report.now.game.challenger_gas);
    if (is_open(report.now.game.status))
        out += ", clocks " + text_of(report.now.clocks.asserter_s) + " s + " +
               text_of(report.now.clocks.challenger_s) + " s";
    return out;
}

std::string move_line(const GameMove& move, const GameLog& log) {
    return "block " + text_of(move.block_number) + "  " +
           (move.event.by_asserter ? "asserter    " : "challenger  ") + move_name(move.event.data) +
           " -> " + place_words(move.event.next, whereabouts_until(log, move)) + "  (" +
           text_of(move.event.data.size()) + " bytes, " + move.transaction.hex() + ")";
}

void print_dispute(const DisputeReport& report, bool with_moves) {
    print_head(report);
    print_money(report);
    if (with_moves) {
        print_others(report, true);
        for (const GameMove& move : report.log.moves)
            std::printf("%s\n", move_line(move, report.log).c_str());
        print_others(report, false);
    }
    print_end(report);
}

}  // namespace gym::app
