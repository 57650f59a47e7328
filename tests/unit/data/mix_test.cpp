#include "gym/data/mix.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "gym/data/build.hpp"
#include "gym/data/manifest.hpp"
#include "must.hpp"
#include "random_seed.hpp"
#include "temporary_folder.hpp"

namespace gym::data {
namespace {

using testing::must;

class MixTest : public ::testing::Test {
  protected:
    /// A token file of bytes, all the same, without a manifest.
    std::filesystem::path put_plain(const std::string& name, char letter, std::size_t size) {
        const std::string text(size, letter);
        must(write_file_atomic(place_ / name,
                               must(blob::Dataset::build_from_text(as_bytes(text))).encode()));
        return place_ / name;
    }
    /// A token file with a manifest, of documents "a0 a1 ...".
    std::filesystem::path put_built(const std::string& name, char letter, int documents) {
        std::vector<std::string> texts;
        for (int i = 0; i < documents; ++i)
            texts.push_back(letter + std::to_string(i) + " is a document");
        return put_texts(name, texts);
    }
    /// A token file with a manifest, of one document "a a a ...".
    std::filesystem::path put_document(const std::string& name, char letter, std::size_t size) {
        std::string text;
        while (text.size() < size)
            text += std::string(1, letter) + " ";
        text.back() = '.';
        return put_texts(name, {text});
    }
    std::filesystem::path put_texts(const std::string& name,
                                    const std::vector<std::string>& texts) {
        std::string lines;
        for (const std::string& text : texts)
            lines += text + "\n";
        must(write_file_atomic(place_ / (name + ".txt"), as_bytes(lines)));
        BuildOptions options;
        options.inputs = {(place_ / (name + ".txt")).string()};
        options.output = place_ / name;
        options.reader.text_unit = TextUnit::kLine;
        options.encoder = []() -> Result<std::unique_ptr<Encoder>> { return byte_encoder(); };
        (void)must(build(options));
        return place_ / name;
    }
    void check_random_mix(std::mt19937_64& random);
    std::string text_of(const std::filesystem::path& path) {
        std::string out;
        const auto dataset = must(blob::Dataset::load(path, {}));
        for (const std::uint32_t token : dataset.tokens())
            out += static_cast<char>(token);
        return out;
    }
    testing::TemporaryFolder place_;
};

TEST_F(MixTest, WeightsAreReadExactly) {
    EXPECT_EQ(must(parse_mix_input("a:b.tokens:0.7")).weight_ppm, 700'000U);
    EXPECT_EQ(must(parse_mix_input("a:b.tokens:0.7")).path, "a:b.tokens");
    EXPECT_EQ(must(parse_mix_input("a:3")).weight_ppm, 3'000'000U);
    EXPECT_EQ(must(parse_mix_input("a:.000001")).weight_ppm, 1U);
    for (const char* bad : {"a", "a:", ":1", "a:0", "a:-1", "a:1e3", "a:101", "a:0.0000001", "a:x"})
        EXPECT_EQ(parse_mix_input(bad).error().code, ErrorCode::kInvalidArgument) << bad;
}

TEST_F(MixTest, SharesHoldInEveryPartOfTheOutput) {
    MixOptions options;
    options.inputs = {{put_plain("a", 'a', 700'000), 700'000},
                      {put_plain("b", 'b', 500'000), 300'000}};
    options.output = place_ / "mix";
    const auto report = must(mix(options));
    const std::string text = text_of(options.output);
    EXPECT_EQ(text.size(), report.dataset.tokens);
    EXPECT_GT(text.size(), 990'000U);  // until a is used up
    for (std::size_t at = 0; at + 100'000 <= text.size(); at += 100'000) {
        const auto share =
            std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                       text.begin() + static_cast<std::ptrdiff_t>(at + 100'000), 'a');
        EXPECT_NEAR(static_cast<double>(share), 70'000, 2.0 * kMixPieceTokensMax) << at;
    }
    EXPECT_EQ(report.shares[0].taken + report.shares[1].taken, text.size());
    EXPECT_EQ(must(verify(options.output, report.manifest)).root, report.manifest_root);
}

TEST_F(MixTest, DocumentsStayWholeAndTheManifestNamesWhereTheyAreFrom) {
    MixOptions options;
    options.inputs = {{put_built("a", 'a', 20), 1}, {put_built("b", 'b', 60), 2}};
    options.output = place_ / "mix";
    const auto report = must(mix(options));
    const std::string text = text_of(options.output);
    EXPECT_TRUE(text.starts_with("a0 is a document\n\nb0 is a document\n\nb1 is a document\n\na1"))
        << text.substr(0, 80);
    std::vector<std::string> sources;
    const Manifest manifest =
        must(read_manifest(report.manifest, [&](const ManifestDocument& document) -> Status {
            sources.push_back(document.source);
            return {};
        }));
    EXPECT_EQ(sources[1], "b:b.txt:1");
    for (const MixShare& share : report.shares)
        EXPECT_NE(manifest.head.options.find(share.dataset_root.hex()), std::string::npos);
    EXPECT_EQ(must(verify(options.output, report.manifest)).root, report.manifest_root);
    EXPECT_EQ(must(mix(options)).manifest_root, report.manifest_root);  // again: the same
}

TEST_F(MixTest, ALimitIsMetToTheToken) {
    MixOptions options;
    options.inputs = {{put_built("a", 'a', 200), 1}, {put_built("b", 'b', 200), 1}};
    options.output = place_ / "mix";
    for (const std::uint64_t tokens : {1, 2, 3, 50, 51, 2'000}) {
        options.tokens = tokens;
        const auto report = must(mix(options));
        EXPECT_EQ(report.dataset.tokens, tokens);
        EXPECT_EQ(report.shares[0].taken, (tokens + 1) / 2);
        EXPECT_EQ(report.shares[1].taken, tokens / 2);
        EXPECT_EQ(must(verify(options.output, report.manifest)).root, report.manifest_root);
    }
}

TEST_F(MixTest, ALongDocumentIsSplitSoThatTheSharesHold) {
    MixOptions options;
    options.inputs = {{put_document("a", 'a', 400'000), 700'000},
                      {put_built("b", 'b', 3'000), 300'000}};
    options.output = place_ / "mix";
    const auto report = must(mix(options));
    EXPECT_NEAR(static_cast<double>(report.shares[0].achieved_ppm), 700'000, 10);
    EXPECT_EQ(report.shares[0].taken + report.shares[1].taken, report.dataset.tokens);
    EXPECT_EQ(must(verify(options.output, report.manifest)).root, report.manifest_root);
    std::vector<std::string> sources;
    (void)must(read_manifest(report.manifest, [&](const ManifestDocument& document) -> Status {
        sources.push_back(document.source);
        return {};
    }));
    EXPECT_TRUE(sources[0].starts_with("a:a.txt:1[0..")) << sources[0];
}

TEST_F(MixTest, WholeDocumentsThatMissTheSharesAreRefusedUnlessTheOwnerAcceptsThem) {
    MixOptions options;
    options.inputs = {{put_document("a", 'a', 100'000), 700'000},
                      {put_built("b", 'b', 3'000), 300'000}};
    options.output = place_ / "mix";
    options.whole_documents = true;
    options.tokens = 60'000;  // the document does not fit into 42,000
    const auto refused = mix(options);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("0.0000 % instead of 70.0000 %"), std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(std::filesystem::exists(options.output));
    options.best_effort = true;
    const auto report = must(mix(options));
    EXPECT_EQ(report.shares[0].taken, 0U);
    EXPECT_EQ(report.shares[1].achieved_ppm, 1'000'000U);
    EXPECT_EQ(report.deviation_ppm, 700'000U);
    EXPECT_EQ(text_of(options.output).find("a a"), std::string::npos);
}

TEST_F(MixTest, AnInputThatIsTooShortForItsShareIsNamedWithWhatCanBeMixed) {
    MixOptions options;
    options.inputs = {{put_plain("a", 'a', 1'000), 1}, {put_plain("b", 'b', 9'000), 1}};
    options.output = place_ / "mix";
    options.tokens = 4'000;
    const auto refused = mix(options);
    ASSERT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    for (const char* words : {"a has 1000 tokens", "25.0000 %", "50.0000 %", "--tokens 2000"})
        EXPECT_NE(refused.error().message.find(words), std::string::npos)
            << refused.error().message;
    options.tokens = 20'000;
    EXPECT_NE(mix(options).error().message.find("have 10000 tokens"), std::string::npos);
    options.tokens = 2'010;  // within a percentage point: filled up from the other
    EXPECT_EQ(must(mix(options)).shares[1].taken, 1'010U);
    options.tokens = 4'000;
    options.best_effort = true;
    const auto report = must(mix(options));
    EXPECT_EQ(report.dataset.tokens, 4'000U);
    EXPECT_EQ(report.shares[0].taken, 1'000U);
    options.tokens = 20'000;
    EXPECT_EQ(must(mix(options)).dataset.tokens, 10'000U);
}

/// Two to four inputs, one letter each, with and without documents, of which some are long.
void MixTest::check_random_mix(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t n) { return random() % n; };
    MixOptions options;
    options.output = place_ / "mix";
    const std::size_t count = 2 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
        const char letter = static_cast<char>('a' + i);
        const std::string name(1, letter);
        std::filesystem::remove(manifest_path(place_ / name));
        std::vector<std::string> texts;
        for (std::uint64_t left = 1 + below(60); left > 0; --left)
            texts.emplace_back(1 + below(below(8) == 0 ? 20'000 : 60), letter);
        const auto path =
            below(3) == 0 ? put_plain(name, letter, 1 + below(100'000)) : put_texts(name, texts);
        options.inputs.push_back({path, 1 + below(1'000'000)});
    }
    const auto report = must(mix(options));
    const std::string text = text_of(options.output);
    std::uint64_t taken = 0, asked = 0, achieved = 0, weights = 0;
    for (const MixInput& input : options.inputs)
        weights += input.weight_ppm;
    for (std::size_t i = 0; i < count; ++i) {
        const MixShare& share = report.shares[i];
        taken += share.taken;
        asked += share.asked_ppm;
        achieved += share.achieved_ppm;
        const double part =
            static_cast<double>(options.inputs[i].weight_ppm) / static_cast<double>(weights);
        EXPECT_NEAR(static_cast<double>(share.taken), part * static_cast<double>(text.size()), 1);
        const double piece_and_separator =
            std::max(256.0, static_cast<double>(text.size()) / 512) + 2;
        // In every beginning: to within a piece with its separator of every input.
        double seen = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            seen += text[at] == static_cast<char>('a' + i) ? 1 : 0;
            ASSERT_LE(seen, part * static_cast<double>(at + 1) + piece_and_separator)
                << i << " at " << at;
        }
    }
    EXPECT_EQ(taken, text.size());
    EXPECT_EQ(asked, 1'000'000U);
    EXPECT_EQ(achieved, 1'000'000U);
    EXPECT_EQ(must(verify(options.output, report.manifest)).root, report.manifest_root);
}

TEST_F(MixTest, AnyMixKeepsItsSharesInEveryPartAndUsesEachTokenOnce) {
    std::mt19937_64 random(testing::random_seed());
    for (std::uint64_t i = 0; i < 6 * testing::test_scale(); ++i)
        check_random_mix(random);
}

TEST_F(MixTest, InputsThatDoNotGoTogetherAreRefused) {
    MixOptions options;
    options.output = place_ / "mix";
    const auto a = put_built("a", 'a', 5), b = put_built("b", 'b', 6);
    options.inputs = {{a, 1}};
    EXPECT_EQ(mix(options).error().code, ErrorCode::kInvalidArgument);
    must(
        write_file_atomic(place_ / "c", must(blob::Dataset::from_tokens({1, 2, 3}, 300)).encode()));
    options.inputs = {{a, 1}, {place_ / "c", 1}};
    EXPECT_EQ(mix(options).error().code, ErrorCode::kInvalidArgument);
    options.inputs = {{a, 1}, {place_ / "nothing", 1}};
    EXPECT_EQ(mix(options).error().code, ErrorCode::kNotFound);
    std::filesystem::copy_file(manifest_path(b), manifest_path(a),
                               std::filesystem::copy_options::overwrite_existing);
    options.inputs = {{a, 1}, {b, 1}};
    EXPECT_EQ(mix(options).error().code, ErrorCode::kMismatch);
    EXPECT_FALSE(std::filesystem::exists(options.output));
    EXPECT_FALSE(std::filesystem::exists(options.output.string() + ".part"));
}

}  // namespace
}  // namespace gym::data
