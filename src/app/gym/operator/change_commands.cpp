#include "operator/change_commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "cli/amount_text.hpp"
#include "cli/chain_sender.hpp"
#include "cli/cli_context.hpp"
#include "cli/pending_changes.hpp"
#include "cli/rows.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/contracts/gym_token.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using contracts::AdminCall;
using contracts::AdminLimit;
using contracts::AdminRole;
using contracts::AdminTimelock;
using contracts::PendingChange;

struct ChangeOptions {
    KeyOptions keys;
    ChainOptions chain;
    std::string what;
    std::string value;
    std::string instead_of;
};

template <class Kind>
struct Named {
    const char* name;
    Kind kind;
};
constexpr Named<AdminRole> kRoles[] = {{"settler", AdminRole::kSettler},
                                       {"coordinator", AdminRole::kCoordinator},
                                       {"guardian", AdminRole::kGuardian},
                                       {"admin", AdminRole::kAdmin}};
constexpr Named<AdminLimit> kLimits[] = {{"release-cap", AdminLimit::kReleaseCap},
                                         {"owner-release-cap", AdminLimit::kOwnerReleaseCap},
                                         {"growth-limit", AdminLimit::kGrowthLimit}};

template <class Kind, std::size_t count>
std::optional<Kind> kind_of(const Named<Kind> (&all)[count], const std::string& name) {
    for (const Named<Kind>& one : all)
        if (name == one.name) return one.kind;
    return std::nullopt;
}

/// Where a command acts: the account, the contracts and their admin.
struct Place {
    ChainSender sender;
    AdminTimelock timelock;

    [[nodiscard]] chain::ChainClient& client() const { return sender.account->client(); }
    [[nodiscard]] const contracts::Deployment& contracts() const { return sender.contracts; }
};

Result<Place> open_place(const ChangeOptions& options) {
    GYM_TRY(ChainSender sender, open_sender(options.keys, options.chain));
    GYM_TRY(const AdminTimelock timelock,
            AdminTimelock::of(sender.account->client(), sender.contracts));
    return Place{std::move(sender), timelock};
}

Result<Address> needed_address(const char* what, const std::string& text) {
    GYM_TRY(const auto address, address_option(what, text));
    if (address) return *address;
    return fail(ErrorCode::kInvalidArgument, std::string(what) + " needs an address");
}

/// That the account holds the role, so that a mistyped one is not taken for a key that is gone.
Status check_holder(const Place& place, AdminRole role, const Address& account) {
    GYM_TRY(const bool held, contracts::holds_role(place.client(), place.contracts(),
                                                   place.timelock.address(), role, account));
    if (held) return {};
    return fail(ErrorCode::kConflict, account.hex() + " does not hold the role");
}

Result<std::vector<AdminCall>> role_change(const Place& place, AdminRole role,
                                           const ChangeOptions& options) {
    GYM_TRY(const Address account, needed_address(options.what.c_str(), options.value));
    auto out = contracts::grant_calls(place.contracts(), place.timelock.address(), role, account);
    GYM_TRY(const auto before, address_option("--instead-of", options.instead_of));
    if (!before) return out;
    if (*before == account)
        return fail(ErrorCode::kInvalidArgument, "--instead-of names the same address");
    GYM_CHECK(check_holder(place, role, *before));
    const auto revoked =
        contracts::revoke_calls(place.contracts(), place.timelock.address(), role, *before);
    out.insert(out.end(), revoked.begin(), revoked.end());
    return out;
}

Result<std::vector<AdminCall>> calls_of(const Place& place, const ChangeOptions& options) {
    if (const auto role = kind_of(kRoles, options.what)) return role_change(place, *role, options);
    if (!options.instead_of.empty())
        return fail(ErrorCode::kInvalidArgument, "--instead-of belongs to a role");
    if (const auto limit = kind_of(kLimits, options.what)) {
        GYM_TRY(const Amount amount, tokens_argument(options.value));
        return std::vector{contracts::limit_call(place.contracts(), *limit, amount)};
    }
    if (!options.value.empty()) return fail(ErrorCode::kInvalidArgument, "unpause takes no value");
    GYM_TRY(auto calls, contracts::unpause_calls(place.client(), place.contracts()));
    if (calls.empty()) return fail(ErrorCode::kConflict, "nothing is paused");
    return calls;
}

std::string hash_of(const chain::Outcome& outcome) {
    return outcome.transaction_hash ? outcome.transaction_hash->hex() : "-";
}

