#include "gym/data/build.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "gym/blob/dataset.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/data/build_words.hpp"
#include "gym/data/document_separator.hpp"
#include "gym/data/manifest.hpp"
#include "gym/data/mix.hpp"
#include "must.hpp"
#include "temporary_folder.hpp"

namespace gym::data {
namespace {

using testing::must;
namespace fs = std::filesystem;

/// Words as tokens: a tokenizer with an end of text that fails on the word "poison".
class WordEncoder final : public Encoder {
  public:
    [[nodiscard]] std::string name() const override { return "words"; }
    [[nodiscard]] std::uint32_t vocabulary() const override { return 1000; }
    [[nodiscard]] Digest tokenizer_root() const override { return {}; }
    [[nodiscard]] std::optional<std::uint32_t> end_of_text() const override { return 999; }
    Status encode(std::string_view text, std::vector<std::uint32_t>& tokens) override {
        std::istringstream words{std::string(text)};
        for (std::string word; words >> word;) {
            if (word == "poison") return fail(ErrorCode::kMalformed, "poison");
            tokens.push_back(static_cast<std::uint32_t>(word.size()));
        }
        return {};
    }
};

Result<std::unique_ptr<Encoder>> word_encoder() {
    return std::unique_ptr<Encoder>(std::make_unique<WordEncoder>());
}

class BuildTest : public ::testing::Test {
  protected:
    BuildOptions options(const std::string& steps = "none") {
        BuildOptions out;
        out.inputs = {(place_ / "in").string()};
        out.output = place_ / "out";
        out.steps.steps = must(parse_steps(steps));
        out.encoder = []() -> Result<std::unique_ptr<Encoder>> { return byte_encoder(); };
        return out;
    }
    void put(const std::string& name, const std::string& content) {
        fs::create_directories((place_ / "in" / name).parent_path());
        must(write_file_atomic(place_ / "in" / name, as_bytes(content)));
    }
    std::string text_of_output() {
        std::string out;
        const auto dataset = must(blob::Dataset::load(place_ / "out", {}));
        for (const std::uint32_t token : dataset.tokens())
            out += static_cast<char>(token);
        return out;
    }
    std::vector<ManifestDocument> documents() {
        std::vector<ManifestDocument> out;
        (void)must(read_manifest(place_ / "out.manifest.jsonl",
                                 [&](const ManifestDocument& document) -> Status {
                                     out.push_back(document);
                                     return {};
                                 }));
        return out;
    }
    /// Three files of documents, some of them duplicates, some with addresses.
    void put_corpus(int lines) {
        std::mt19937_64 random(3);
        for (const char* name : {"a.jsonl", "b.jsonl", "c.jsonl"}) {
            std::string file;
            for (int i = 0; i < lines; ++i) {
                std::string text;
                for (int w = 0; w < 8; ++w)
                    text += "word" + std::to_string(random() % 5000) + " ";
                if (random() % 4 == 0) text = "the same text every time " + std::to_string(i % 3);
                if (random() % 5 == 0) text += "me@example.org";
                file += R"({"text":")" + text + R"(","id":)" + std::to_string(i) + "}\n";
            }
            put(name, file);
        }
    }
    testing::TemporaryFolder place_;
};

TEST_F(BuildTest, TheManifestKeepsConsentAndTheHashOfTheOptOutList) {
    put("a.jsonl",
        "{\"text\":\"one\",\"consent\":true}\n{\"text\":\"two\"}\n"
        "{\"text\":\"three\",\"consent\":false}\n{\"text\":\"four\",\"id\":\"7x\"}\n");
    const auto kept = [&](const std::string& opt_outs) {
        BuildWords words;
        words.inputs = {(place_ / "in").string()};
        words.output = (place_ / "out").string();
        words.steps = "none";
        if (!opt_outs.empty()) {
            must(write_file_atomic(place_ / "list", as_bytes(opt_outs)));
            words.opt_out_file = (place_ / "list").string();
        }
        BuildOptions given = must(build_options(words));
        given.encoder = []() -> Result<std::unique_ptr<Encoder>> { return byte_encoder(); };
        (void)must(build(given));
        return must(ManifestReader::open(place_ / "out.manifest.jsonl")).head().options;
    };
    EXPECT_EQ(kept("").find("opted_out_sha256"), std::string::npos)
        << "roots of builds without a list stay";
    ASSERT_EQ(documents().size(), 3U);
    EXPECT_TRUE(documents()[0].consented);
    EXPECT_FALSE(documents()[1].consented);
    const std::string list = "# who asked\n7x\n";
    EXPECT_NE(kept(list).find("\"opted_out_sha256\":\"" +
                              to_hex(commit::sha256(as_bytes(list)).view()) + "\""),
              std::string::npos);
    EXPECT_EQ(documents().size(), 2U);
}

TEST_F(BuildTest, DocumentsFollowEachOtherWithASeparatorBetweenThem) {
    put("a.txt", "one");
    put("b.txt", "two");
    put("c.jsonl", "{\"text\":\"three\"}\n\n{\"text\":\"four\"}\n");
    const auto report = must(build(options()));
    EXPECT_EQ(text_of_output(), "one\n\ntwo\n\nthree\n\nfour");
    EXPECT_EQ(report.counts.documents_kept, 4U);
    EXPECT_EQ(report.dataset.tokens, 21U);
    const auto found = documents();
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[0].source, "a.txt:1");
    EXPECT_EQ(found[3].source, "c.jsonl:3");
    EXPECT_EQ(found[3].first, 17U);
    EXPECT_EQ(found[3].tokens, 4U);
    EXPECT_FALSE(fs::exists(place_ / "out.work"));
}

TEST_F(BuildTest, AnEndOfTextTokenStandsBetweenDocumentsAndNowhereElse) {
    put("a.txt", "a bb");
    put("b.txt", "   ");  // no token
    put("c.txt", "ccc");
    auto with = options();
    with.encoder = word_encoder;
    const auto report = must(build(with));
    const auto tokens = must(blob::Dataset::load(place_ / "out", {}));
    EXPECT_EQ(std::vector(tokens.tokens().begin(), tokens.tokens().end()),
              (std::vector<std::uint32_t>{1, 2, 999, 3}));
    EXPECT_EQ(report.counts.steps.at("read").reasons.at("no tokens"), 1U);
    EXPECT_EQ(must(verify(place_ / "out", report.manifest)).root, report.manifest_root);
}

TEST_F(BuildTest, TheSeparatorOfDocumentsIsKnownOrItIsSaidWhyNot) {
    const auto separator = [&]() -> std::string {
        const auto dataset = must(blob::Dataset::load(place_ / "out", {}));
        const auto token = document_separator(place_ / "out", dataset.root());
        return token.ok() ? std::to_string(*token) : token.error().message;
    };
    put("a.txt", "a bb");
    put("b.txt", "ccc a");
    auto with = options();
    with.encoder = word_encoder;
    must(build(with));
    EXPECT_EQ(separator(), "999");
    const auto other = must(blob::Dataset::from_tokens({1, 2, 999, 3}, 1000));
    const auto refused = document_separator(place_ / "out", other.root());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);

