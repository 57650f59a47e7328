#include "gym/data/mix.hpp"

#include <gtest/gtest.h>

#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "gym/data/build.hpp"
#include "gym/data/manifest.hpp"
#include "must.hpp"
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
        std::string lines;
        for (int i = 0; i < documents; ++i)
            lines += letter + std::to_string(i) + " is a document\n";
        must(write_file_atomic(place_ / (name + ".txt"), as_bytes(lines)));
        BuildOptions options;
        options.inputs = {(place_ / (name + ".txt")).string()};
        options.output = place_ / name;
        options.reader.text_unit = TextUnit::kLine;
        options.encoder = []() -> Result<std::unique_ptr<Encoder>> { return byte_encoder(); };
        (void)must(build(options));
        return place_ / name;
    }
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
        EXPECT_NEAR(static_cast<double>(share), 70'000, 2.0 * kMixBlockTokens) << at;
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

TEST_F(MixTest, ALimitEndsTheMixAtAPiece) {
    MixOptions options;
    options.inputs = {{put_built("a", 'a', 20), 1}, {put_built("b", 'b', 20), 1}};
    options.output = place_ / "mix";
    options.tokens_max = 50;
    const auto report = must(mix(options));
    EXPECT_GE(report.dataset.tokens, 50U);
    EXPECT_LT(report.dataset.tokens, 70U);
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