Status announce_change(const CliContext& context, const ChangeOptions& options) {
    GYM_TRY(const Place place, open_place(options));
    contracts::AdminChange change;
    GYM_TRY(change.calls, calls_of(place, options));
    GYM_TRY(const auto before, place.timelock.pending(place.client()));
    for (const PendingChange& other : before)
        if (other.change.calls == change.calls)
            return fail(ErrorCode::kConflict,
                        "this is announced already, as change " + other.id.hex());
    // So that the same can be announced again, once this is executed.
    GYM_TRY(const std::uint64_t number, place.timelock.announcements(place.client()));
    for (std::size_t i = 0; i < sizeof number; ++i)
        change.salt.data[change.salt.data.size() - 1 - i] =
            static_cast<std::uint8_t>(number >> (8 * i));
    GYM_TRY(const std::uint64_t delay_s, place.timelock.delay_s(place.client()));
    GYM_TRY(const chain::Outcome outcome,
            place.sender.account->execute(place.timelock.announce(change, delay_s)));
    GYM_TRY(auto after, place.timelock.pending(place.client()));
    std::erase_if(after, [&](const PendingChange& other) { return other.id != change.id(); });
    if (after.empty())
        return fail(ErrorCode::kConflict,
                    "change " + change.id().hex() + " is on chain, and was cancelled at once");
    if (context.json) {
        json::object out =
            changes_json(place.contracts(), place.timelock, after).front().as_object();
        out["transaction"] = hash_of(outcome);
        context.print_json(out);
        return {};
    }
    print_changes(place.contracts(), place.timelock, after);
    print_row("transaction", "{} (final); then run `gym operator execute {}`", hash_of(outcome),
              change.id().hex());
    return {};
}

/// The pending change with this id. @errors kInvalidArgument, kNotFound.
Result<PendingChange> find_change(const Place& place, const std::string& text) {
    const auto id = Digest::parse(text);
    if (!id.ok())
        return fail(ErrorCode::kInvalidArgument,
                    "'" + text + "' is not the id of a change; `gym operator changes` lists them");
    GYM_TRY(const auto pending, place.timelock.pending(place.client()));
    const auto found = std::find_if(pending.begin(), pending.end(),
                                    [&](const PendingChange& one) { return one.id == *id; });
    if (found != pending.end()) return *found;
    return fail(ErrorCode::kNotFound,
                "change " + id->hex() + " is not announced; `gym operator changes` lists what is");
}

void print_done(const CliContext& context, const Place& place, const char* state,
                const PendingChange& change, const chain::Outcome& outcome) {
    json::object out =
        changes_json(place.contracts(), place.timelock, {change}).front().as_object();
    if (context.json) {
        out.erase("ready");
        out["state"] = state;
        out["transaction"] = hash_of(outcome);
        context.print_json(out);
        return;
    }
    print_row(state, "{}", change.id.hex());
    for (const json::value& call : out.at("calls").as_array())
        print_row("", "{}", std::string(call.as_string()));
    print_row("transaction", "{} (final)", hash_of(outcome));
}

Status execute_change(const CliContext& context, const ChangeOptions& options) {
    GYM_TRY(const Place place, open_place(options));
    GYM_TRY(const PendingChange change, find_change(place, options.value));
    if (!change.ready)
        return fail(ErrorCode::kConflict, "change " + change.id.hex() + " can be executed from " +
                                              contract_time_text(change.ready_at_s));
    GYM_TRY(const chain::Outcome outcome,
            place.sender.account->execute(place.timelock.execute(change.change)));
    print_done(context, place, "executed", change, outcome);
    return {};
}

Status cancel_change(const CliContext& context, const ChangeOptions& options) {
    GYM_TRY(const Place place, open_place(options));
    GYM_TRY(const PendingChange change, find_change(place, options.value));
    GYM_TRY(const chain::Outcome outcome,
            place.sender.account->execute(place.timelock.cancel(change.id)));
    print_done(context, place, "cancelled", change, outcome);
    return {};
}

Status list_changes(const CliContext& context, const ChangeOptions& options) {
    GYM_TRY(const contracts::Deployment contracts, options.chain.contracts());
    GYM_TRY(const std::string url, options.chain.rpc_url());
    GYM_TRY(const auto client, chain::make_http_client(url));
    GYM_CHECK(chain::check_chain_id(*client, contracts.chain_id));
    GYM_TRY(const AdminTimelock timelock, AdminTimelock::of(*client, contracts));
    GYM_TRY(const std::uint64_t delay_s, timelock.delay_s(*client));
    GYM_TRY(const auto pending, timelock.pending(*client));
    if (context.json) {
        context.print_json({{"timelock", timelock.address().hex()},
                            {"delay_s", delay_s},
                            {"announced", changes_json(contracts, timelock, pending)}});
        return {};
    }
    print_row("timelock", "{}: a change takes {} s", timelock.address().hex(), delay_s);
    if (pending.empty()) print_row("announced", "nothing");
    print_changes(contracts, timelock, pending);
    return {};
}