    put("c.txt", std::string(999, 'x'));  // a word that is the separator
    must(build(with));
    EXPECT_NE(separator().find("document from c.txt:1 at token 6 has token 999"), std::string::npos)
        << separator();
    must(build(options()));
    EXPECT_NE(separator().find("empty line"), std::string::npos) << separator();
    auto padded = options();
    padded.rows = PaddedRows{4, 300};
    must(build(padded));
    EXPECT_NE(separator().find("rows of its own"), std::string::npos) << separator();
    fs::remove(place_ / "out.manifest.jsonl");
    EXPECT_NE(separator().find("document_separator yourself"), std::string::npos) << separator();
}

TEST_F(BuildTest, EveryStepIsCountedInTheReportAndTheManifest) {
    put("a.jsonl",
        "{\"text\":\"first document, written by me@example.org\"}\n"
        "{\"text\":\"first document, written by me@example.org\"}\n"
        "{\"text\":\"First Document, written by me@example.org!\"}\n"
        "{\"text\":\" \"}\n"
        "{\"text\":\"not mine\",\"licence\":\"Proprietary\"}\n"
        "{\"text\":\"not yours\",\"consent\":false}\n"
        "{\"text\":\"\"}\n");
    auto with = options("default");
    with.steps.consent.default_licence = "CC0-1.0";
    with.steps.consent.licences = {"CC0-1.0"};
    const auto counts = must(build(with)).counts;
    EXPECT_EQ(counts.documents_read, 7U);
    EXPECT_EQ(counts.documents_kept, 1U);
    for (const char* step : {"read", "opt-out", "licence", "normalise", "exact-dedup", "minhash"})
        EXPECT_EQ(counts.steps.at(step).removed, 1U) << step;
    EXPECT_EQ(counts.steps.at("mask").changed, 1U);
    EXPECT_EQ(text_of_output(), "first document, written by <email>");
    EXPECT_EQ(documents().at(0).licence, "CC0-1.0");
}

