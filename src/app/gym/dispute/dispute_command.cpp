#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/cli_context.hpp"
#include "cli/network_check.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "dispute/dispute_log.hpp"
#include "dispute/dispute_print.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kGameWatchInterval{1'000};

struct DisputeOptions {
    ChainOptions chain;
    std::string game;
    bool open_only = false;
    bool reports = false;
};

/// The chain of a deployment, and what was read of its disputes.
struct Source {
    contracts::Deployment contracts;
    std::unique_ptr<chain::ChainClient> client;
    std::unique_ptr<DisputeReader> reader;
    game::DisputeTerms terms;
};

Result<Source> open_source(const DisputeOptions& options) {
    Source out;
    GYM_TRY(out.contracts, options.chain.contracts());
    if (options.reports) {
        GYM_TRY(out.contracts, contracts_of_reports(out.contracts));
    }
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(out.client, chain::make_http_client(url));
    GYM_CHECK(chain::check_chain_id(*out.client, out.contracts.chain_id));
    GYM_TRY(out.terms, contracts::DisputeGame(out.contracts.dispute_game).terms(*out.client));
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
    GYM_TRY(out.cost, source.reader->cost_of(out.log));
    return out;
}

Status list_games(const CliContext& context, const DisputeOptions& options) {
    GYM_TRY(Source source, open_source(options));
    GYM_TRY(const DisputeLog log, source.reader->read());
    json::array games;
    std::vector<std::string> lines;
    for (const GameLog& game : log.games) {
        if (options.open_only && game.ended) continue;
        GYM_TRY(const DisputeReport report, report_of(source, log, game));
        games.push_back(to_json(report));
        lines.push_back(summary_line(report));
    }
    if (context.json) {
        context.print_json({{"games", std::move(games)}});
        return {};
    }
    if (lines.empty())
        print_line("{}", log.games.empty() ? "no game was opened yet" : "no game is open");
    else
        print_line("{}", summary_header());
    for (const std::string& line : lines)
        print_line("{}", line);
    return {};
}

Result<json::object> with_course(Source& source, const DisputeReport& report) {
    json::object out = to_json(report);
    json::array course;
    for (std::size_t i = 0; i < report.log.course.size(); ++i)
        course.push_back(event_json(report.log, i));
    json::array transactions;
    for (const auto& [hash, block, by_asserter] : player::transactions_of(report.log.course)) {
        GYM_TRY(const std::uint64_t gas, source.reader->gas_of(hash));
        transactions.push_back(json::object{{"transaction", hash.hex()},
                                            {"block", block},
                                            {"by", by_asserter ? "asserter" : "challenger"},
                                            {"gas_used", gas}});
    }
    out["course"] = std::move(course);
    out["transactions"] = std::move(transactions);
    return out;
}

Status print(const CliContext& context, Source& source, const DisputeReport& report,
             bool course_too) {
    if (!context.json) {
        print_dispute(report, course_too);
        return {};
    }
    GYM_TRY(const json::object object, with_course(source, report));
    context.print_json(object);
    return {};
}

Status show_game(const CliContext& context, const DisputeOptions& options) {
    GYM_TRY(Source source, open_source(options));
    GYM_TRY(const DisputeLog log, source.reader->read());
    GYM_TRY(const GameLog* game, find_game(log, options.game));
    GYM_TRY(const DisputeReport report, report_of(source, log, *game));
    return print(context, source, report, true);
}

/// The game that is watched: the one that was named, or the newest one that is open. nullptr: none
/// yet.
Result<const GameLog*> choose(const DisputeLog& log, const std::string& wanted) {
    if (!wanted.empty()) return find_game(log, wanted);
    for (auto game = log.games.rbegin(); game != log.games.rend(); ++game)
        if (!game->ended) return &*game;
    return static_cast<const GameLog*>(nullptr);
}

/// Prints what happened and was not printed yet.
void print_new_events(const CliContext& context, const GameLog& game, ShownEvents& shown) {
    for (std::size_t i = shown.take(game); i < game.course.size(); ++i) {
        if (context.json)
            context.print_json(event_json(game, i));
        else
            print_line("{}", event_line(game, i));
    }
    (void)std::fflush(stdout);
}

