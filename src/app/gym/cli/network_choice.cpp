#include "cli/network_choice.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "gym/node/stored_network.hpp"

namespace gym::app {
namespace {

constexpr const char* kFlag = "--network";

/// The last value that was given for `flag`, checked or not; empty without one.
std::string given(const CLI::App& command, const char* flag) {
    const CLI::Option* const option = command.get_option_no_throw(flag);
    return option == nullptr || option->empty() ? "" : option->results().back();
}

profile::Store store_of(const CLI::App& command) {
    return node::network_store(given(command, "--data-dir"));
}

}  // namespace

CLI::Option* add_network_option(CLI::App& command) {
    CLI::Option* const there = command.get_option_no_throw(kFlag);
    if (there != nullptr) return there;
    return command.add_option_function<std::string>(
        kFlag, [](const std::string&) {},
        "Stored network to work with (`gym network list`; default: the one of `gym network "
        "use`)");
}

void NetworkChoice::add_to(CLI::App& command) {
    const bool is_new = command.get_option_no_throw(kFlag) == nullptr;
    CLI::Option* const option = add_network_option(command);
    commands_.push_back(&command);
    if (!is_new) return;
    option->check(CLI::Validator(
        [&command](const std::string& name) {
            const auto network = store_of(command).find(name);
            return network.ok() ? std::string() : network.error().message;
        },
        ""));
}

std::string NetworkChoice::environment(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

Result<std::optional<NetworkChoice::Chosen>> NetworkChoice::load() const {
    const auto running =
        std::ranges::find_if(commands_, [](const CLI::App* command) { return command->parsed(); });
    if (running == commands_.end()) return std::optional<Chosen>();
    const profile::Store store = store_of(**running);
    if (const std::string name = given(**running, kFlag); !name.empty()) {
        GYM_TRY(profile::StoredNetwork network, store.find(name));
        return std::optional(Chosen{std::move(network), true});
    }
    GYM_TRY(auto network, store.find_default());
    if (!network) return std::optional<Chosen>();
    return std::optional(Chosen{*std::move(network), false});
}

}  // namespace gym::app
