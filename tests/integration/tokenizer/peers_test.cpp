// Equal ids with npm's gpt-tokenizer (tiktoken's ranks and patterns) and @huggingface/tokenizers
// (tokenizer.json): 2,000 lines of many kinds, 100,000 in `make check`. The ranks of r50k_base,
// cl100k_base and o200k_base are those that gpt-tokenizer carries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstring>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "must.hpp"
#include "patterns.hpp"
#include "random_seed.hpp"
#include "temporary_folder.hpp"
#include "tokenizer_corpus.hpp"

namespace gym::testing {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using tokenizer::EncodeOptions;
using tokenizer::Tokenizer;
using tokenizer::TokenizerFile;
using Ids = std::vector<std::uint32_t>;

constexpr int kPeerMsMax = 3'600'000;

std::uint64_t line_count() {
    constexpr std::uint64_t kLinesUsual = 2'000, kLinesOfCheck = 100'000, kScaleOfCheck = 10;
    return test_scale() >= kScaleOfCheck ? kLinesOfCheck : kLinesUsual * test_scale();
}

fs::path peers_folder() {
    return fs::path(std::getenv("GYM_SOURCE_DIR")) / "tests/integration/tokenizer";
}
fs::path ranks_of(const std::string& encoding) {
    return peers_folder() / "node_modules/gpt-tokenizer/data" / (encoding + ".tiktoken");
}

void append_u32(Bytes& out, std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8)
        out.push_back(static_cast<std::uint8_t>(value >> shift));
}

class Peers : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        TokenizerCorpus corpus(random_seed());
        lines_.clear();
        for (std::uint64_t i = 0; i < line_count(); ++i)
            lines_.push_back(corpus.next_line());
    }
    void SetUp() override {
        ASSERT_TRUE(fs::exists(ranks_of("r50k_base")))
            << "npm's gpt-tokenizer is missing: `make setup` installs it";
        Bytes corpus;
        for (const std::string& line : lines_) {
            append_u32(corpus, static_cast<std::uint32_t>(line.size()));
            corpus.insert(corpus.end(), line.begin(), line.end());
        }
        must(write_file_atomic(place_ / "corpus", corpus));
    }

    /// The ids of every line by a peer, which has decoded them again.
    std::vector<Ids> ids_of(const std::string& peer, const std::string& what) const {
        const std::string output = place_ / "ids";
        must(
            run_command({.argv = {"node", "--max-old-space-size=4096", peers_folder() / "peers.mjs",
                                  "encode", peer, what, place_ / "corpus", output},
                         .env = {},
                         .log_file = {},
                         .folder = {}},
                        kPeerMsMax));
        const Bytes bytes = must(read_file(output));
        Bytes::size_type at = 0;
        const auto next = [&] {
            std::uint32_t value = 0;
            std::memcpy(&value, bytes.data() + at, sizeof value);
            at += sizeof value;
            return value;
        };
        std::vector<Ids> out;
        while (at < bytes.size()) {
            Ids& ids = out.emplace_back(next());
            for (std::uint32_t& id : ids)
                id = next();
        }
        return out;
    }

    static void expect_equal(const Tokenizer& tokenizer, const std::vector<Ids>& expected,
                             const EncodeOptions& options = {}) {
        ASSERT_EQ(expected.size(), lines_.size());
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            ASSERT_EQ(must(tokenizer.encode(lines_[i], options)), expected[i])
                << "line " << i << ": " << json::serialize(json::value(lines_[i]));
            ASSERT_EQ(must(tokenizer.decode(expected[i])), lines_[i]);
        }
    }
    void export_to(const fs::path& folder, const Tokenizer& tokenizer) const {
        fs::create_directories(folder);
        for (const TokenizerFile& file : tokenizer.files())
            must(write_file_atomic(folder / file.name, file.bytes));
    }

    static inline std::vector<std::string> lines_;
    TemporaryFolder place_;
};

TEST_F(Peers, Gpt2RanksGiveTheIdsOfGptTokenizer) {
    const auto tokenizer = must(Tokenizer::load(ranks_of("r50k_base")));
    EXPECT_EQ(tokenizer.vocabulary(), 50257U);
    expect_equal(tokenizer, ids_of("gpt-tokenizer", "r50k_base"));
}

