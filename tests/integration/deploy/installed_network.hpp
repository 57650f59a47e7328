#pragma once

#include <boost/json/value.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "anvil.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/db/config.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {

/// A network as docs/DEPLOY.md sets one up, from an installed prefix: its programs, scripts and
/// configuration files, with the paths of /etc/gym, /var/lib/gym and /run/credentials put into a
/// temporary folder. A failing step fails the test program's current test.
class InstalledNetwork {
  public:
    /// `database` is superuser access to a server that has no such database yet.
    InstalledNetwork(TestAnvil& chain, db::ConnectionConfig database);
    ~InstalledNetwork();
    InstalledNetwork(const InstalledNetwork&) = delete;
    InstalledNetwork& operator=(const InstalledNetwork&) = delete;

    // The steps of docs/DEPLOY.md, in this order.
    void install();
    void bootstrap_database();
    void make_keys();
    void make_certificate();
    /// @return deployment.json.
    std::string deploy_contracts();
    void write_configs();
    /// Starts a program of the prefix under `name` (log: name.log).
    void start(const std::string& name, std::vector<std::string> argv);
    void start_services();
    void stop(const std::string& name);

    /// Runs a command with the prefix first in PATH. @return its output, trimmed.
    std::string run(std::vector<std::string> argv);
    /// The same for `gym ... --json`.
    boost::json::value gym(std::vector<std::string> arguments);
    std::string script(const std::string& name, const std::vector<std::string>& arguments);

    [[nodiscard]] std::filesystem::path prefix() const { return root_ / "prefix"; }
    [[nodiscard]] std::filesystem::path path(const std::string& below) const {
        return root_ / below;
    }
    [[nodiscard]] const std::string& api_url() const { return api_url_; }
    [[nodiscard]] Address address_of(const std::string& holder) const {
        return addresses_.at(holder);
    }
    [[nodiscard]] std::vector<std::string> key_flags(const std::string& holder) const;
    [[nodiscard]] std::string log_of(const std::string& name) const;

  private:
    using Environment = std::vector<std::pair<std::string, std::string>>;
    [[nodiscard]] Environment environment() const;
    /// Programs of the prefix come before those of the machine.
    [[nodiscard]] std::vector<std::string> resolved(std::vector<std::string> argv) const;
    [[nodiscard]] std::string path_of_deployment() const;
    /// The shipped file with every {from, to} replaced; each must occur.
    std::string adapt(const std::string& file,
                      const std::vector<std::pair<std::string, std::string>>& replacements) const;
    void write_config(const std::string& file,
                      const std::vector<std::pair<std::string, std::string>>& replacements);

    TestAnvil& chain_;
    db::ConnectionConfig database_;
    TemporaryFolder folder_;
    std::filesystem::path root_ = folder_.path();
    std::string api_url_;
    std::string coordinator_;
    std::map<std::string, Address> addresses_;
    std::map<std::string, Subprocess> running_;
};

}  // namespace gym::testing
