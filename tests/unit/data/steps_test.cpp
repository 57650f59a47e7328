#include "gym/data/steps.hpp"

#include <gtest/gtest.h>

#include "gym/commit/sha256.hpp"
#include "must.hpp"

namespace gym::data {
namespace {

using testing::must;

TEST(ParseSteps, OrdersNamesAndTakesPresets) {
    EXPECT_EQ(must(parse_steps("mask,normalise")),
              (std::vector<Step>{Step::kNormalise, Step::kMask}));
    EXPECT_EQ(must(parse_steps("gopher")),
              (std::vector<Step>{Step::kGopherQuality, Step::kGopherRepetition}));
    EXPECT_EQ(must(parse_steps("default,language")),
              (std::vector<Step>{Step::kNormalise, Step::kLanguage, Step::kExactDedup,
                                 Step::kMinhash, Step::kMask}));
    EXPECT_TRUE(must(parse_steps("none")).empty());
}

TEST(ParseSteps, NamesWhatThereIsInsteadOfAnUnknownStep) {
    const auto refused = parse_steps("normalize");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    for (const StepInfo& info : all_steps())
        EXPECT_NE(refused.error().message.find(info.name), std::string::npos);
    EXPECT_EQ(refused.error().message.find(", c4,"), refused.error().message.rfind(", c4,"))
        << "a step that is a preset, too, is named once: " << refused.error().message;
}

TEST(ParseSteps, EveryStepIsFoundByItsNameAndEveryPresetIsLegal) {
    for (const StepInfo& info : all_steps()) {
        EXPECT_EQ(must(parse_steps(std::string(info.name))), std::vector<Step>{info.step});
        EXPECT_EQ(name_of(info.step), info.name);
    }
    for (const Preset& preset : all_presets())
        EXPECT_TRUE(parse_steps(std::string(preset.name)).ok()) << preset.name;
}

TEST(CheckSteps, LanguagesAndTheirStepNeedEachOther) {
    StepOptions options;
    options.steps = {Step::kLanguage};
    EXPECT_EQ(check(options).error().code, ErrorCode::kInvalidArgument);
    options.languages = {"en"};
    EXPECT_TRUE(check(options).ok());
    options.steps = {};
    EXPECT_EQ(check(options).error().code, ErrorCode::kInvalidArgument);
}

Document from(const std::string& url, const std::string& licence, bool opted_out = false) {
    return {
        .text = "text",
        .provenance = {
            .source = "a:1", .id = "7", .url = url, .licence = licence, .opted_out = opted_out}};
}
std::string_view verdict(Document document, const Consent& consent) {
    return judge_consent(document, consent);
}

TEST(Consent, DocumentsThatOptedOutGo) {
    EXPECT_EQ(verdict(from("", "", true), {}), "opt-out");
    Consent consent;
    consent.opted_out = {"example.org", "https://a.net/page", "7x"};
    EXPECT_EQ(verdict(from("https://example.org/a", ""), consent), "opt-out");
    EXPECT_EQ(verdict(from("http://user@www.Example.org:80/a", ""), consent), "opt-out");
    EXPECT_EQ(verdict(from("https://notexample.org/a", ""), consent), "");
    EXPECT_EQ(verdict(from("https://a.net/page", ""), consent), "opt-out");
    EXPECT_EQ(verdict(from("https://a.net/other", ""), consent), "");
    consent.opted_out = {"7"};
    EXPECT_EQ(verdict(from("", ""), consent), "opt-out");
}

TEST(Consent, OnlyListedLicencesStayAndADefaultFillsGaps) {
    Consent consent;
    consent.licences = {"CC0-1.0"};
    EXPECT_EQ(verdict(from("", "CC0-1.0"), consent), "");
    EXPECT_EQ(verdict(from("", "MIT"), consent), "licence");
    EXPECT_EQ(verdict(from("", ""), consent), "licence");
    consent.default_licence = "CC0-1.0";
    Document document = from("", "");
    EXPECT_EQ(judge_consent(document, consent), "");
    EXPECT_EQ(document.provenance.licence, "CC0-1.0");
}

TEST(Consent, ALicenceThatReservesTrainingIsAnOptOut) {
    EXPECT_EQ(verdict(from("", "no-training"), {}), "opt-out");
    EXPECT_EQ(verdict(from("", "LicenseRef-no-training"), {}), "opt-out");
    EXPECT_EQ(verdict(from("", "private"), {}), "");
}

TEST(Consent, LicencesAreComparedAsSpdxSpellsThem) {
    Consent consent;
    consent.licences = {"CC-BY-4.0"};
    EXPECT_EQ(verdict(from("", "cc-by-4.0"), consent), "");
    EXPECT_EQ(verdict(from("", "cc-by-3.0"), consent), "licence");
    EXPECT_EQ(verdict(from("", "what it says"), consent), "licence");
}

TEST(Steps, UnknownLanguagesAndLicencesAreRefused) {
    StepOptions options;
    options.steps = must(parse_steps("language"));
    for (const char* code : {"en", "de", "zh", "un"}) {
        options.languages = {code};
        EXPECT_TRUE(check(options).ok()) << code;
    }
    options.languages = {"en", "xx"};
    EXPECT_NE(check(options).error().message.find("'xx' is not the code of a language"),
              std::string::npos);
    options.languages = {"en"};
    options.consent.default_licence = "banana";
    EXPECT_NE(check(options).error().message.find("not an SPDX identifier"), std::string::npos);
    options.consent.default_licence = "MIT";
    EXPECT_TRUE(check(options).ok());
    options.consent.licences = {"mit"};
    EXPECT_NE(check(options).error().message.find("write the licence mit as MIT"),
              std::string::npos);
}

TEST(Prepare, SaysWhichStepChangedOrRemovedADocument) {
    StepOptions options;
    options.steps = must(parse_steps("default"));
    const Prepared changed = prepare({"a\r\nb@c.org", {}}, options);
    EXPECT_EQ(changed.document.text, "a\n<email>");
    EXPECT_EQ(changed.changed, (std::set<Step>{Step::kNormalise, Step::kMask}));
    EXPECT_EQ(changed.text_sha256, commit::sha256(as_bytes("a\n<email>")));
    const Prepared removed = prepare({"\xff", {}}, options);
    EXPECT_EQ(removed.removed_by, "normalise");
    EXPECT_EQ(removed.reason, "not UTF-8");
}

TEST(Prepare, ComparesTextsBeforeTheyAreMasked) {
    StepOptions options;
    options.steps = must(parse_steps("exact-dedup,mask"));
    EXPECT_NE(prepare({"a@b.org", {}}, options).fingerprint.exact,
              prepare({"c@d.org", {}}, options).fingerprint.exact);
    EXPECT_EQ(prepare({"a@b.org", {}}, options).fingerprint.exact,
              prepare({"a@b.org", {}}, options).fingerprint.exact);
}

}  // namespace
}  // namespace gym::data