TEST_F(BuildTest, WhatRemovedAllDocumentsIsNamedWithWhatToDo) {
    const auto refusal = [&](const std::string& records, const std::string& steps,
                             const auto& change) {
        put("a.jsonl", records);
        auto with = options(steps);
        change(with);
        const auto built = build(with);
        return built.ok() ? std::string("built") : built.error().message;
    };
    const auto expect = [](const std::string& said, const std::string& part) {
        EXPECT_NE(said.find(part), std::string::npos) << said;
    };
    const auto nothing = [](BuildOptions&) {};
    const std::string text = "{\"text\":\"a text\",\"licence\":\"MIT\"}\n";
    expect(refusal(text, "none", [](BuildOptions& with) { with.steps.consent.licences = {"ISC"}; }),
           "(licence removed 1); none is under one of --licences: name theirs");
    expect(refusal("no record\n", "none", [](BuildOptions& with) { with.skip_malformed = true; }),
           "(read removed 1); most records cannot be read: --format");
    expect(refusal("{\"text\":\"\"}\n", "none", nothing), "most documents are empty: --text-key");
    expect(refusal(text, "language", [](BuildOptions& with) { with.steps.languages = {"zh"}; }),
           "(language removed 1); none is in one of --languages");
    expect(refusal("{\"text\":\"a\",\"noai\":true}\n", "none", nothing),
           "(opt-out removed 1); their records, --opt-out or their licence");
    expect(refusal(text, "gopher", nothing), "choose other --steps than gopher-quality");
    expect(refusal(text + "{\"text\":\"\"}\n{\"text\":\"\"}\n", "gopher", nothing),
           "(read removed 2, gopher-quality removed 1); most documents are empty");
}

TEST_F(BuildTest, ThreadsAndBatchesDoNotChangeABit) {
    put_corpus(3000);
    auto with = options("default");
    const auto one = must(build(with));
    const Bytes manifest = must(read_file(one.manifest));
    EXPECT_GT(one.counts.steps.at("exact-dedup").removed, 1000U);
    for (const unsigned threads : {2U, 5U}) {
        with.threads = threads;
        const auto many = must(build(with));
        EXPECT_EQ(many.dataset, one.dataset);
        EXPECT_EQ(many.manifest_root, one.manifest_root);
        EXPECT_EQ(many.counts, one.counts);
        EXPECT_EQ(must(read_file(many.manifest)), manifest);
    }
    with.steps.seed = 2;
    EXPECT_NE(must(build(with)).manifest_root, one.manifest_root);  // which names the seed
}

TEST_F(BuildTest, RootsAreFixedForAllTime) {
    // A change here changes datasets that were built before.
    put("a.jsonl",
        "{\"text\":\"A first text,\\r\\nwritten by me@example.org\",\"id\":7}\n"
        "{\"text\":\"Another text\",\"url\":\"https://example.org/\"}\n");
    const auto report = must(build(options("default")));
    EXPECT_EQ(report.dataset.root.hex(),
              "0x52a26039ceaf9d8c03e01c617a04724ac28b9412ee123a269a2232228305b28f");
    EXPECT_EQ(report.manifest_root.hex(),
              "0x27af19fe238b9af598244b99742330cae867998b29254312cb41b8716af3fcb1");
}

TEST_F(BuildTest, AnInterruptedBuildContinuesToTheSameBits) {
    put_corpus(3000);
    auto with = options("default");
    const auto whole = must(build(with));
    fs::remove(place_ / "out");
    fs::remove(whole.manifest);
    with.checkpoint_bytes = 1;
    int interruptions = 0;
    with.stopped = [] { return true; };  // after every batch
    Result<BuildReport> report = fail(ErrorCode::kInternal, "not run");
    do {
        report = build(with);
        ASSERT_TRUE(report.ok() || report.error().code == ErrorCode::kCancelled)
            << report.error().message;
        EXPECT_EQ(fs::exists(place_ / "out"), report.ok());
    } while (!report.ok() && ++interruptions < 100);
    EXPECT_GT(interruptions, 1);
    EXPECT_TRUE(report->continued);
    EXPECT_EQ(report->dataset, whole.dataset);
    EXPECT_EQ(report->manifest_root, whole.manifest_root);
    EXPECT_EQ(report->counts, whole.counts);
}