TEST_F(Peers, Cl100kRanksGiveTheIdsOfGptTokenizer) {
    const auto tokenizer = must(Tokenizer::load(ranks_of("cl100k_base")));
    EXPECT_EQ(tokenizer.vocabulary(), 100277U);
    expect_equal(tokenizer, ids_of("gpt-tokenizer", "cl100k_base"));
}

TEST_F(Peers, O200kRanksGiveTheIdsOfGptTokenizer) {
    const auto tokenizer = must(Tokenizer::load(ranks_of("o200k_base")));
    EXPECT_EQ(tokenizer.vocabulary(), 200019U);
    expect_equal(tokenizer, ids_of("gpt-tokenizer", "o200k_base"));
}

TEST_F(Peers, AnExportedTokenizerJsonGivesTheSameIdsInHuggingFacesLibrary) {
    for (const char* const encoding : {"r50k_base", "cl100k_base"}) {
        const auto tokenizer = must(Tokenizer::load(ranks_of(encoding)));
        export_to(place_ / encoding, tokenizer);
        expect_equal(tokenizer, ids_of("huggingface", place_ / encoding));
        EXPECT_EQ(must(Tokenizer::load(place_ / encoding)).root(), tokenizer.root());
    }
}

/// Llama 3's and others' patterns, on ranks that npm carries.
TEST_F(Peers, OtherPatternsAndNormalizersGiveTheIdsOfHuggingFacesLibrary) {
    const auto gpt2 = must(Tokenizer::load(ranks_of("r50k_base")));
    export_to(place_ / "variant", gpt2);
    const json::value exported =
        json::parse(std::string(gpt2.files()[0].bytes.begin(), gpt2.files()[0].bytes.end()));
    const auto expect_equal_with = [&](const char* name, const auto& change) {
        json::object file = exported.as_object();
        change(file);
        must(write_file_atomic(place_ / "variant/tokenizer.json", as_bytes(json::serialize(file))));
        SCOPED_TRACE(name);
        const auto expected = ids_of("huggingface", place_ / "variant");
        const auto tokenizer = must(Tokenizer::load(place_ / "variant"));
        for (std::size_t i = 0; i < lines_.size(); ++i)
            ASSERT_EQ(must(tokenizer.encode(lines_[i])), expected[i])
                << "line " << i << ": " << json::serialize(json::value(lines_[i]));
    };
    const auto pattern_of = [](json::object& file) -> json::value& {
        return file["pre_tokenizer"].at("pretokenizers").at(0).at("pattern").at("Regex");
    };
    expect_equal_with("Llama 3",
                      [&](json::object& file) { pattern_of(file) = tokenizer::kLlama3Pattern; });
    expect_equal_with("Qwen 2", [&](json::object& file) {
        pattern_of(file) = tokenizer::kQwen2Pattern;
        file["normalizer"] = {{"type", "NFC"}};
        file["model"].as_object()["ignore_merges"] = false;
    });
    expect_equal_with("o200k",
                      [&](json::object& file) { pattern_of(file) = tokenizer::kO200kPattern; });
    expect_equal_with("ByteLevel's own, digits apart", [&](json::object& file) {
        file["pre_tokenizer"].at("pretokenizers") = {
            // Not "Digits": that of the peer is for ASCII only, unlike the original's.
            {{"type", "Split"}, {"pattern", {{"Regex", R"(\p{N})"}}}, {"behavior", "Isolated"}},
            {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}};
    });
}

/// What no peer takes: the lines with bytes in them that are not UTF-8.
TEST_F(Peers, LinesWithBytesOutsideUtf8ComeBackAsTheyWere) {
    std::mt19937_64 random(random_seed());
    const auto tokenizer = must(Tokenizer::load(ranks_of("cl100k_base")));
    for (std::string line : lines_) {
        for (std::uint64_t n = 1 + random() % 4; n > 0; --n)
            line.insert(random() % (line.size() + 1), 1, static_cast<char>(0x80 + random() % 128));
        ASSERT_EQ(must(tokenizer.decode(must(tokenizer.encode(line)))), line);
    }
}

}  // namespace
}  // namespace gym::testing
