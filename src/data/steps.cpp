#include "gym/data/steps.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "gym/commit/sha256.hpp"
#include "gym/data/filters.hpp"
#include "gym/licence/licence.hpp"

namespace gym::data {
namespace {

constexpr std::array<StepInfo, 8> kSteps{{
    {Step::kNormalise, "normalise",
     "Make texts NFC with line feeds as line ends; drop control characters, white space at line "
     "ends and repeated blank lines; remove documents that are not UTF-8 or empty",
     "Unicode Standard Annex 15, by ICU"},
    {Step::kC4, "c4",
     "Keep lines of at least 5 words that end like a sentence, without javascript, cookies and "
     "terms of use; remove documents of fewer than 3 sentences, with lorem ipsum or with {",
     "Raffel et al., JMLR 21(140), section 2.2"},
    {Step::kGopherQuality, "gopher-quality",
     "Remove documents outside 50 to 100000 words, 3 to 10 letters a word, with more than 0.1 # or "
     "ellipses a word, 90 % bullet lines or 30 % lines with an ellipsis at the end, with letters "
     "in less than 80 % of words, or without two English stop words",
     "Rae et al., arXiv:2112.11446, A1.1"},
    {Step::kGopherRepetition, "gopher-repetition",
     "Remove documents with more than 30 % repeated lines or paragraphs (20 % of the text), "
     "20/18/16 % in the most frequent 2/3/4-gram of words, or 15 to 10 % in repeated 5- to "
     "10-grams",
     "Rae et al., arXiv:2112.11446, table A1"},
    {Step::kLanguage, "language", "Remove documents in other languages than --languages",
     "Compact Language Detector 2"},
    {Step::kExactDedup, "exact-dedup", "Remove documents whose text came before",
     "SHA-256, 128 bits of it"},
    {Step::kMinhash, "minhash",
     "Remove documents that resemble an earlier one: 5-grams of words, 14 bands of 8 rows (92 % of "
     "pairs with a Jaccard similarity of 0.8, 5 % at 0.5)",
     "Broder 1997; Li, Owen, Zhang 2012; Shrivastava 2017"},
    {Step::kMask, "mask",
     "Replace e-mail and IP addresses, phone numbers (international and North American) and "
     "payment cards (Luhn) by <email>, <ip>, <phone>, <card>",
     ""},
}};

constexpr std::array<Preset, 4> kPresets{{
    {"default", "normalise,exact-dedup,minhash,mask", "for texts that somebody selected"},
    {"web", "normalise,gopher,exact-dedup,minhash,mask", "for English pages of the web"},
    {"c4", "normalise,c4,gopher,exact-dedup,minhash,mask", "the same, stricter"},
    {"none", "", "keep every document as it is"},
}};

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> out;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (end > 0) out.emplace_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return out;
}

Status add_named(const std::string& name, std::set<Step>& steps) {
    const auto* const step = std::ranges::find(kSteps, name, &StepInfo::name);
    if (step != kSteps.end()) {
        steps.insert(step->step);
        return {};
    }
    if (name == "gopher") {
        steps.insert({Step::kGopherQuality, Step::kGopherRepetition});
        return {};
    }
    const auto* const preset = std::ranges::find(kPresets, name, &Preset::name);
    if (preset == kPresets.end()) {
        std::string known = "gopher";
        for (const StepInfo& info : kSteps)
            known.append(", ").append(info.name);
        for (const Preset& each : kPresets)
            if (std::ranges::find(kSteps, each.name, &StepInfo::name) == kSteps.end())
                known.append(", ").append(each.name);
        return fail(ErrorCode::kInvalidArgument,
                    "unknown step '" + name + "'; there are " + known + " (`gym data steps`)");
    }
    for (const std::string& part : split(preset->steps))
        GYM_CHECK(add_named(part, steps));
    return {};
}

/// The host of a URL, in lower case.
std::string host_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) return {};
    url.remove_prefix(scheme + 3);
    url = url.substr(0, url.find_first_of("/?#"));
    if (const std::size_t at = url.rfind('@'); at != std::string_view::npos)
        url.remove_prefix(at + 1);
    std::string host(url.substr(0, url.find(':')));
    std::ranges::transform(host, host.begin(), [](unsigned char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    return host;
}

bool names_host(const std::set<std::string>& names, std::string host) {
    while (!host.empty()) {
        if (names.contains(host)) return true;
        const std::size_t dot = host.find('.');
        host.erase(0, dot == std::string::npos ? dot : dot + 1);
    }
    return false;
}

Fingerprint fingerprint_of(const std::string& text, const std::set<Step>& steps,
                           std::uint64_t seed) {
    Fingerprint out;
    const Digest digest = commit::sha256(as_bytes(text));
    std::memcpy(out.exact.data(), digest.data.data(), sizeof out.exact);
    if (steps.contains(Step::kMinhash)) out.bands = band_keys(text, seed);
    return out;
}

/// Applies one step to the text. @return why the document goes, or nothing.
Reason apply(Step step, Prepared& at, const StepOptions& options) {
    std::string& text = at.document.text;
    switch (step) {
        case Step::kNormalise:
            return normalise(text);
        case Step::kC4:
            return c4(text);
        case Step::kGopherQuality:
            return gopher_quality(text);
        case Step::kGopherRepetition:
            return gopher_repetition(text);
        case Step::kLanguage:
            at.language = language_of(text);
            return options.languages.contains(at.language) ? Reason() : Reason("other language");
        case Step::kExactDedup:
        case Step::kMinhash:
            return {};
        case Step::kMask:
            (void)mask(text);
            return {};
    }
    return {};
}

}  // namespace