/// Sends the guardian's calls one after another: no contract bundles them.
Status act_at_once(const CliContext& context, const Place& place,
                   const std::vector<AdminCall>& calls) {
    for (const AdminCall& call : calls) {
        const std::string text =
            contracts::describe_call(place.contracts(), place.timelock.address(), call);
        contracts::ContractCall sent;
        sent.to = call.target;
        sent.data = call.data;
        sent.label = text;
        GYM_TRY(const chain::Outcome outcome, place.sender.account->execute(sent));
        if (context.json)
            context.print_json({{"done", text}, {"transaction", hash_of(outcome)}});
        else
            print_row("done", "{}, transaction {} (final)", text, hash_of(outcome));
    }
    return {};
}

Status revoke_role(const CliContext& context, const ChangeOptions& options) {
    GYM_TRY(const Address account, needed_address("ADDRESS", options.value));
    GYM_TRY(const Place place, open_place(options));
    const AdminRole role = *kind_of(kRoles, options.what);
    GYM_CHECK(check_holder(place, role, account));
    return act_at_once(
        context, place,
        contracts::revoke_calls(place.contracts(), place.timelock.address(), role, account));
}

Status lower_limit(const CliContext& context, const ChangeOptions& options) {
    GYM_TRY(const Amount amount, tokens_argument(options.value));
    GYM_TRY(const Place place, open_place(options));
    const AdminLimit limit = *kind_of(kLimits, options.what);
    GYM_TRY(const Amount now, contracts::limit_of(place.client(), place.contracts(), limit));
    if (amount > now)
        return fail(ErrorCode::kConflict, options.what + " is " + now.to_tokens() +
                                              " GYM: raising it takes `gym operator announce`");
    return act_at_once(context, place, {contracts::limit_call(place.contracts(), limit, amount)});
}

using Action = Status (*)(const CliContext&, const ChangeOptions&);

CLI::App* add_command(CLI::App& group, CliContext& context, const char* name, const char* help,
                      const std::shared_ptr<ChangeOptions>& options, Action action) {
    CLI::App* command = group.add_subcommand(name, help);
    if (action != list_changes) options->keys.add_to(*command, true);
    options->chain.add_to(*command);
    command->callback([&context, options, action] { context.finish(action(context, *options)); });
    return command;
}

template <class Kind, std::size_t count>
std::vector<std::string> names_of(const Named<Kind> (&all)[count]) {
    std::vector<std::string> out;
    for (const Named<Kind>& one : all)
        out.emplace_back(one.name);
    return out;
}

void add_announce(CLI::App& group, CliContext& context) {
    auto options = std::make_shared<ChangeOptions>();
    CLI::App* command = add_command(
        group, context, "announce",
        "Announce a change to the contracts, with the admin's key; execute it after the delay",
        options, announce_change);
    std::vector<std::string> kinds = names_of(kRoles);
    for (const std::string& limit : names_of(kLimits))
        kinds.push_back(limit);
    kinds.emplace_back("unpause");
    command->add_option("change", options->what, "What changes")
        ->required()
        ->check(CLI::IsMember(kinds));
    command->add_option("value", options->value, "The role's new address, or the new limit in GYM");
    command->add_option("--instead-of", options->instead_of,
                        "Take the role from this address at the same time");
}

void add_by_id(CLI::App& group, CliContext& context, const char* name, const char* help,
               Action action) {
    auto options = std::make_shared<ChangeOptions>();
    add_command(group, context, name, help, options, action)
        ->add_option("id", options->value, "Id of the change")
        ->required();
}

void add_at_once(CLI::App& group, CliContext& context) {
    auto of_role = std::make_shared<ChangeOptions>();
    CLI::App* command = add_command(group, context, "revoke",
                                    "Take a role from an address at once, with the guardian's key",
                                    of_role, revoke_role);
    command->add_option("role", of_role->what, "The role")
        ->required()
        ->check(CLI::IsMember({"settler", "coordinator"}));
    command->add_option("address", of_role->value, "The holder")->required();

    auto of_limit = std::make_shared<ChangeOptions>();
    command = add_command(group, context, "lower", "Lower a limit at once, with the guardian's key",
                          of_limit, lower_limit);
    command->add_option("limit", of_limit->what, "The limit")
        ->required()
        ->check(CLI::IsMember(names_of(kLimits)));
    command->add_option("amount", of_limit->value, "The new limit in GYM")->required();
}

}  // namespace

void add_change_commands(CLI::App& group, CliContext& context) {
    add_announce(group, context);
    add_command(group, context, "changes",
                "List what the admin announced, and when it can be executed",
                std::make_shared<ChangeOptions>(), list_changes);
    add_by_id(group, context, "execute", "Execute a change whose delay is over", execute_change);
    add_by_id(group, context, "cancel",
              "Cancel an announced change, with the admin's or the guardian's key", cancel_change);
    add_at_once(group, context);
}

}  // namespace gym::app
