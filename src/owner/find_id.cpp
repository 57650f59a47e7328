#include "gym/owner/find_id.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace gym::owner {
namespace {

constexpr std::size_t kPrefixMin = 4;
constexpr std::size_t kDigits = 64;
constexpr std::size_t kPagesMax = 100;

/// "0x" and the digits in lower case, as the API writes ids.
std::string normal(const std::string& text) {
    std::string out = text.starts_with("0x") ? text : "0x" + text;
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

}  // namespace

bool is_id_prefix(const std::string& text) {
    const std::string digits = text.starts_with("0x") ? text.substr(2) : text;
    return digits.size() >= kPrefixMin && digits.size() <= kDigits &&
           std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

namespace {

/// @param page_of ListPage -> Result<std::vector<Digest>>: a page of the ids.
template <class PageOf>
Result<Digest> find_id(const std::string& what, const std::string& text, PageOf&& page_of) {
    if (auto id = Digest::parse(text); id.ok()) return id;
    if (!is_id_prefix(text))
        return fail(ErrorCode::kInvalidArgument, "'" + text + "' is not the id of a " + what +
                                                     " (64 hex digits, or at least the first 4)");
    const std::string prefix = normal(text);
    std::optional<Digest> found;
    for (std::size_t page = 0; page < kPagesMax; ++page) {
        constexpr std::size_t kItems = client::kPageItemsMax;
        GYM_TRY(const std::vector<Digest> ids,
                page_of(client::ListPage{.limit = client::kPageItemsMax, .offset = page * kItems}));
        for (const Digest& id : ids) {
            if (!id.hex().starts_with(prefix)) continue;
            if (found && *found != id)
                return fail(ErrorCode::kInvalidArgument,
                            std::string("several ids of a ").append(what).append(" begin with ") +
                                prefix + ": give more digits");
            found = id;
        }
        if (ids.size() < kItems) break;
        if (page + 1 == kPagesMax)
            return fail(
                ErrorCode::kOutOfRange,
                "there are more " + what + "s than this command searches: give the whole id");
    }
    if (found) return *found;
    return fail(ErrorCode::kNotFound, "no " + what + " has an id that begins with " + prefix);
}

/// @param id_of the member of an item that is its id.
template <class Item>
std::vector<Digest> ids_of(const client::AnswerList<Item>& items, Digest Item::*id_of) {
    std::vector<Digest> ids;
    ids.reserve(items.size());
    for (const auto& item : items)
        ids.push_back((*item).*id_of);
    return ids;
}

}  // namespace

Result<Digest> find_job(const client::ApiClient& api, const std::string& text) {
    auto found =
        find_id("job", text, [&](const client::ListPage& page) -> Result<std::vector<Digest>> {
            GYM_TRY(const auto jobs, api.jobs(page));
            return ids_of(jobs, &client::Job::id);
        });
    if (found.ok() || found.error().code != ErrorCode::kNotFound) return found;
    // Jobs are private unless their owner says otherwise.
    return fail(ErrorCode::kNotFound,
                found.error().message +
                    " among those that you may see; a private job is found by its first digits "
                    "only with its owner's key (--api-key-file FILE or GYM_API_KEY)");
}

Result<registry::InitialWeights> find_init_job(const client::ApiClient& api,
                                               const std::string& text) {
    const std::string rest = text.substr(registry::kInitJobPrefix.size());
    const std::size_t at = rest.find('@');
    const auto found = find_job(api, rest.substr(0, at));
    if (!found.ok()) return found.error().in(text);
    const Digest& id = *found;
    return registry::parse_init(std::string(registry::kInitJobPrefix) + id.hex() +
                                (at == std::string::npos ? "" : rest.substr(at)));
}

Result<Digest> find_dataset(const client::ApiClient& api, const std::string& text) {
    if (!is_id_prefix(text))
        if (const auto reference = registry::parse_dataset_reference(text); reference.ok()) {
            GYM_TRY(const auto version, api.dataset_version(*reference));
            return version->root;
        }
    return find_id("dataset", text,
                   [&](const client::ListPage& page) -> Result<std::vector<Digest>> {
                       GYM_TRY(const auto datasets, api.datasets(page));
                       return ids_of(datasets, &registry::Dataset::root);
                   });
}

}  // namespace gym::owner
