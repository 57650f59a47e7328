#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/cli_context.hpp"
#include "cli/network_choice.hpp"
#include "cli/network_options.hpp"
#include "cli/rows.hpp"
#include "gym/common/clock.hpp"
#include "gym/node/stored_network.hpp"
#include "gym/profile/fetch.hpp"
#include "gym/profile/store.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

struct NetworkFlags {
    std::string name;
    std::string url;
    std::string signer;  ///< --operator
    std::string data_dir;
    bool yes = false;

    [[nodiscard]] profile::Store store() const { return node::network_store(data_dir); }
};

json::object to_json(const profile::StoredNetwork& network, bool is_default) {
    json::object out{{"name", network.name},
                     {"default", is_default},
                     {"url", network.url},
                     {"chain_rpc", network.chain_rpc},
                     {"updated_at_ms", network.updated_at_ms}};
    out["profile"] = json::parse(profile::to_json(network.signed_profile));
    return out;
}

std::string ca_text(const profile::NetworkProfile& profile) {
    if (profile.coordinator_ca == profile::kSystemCa) return "TLS, the system's authorities";
    if (profile.coordinator_ca == profile::kNoTls) return "no TLS";
    return "TLS, the profile's own CA";
}

void print_profile(const profile::SignedProfile& signed_profile) {
    const profile::NetworkProfile& profile = signed_profile.profile;
    print_row("operator", "{}", crypto::to_checksum(signed_profile.signer));
    print_row("chain", "{}", profile.contracts.chain_id);
    print_row("coordinator", "{} ({})", profile.coordinator, ca_text(profile));
    print_row("API", "{}", profile.api);
    print_row("minimum stake", "{} GYM", profile.minimum_stake.to_tokens());
    print_row("issued", "{}", utc_text(profile.issued_at_ms));
}

void print(const profile::StoredNetwork& network, bool is_default) {
    print_row("network", "{}{}", network.name, is_default ? " (default)" : "");
    print_row("name", "{}", network.profile().name);
    print_row("from", "{}", network.url);
    print_profile(network.signed_profile);
    print_row("chain's endpoint", "{}", network.chain_rpc);
    const contracts::Deployment& contracts = network.profile().contracts;
    for (const auto& [label, address] : {std::pair{"token", contracts.token},
                                         {"job escrow", contracts.escrow},
                                         {"rewards", contracts.distributor},
                                         {"commitment log", contracts.commitment_log},
                                         {"stake", contracts.stake},
                                         {"dispute game", contracts.dispute_game}})
        print_row(label, "{}", crypto::to_checksum(address));
    if (!contracts.verifier_stake.is_zero()) {
        print_row("verifiers' stake", "{}", crypto::to_checksum(contracts.verifier_stake));
        print_row("report game", "{}", crypto::to_checksum(contracts.report_game));
    }
    if (!network.profile().fee_address.is_zero())
        print_row("fee to", "{}", crypto::to_checksum(network.profile().fee_address));
}

/// Shows who signed, and asks. @errors kPermissionDenied for a no.
Status ask(const profile::SignedProfile& found) {
    print_row_text(stderr, "network", found.profile.name);
    print_row_text(stderr, "operator", crypto::to_checksum(found.signer));
    print_row_text(stderr, "chain", std::to_string(found.profile.contracts.chain_id));
    print_row_text(stderr, "coordinator", found.profile.coordinator);
    (void)std::fputs(
        "Compare the operator's address with the one that the operator published elsewhere: money "
        "goes to the contracts that it names.\nIs it the right one? [y/N] ",
        stderr);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == "y" || answer == "Y" || answer == "yes") return {};
    return fail(ErrorCode::kPermissionDenied, "not accepted: nothing was stored");
}

