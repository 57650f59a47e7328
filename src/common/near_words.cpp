#include "gym/common/near_words.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace gym {
namespace {

constexpr std::size_t kEditsMax = 3;

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

}  // namespace

std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        next[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = row[j] + (a[i] == b[j] ? 0 : 1);
            next[j + 1] = std::min({replaced, next[j] + 1, row[j + 1] + 1});
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
                next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
        }
        std::swap(before, row);
        std::swap(row, next);
    }
    return row.back();
}

std::vector<std::string_view> near_words(std::string_view word,
                                         std::span<const std::string_view> known,
                                         std::size_t count_max) {
    const std::string wanted = lower(word);
    const std::size_t most = std::min(kEditsMax, std::max<std::size_t>(1, wanted.size() / 3));
    std::vector<std::pair<std::size_t, std::string_view>> found;
    for (const std::string_view one : known) {
        const std::string name = lower(one);
        const bool begins = wanted.size() > 1 && name.starts_with(wanted);
        const std::size_t length_differs =
            name.size() > wanted.size() ? name.size() - wanted.size() : wanted.size() - name.size();
        if (!begins && length_differs > most) continue;
        const std::size_t edits = begins ? 0 : edits_between(name, wanted);
        if (edits <= most) found.emplace_back(edits, one);
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string_view>::first);
    std::vector<std::string_view> out;
    out.reserve(std::min(count_max, found.size()));
    for (const auto& [edits, one] : found)
        if (out.size() < count_max) out.push_back(one);
    return out;
}

}  // namespace gym