TEST_F(BuildTest, AnInterruptedBuildOfOtherOptionsOrInputsBeginsAnew) {
    put_corpus(3000);
    auto with = options("default");
    with.stopped = [] { return true; };
    with.checkpoint_bytes = 1;
    ASSERT_EQ(build(with).error().code, ErrorCode::kCancelled);
    with.stopped = nullptr;
    with.steps.steps = must(parse_steps("none"));
    const auto report = must(build(with));
    EXPECT_FALSE(report.continued);
    EXPECT_EQ(report.counts.documents_kept, 9'000U);
}

TEST_F(BuildTest, DamagedWorkFilesAreNotContinued) {
    put_corpus(3000);
    auto with = options("default");
    const auto whole = must(build(with));
    with.checkpoint_bytes = 1;
    for (const char* file : {"tokens", "manifest.jsonl", "index", "checkpoint.json"}) {
        with.stopped = [] { return true; };
        ASSERT_EQ(build(with).error().code, ErrorCode::kCancelled);
        fs::resize_file(place_ / "out.work" / file, 30);
        with.stopped = nullptr;
        const auto report = must(build(with));
        EXPECT_FALSE(report.continued) << file;
        EXPECT_EQ(report.manifest_root, whole.manifest_root) << file;
    }
}

TEST_F(BuildTest, ABadRecordIsNamedOrCountedAndNothingIsHalfWritten) {
    put("a.jsonl", "{\"text\":\"good\"}\n{\"text\":\n{\"text\":\"better\"}\n");
    auto with = options();
    const auto refused = build(with);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kMalformed);
    EXPECT_NE(refused.error().message.find("a.jsonl:2: not JSON"), std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(fs::exists(place_ / "out"));
    with.skip_malformed = true;
    const auto report = must(build(with));
    EXPECT_EQ(text_of_output(), "good\n\nbetter");
    EXPECT_EQ(report.counts.steps.at("read").reasons.at("malformed"), 1U);
}

TEST_F(BuildTest, ErrorsOfInputsTokenizersAndOptionsNameTheirCause) {
    put("a.txt", "a");
    put("b.gz", "no gzip");
    auto with = options();
    with.inputs = {(place_ / "in" / "b.gz").string()};
    EXPECT_NE(build(with).error().message.find("b.gz"), std::string::npos);
    with.inputs = {};
    EXPECT_EQ(build(with).error().code, ErrorCode::kInvalidArgument);
    with.inputs = {(place_ / "nowhere").string()};
    EXPECT_EQ(build(with).error().code, ErrorCode::kNotFound);
    put("c.txt", "some poison here");
    with.inputs = {(place_ / "in" / "c.txt").string()};
    with.encoder = word_encoder;
    EXPECT_EQ(build(with).error().message, "c.txt:1: poison");
    with = options();
    with.output = place_ / "no folder" / "out";
    EXPECT_EQ(build(with).error().code, ErrorCode::kIo);
}

TEST_F(BuildTest, ABuildThatKeepsNothingSaysWhatRemovedIt) {
    put("a.txt", "a short text");
    const auto refused = build(options("web"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("gopher-quality removed 1"), std::string::npos);
    EXPECT_FALSE(fs::exists(place_ / "out"));
}

TEST_F(BuildTest, AnIndexThatIsFullEndsTheBuildWhichContinuesWithMoreMemory) {
    put_corpus(3000);
    auto with = options("default");
    const auto whole = must(build(with));
    with.checkpoint_bytes = 1;
    with.index_bytes_max = 1'000'000;
    const auto full = build(with);
    ASSERT_FALSE(full.ok());
    EXPECT_NE(full.error().message.find("--index-memory"), std::string::npos);
    with.index_bytes_max = std::uint64_t{1} << 30;
    const auto report = must(build(with));
    EXPECT_TRUE(report.continued);
    EXPECT_EQ(report.manifest_root, whole.manifest_root);
}

TEST_F(BuildTest, VerificationFindsAFlippedBit) {
    put_corpus(50);
    const auto report = must(build(options()));
    const fs::path out = place_ / "out";
    EXPECT_EQ(must(verify(out, report.manifest)).root, report.manifest_root);
    Bytes tokens = must(read_file(out));
    tokens[20 + 2 * 10] ^= 1;
    must(write_file_atomic(out, tokens));
    const auto refused = verify(out, report.manifest);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kMismatch);
    EXPECT_NE(refused.error().message.find("a.jsonl:1: its tokens"), std::string::npos)
        << refused.error().message;
    tokens[20 + 2 * 10] ^= 1;
    tokens.resize(tokens.size() - 2);
    must(write_file_atomic(out, tokens));
    EXPECT_FALSE(verify(out, report.manifest).ok());
}

TEST_F(BuildTest, PaddedRowsHoldADocumentEachOrAPieceOfOne) {
    put("a.jsonl",
        "{\"text\":\"abc\"}\n{\"text\":\"abcdefgh\"}\n{\"text\":\"abcde\"}\n{\"text\":\"a\"}\n");
    BuildOptions padded = options();
    padded.rows = PaddedRows{4, '_'};
    must(build(padded));
    // A piece begins with the token that the last one predicts.
    EXPECT_EQ(text_of_output(),
              "abc__"
              "abcde"
              "efgh_"
              "abcde"
              "a____");
    EXPECT_EQ(documents().size(), 4U);
    EXPECT_EQ(documents()[1].first, 5U);
    EXPECT_EQ(documents()[1].tokens, 10U);
    (void)must(verify(place_ / "out", place_ / "out.manifest.jsonl"));
    const auto one = must(blob::scan_dataset(place_ / "out")).root;
    padded.threads = 3;
    EXPECT_EQ(must(build(padded)).dataset.root, one);

    padded.rows = PaddedRows{4, 300};
    const auto wide = must(build(padded));
    EXPECT_EQ(wide.dataset.vocabulary, 301U) << "bytes, and the token behind them";
    padded.rows = PaddedRows{4, 'h'};
    const auto refused = build(padded);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("a.jsonl:2: the document has token 104"),
              std::string::npos)
        << refused.error().message;
    padded.rows = PaddedRows{4, 1U << 20};
    EXPECT_FALSE(build(padded).ok());
}