/// The node does not answer for the moment, or withdrew an answer.
bool is_passing(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

/// The state of `dispute watch`.
class Watch {
  public:
    Watch(const CliContext& context, std::string wanted)
        : context_(context), wanted_(std::move(wanted)) {}

    /// Prints what is new. @return the game once it has ended; nullptr: look again.
    Result<const GameLog*> look(const DisputeLog& log) {
        const auto game = choose(log, wanted_);
        // A reorganisation removed its opening: it returns in another block.
        const bool taken_back = found_ && !game.ok() && game.error().code == ErrorCode::kNotFound;
        if (!game.ok() && !taken_back) return game.error();
        if (taken_back || *game == nullptr) {
            wait_for(taken_back ? "a reorganisation removed the game's opening: waiting for it"
                                : "no game is open: waiting for one");
            return static_cast<const GameLog*>(nullptr);
        }
        if (wanted_.empty() && !context_.json) print_row("game", "{}", (*game)->id().hex());
        wanted_ = (*game)->id().hex();
        found_ = true;
        state_.clear();
        print_new_events(context_, **game, shown_);
        return (*game)->ended ? *game : nullptr;
    }

  private:
    void wait_for(const char* what) {
        if (state_ != what && !context_.json) (void)std::fprintf(stderr, "%s\n", what);
        state_ = what;
    }

    const CliContext& context_;
    std::string wanted_;
    bool found_ = false;
    std::string state_;  ///< why there is nothing to show yet
    ShownEvents shown_;
};

/// Whether the chain answers; reports each change once, on standard error, also with --json.
class Contact {
  public:
    void lost(const Error& error) {
        if (!std::exchange(lost_, true))
            (void)std::fprintf(stderr, "the chain does not answer, trying again: %s\n",
                               error.message.c_str());
    }
    void made() {
        if (std::exchange(lost_, false)) (void)std::fprintf(stderr, "the chain answers again\n");
    }

  private:
    bool lost_ = false;
};

/// Until the game has ended. A node that does not answer meanwhile is waited for.
Status watch_game(const CliContext& context, const DisputeOptions& options) {
    GYM_TRY(Source source, open_source(options));
    Watch watched(context, options.game);
    Contact contact;
    for (;; std::this_thread::sleep_for(kGameWatchInterval)) {
        const auto log = source.reader->read();
        if (!log.ok() && is_passing(log.error())) {
            contact.lost(log.error());
            continue;
        }
        if (!log.ok()) return log.error();
        contact.made();
        GYM_TRY(const GameLog* const ended, watched.look(*log));
        if (ended == nullptr) continue;
        const auto report = report_of(source, *log, *ended);
        if (!report.ok() && is_passing(report.error())) continue;
        if (!report.ok()) return report.error();
        return print(context, source, *report, false);
    }
}

}  // namespace

void add_dispute_commands(CLI::App& app, CliContext& context) {
    CLI::App* group =
        app.add_subcommand("dispute", "Inspect disputes about units, from the chain's logs alone");
    group->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, auto run) {
        auto options = std::make_shared<DisputeOptions>();
        CLI::App* out = group->add_subcommand(name, about);
        options->chain.add_to(*out);
        out->add_flag("--reports", options->reports,
                      "Games about verifiers' reports, not about units");
        out->callback([&context, options, run] { context.finish(run(context, *options)); });
        return std::pair(out, options);
    };
    const auto [listing, list_options] = add("list", "List all games, oldest first", list_games);
    listing->add_flag("--open", list_options->open_only, "List only open games");
    const auto [showing, show_options] =
        add("show", "Show one game: its moves, position, gas of each side and outcome", show_game);
    showing
        ->add_option("game", show_options->game,
                     "Id of the game, or of its unit on chain or at the API (first digits suffice)")
        ->required();
    const auto [watching, watch_options] = add("watch", "Follow a game to its end", watch_game);
    watching->add_option("game", watch_options->game,
                         "Id of the game, or of its unit on chain or at the API (first digits "
                         "suffice; default: the newest open game)");
}

}  // namespace gym::app
