#include <cstdio>  // which CLD2's header needs
// clang-format off: and before it
#include <cld2/public/compact_lang_det.h>
// clang-format on

#include <algorithm>

#include "gym/data/filters.hpp"

namespace gym::data {

std::string_view language_of(std::string_view text) {
    // More says no more about a text's language; CLD2's sizes are of 32 bits.
    constexpr std::size_t kBytesMax = std::size_t{1} << 20;
    CLD2::Language first[3];
    int percents[3];
    int text_bytes = 0;
    bool reliable = false;
    std::size_t size = std::min(text.size(), kBytesMax);
    while (size < text.size() && size > 0 &&
           (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
        --size;  // not within a character
    (void)CLD2::DetectLanguageSummary(text.data(), static_cast<int>(size), true, first, percents,
                                      &text_bytes, &reliable);
    if (!reliable || first[0] == CLD2::UNKNOWN_LANGUAGE) return "un";
    return CLD2::LanguageCode(first[0]);
}

const std::vector<std::string_view>& language_codes() {
    static const std::vector<std::string_view> all = [] {
        std::vector<std::string_view> out;
        out.reserve(CLD2::NUM_LANGUAGES);
        for (int i = 0; i < CLD2::NUM_LANGUAGES; ++i)
            out.emplace_back(CLD2::LanguageCode(static_cast<CLD2::Language>(i)));
        std::ranges::sort(out);
        const auto [first, last] = std::ranges::unique(out);
        out.erase(first, last);
        return out;
    }();
    return all;
}

}  // namespace gym::data
