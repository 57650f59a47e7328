#include "gym/registry/visibility.hpp"

#include <algorithm>
#include <array>

#include "gym/licence/licence.hpp"

namespace gym::registry {
namespace {

constexpr std::array<std::string_view, 3> kVisibilityNames = {"public", "allow-list", "private"};
constexpr std::array<std::string_view, 2> kPrivateLicences = {"private", "licenseref-private"};

}  // namespace

std::string_view to_string(Visibility visibility) noexcept {
    return kVisibilityNames[static_cast<std::size_t>(visibility)];
}

Result<Visibility> parse_visibility(std::string_view name) {
    for (std::size_t i = 0; i < kVisibilityNames.size(); ++i)
        if (kVisibilityNames[i] == name) return static_cast<Visibility>(i);
    return fail(ErrorCode::kInvalidArgument,
                "'" + std::string(name) + "' is no visibility: public, allow-list or private");
}

Visibility default_visibility(std::string_view licence) {
    std::string lower(licence);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    for (std::size_t at = 0; at < lower.size();) {
        const std::size_t end = std::min(lower.find_first_of(" ()", at), lower.size());
        if (std::ranges::find(kPrivateLicences, std::string_view(lower).substr(at, end - at)) !=
            kPrivateLicences.end())
            return Visibility::kPrivate;
        at = end + 1;
    }
    return Visibility::kPublic;
}

Status check_visibility(std::string_view licence, Visibility visibility) {
    if (visibility != Visibility::kPublic || default_visibility(licence) == Visibility::kPublic)
        return {};
    // One alternative of several may be for everybody: then its owner may say so.
    if (licence::forbidden(licence, licence::Use::kNonCommercial).empty()) return {};
    return fail(ErrorCode::kInvalidArgument,
                "the licence " + std::string(licence) +
                    " says that this is private, the visibility that it is public: change one of "
                    "them");
}

Result<Access> make_access(std::string_view visibility, std::span<const std::string> allowed) {
    Access out;
    GYM_TRY(out.visibility, parse_visibility(visibility));
    if (out.visibility != Visibility::kAllowList && !allowed.empty())
        return fail(ErrorCode::kInvalidArgument, "accounts are allowed, and the visibility is " +
                                                     std::string(visibility) +
                                                     ": a list of accounts goes with allow-list");
    if (allowed.size() > kAllowedMax)
        return fail(ErrorCode::kInvalidArgument, std::to_string(allowed.size()) +
                                                     " accounts are allowed, at most " +
                                                     std::to_string(kAllowedMax));
    out.allowed.reserve(allowed.size());
    for (const std::string& text : allowed) {
        const auto address = Address::parse(text);
        if (!address.ok())
            return fail(ErrorCode::kInvalidArgument,
                        "'" + text + "' is no account: 0x and 40 hexadecimal digits");
        out.allowed.push_back(*address);
    }
    std::ranges::sort(out.allowed);
    // Not std::ranges::unique, whose result clang of Debian 12 does not compile.
    out.allowed.erase(std::unique(out.allowed.begin(), out.allowed.end()), out.allowed.end());
    return out;
}

bool Viewer::may_see(const Access& access, const Address& owner) const {
    if (sees_all_ || access.visibility == Visibility::kPublic) return true;
    if (!address_) return false;
    return *address_ == owner || (access.visibility == Visibility::kAllowList &&
                                  std::ranges::binary_search(access.allowed, *address_));
}

}  // namespace gym::registry
