#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/profile/store.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Which stored network a command works with. In one place for all commands: --network NAME, else
/// the default network (`gym network use`). Whatever names one thing alone outranks the network's:
/// its option (--api), its environment variable (GYM_API), its key in a configuration file. Only
/// --network, which is an option too, outranks the variables and keys.
namespace gym::app {

/// --network NAME, once a command however many groups of options declare it.
CLI::Option* add_network_option(CLI::App& command);

/// The network of one command.
class NetworkChoice {
  public:
    /// Adds --network, whose value is checked while the command line is parsed.
    void add_to(CLI::App& command);

    struct Chosen {
        profile::StoredNetwork network;
        bool by_option = false;  ///< else it is the default one
    };
    /// Absent without --network and default network, and for a command that has not been parsed.
    /// @errors as profile::Store::find.
    [[nodiscard]] Result<std::optional<Chosen>> load() const;

    /// `flag`, else --network's, else the environment's, else the default network's; empty without
    /// any. @param value_of what it is in a network. @errors of load(), if it comes to that.
    template <class ValueOf>
    [[nodiscard]] Result<std::string> pick(const std::string& flag, const char* variable,
                                           ValueOf&& value_of) const {
        if (!flag.empty()) return flag;
        const auto chosen = load();
        if (chosen.ok() && *chosen && (*chosen)->by_option) return value_of((*chosen)->network);
        std::string value = environment(variable);
        if (!value.empty()) return value;
        if (!chosen.ok()) return chosen.error();
        return *chosen ? value_of((*chosen)->network) : std::string();
    }

    /// The variable's value, or empty.
    [[nodiscard]] static std::string environment(const char* variable);

  private:
    std::vector<const CLI::App*> commands_;  ///< that have the option; one of them is running
};

}  // namespace gym::app