TEST_F(BuildTest, PaddedRowsEndWithTheEndOfTextAndAreNotMixed) {
    put("a.txt", "a bb ccc");
    BuildOptions padded = options();
    padded.encoder = word_encoder;
    padded.rows = PaddedRows{6, 0};
    must(build(padded));
    const auto dataset = must(blob::Dataset::load(place_ / "out", {}));
    const std::vector<std::uint32_t> tokens(dataset.tokens().begin(), dataset.tokens().end());
    EXPECT_EQ(tokens, (std::vector<std::uint32_t>{1, 2, 3, 999, 0, 0, 0}));
    put("a.txt", "a bb ccc dddd");
    padded.output = place_ / "other";
    must(build(padded));
    const auto mixed =
        mix({.inputs = {{place_ / "out", 1}, {place_ / "other", 1}}, .output = place_ / "mix"});
    ASSERT_FALSE(mixed.ok());
    EXPECT_NE(mixed.error().message.find("holds padded rows"), std::string::npos)
        << mixed.error().message;
}

TEST(BuildWordsTest, ThatCannotBeUsedAreNamed) {
    const auto refusal = [](auto change) {
        BuildWords words;
        change(words);
        const auto options = build_options(words);
        return options.ok() ? "accepted" : options.error().message;
    };
    EXPECT_EQ(refusal([](BuildWords&) {}), "accepted");
    EXPECT_NE(refusal([](BuildWords& w) { w.documents = "pages"; }).find("documents: expected"),
              std::string::npos);
    EXPECT_NE(refusal([](BuildWords& w) { w.index_memory = "0"; }).find("index memory: expected"),
              std::string::npos);
    EXPECT_NE(refusal([](BuildWords& w) { w.pad_to = 8; }).find("need both"), std::string::npos);
    EXPECT_NE(refusal([](BuildWords& w) { w.padding_token = 8; }).find("need both"),
              std::string::npos);
    EXPECT_NE(refusal([](BuildWords& w) { w.licence = "banana"; }).find("licence: "),
              std::string::npos);
}

}  // namespace
}  // namespace gym::data
