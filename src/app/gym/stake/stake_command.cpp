#include "stake/stake_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <set>

#include "cli/amount_text.hpp"
#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/network_check.hpp"
#include "cli/network_options.hpp"
#include "cli/not_empty.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

// Stake.sol says of a pool of thawing stake only how much is in it. What a thaw has of it follows
// from the owner's events: shares are in them, and a slash that empties the pool makes the shares
// of before worthless.

struct Thaw {
    contracts::ThawStarted started;
    bool worthless = false;
};

/// Plays Stake.sol's account of one owner.
class Pool {
  public:
    Status take(const contracts::StakeEvent& event) { return std::visit(*this, event); }

    Status operator()(const contracts::Staked& staked) { return add(active_, staked.amount); }
    Status operator()(const contracts::ThawStarted& started) {
        thaws_.push_back({started});
        GYM_CHECK(subtract(active_, started.amount));
        return add(thawing_, started.amount);
    }
    Status operator()(const contracts::StakeWithdrawn& withdrawn) {
        return subtract(thawing_, withdrawn.amount);
    }
    Status operator()(const contracts::Slashed& slashed) {
        Amount taken = slashed.burned;
        GYM_CHECK(add(taken, slashed.reward));
        GYM_CHECK(add(taken, slashed.compensation));
        const Amount from_active = std::min(taken, active_);
        GYM_CHECK(subtract(active_, from_active));
        GYM_CHECK(subtract(taken, from_active));
        GYM_CHECK(subtract(thawing_, taken));
        if (!thawing_.is_zero()) return {};
        for (Thaw& thaw : thaws_)
            thaw.worthless = true;
        return {};
    }
    template <class Other>
    Status operator()(const Other& /*event*/) {
        return {};  // moves no stake
    }

    /// withdraw() takes one after another and rounds down; the last gets what is left.
    Result<std::vector<OpenThaw>> open(std::uint64_t count) && {
        if (count > thaws_.size())
            return fail(ErrorCode::kMismatch, "the chain's logs have " +
                                                  std::to_string(thaws_.size()) + " thaws, " +
                                                  std::to_string(count) + " are open");
        thaws_.erase(thaws_.begin(), thaws_.end() - static_cast<std::ptrdiff_t>(count));
        Amount shares;
        for (const Thaw& thaw : thaws_)
            if (!thaw.worthless) GYM_CHECK(add(shares, thaw.started.shares));
        std::vector<OpenThaw> out;
        for (const Thaw& thaw : thaws_) {
            Amount worth;
            if (!thaw.worthless) {
                GYM_TRY(worth, thaw.started.shares == shares
                                   ? Result<Amount>(thawing_)
                                   : thawing_.mul_div(thaw.started.shares, shares));
                GYM_CHECK(subtract(thawing_, worth));
                GYM_CHECK(subtract(shares, thaw.started.shares));
            }
            out.push_back({thaw.started.amount, worth, thaw.started.available_at_s});
        }
        return out;
    }

  private:
    static Status add(Amount& sum, const Amount& more) {
        GYM_TRY(sum, sum.plus(more));
        return {};
    }
    static Status subtract(Amount& from, const Amount& amount) {
        const auto left = from.minus(amount);
        if (!left.ok())
            return fail(ErrorCode::kMismatch, "the chain's logs of this stake are incomplete");
        from = *left;
        return {};
    }

    Amount active_, thawing_;
    std::vector<Thaw> thaws_;
};

}  // namespace

Result<std::vector<OpenThaw>> open_thaws(std::span<const contracts::StakeEvent> events,
                                         std::uint64_t count) {
    Pool pool;
    for (const contracts::StakeEvent& event : events)
        GYM_CHECK(pool.take(event));
    return std::move(pool).open(count);
}

