#include "dispute/dispute_print.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <span>

#include "cli/rows.hpp"
#include "dispute/game_position.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/key.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

std::string text_of(std::uint64_t value) {
    return std::to_string(value);
}

std::string utc(std::uint64_t unix_s) {
    return utc_text(static_cast<UnixMs>(unix_s) * 1'000);
}

/// Where the game is, or where it ended.
std::string place_of(const DisputeReport& report) {
    const GamePosition where = position_after(report.log.course);
    if (report.log.fault) return fault_text(*report.log.fault, where);
    const game::Cursor* cursor = &report.log.opened.cursor;
    for (const player::LoggedEvent& happened : report.log.course)
        if (const auto* moved = std::get_if<contracts::Moved>(&happened.event))
            cursor = &moved->next;
    return place_text(*cursor, where);
}

/// A fault that an opening shows has no numbers: what was signed contradicts itself.
bool has_numbers(const contracts::FaultFound& fault) {
    return fault.claimed != fault.computed;
}

std::string bond_text(const DisputeReport& report) {
    const std::string bond = report.terms.bond.to_tokens() + " GYM";
    if (!report.log.ended) return bond + ", held";
    if (report.log.ended->burned.is_zero()) return bond + ", returned";
    return bond + ", lost: " + report.log.ended->burned.to_tokens() + " burned, " +
           report.log.ended->to_asserter.to_tokens() + " to the asserter";
}

json::object fault_json(const contracts::FaultFound& fault, const GamePosition& where) {
    return {{"place", fault_text(fault, where)},
            {"element", fault.element.to_string()},
            {"claimed", fault.claimed.hex()},
            {"claimed_text", value_text(fault.claimed, fault, where)},
            {"computed", fault.computed.hex()},
            {"computed_text", value_text(fault.computed, fault, where)}};
}

/// One event of a game's course in words.
struct EventText {
    std::string event;  ///< "announced", ...
    std::string by;     ///< a side; empty: anybody can end a game by its clock
    std::string call;   ///< empty where the log does not say
    std::string words;  ///< where it led; empty for an announcement
    std::size_t calldata_bytes = 0;
};

/// Describes events; `where` is what is known with the event.
struct EventDescriber {
    const GamePosition& where;

    EventText operator()(const contracts::Announced& /*announced*/) const {
        return {"announced", "challenger", "announce", "", 0};
    }
    EventText operator()(const contracts::Opened& opened) const {
        return {"opened", "challenger", move_name(opened.data), place_text(opened.cursor, where),
                opened.data.size()};
    }
    EventText operator()(const contracts::Moved& moved) const {
        return {"moved", moved.by_asserter ? "asserter" : "challenger", move_name(moved.data),
                place_text(moved.next, where), moved.data.size()};
    }
    EventText operator()(const contracts::FaultFound& fault) const {
        std::string words = "a fault: " + fault_text(fault, where);
        if (has_numbers(fault))
            words += "; the asserter claimed " + value_text(fault.claimed, fault, where) +
                     ", the contract computed " + value_text(fault.computed, fault, where);
        return {"fault_found", "challenger", move_name(fault.move), std::move(words), 0};
    }
    EventText operator()(const contracts::GameEnded& ended) const {
        return {"ended", "", "", status_text(ended.status), 0};
    }
    template <class Other>
    EventText operator()(const Other& /*event*/) const {
        return {};  // no part of a course
    }
};

EventText describe(const GameLog& log, std::size_t index) {
    const GamePosition where = position_after(std::span(log.course).first(index + 1));
    return std::visit(EventDescriber{where}, log.course[index].event);
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
    print_row(label, "{}", text);
}

void print_head(const DisputeReport& report) {
    const contracts::Opened& opened = report.log.opened;
    line("game", report.log.id().hex());
    const auto& key = report.log.key;
    line("unit", key ? report.log.registry_unit()->hex() : "not known: its opening cannot be read");
    line("unit on chain", report.log.chain_unit().hex());
    if (key) {
        line("job", key->job_id.hex());
        line("round", text_of(key->round) + ", slot " + slot_text(key) +
                          (key->attempt == 0 ? "" : ", attempt " + text_of(key->attempt)));
    }
    line("asserter", crypto::to_checksum(opened.asserter));
    line("challenger", crypto::to_checksum(opened.challenger));
    line("place", place_of(report));
    line("turn", status_text(report.now.game.status));
    if (is_open(report.now.game.status))
        line("clocks", "asserter " + text_of(report.now.clocks.asserter_s) + " s, challenger " +
                           text_of(report.now.clocks.challenger_s) + " s left");
}

void print_money(const DisputeReport& report) {
    const player::GameCost& cost = report.cost;
    line("gas", "asserter " + text_of(cost.asserter_gas) + ", challenger " +
                    text_of(cost.challenger_gas) + ", together " +
                    text_of(cost.asserter_gas + cost.challenger_gas) + " in " +
                    text_of(cost.transactions) + " moves");
    line("escrow", report.now.game.escrow_wei.to_tokens() + " ETH left, " +
                       report.log.gas_paid_wei.to_tokens() + " ETH paid to the asserter");
    line("bond", bond_text(report));
}

void print_end(const DisputeReport& report) {
    if (report.log.fault && has_numbers(*report.log.fault)) {
        const GamePosition where = position_after(report.log.course);
        line("claimed", value_text(report.log.fault->claimed, *report.log.fault, where));
        line("computed", value_text(report.log.fault->computed, *report.log.fault, where) +
                             ", by the contract");
    }
    if (report.now.slashed) {
        const contracts::Slashed& slash = *report.now.slashed;
        line("slashed", report.unit.settled->taken.to_tokens() + " GYM of the asserter's stake");
        line("burned", slash.burned.to_tokens() + " GYM");
        if (!slash.compensation.is_zero())
            line("compensation", slash.compensation.to_tokens() + " GYM for the other provers");
        line("reward", slash.reward.to_tokens() + " GYM to " + crypto::to_checksum(slash.finder));
    } else if (report.now.unit.proven_at_s != 0) {
        line("settling", "the stake is taken from " +
                             utc(report.now.unit.proven_at_s + report.terms.settling_s) +
                             " on, for " + crypto::to_checksum(report.now.unit.finder));
    }
}

}  // namespace

