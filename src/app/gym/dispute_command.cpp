#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli_context.hpp"
#include "dispute_log.hpp"
#include "dispute_print.hpp"
#include "gym/chain/client.hpp"
#include "network_options.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kWatchInterval{1'000};
constexpr std::size_t kPrefixMin = 6;  // "0x" and two bytes

struct DisputeOptions {
    ChainOptions chain;
    std::string game;
    bool open_only = false;
};

/// The chain of a deployment, and what was read of its disputes.
struct Source {
    chain::Deployment contracts;
    std::unique_ptr<chain::ChainClient> client;
    std::unique_ptr<DisputeReader> reader;
    chain::DisputeGame::Terms terms;
};

Result<Source> open_source(const DisputeOptions& options) {
    Source out;
    GYM_TRY(out.contracts, options.chain.contracts());
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(out.client, chain::make_http_client(url));
    GYM_CHECK(chain::check_chain_id(*out.client, out.contracts.chain_id));
    GYM_TRY(out.terms, chain::DisputeGame(out.contracts.dispute_game).terms(*out.client));
    out.reader = std::make_unique<DisputeReader>(*out.client, out.contracts);
    return out;
}

Result<DisputeReport> report_of(Source& source, const DisputeLog& log, const GameLog& game) {
    DisputeReport out;
    out.log = game;
    out.terms = source.terms;
    if (const auto unit = log.units.find(game.opened.unit); unit != log.units.end())
        out.unit = unit->second;
    GYM_TRY(out.now, game_now(*source.client, source.contracts, out.log, out.unit));
    return out;
}

/// The one game whose id, or whose unit, begins with `wanted`.
Result<const GameLog*> find_game(const DisputeLog& log, const std::string& wanted) {
    if (wanted.size() < kPrefixMin || !wanted.starts_with("0x") ||
        wanted.find_first_not_of("0123456789abcdef", 2) != std::string::npos)
        return fail(ErrorCode::kInvalidArgument,
                    "'" + wanted +
                        "' is no game: give its id, or its first digits, as `gym dispute list` "
                        "shows them (0x1234...)");
    const GameLog* found = nullptr;
    std::size_t count = 0;
    for (const GameLog& game : log.games)
        if (game.id().hex().starts_with(wanted) || game.opened.unit.hex().starts_with(wanted)) {
            found = &game;
            ++count;
        }
    if (count == 1) return found;
    if (count > 1)
        return fail(ErrorCode::kInvalidArgument, std::to_string(count) + " games begin with " +
                                                     wanted + ", or are about units that do");
    return fail(ErrorCode::kNotFound, "no game and no disputed unit begins with " + wanted +
                                          "; `gym dispute list` shows all");
}

Status list(const CliContext& context, const DisputeOptions& options) {
    GYM_TRY(Source source, open_source(options));
    GYM_TRY(const DisputeLog log, source.reader->read());
    json::array games;
    for (const GameLog& game : log.games) {
        if (options.open_only && game.ended) continue;
        GYM_TRY(const DisputeReport report, report_of(source, log, game));
        if (context.json) {
            json::object one = to_json(report);
            for (const char* detail : {"moves", "transactions"})
                one.erase(detail);
            // What the contract counted: exact gas would take a question a transaction.
            one["asserter_gas"] = report.now.game.asserter_gas;
            one["challenger_gas"] = report.now.game.challenger_gas;
            one["moves"] = report.log.moves.size();
            games.push_back(std::move(one));
        } else {
            std::printf("%s\n", summary_line(report).c_str());
        }
    }
    if (context.json)
        context.print_json({{"games", std::move(games)}});
    else if (log.games.empty())
        std::printf("no game was opened yet\n");
    return {};
}

Status show(const CliContext& context, const DisputeOptions& options) {
    GYM_TRY(Source source, open_source(options));
    GYM_TRY(const DisputeLog log, source.reader->read());
    GYM_TRY(const GameLog* game, find_game(log, options.game));
    GYM_TRY(DisputeReport report, report_of(source, log, *game));
    GYM_CHECK(source.reader->read_gas(report.log));
    if (context.json)
        context.print_json(to_json(report));
    else
        print_dispute(report, true);
    return {};
}

/// The game that is watched: the one that was named, or the newest one that is open. nullptr: none
/// yet.
Result<const GameLog*> choose(const DisputeLog& log, const std::string& wanted) {
    if (!wanted.empty()) return find_game(log, wanted);
    for (auto game = log.games.rbegin(); game != log.games.rend(); ++game)
        if (!game->ended) return &*game;
    return static_cast<const GameLog*>(nullptr);
}

/// Prints the moves that were not printed yet.
void print_news(const CliContext& context, const GameLog& game, std::size_t& printed) {
    // A reorganisation can take moves back: what comes instead is printed.
    printed = std::min(printed, game.moves.size());
    for (; printed < game.moves.size(); ++printed) {
        const GameMove& move = game.moves[printed];
        if (context.json)
            context.print_json(to_json(move, game));
        else
            std::printf("%s\n", move_line(move, game).c_str());
    }
    (void)std::fflush(stdout);
}

/// Until the game has ended. A node that does not answer meanwhile is waited for.
Status watch(const CliContext& context, const DisputeOptions& options) {
    GYM_TRY(Source source, open_source(options));
    std::string wanted = options.game;
    std::size_t printed = 0;
    bool told = false;
    for (;; std::this_thread::sleep_for(kWatchInterval)) {
        const auto log = source.reader->read();
        if (!log.ok()) {
            if (log.error().code != ErrorCode::kUnavailable &&
                log.error().code != ErrorCode::kTimeout)
                return log.error();
            continue;
        }
        GYM_TRY(const GameLog* game, choose(*log, wanted));
        if (game == nullptr) {
            if (!told && !context.json)
                (void)std::fprintf(stderr, "no game is open: waiting for one\n");
            told = true;
            continue;
        }
        if (wanted.empty() && !context.json)
            std::printf("game               %s\n", game->id().hex().c_str());
        wanted = game->id().hex();
        print_news(context, *game, printed);
        if (!game->ended) continue;
        GYM_TRY(DisputeReport report, report_of(source, *log, *game));
        GYM_CHECK(source.reader->read_gas(report.log));
        if (context.json)
            context.print_json(to_json(report));
        else
            print_dispute(report, false);
        return {};
    }
}

}  // namespace

void add_dispute_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand(
        "dispute", "Disputes about units, from the chain's logs alone: who claims what, and where");
    group->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, auto run) {
        auto options = std::make_shared<DisputeOptions>();
        CLI::App* out = group->add_subcommand(name, about);
        options->chain.add_to(*out);
        out->callback([&context, options, run] { context.finish(run(context, *options)); });
        return std::pair(out, options);
    };
    const auto [listing, list_options] = add("list", "All games, oldest first", list);
    listing->add_flag("--open", list_options->open_only, "Only those that have not ended");
    const auto [showing, show_options] =
        add("show", "One game: its course, where it is, gas of each side, how it ended", show);
    showing->add_option("game", show_options->game, "Its id or its unit's, or the first digits")
        ->required();
    const auto [watching, watch_options] = add("watch", "Follow a game to its end", watch);
    watching->add_option("game", watch_options->game,
                         "Its id or its unit's, or the first digits; else the newest open one");
}

}  // namespace gym::app
