#include "gym/common/yaml.hpp"
#include "gym/common/yaml_list.hpp"

#include <gtest/gtest.h>

namespace gym {
namespace {

YamlMap parse(const std::string& text) {
    return YamlMap::parse(text, "job.yaml").value();
}

TEST(YamlMap, ReadsTypedKeys) {
    YamlMap map = parse("name: demo\nrounds: 6\nlr: 3.0e-3\nfast: true\nmodel:\n  layers: 4\n");
    EXPECT_EQ(map.string("name").value(), "demo");
    EXPECT_EQ(map.integer("rounds", 1, 10).value(), 6);
    EXPECT_DOUBLE_EQ(map.real("lr", 0, 1).value(), 3e-3);
    EXPECT_TRUE(map.boolean("fast").value());
    YamlMap model = map.map("model").value();
    EXPECT_EQ(model.integer_or("layers", 1, 8, 2).value(), 4);
    EXPECT_EQ(model.integer_or("heads", 1, 8, 2).value(), 2);
    EXPECT_TRUE(model.finish().ok());
    EXPECT_TRUE(map.finish().ok());
}

TEST(YamlMap, ReadsLists) {
    YamlMap map = parse("names: [a, b]\n");
    EXPECT_EQ(map.list_of_strings("names").value(), (std::vector<std::string>{"a", "b"}));
}

TEST(YamlMap, ReadsMappingsInAListStrictly) {
    const auto maps = [](const std::string& text) {
        return list_of_maps(text, "job.yaml", "data");
    };
    auto found = maps("name: a\ndata:\n  - {dataset: \"0x12\", weight: 0.7}\n  - dataset: b\n");
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ(found->size(), 2U);
    EXPECT_EQ((*found)[0].string("dataset").value(), "0x12");
    EXPECT_DOUBLE_EQ((*found)[0].real("weight", 0, 1).value(), 0.7);
    EXPECT_EQ((*found)[1].string("dataset").value(), "b");
    EXPECT_EQ((*found)[1].real("weight", 0, 1).error().message.substr(0, 11), "job.yaml:4 ");
    for (const char* bad : {"name: a\n", "data: 1\n", "data: [1]\n", "data: [", "data: {a: 1}\n"})
        EXPECT_EQ(maps(bad).error().code, ErrorCode::kInvalidArgument) << bad;
}

TEST(YamlMap, AnUnknownKeyIsNamedWithItsLine) {
    YamlMap map = parse("rounds: 6\nruonds: 7\n");
    EXPECT_TRUE(map.integer("rounds", 1, 10).ok());
    const Status status = map.finish();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message,
              "job.yaml:2: 'ruonds' is not a known key (did you mean rounds?); known here: rounds");
    YamlMap optional = parse("rounds: 6\nsamplnig: {}\nzebra: 1\n");
    EXPECT_TRUE(optional.integer("rounds", 1, 10).ok());
    EXPECT_FALSE(optional.has("sampling")) << "what is read only where it is can be written, too";
    EXPECT_EQ(optional.finish().error().message,
              "job.yaml:2: 'samplnig' is not a known key (did you mean sampling?); known here: "
              "rounds, sampling");
    YamlMap far = parse("zebra: 1\n");
    EXPECT_FALSE(far.has("rounds"));
    EXPECT_EQ(far.finish().error().message,
              "job.yaml:1: 'zebra' is not a known key; known here: rounds");
}

TEST(YamlMap, WrongTypesAndBoundsSayWhatIsExpected) {
    YamlMap map = parse("rounds: many\nbatch: 0\nlr: .nan\n");
    EXPECT_EQ(map.integer("rounds", 1, 10).error().message,
              "job.yaml:1: 'rounds' must be a whole number");
    EXPECT_EQ(map.integer("batch", 1, 64).error().message,
              "job.yaml:2: 'batch' must be between 1 and 64, is 0");
    EXPECT_FALSE(map.real("lr", 0, 1).ok());
    EXPECT_EQ(map.string("name").error().message, "job.yaml:1: 'name' is missing");
    EXPECT_FALSE(map.map("rounds").ok());
}

TEST(YamlMap, AnAbsentValueHasTheLineOfItsKey) {
    YamlMap map = parse("a: 1\ndevice:\nb: 2\nlist:\n");
    EXPECT_EQ(map.string("device").error().message, "job.yaml:2: 'device' must be text");
    EXPECT_EQ(map.list_of_strings("list").error().message, "job.yaml:4: 'list' must be a list");
    EXPECT_EQ(map.error_at("device", "is not one").message, "job.yaml:2: 'device' is not one");
}

TEST(YamlMap, AMistypedKeyIsPointedOut) {
    YamlMap map = parse("rate: 1\nruonds: 6\nslot: 2\nid: 3\n");
    EXPECT_EQ(map.integer("rounds", 1, 10).error().message,
              "job.yaml:1: 'rounds' is missing; 'ruonds' in line 2 is like it");
    EXPECT_EQ(map.integer("slots", 1, 10).error().message,
              "job.yaml:1: 'slots' is missing; 'slot' in line 3 is like it");
    EXPECT_EQ(map.integer("budget", 1, 10).error().message, "job.yaml:1: 'budget' is missing");
    EXPECT_EQ(map.integer("in", 1, 10).error().message, "job.yaml:1: 'in' is missing");
}

TEST(YamlMap, ChoicesAreListed) {
    YamlMap map = parse("on_fraud: ignore\n");
    EXPECT_EQ(map.choice("on_fraud", {"continue", "rewind"}).error().message,
              "job.yaml:1: 'on_fraud' must be one of continue, rewind, is 'ignore'");
}

TEST(YamlMap, RejectsTextThatIsNoMapping) {
    EXPECT_EQ(YamlMap::parse("- 1\n", "x").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(YamlMap::parse("a: [1\n", "x").error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(YamlMap::parse("", "x").error().code, ErrorCode::kInvalidArgument);
}

TEST(YamlMap, AKeyThatStandsTwiceIsRefusedAtEveryDepth) {
    const auto error_of = [](const char* text) {
        const auto map = YamlMap::parse(text, "x");
        return map.ok() ? "accepted" : map.error().message;
    };
    EXPECT_EQ(error_of("a: 1\na: 2\n"), "x:2: 'a' appears twice");
    EXPECT_EQ(error_of("a:\n  b: 1\n  c: 2\n  b: 1\n"), "x (a):4: 'b' appears twice");
    EXPECT_EQ(error_of("a: {b: {c: 1, c: 2}}\n"), "x (a) (b):1: 'c' appears twice");
    EXPECT_EQ(error_of("a:\n  - b: 1\n  - b: 1\n    b: 2\n"), "x (a[1]):4: 'b' appears twice");
    EXPECT_EQ(error_of("a: [[{b: 1, b: 2}]]\n"), "x (a[0][0]):1: 'b' appears twice");
    EXPECT_EQ(error_of("a: {b: 1}\nc: {b: 1}\nd: [{b: 1}, {b: 1}]\n"), "accepted");
    EXPECT_EQ(error_of("a: &x {b: [1, *x]}\nc: [*x, *x]\n"), "accepted") << "a circle ends";
}

TEST(YamlMap, ASecondDocumentIsNotIgnored) {
    EXPECT_TRUE(YamlMap::parse("---\na: 1\n", "x").ok());
    const auto two = YamlMap::parse("a: 1\n---\na: 2\n", "x");
    ASSERT_FALSE(two.ok());
    EXPECT_EQ(two.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(two.error().message.find("x holds 2 YAML documents"), std::string::npos);
}

}  // namespace
}  // namespace gym