namespace {

constexpr const char* kNobody = "none";

struct StakeOptions {
    KeyOptions keys;
    ApiOptions api;
    ChainOptions chain;
    std::string address;
    std::string owner;
    std::string amount;
    std::string key_address;  ///< of a defender or recipient
    bool despite_disputes = false;
    bool of_verifier = false;
};

Result<contracts::Deployment> of_role(const contracts::Deployment& contracts,
                                      const StakeOptions& options) {
    if (options.of_verifier) return contracts_of_reports(contracts);
    return contracts;
}

Result<ChainSender> sender_of(const StakeOptions& options) {
    GYM_TRY(ChainSender sender, open_sender(options.keys, options.chain, options.api));
    GYM_TRY(sender.contracts, of_role(sender.contracts, options));
    return sender;
}

std::uint64_t wait_s(const StakeState& state, const OpenThaw& thaw) {
    return thaw.available_at_s > state.chain_time_s ? thaw.available_at_s - state.chain_time_s : 0;
}

/// Logs of one of our contracts up to block `head` whose indexed parameter `index`, counted from 1,
/// is `owner`.
Result<std::vector<chain::Log>> logs_about(chain::ChainClient& client,
                                           const contracts::Deployment& contracts,
                                           const Address& contract, std::size_t index,
                                           const Address& owner, std::uint64_t head) {
    Digest topic;
    std::copy(owner.data.begin(), owner.data.end(), topic.data.begin() + 12);
    chain::LogQuery query;
    query.address = contract;
    query.topics.resize(index + 1);
    query.topics[index] = topic;
    query.first_block = contracts.start_block;
    query.last_block = head;
    return chain::find_all_logs(client, query);
}

/// Events of the owner's stake up to block `head`.
Result<std::vector<contracts::StakeEvent>> stake_events(chain::ChainClient& client,
                                                        const contracts::Deployment& contracts,
                                                        const Address& owner, std::uint64_t head) {
    const contracts::Stake stake(contracts.stake);
    GYM_TRY(const auto logs, logs_about(client, contracts, contracts.stake, 1, owner, head));
    std::vector<contracts::StakeEvent> out;
    for (const chain::Log& log : logs) {
        GYM_TRY(const auto event, stake.parse_event(log));
        if (event) out.push_back(*event);
    }
    return out;
}

Amount slashed_in(const std::vector<contracts::StakeEvent>& events) {
    Amount out;
    for (const contracts::StakeEvent& event : events)
        if (const auto* const slash = std::get_if<contracts::Slashed>(&event))
            for (const Amount& part : {slash->burned, slash->reward, slash->compensation})
                out = out.plus(part).value_or(out);
    return out;
}

/// "3 GYM", "1.5 GYM, left of 3 after a slash", "nothing, left of 3 GYM after a slash".
std::string worth_text(const OpenThaw& thaw) {
    std::string worth = thaw.worth.is_zero() ? "nothing" : thaw.worth.to_tokens() + " GYM";
    if (thaw.worth == thaw.amount) return worth;
    return worth + ", left of " + thaw.amount.to_tokens() + " after a slash";
}

json::value address_json(const Address& address) {
    return address.is_zero() ? json::value(nullptr) : json::value(address.hex());
}

json::object to_json(const Address& owner, const StakeState& state) {
    json::array thaws;
    for (const OpenThaw& thaw : state.thaws)
        thaws.push_back(json::object{{"amount_wei", thaw.amount.to_string()},
                                     {"worth_wei", thaw.worth.to_string()},
                                     {"available_at_s", thaw.available_at_s},
                                     {"wait_s", wait_s(state, thaw)}});
    return {{"owner", owner.hex()},
            {"active_wei", state.active.to_string()},
            {"thawing_wei", state.thawing.to_string()},
            {"locks", state.locks},
            {"slashed_wei", state.slashed.to_string()},
            {"thaws", thaws},
            {"thaw_period_s", state.thaw_period_s},
            {"wallet_wei", state.wallet.to_string()},
            {"defender", address_json(state.keys.defender)},
            {"recipient", state.keys.recipient.hex()},
            {"next_recipient", address_json(state.keys.next_recipient)},
            {"next_recipient_at_s", state.keys.next_recipient_at_s}};
}

void print(const Address& owner, const StakeState& state) {
    print_row("owner", "{}", crypto::to_checksum(owner));
    print_row("active", "{} GYM, which back its units or reports", state.active.to_tokens());
    print_row("thawing", "{} GYM, which can still be slashed", state.thawing.to_tokens());
    for (const OpenThaw& thaw : state.thaws) {
        const std::uint64_t wait = wait_s(state, thaw);
        const std::string when = wait == 0 ? "which can be withdrawn"
                                           : "until " + contract_time_text(thaw.available_at_s) +
                                                 ", in " + std::to_string(wait) + " s";
        print_line("  {}, {}", worth_text(thaw), when);
    }
    if (!state.slashed.is_zero())
        print_row("slashed", "{} GYM so far, for proven faults; `gym dispute list` shows them",
                  state.slashed.to_tokens());
    if (state.locks != 0)
        print_row("locked", "by disputes about {} unit(s); `gym dispute list` shows them",
                  state.locks);
    print_row("in the wallet", "{} GYM", state.wallet.to_tokens());
    const contracts::Stake::Keys& keys = state.keys;
    if (!keys.defender.is_zero())
        print_row("defender", "{}, which may answer disputes, too",
                  crypto::to_checksum(keys.defender));
    if (keys.recipient != owner)
        print_row("recipient", "{}, which gets withdrawn stake",
                  crypto::to_checksum(keys.recipient));
    if (!keys.next_recipient.is_zero())
        print_row("next recipient", "{} from {} on, unless the recipient refuses",
                  crypto::to_checksum(keys.next_recipient),
                  contract_time_text(keys.next_recipient_at_s));
}

Status show_stake(const CliContext& context, const StakeOptions& options) {
    GYM_TRY(const Address owner, asked_address(options.address, options.keys));
    GYM_TRY(const contracts::Deployment all, options.chain.contracts());
    GYM_TRY(const contracts::Deployment contracts, of_role(all, options));
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(const auto client, chain::make_http_client(url));
    GYM_CHECK(chain::check_chain_id(*client, contracts.chain_id));
    GYM_TRY(const StakeState state, read_stake(*client, contracts, owner));
    if (context.json)
        context.print_json(to_json(owner, state));
    else
        print(owner, state);
    return {};
}

Status report(const CliContext& context, const ChainSender& sender, const Address& owner,
              const char* done, const Amount& amount, const chain::Outcome& outcome) {
    GYM_TRY(const StakeState state, read_stake(sender.account->client(), sender.contracts, owner));
    const std::string hash = outcome.transaction_hash ? outcome.transaction_hash->hex() : "-";
    if (context.json) {
        json::object out = to_json(owner, state);
        out["done"] = done;
        out["amount_wei"] = amount.to_string();
        out["transaction"] = hash;
        out["gas_used"] = outcome.gas_used;
        context.print_json(out);
        return {};
    }
    print_row(done, "{} GYM", amount.to_tokens());
    print(owner, state);
    print_row("transaction", "{} (final)", hash);
    return {};
}

/// How many units of `owner` have a proven fault that is not settled yet.
Result<std::size_t> units_to_be_slashed(chain::ChainClient& client,
                                        const contracts::Deployment& contracts,
                                        const Address& owner) {
    const contracts::DisputeGame game(contracts.dispute_game);
    GYM_TRY(const auto head, client.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    GYM_TRY(const auto logs,
            logs_about(client, contracts, contracts.dispute_game, 2, owner, head->number));
    std::set<Digest> out;  // a fault can be proven by several
    for (const chain::Log& log : logs) {
        GYM_TRY(const auto event, game.parse_event(log));
        const auto* const faulty = event ? std::get_if<contracts::UnitFaulty>(&*event) : nullptr;
        if (faulty == nullptr) continue;
        GYM_TRY(const auto unit, game.unit_of(client, faulty->unit));
        if (!unit.settled) out.insert(faulty->unit);
    }
    return out.size();
}

/// A proven fault takes the whole stake when it is settled, also what was added after the proof.
Status check_not_lost(const ChainSender& sender, const Address& owner) {
    chain::ChainClient& client = sender.account->client();
    GYM_TRY(const contracts::Stake::Holding holding,
            contracts::Stake(sender.contracts.stake).stake_of(client, owner));
    if (holding.locks == 0) return {};
    GYM_TRY(const std::size_t proven, units_to_be_slashed(client, sender.contracts, owner));
    if (proven == 0) {
        (void)std::fprintf(stderr,
                           "stake: disputes about %llu unit(s) are open; a proven fault also takes "
                           "the stake that you add now\n",
                           static_cast<unsigned long long>(holding.locks));
        return {};
    }
    return fail(ErrorCode::kConflict,
                "a fault is proven in " + std::to_string(proven) + " unit(s) of " +
                    crypto::to_checksum(owner) +
                    ", and its settlement will take the whole stake, including additions: wait "
                    "until `gym dispute list` shows it slashed, or use --despite-disputes");
}

Status add(const CliContext& context, const StakeOptions& options) {
    GYM_TRY(const Amount amount, tokens_argument(options.amount));
    GYM_TRY(const auto whose, address_option("--owner", options.owner));
    GYM_TRY(const ChainSender sender, sender_of(options));
    const Address owner = whose.value_or(sender.account->address());
    if (!options.despite_disputes) GYM_CHECK(check_not_lost(sender, owner));
    GYM_CHECK(check_holds(sender, amount));
    GYM_TRY(const chain::Outcome outcome, sender.account->stake(sender.contracts, owner, amount));
    return report(context, sender, owner, "staked", amount, outcome);
}

/// A stake that the key may move: its own, or one that it is the recipient of.
struct Opened {
    ChainSender sender;
    Address owner;
    StakeState before;
};

Result<Opened> open_stake(const StakeOptions& options) {
    GYM_TRY(const auto whose, address_option("--owner", options.owner));
    GYM_TRY(ChainSender sender, sender_of(options));
    const Address self = sender.account->address();
    const Address owner = whose.value_or(self);
    GYM_TRY(StakeState before, read_stake(sender.account->client(), sender.contracts, owner));
    if (owner != self && before.keys.recipient != self)
        return fail(ErrorCode::kPermissionDenied,
                    crypto::to_checksum(self) + " is not the recipient of the stake of " +
                        crypto::to_checksum(owner) + ": use the key of " +
                        crypto::to_checksum(before.keys.recipient) + ", or the owner's");
    return Opened{std::move(sender), owner, std::move(before)};
}

Status thaw(const CliContext& context, const StakeOptions& options) {
    GYM_TRY(const Amount amount, tokens_argument(options.amount));
    GYM_TRY(const Opened stake, open_stake(options));
    const ChainSender& sender = stake.sender;
    const StakeState& before = stake.before;
    if (before.active < amount)
        return fail(ErrorCode::kInsufficientFunds, "only " + before.active.to_tokens() +
                                                       " GYM are active, less than the " +
                                                       amount.to_tokens() + " to thaw");
    GYM_TRY(const chain::Outcome outcome,
            sender.account->execute(
                contracts::Stake(sender.contracts.stake).thaw(stake.owner, amount)));
    return report(context, sender, stake.owner, "thawing", amount, outcome);
}

/// Thawed stake at its present worth.
Amount withdrawable(const StakeState& state) {
    Amount out;
    for (const OpenThaw& thaw : state.thaws)
        if (wait_s(state, thaw) == 0) out = out.plus(thaw.worth).value_or(out);
    return out;
}

/// Why nothing can be withdrawn now.
Status check_withdrawable(const StakeState& state) {
    if (state.locks != 0)
        return fail(ErrorCode::kConflict,
                    "disputes about " + std::to_string(state.locks) +
                        " unit(s) are open: nothing can be withdrawn before they end; `gym dispute "
                        "list` shows them");
    if (state.thaws.empty())
        return fail(ErrorCode::kConflict, "nothing thaws: `gym stake thaw AMOUNT` begins it");
    if (const std::uint64_t wait = wait_s(state, state.thaws.front()); wait > 0)
        return fail(ErrorCode::kConflict,
                    "nothing has thawed yet: " + worth_text(state.thaws.front()) +
                        " can be withdrawn from " +
                        contract_time_text(state.thaws.front().available_at_s) + ", in " +
                        std::to_string(wait) + " s");
    return {};
}

Status withdraw(const CliContext& context, const StakeOptions& options) {
    GYM_TRY(const Opened stake, open_stake(options));
    const ChainSender& sender = stake.sender;
    const StakeState& before = stake.before;
    GYM_CHECK(check_withdrawable(before));
    if (withdrawable(before).is_zero())
        (void)std::fprintf(
            stderr, "stake: a slash took everything that has thawed; this only clears the list\n");
    GYM_TRY(
        const chain::Outcome outcome,
        sender.account->execute(contracts::Stake(sender.contracts.stake).withdraw(stake.owner)));
    GYM_TRY(const StakeState after,
            read_stake(sender.account->client(), sender.contracts, stake.owner));
    // After a slash, less than was thawed.
    GYM_TRY(const Amount paid, before.thawing.minus(std::min(before.thawing, after.thawing)));
    return report(context, sender, stake.owner, "withdrawn", paid, outcome);
}

/// Prints what is set now.
Status report_keys(const CliContext& context, const Opened& stake, const char* done,
                   const Address& address, const chain::Outcome& outcome) {
    GYM_TRY(const StakeState state,
            read_stake(stake.sender.account->client(), stake.sender.contracts, stake.owner));
    const std::string hash = outcome.transaction_hash ? outcome.transaction_hash->hex() : "-";
    if (context.json) {
        json::object out = to_json(stake.owner, state);
        out["done"] = done;
        out["address"] = address_json(address);
        out["transaction"] = hash;
        out["gas_used"] = outcome.gas_used;
        context.print_json(out);
        return {};
    }
    print(stake.owner, state);
    print_row("transaction", "{} (final)", hash);
    return {};
}

Status set_defender(const CliContext& context, const StakeOptions& options) {
    const bool none = options.key_address == kNobody;
    GYM_TRY(const auto defender, address_option("ADDRESS", none ? "" : options.key_address));
    GYM_TRY(const Opened stake, open_stake(options));
    const Address address = defender.value_or(Address());
    GYM_TRY(const chain::Outcome outcome,
            stake.sender.account->execute(
                contracts::Stake(stake.sender.contracts.stake).set_defender(stake.owner, address)));
    return report_keys(context, stake, "defender", address, outcome);
}

Status set_recipient(const CliContext& context, const StakeOptions& options) {
    GYM_TRY(const auto recipient, address_option("ADDRESS", options.key_address));
    GYM_TRY(const Opened stake, open_stake(options));
    GYM_TRY(
        const chain::Outcome outcome,
        stake.sender.account->execute(
            contracts::Stake(stake.sender.contracts.stake).set_recipient(stake.owner, *recipient)));
    return report_keys(context, stake, "recipient", *recipient, outcome);
}

}  // namespace

Result<StakeState> read_stake(chain::ChainClient& client, const contracts::Deployment& contracts,
                              const Address& owner) {
    const contracts::Stake stake(contracts.stake);
    GYM_TRY(const auto head, client.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    const chain::BlockId at = head->number;  // what is counted and what happened agree
    StakeState out;
    out.chain_time_s = head->timestamp_s;
    GYM_TRY(const contracts::Stake::Holding holding, stake.stake_of(client, owner, at));
    out.active = holding.active;
    out.thawing = holding.thawing;
    out.locks = holding.locks;
    GYM_TRY(const std::uint64_t thaws, stake.thaw_count(client, owner, at));
    GYM_TRY(const auto events, stake_events(client, contracts, owner, head->number));
    GYM_TRY(out.thaws, open_thaws(events, thaws));
    out.slashed = slashed_in(events);
    GYM_TRY(out.thaw_period_s, stake.thaw_period_s(client));
    GYM_TRY(out.keys, stake.keys_of(client, owner, at));
    GYM_TRY(out.wallet,
            contracts::GymToken(contracts.chain_id, contracts.token).balance_of(client, owner));
    return out;
}

void add_stake_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand(
        "stake", "Manage the stake that backs a worker's units, or a verifier's reports");
    group->require_subcommand(1);
    auto options = std::make_shared<StakeOptions>();
    const auto command = [&](const char* name, const char* about, bool signs, auto run) {
        CLI::App* out = group->add_subcommand(name, about);
        options->keys.add_to(*out, signs);
        if (signs) options->api.add_to(*out, false);
        options->chain.add_to(*out);
        out->add_flag("--verifier", options->of_verifier,
                      "The stake that backs a verifier's reports, not a worker's units");
        out->callback([&context, options, run] { context.finish(run(context, *options)); });
        return out;
    };
    command("show", "Show active and thawing stake, with times", false, show_stake)
        ->add_option("--address", options->address, "Address to show (default: the key's)")
        ->check(not_empty());
    CLI::App* adding = command("add", "Move GYM from the wallet into the stake", true, add);
    adding->add_option("amount", options->amount, "GYM, like 12.5")->required();
    adding
        ->add_option("--owner", options->owner,
                     "Add to the stake of this address, such as a node's (default: the key's)")
        ->check(not_empty());
    adding->add_flag("--despite-disputes", options->despite_disputes,
                     "Add even if the settlement of a proven fault will take it");
    const auto add_owner = [&](CLI::App* to) {
        to->add_option("--owner", options->owner,
                       "Whose stake it is, if the key is its recipient's (default: the key's)")
            ->check(not_empty());
        return to;
    };
    add_owner(
        command("thaw",
                "Start to release stake: it backs no new units and can be withdrawn after the "
                "delay",
                true, thaw))
        ->add_option("amount", options->amount, "GYM, like 12.5")
        ->required();
    add_owner(command("withdraw", "Move thawed stake to its recipient", true, withdraw));
    add_owner(command("defender",
                      "Let another key answer disputes about the stake's units; it can lose the "
                      "stake by wrong answers, but not take it",
                      true, set_defender))
        ->add_option("address", options->key_address, "Its address, or `none`")
        ->required()
        ->check(not_empty());
    add_owner(command("recipient",
                      "Set the address that withdrawn stake goes to: at once with the recipient's "
                      "key, after the delay with the owner's if they differ",
                      true, set_recipient))
        ->add_option("address", options->key_address, "Its address")
        ->required()
        ->check(not_empty());
}

}  // namespace gym::app