json::object event_json(const GameLog& log, std::size_t index) {
    const player::LoggedEvent& happened = log.course[index];
    const EventText described = describe(log, index);
    const auto text = [](const std::string& words) {
        return words.empty() ? json::value(nullptr) : json::value(words);
    };
    json::object out{{"event", described.event},       {"by", text(described.by)},
                     {"call", text(described.call)},   {"words", text(described.words)},
                     {"block", happened.block_number}, {"transaction", happened.transaction.hex()}};
    if (const auto* moved = std::get_if<contracts::Moved>(&happened.event)) {
        out["stage"] = static_cast<std::uint8_t>(moved->next.stage);
        out["height"] = moved->next.height;
        out["index"] = moved->next.index;
        out["leaves"] = moved->next.leaves;
    }
    if (described.calldata_bytes != 0) out["calldata_bytes"] = described.calldata_bytes;
    if (const auto* fault = std::get_if<contracts::FaultFound>(&happened.event))
        out["fault"] = fault_json(*fault, position_after(log.course));
    return out;
}

json::object to_json(const DisputeReport& report) {
    const GameLog& log = report.log;
    json::object out{{"game", log.id().hex()},
                     {"unit", nullptr},
                     {"chain_unit", log.chain_unit().hex()},
                     {"job", nullptr},
                     {"round", nullptr},
                     {"slot", nullptr},
                     {"attempt", nullptr},
                     {"aggregate", nullptr},
                     {"deltas", nullptr},
                     {"held_deltas", nullptr},
                     {"withdrawn_deltas", nullptr},
                     {"asserter", log.opened.asserter.hex()},
                     {"challenger", log.opened.challenger.hex()},
                     {"status", std::string(to_string(report.now.game.status))},
                     {"open", is_open(report.now.game.status)},
                     {"place", place_of(report)},
                     {"asserter_clock_s", report.now.clocks.asserter_s},
                     {"challenger_clock_s", report.now.clocks.challenger_s},
                     {"moves", report.cost.transactions},
                     {"asserter_gas", report.cost.asserter_gas},
                     {"challenger_gas", report.cost.challenger_gas},
                     {"escrow_wei", report.now.game.escrow_wei.to_string()},
                     {"gas_paid_wei", log.gas_paid_wei.to_string()},
                     {"bond_wei", report.terms.bond.to_string()}};
    if (log.key) {
        out["unit"] = log.registry_unit()->hex();
        out["job"] = log.key->job_id.hex();
        out["round"] = log.key->round;
        out["slot"] = log.key->slot;
        out["attempt"] = log.key->attempt;
        out["aggregate"] = log.key->slot == protocol::kAggregateSlot;
    }
    const GamePosition where = position_after(log.course);
    if (where.aggregate) {
        out["deltas"] = where.deltas;
        out["held_deltas"] = where.held;
        out["withdrawn_deltas"] = where.withdrawn;
    }
    out["fault"] = log.fault ? json::value(fault_json(*log.fault, where)) : json::value(nullptr);
    out["bond_burned_wei"] =
        log.ended ? json::value(log.ended->burned.to_string()) : json::value(nullptr);
    out["unit_faulty"] = report.now.unit.proven_at_s != 0;
    out["slash"] = stake_json(report);
    return out;
}

