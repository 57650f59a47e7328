#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/data/document.hpp"
#include "gym/data/duplicates.hpp"

namespace gym::data {

/// In the order in which they are applied, whatever the order in which they are named.
enum class Step {
    kNormalise,
    kC4,
    kGopherQuality,
    kGopherRepetition,
    kLanguage,
    kExactDedup,
    kMinhash,
    kMask,
};

struct StepInfo {
    Step step;
    std::string_view name;
    std::string_view about;   ///< what it does, for people
    std::string_view source;  ///< where its rules are from; may be empty
};
[[nodiscard]] std::span<const StepInfo> all_steps();
[[nodiscard]] std::string_view name_of(Step step);

struct Preset {
    std::string_view name;
    std::string_view steps;
    std::string_view about;
};
[[nodiscard]] std::span<const Preset> all_presets();

/// Steps of a list of names and presets between commas; "gopher" stands for both of its steps.
/// @return without repetition, in order. @errors kInvalidArgument, with the names that there are.
[[nodiscard]] Result<std::vector<Step>> parse_steps(const std::string& list);

/// Which documents are left out whatever their text.
struct Consent {
    // As licence::canonical() writes them.
    std::string default_licence;     ///< of documents that name none
    std::set<std::string> licences;  ///< that are taken; empty: all
    /// Ids, URLs and host names ("example.org", which covers hosts below it) that opted out.
    std::set<std::string> opted_out;
    std::optional<Digest> opt_out_list;  ///< SHA-256 of the file that names them, if there is one
};
/// "opt-out", "licence" or nothing. A licence that reserves training is an opt-out; licences are
/// compared as licence::canonical() writes them. @post the document has the default licence if it
/// named none.
[[nodiscard]] std::string_view judge_consent(Document& document, const Consent& consent);

/// How the steps are set.
struct StepOptions {
    std::vector<Step> steps;
    std::set<std::string> languages;  ///< for kLanguage: codes that stay
    std::uint64_t seed = 1;           ///< of kMinhash
    Consent consent;
};
/// @errors kInvalidArgument where the step `language` has no languages, or languages no step; for a
/// language that CLD2 does not know, and a licence that is not canonical.
[[nodiscard]] Status check(const StepOptions& options);

/// A document after the steps that need no other document.
struct Prepared {
    Document document;
    std::string_view removed_by;  ///< a step's name, "opt-out" or "licence"; empty: it stays
    std::string_view reason;      ///< the rule; empty where the step has only one
    std::set<Step> changed;       ///< steps that changed the text
    std::string language;
    Fingerprint fingerprint;  ///< by its text when the step came
    Digest text_sha256;       ///< of the text as it is now
};
/// Pure: safe from any thread. kMask is applied too, though duplicates are found later.
[[nodiscard]] Prepared prepare(Document document, const StepOptions& options);

}  // namespace gym::data
