#include "added_finder.hpp"

#include <algorithm>
#include <functional>

namespace gym::tokenizer {

AddedFinder::AddedFinder(const std::vector<AddedToken>& added, bool normalized, bool special) {
    for (const AddedToken& token : added) {
        if (token.normalized != normalized || (token.special && !special)) continue;
        ids_.emplace(token.text, token.id);
        first_bytes_.set(static_cast<std::uint8_t>(token.text.front()));
        sizes_.push_back(token.text.size());
    }
    std::ranges::sort(sizes_, std::greater<>());
    sizes_.erase(std::ranges::unique(sizes_).begin(), sizes_.end());
}

std::optional<AddedFinder::Found> AddedFinder::find(std::string_view text, std::size_t from) const {
    if (ids_.empty()) return std::nullopt;
    for (std::size_t at = from; at < text.size(); ++at) {
        if (!first_bytes_.test(static_cast<std::uint8_t>(text[at]))) continue;
        for (const std::size_t size : sizes_) {
            if (size > text.size() - at) continue;
            const auto found = ids_.find(text.substr(at, size));
            if (found != ids_.end()) return Found{at, size, found->second};
        }
    }
    return std::nullopt;
}

}  // namespace gym::tokenizer