namespace {

constexpr const char* kSummaryFormat =
    "{:<12}  {:<12}  {:<12}  {:>5}  {:>9}  {:<16}  {:>5}  {:>12}  {:>14}  {}";

std::string brief(const Digest& digest) {
    return digest.hex().substr(0, 12);
}

}  // namespace

std::string summary_header() {
    return fmt::format(kSummaryFormat, "game", "unit", "job", "round", "slot", "status", "moves",
                       "gas asserter", "gas challenger", "place");
}

std::string summary_line(const DisputeReport& report) {
    const GameLog& log = report.log;
    std::string place = place_of(report);
    if (is_open(report.now.game.status))
        place += ", clocks " + text_of(report.now.clocks.asserter_s) + " s + " +
                 text_of(report.now.clocks.challenger_s) + " s";
    return fmt::format(
        kSummaryFormat, brief(log.id()), brief(log.registry_unit().value_or(log.chain_unit())),
        log.key ? brief(log.key->job_id) : "-", log.key ? text_of(log.key->round) : "-",
        slot_text(log.key), to_string(report.now.game.status), report.cost.transactions,
        report.cost.asserter_gas, report.cost.challenger_gas, place);
}

std::string event_line(const GameLog& log, std::size_t index) {
    const player::LoggedEvent& happened = log.course[index];
    const EventText described = describe(log, index);
    std::string out = fmt::format("block {}  {:<10}  {}", happened.block_number,
                                  described.by.empty() ? "end" : described.by, described.call);
    if (!described.words.empty()) out += (described.call.empty() ? "" : " -> ") + described.words;
    const std::string bytes =
        described.calldata_bytes == 0 ? "" : text_of(described.calldata_bytes) + " bytes, ";
    return out + "  (" + bytes + happened.transaction.hex() + ")";
}

void print_dispute(const DisputeReport& report, bool with_course) {
    print_head(report);
    print_money(report);
    for (std::size_t i = 0; with_course && i < report.log.course.size(); ++i)
        print_line("{}", event_line(report.log, i));
    print_end(report);
}

}  // namespace gym::app