std::span<const StepInfo> all_steps() {
    return kSteps;
}
std::span<const Preset> all_presets() {
    return kPresets;
}
std::string_view name_of(Step step) {
    return kSteps[static_cast<std::size_t>(step)].name;
}

Result<std::vector<Step>> parse_steps(const std::string& list) {
    std::set<Step> steps;
    for (const std::string& name : split(list))
        GYM_CHECK(add_named(name, steps));
    return std::vector<Step>(steps.begin(), steps.end());
}

std::string_view judge_consent(Document& document, const Consent& consent) {
    Provenance& from = document.provenance;
    if (from.licence.empty()) from.licence = consent.default_licence;
    if (from.opted_out || licence::opts_out(from.licence)) return "opt-out";
    if (!consent.opted_out.empty() &&
        (consent.opted_out.contains(from.id) || consent.opted_out.contains(from.url) ||
         names_host(consent.opted_out, host_of(from.url))))
        return "opt-out";
    if (consent.licences.empty() || consent.licences.contains(from.licence)) return {};
    const auto known = licence::canonical(from.licence);
    return known.ok() && consent.licences.contains(*known) ? "" : "licence";
}

namespace {

Status check_licence(const std::string& text) {
    if (text.empty()) return {};
    GYM_TRY(const std::string canonical, licence::canonical(text));
    if (canonical == text) return {};
    return fail(ErrorCode::kInvalidArgument, "write the licence " + text + " as " + canonical);
}

}  // namespace

Status check(const StepOptions& options) {
    const bool asked = std::ranges::find(options.steps, Step::kLanguage) != options.steps.end();
    if (asked && options.languages.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "the step language needs --languages, such as --languages en,de");
    if (!asked && !options.languages.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "--languages needs the step language: --steps default,language");
    for (const std::string& code : options.languages)
        if (!std::ranges::binary_search(language_codes(), std::string_view(code)))
            return fail(
                ErrorCode::kInvalidArgument,
                "--languages: '" + code + "' is not the code of a language, such as en, de or zh");
    GYM_CHECK(check_licence(options.consent.default_licence));
    for (const std::string& one : options.consent.licences)
        GYM_CHECK(check_licence(one));
    return {};
}

Prepared prepare(Document document, const StepOptions& options) {
    Prepared out;
    out.document = std::move(document);
    out.removed_by = judge_consent(out.document, options.consent);
    if (!out.removed_by.empty()) return out;
    const std::set<Step> steps(options.steps.begin(), options.steps.end());
    const bool compares = steps.contains(Step::kExactDedup) || steps.contains(Step::kMinhash);
    bool compared = !compares;
    for (const Step step : steps) {
        if (!compared && step >= Step::kExactDedup) {
            out.fingerprint = fingerprint_of(out.document.text, steps, options.seed);
            compared = true;
        }
        const std::string before =
            step == Step::kNormalise || step == Step::kC4 || step == Step::kMask ? out.document.text
                                                                                 : std::string();
        out.reason = apply(step, out, options);
        if (!out.reason.empty()) {
            out.removed_by = name_of(step);
            return out;
        }
        if (!before.empty() && before != out.document.text) out.changed.insert(step);
    }
    out.text_sha256 = commit::sha256(as_bytes(out.document.text));
    return out;
}

}  // namespace gym::data