/// The first time, the user decides whose key it has to be.
Status check_operator(const CliContext& context, const NetworkFlags& flags,
                      const std::optional<Address>& expected, const profile::SignedProfile& found) {
    const std::string signer = crypto::to_checksum(found.signer);
    if (expected && *expected == found.signer) return {};
    if (expected)
        return fail(ErrorCode::kMismatch, "the network profile at " + flags.url + " is signed by " +
                                              signer + ", not by --operator " +
                                              crypto::to_checksum(*expected) +
                                              ": nothing was stored");
    const bool can_ask = !context.json && !flags.yes && ::isatty(STDIN_FILENO) != 0;
    if (can_ask) return ask(found);
    return fail(ErrorCode::kInvalidArgument,
                "--operator 0xADDRESS is missing: compare " + signer +
                    ", which signed this profile of chain " +
                    std::to_string(found.profile.contracts.chain_id) +
                    ", with the address that the operator published, then add --operator " +
                    signer);
}

/// Fetched, checked against its chain, and ready to be stored.
Result<profile::StoredNetwork> make_stored(const NetworkFlags& flags,
                                           profile::SignedProfile found) {
    profile::StoredNetwork out{.name = flags.name,
                               .url = flags.url,
                               .chain_rpc = {},
                               .updated_at_ms = SystemClock().now_ms(),
                               .signed_profile = std::move(found)};
    GYM_TRY(out.chain_rpc, profile::find_chain_rpc(out.profile()));
    return out;
}

Status add_profile(const CliContext& context, const NetworkFlags& flags) {
    GYM_CHECK(profile::check_name(flags.name));
    GYM_TRY(const auto signer, address_option("--operator", flags.signer));
    const profile::Store store = flags.store();
    const auto existing = store.find(flags.name);
    if (existing.ok() || existing.error().code != ErrorCode::kNotFound)
        return fail(ErrorCode::kAlreadyExists, "there is a network '" + flags.name +
                                                   "' already: `gym network update " + flags.name +
                                                   "` refreshes it, `gym network remove " +
                                                   flags.name + "` makes room");
    GYM_TRY(profile::SignedProfile found,
            profile::fetch_profile(flags.url, SystemClock().now_ms()));
    GYM_CHECK(check_operator(context, flags, signer, found));
    GYM_TRY(const profile::StoredNetwork network, make_stored(flags, std::move(found)));
    GYM_TRY(const auto chosen, store.default_name());
    GYM_CHECK(store.save(network));
    if (!chosen) GYM_CHECK(store.set_default(network.name));
    if (context.json) {
        context.print_json(to_json(network, !chosen));
        return {};
    }
    print_row("network", "{}{}", network.name,
              chosen ? ", which --network selects (default: " + *chosen + ")"
                     : " (default: commands use it from now on)");
    print_profile(network.signed_profile);
    print_line("added; lend this machine with: gym register, then gym start");
    return {};
}

/// `flags.name`, else the default network.
Result<profile::StoredNetwork> find(const NetworkFlags& flags) {
    const profile::Store store = flags.store();
    if (!flags.name.empty()) return store.find(flags.name);
    GYM_TRY(auto network, store.find_default());
    if (network) return *std::move(network);
    return fail(ErrorCode::kNotFound,
                "there is no default network: name one, or choose one with `gym network use NAME`");
}

bool is_default(const profile::Store& store, const std::string& name) {
    const auto chosen = store.default_name();
    return chosen.ok() && *chosen == name;
}

Status update(const CliContext& context, NetworkFlags flags) {
    GYM_TRY(const profile::StoredNetwork before, find(flags));
    flags.name = before.name;
    if (flags.url.empty()) flags.url = before.url;
    GYM_TRY(profile::SignedProfile found,
            profile::fetch_profile(flags.url, SystemClock().now_ms()));
    GYM_CHECK(profile::check_successor(before.signed_profile, found));
    GYM_TRY(const profile::StoredNetwork network, make_stored(flags, std::move(found)));
    const profile::Store store = flags.store();
    GYM_CHECK(store.save(network));
    const bool changed = !(network.profile() == before.profile());
    if (context.json) {
        json::object out = to_json(network, is_default(store, network.name));
        out["changed"] = changed;
        context.print_json(out);
        return {};
    }
    print(network, is_default(store, network.name));
    if (network.profile().contracts != before.profile().contracts)
        print_notice("changed", "the operator names other contracts than before");
    print_line("{}", changed ? "updated" : "up to date");
    return {};
}

