// Tokenizer files with random damage: no crash and no hang; what is accepted encodes any text and
// decodes it again, and is written as a file that means the same.

#include <gtest/gtest.h>

#include <random>

#include "gym/common/file.hpp"
#include "must.hpp"
#include "random_seed.hpp"
#include "small_tokenizer.hpp"
#include "temporary_folder.hpp"
#include "tiktoken.hpp"
#include "tokenizer_data.hpp"
#include "tokenizer_json.hpp"

namespace gym::tokenizer {
namespace {

namespace json = boost::json;
using testing::must;

class Damage {
  public:
    explicit Damage(std::uint64_t seed) : random_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

    void to_text(std::string& text) {
        const std::size_t at = below(text.size());
        switch (below(5)) {
            case 0:
                text[at] = static_cast<char>(random_());
                break;
            case 1:
                text.erase(at, 1 + below(20));
                break;
            case 2:
                text.insert(at, text.substr(below(text.size()), below(40)));
                break;
            case 3:
                text[at] = R"("[]{},:\0129-eE+*?()|^$)"[below(23)];
                break;
            default:
                text.resize(at);
        }
        if (text.empty()) text = "{";
    }

    /// Changes a value somewhere below `value`, so that the text stays JSON.
    void to_json(json::value& value) {
        if (auto* object = value.if_object(); object != nullptr && !object->empty()) {
            auto& member = *(object->begin() + static_cast<std::ptrdiff_t>(below(object->size())));
            if (below(10) > 0) return to_json(member.value());
            object->erase(object->begin());
        } else if (auto* array = value.if_array(); array != nullptr && !array->empty()) {
            const std::size_t at = below(array->size());
            if (below(4) > 0) return to_json((*array)[at]);
            array->push_back(json::value((*array)[at]));
        } else {
            value = scalar();
        }
    }

  private:
    json::value scalar() {
        switch (below(9)) {
            case 0:
                return nullptr;
            case 1:
                return true;
            case 2:
                return -1;
            case 3:
                return below(300);
            case 4:
                return 1e300;
            case 5:
                return "h e";
            case 6:
                return "(?:a+)+$|\\s+";
            case 7:
                return UINT64_MAX;
            default:
                return "ByteLevel";
        }
    }
    std::mt19937_64 random_;
};

/// NFC and prefix spaces change a text; all else gives it back.
void expect_round_trip(const Definition& definition, const std::string& text) {
    const auto data = TokenizerData::make(definition, "fuzz", {});
    if (!data.ok()) return;  // a pattern that ICU refuses
    const testing::TemporaryFolder place;
    must(write_file_atomic(place / "t.json", as_bytes(write_tokenizer_json(definition))));
    const Tokenizer tokenizer = must(Tokenizer::load(place / "t.json"));
    ASSERT_EQ(tokenizer.root(), (*data)->root);
    const auto ids = tokenizer.encode(text, {.special_tokens = true});
    if (!ids.ok()) {
        ASSERT_EQ(ids.error().code, ErrorCode::kOutOfRange);  // a pattern beyond its limits
        return;
    }
    if (!definition.nfc) {
        ASSERT_EQ(must(tokenizer.decode(*ids)), text);
    }
}

const std::string kText =
    "hello world 123 <|endoftext|>  caf\u00e9 \xff\n\n aaaaaaaaaaaaaaaaaaaaaaaa";

void try_json(const std::string& text, std::uint64_t& accepted) {
    const auto definition = read_tokenizer_json(text);
    if (!definition.ok()) return;
    const bool only_splits = std::ranges::all_of(
        definition->steps, [](const Step& step) { return step.kind == Step::Kind::kSplit; });
    if (!only_splits) return;
    ++accepted;
    expect_round_trip(*definition, kText);
}

json::object valid_json() {
    return testing::small_tokenizer_json(testing::small_merges(), R"(\p{L}+| ?[^\s\p{L}]+|\s+)");
}

TEST(TokenizerFuzz, DamagedJsonValues) {
    Damage damage(testing::random_seed());
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i < 1000 * testing::test_scale(); ++i) {
        json::value value = valid_json();
        for (std::uint64_t n = 1 + damage.below(3); n > 0; --n)
            damage.to_json(value);
        try_json(json::serialize(value), accepted);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(accepted, 0U);
}

TEST(TokenizerFuzz, DamagedJsonText) {
    Damage damage(testing::random_seed());
    const std::string valid = json::serialize(valid_json());
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i < 2000 * testing::test_scale(); ++i) {
        std::string text = valid;
        for (std::uint64_t n = 1 + damage.below(3); n > 0; --n)
            damage.to_text(text);
        try_json(text, accepted);
        if (HasFatalFailure()) return;
    }
}

TEST(TokenizerFuzz, DamagedRankFiles) {
    Damage damage(testing::random_seed());
    for (std::uint64_t i = 0; i < 5000 * testing::test_scale(); ++i) {
        std::string text = "IQ== 0\nIg== 1\nIw== 2\nJA== 3\nISI= 4\n";
        for (std::uint64_t n = 1 + damage.below(4); n > 0; --n)
            damage.to_text(text);
        (void)is_rank_file(text);
        ASSERT_FALSE(read_ranks(text, "gpt2").ok());  // too few of them, at least
    }
}

}  // namespace
}  // namespace gym::tokenizer
