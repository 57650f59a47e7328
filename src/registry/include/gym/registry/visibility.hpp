#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Who may see a dataset, or a job's model. The owner always does; the nodes that hold a task of a
/// job get what the task needs, whatever is said here (docs/SECURITY.md, "Private data").
namespace gym::registry {

enum class Visibility : std::uint8_t {
    kPublic,     ///< listed; for everybody
    kAllowList,  ///< for the owner and the accounts on its list
    kPrivate,    ///< for the owner alone
};
[[nodiscard]] std::string_view to_string(Visibility visibility) noexcept;
/// Reads "public", "allow-list" or "private". @errors kInvalidArgument.
[[nodiscard]] Result<Visibility> parse_visibility(std::string_view name);

/// Of a dataset whose owner says nothing: to register is to offer, so public; but private under a
/// licence that says so itself (private or LicenseRef-private, in upper or lower case).
[[nodiscard]] Visibility default_visibility(std::string_view licence);

/// @errors kInvalidArgument for a licence that says private, and a visibility that says public.
[[nodiscard]] Status check_visibility(std::string_view licence, Visibility visibility);

inline constexpr std::size_t kAllowedMax = 1'000;  ///< accounts on one list

struct Access {
    Visibility visibility = Visibility::kPrivate;
    std::vector<Address> allowed;  ///< ascending, of kAllowList only

    friend bool operator==(const Access&, const Access&) = default;
};
/// @param allowed addresses as text, in any order; repeated ones count once.
/// @errors kInvalidArgument: an unknown name, no address, a list without kAllowList or more than
/// kAllowedMax accounts. The list may be empty: then only the owner is on it.
[[nodiscard]] Result<Access> make_access(std::string_view visibility,
                                         std::span<const std::string> allowed);

/// On whose behalf the registry is read. What a viewer may not see is to it as if it did not exist:
/// the same statement finds nothing, so that answer and time are those of something unknown.
class Viewer {
  public:
    /// A service at its own work: sees everything.
    static Viewer service() { return Viewer(true, std::nullopt); }
    /// An account; absent: somebody without an API key, who sees what is public.
    static Viewer account(const std::optional<Address>& address) { return Viewer(false, address); }

    [[nodiscard]] bool sees_all() const { return sees_all_; }
    [[nodiscard]] const std::optional<Address>& address() const { return address_; }
    /// The rule, for a record that is read already. The statements of datasets.cpp and jobs.cpp
    /// have it, too.
    [[nodiscard]] bool may_see(const Access& access, const Address& owner) const;

  private:
    Viewer(bool sees_all, const std::optional<Address>& address)
        : sees_all_(sees_all), address_(address) {}
    bool sees_all_ = false;
    std::optional<Address> address_;
};

}  // namespace gym::registry