Status list(const CliContext& context, const NetworkFlags& flags) {
    const profile::Store store = flags.store();
    const std::vector<std::string> names = store.names();
    json::array out;
    for (const std::string& name : names) {
        const auto network = store.find(name);
        const bool chosen = is_default(store, name);
        if (context.json)
            out.push_back(network.ok() ? to_json(*network, chosen)
                                       : json::object{{"name", name},
                                                      {"default", chosen},
                                                      {"problem", network.error().message}});
        else if (network.ok())
            print_line("{} {:<20} chain {:<10} {}", chosen ? "*" : " ", name,
                       network->profile().contracts.chain_id, network->profile().coordinator);
        else
            print_line("{} {:<20} {}", chosen ? "*" : " ", name, network.error().message);
    }
    if (context.json)
        context.print_json({{"networks", std::move(out)}});
    else if (names.empty())
        print_line("no network is stored; `gym network add NAME URL` adds one");
    return {};
}

Status show(const CliContext& context, const NetworkFlags& flags) {
    GYM_TRY(const profile::StoredNetwork network, find(flags));
    const bool chosen = is_default(flags.store(), network.name);
    if (context.json)
        context.print_json(to_json(network, chosen));
    else
        print(network, chosen);
    return {};
}

Status use(const CliContext& context, const NetworkFlags& flags) {
    GYM_CHECK(flags.store().set_default(flags.name));
    if (context.json)
        context.print_json({{"default", flags.name}});
    else
        print_line("commands use network {} from now on, unless --network names another",
                   flags.name);
    return {};
}

Status remove(const CliContext& context, const NetworkFlags& flags) {
    const bool chosen = is_default(flags.store(), flags.name);
    GYM_CHECK(flags.store().remove(flags.name));
    if (context.json)
        context.print_json({{"removed", flags.name}, {"was_default", chosen}});
    else
        print_line("removed {}{}", flags.name,
                   chosen ? ", which was the default; `gym network use NAME` chooses another" : "");
    return {};
}

}  // namespace

void add_network_commands(CLI::App& app, CliContext& context) {
    CLI::App* group = app.add_subcommand(
        "network", "Name networks once, by the profiles that their operators sign");
    group->require_subcommand(1);
    auto flags = std::make_shared<NetworkFlags>();
    const auto command = [&](const char* name, const char* about, auto run) {
        CLI::App* out = group->add_subcommand(name, about);
        out->add_option("--data-dir", flags->data_dir,
                        "Folder whose `networks` to use (default ~/.gym)");
        out->callback([&context, flags, run] { context.finish(run(context, *flags)); });
        return out;
    };
    const auto name_of = [&](CLI::App* of, const char* about) {
        return of->add_option("name", flags->name, about);
    };
    CLI::App* adding =
        command("add", "Fetch a network's profile, check it and store it", add_profile);
    name_of(adding, "Name to store it under")->required();
    adding->add_option("url", flags->url, "The network's gym-api, or the profile's own address")
        ->required();
    adding->add_option("--operator", flags->signer,
                       "Address that must have signed the profile (asked for in a terminal)");
    adding->add_flag("--yes", flags->yes, "Ask nothing; needs --operator");
    CLI::App* updating = command(
        "update", "Fetch it again; the same operator must have signed it, and not earlier", update);
    name_of(updating, "Network (default: the default one)");
    updating->add_option("--url", flags->url, "Fetch it from here from now on");
    command("list", "List the stored networks; * marks the default", list);
    name_of(command("show", "Show a network's profile", show),
            "Network (default: the default one)");
    name_of(command("use", "Make a network the default of all commands", use), "Network")
        ->required();
    name_of(command("remove", "Forget a network and its operator", remove), "Network")->required();
}

}  // namespace gym::app
