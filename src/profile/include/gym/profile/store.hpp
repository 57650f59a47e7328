#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/profile/profile.hpp"

namespace gym::profile {

inline constexpr std::size_t kNetworksMax = 1'000;

/// A network that the user added.
struct StoredNetwork {
    std::string name;       ///< that the user gave it
    std::string url;        ///< from where it is refreshed
    std::string chain_rpc;  ///< the endpoint in use, one of the profile's
    UnixMs updated_at_ms = 0;
    SignedProfile signed_profile;  ///< its signer is the operator that the user trusts

    [[nodiscard]] const NetworkProfile& profile() const { return signed_profile.profile; }
};

/// A network's name: 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', not '.' or '-' first.
/// @errors kInvalidArgument.
[[nodiscard]] Status check_name(std::string_view name);

/// The networks of a user: DATA_DIR/networks/NAME.json, mode 0600, each replaced as a whole, and
/// the name of the default one. Not thread-safe.
class Store {
  public:
    /// @param data_dirs searched in this order; changes are made in the first.
    explicit Store(std::vector<std::filesystem::path> data_dirs);

    /// @errors kNotFound naming the networks that there are; kMalformed and kUnauthenticated for a
    /// damaged file, with the remedy; kInvalidArgument for the name.
    [[nodiscard]] Result<StoredNetwork> find(const std::string& name) const;
    /// Ascending by name; of two with one name, that of the first folder.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Absent if none was chosen. @errors kIo, kMalformed.
    [[nodiscard]] Result<std::optional<std::string>> default_name() const;
    /// The default network; absent if none was chosen. @errors as find().
    [[nodiscard]] Result<std::optional<StoredNetwork>> find_default() const;

    /// Adds or replaces. @errors kInvalidArgument for the name, kIo.
    Status save(const StoredNetwork& network) const;
    /// @errors kNotFound, kIo.
    Status set_default(const std::string& name) const;
    /// The default, too, if it was this one. @errors kNotFound, kIo.
    Status remove(const std::string& name) const;

  private:
    std::vector<std::filesystem::path> folders_;
};

}  // namespace gym::profile
