#include "gym/common/yaml_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gym/common/yaml.hpp"

namespace gym {
namespace {

constexpr const char* kText =
    "# head\n"
    "name: one   # a label\n"
    "inner:\n"
    "  deep: 1\n"
    "\n"
    "  # about more\n"
    "  more: \"10\"\n"
    "\n"
    "# tail\n"
    "list:\n"
    "- a\n"
    "- b\n"
    "last: end\n";

std::string edited(const std::string& text, const std::string& path, const std::string& value) {
    YamlText yaml(text, "file");
    const Status set = yaml.set(path, value);
    return set.ok() ? yaml.text() : "refused: " + set.error().message;
}

TEST(YamlText, AnEditLeavesTheOtherLinesAsTheyAre) {
    EXPECT_EQ(edited(kText, "name", "two"), std::string(kText).replace(7, 22, "name: two\n"));
    const std::string list = edited(kText, "list", "[c]");
    EXPECT_NE(list.find("# tail\nlist: [c]\nlast: end\n"), std::string::npos) << list;
    const std::string added = edited(kText, "fresh", "5");
    EXPECT_EQ(added, std::string(kText) + "fresh: 5\n");
    EXPECT_EQ(edited("a: 1", "b", "2"), "a: 1\nb: 2\n");
    EXPECT_EQ(edited("", "b", "2"), "b: 2\n");
}

TEST(YamlText, ADeepValueKeepsItsNeighbours) {
    const std::string text = edited(kText, "inner.deep", "7");
    auto map = YamlMap::parse(text, "file");
    ASSERT_TRUE(map.ok()) << map.error().message << text;
    auto inner = map->map("inner");
    ASSERT_TRUE(inner.ok()) << inner.error().message;
    EXPECT_EQ(inner->integer("deep", 0, 9).value(), 7);
    EXPECT_EQ(inner->string("more").value(), "10");
    EXPECT_NE(text.find("# tail\n"), std::string::npos) << text;
    const std::string fresh = edited(kText, "x.y.z", "1.5");
    auto made = YamlMap::parse(fresh, "file");
    ASSERT_TRUE(made.ok()) << made.error().message << fresh;
    EXPECT_EQ(made->map("x")->map("y")->real("z", 0, 9).value(), 1.5);
}

TEST(YamlText, KnowsWhatIsThere) {
    const YamlText yaml(kText, "file");
    for (const char* path : {"name", "inner", "inner.deep", "inner.more", "list"})
        EXPECT_TRUE(yaml.has(path).value()) << path;
    for (const char* path : {"nam", "deep", "inner.less", "name.x", "head"})
        EXPECT_FALSE(yaml.has(path).value()) << path;
    EXPECT_FALSE(YamlText("a: [", "file").has("a").ok());
}

TEST(YamlText, ARemovedKeyMovesNoLine) {
    YamlText yaml(kText, "file");
    ASSERT_TRUE(yaml.erase("inner").ok());
    EXPECT_FALSE(yaml.has("inner").value());
    EXPECT_TRUE(yaml.has("list").value());
    EXPECT_EQ(std::ranges::count(yaml.text(), '\n'),
              std::ranges::count(std::string_view(kText), '\n'));
    ASSERT_TRUE(yaml.erase("nowhere").ok());
}

TEST(YamlText, AQuotedTextStaysOneValue) {
    for (const std::string& name : {std::string("a\"b\\c"), std::string("two\nlines: 1"),
                                    std::string("bell\a\x7f"), std::string("Zoë's: data #1")}) {
        YamlText yaml("name: old\nrest: 1\n", "file");
        ASSERT_TRUE(yaml.set("name", yaml_quoted(name)).ok()) << name;
        auto map = YamlMap::parse(yaml.text(), "file");
        ASSERT_TRUE(map.ok()) << map.error().message;
        EXPECT_EQ(map->string("name").value(), name);
        EXPECT_FALSE(map->has("lines"));
    }
}

TEST(YamlText, WhatCannotBeEditedIsRefused) {
    EXPECT_NE(edited("{a: 1, b: 2}\n", "a", "3").find("must stand on a line of its own"),
              std::string::npos);
    EXPECT_NE(edited(kText, "name.deeper", "3").find("'name' is not a mapping"), std::string::npos);
    EXPECT_NE(edited(kText, "name", "[").find("is not valid YAML"), std::string::npos);
    for (const char* path : {"", ".", "a..b", "a b", "a:", "a\nb"})
        EXPECT_NE(edited(kText, path, "1").find("is not a key"), std::string::npos) << path;
}

TEST(YamlText, AliasesThatGoInCirclesOrGrowWithoutEndAreRefused) {
    std::string growing = "model:\n  a0: &a0 [1, 1]\n";
    for (int i = 1; i < 40; ++i)
        growing += "  a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
                   std::to_string(i - 1) + ", *a" + std::to_string(i - 1) + "]\n";
    for (const std::string& text : {std::string("model: &a\n  self: *a\n"),
                                    std::string("model: &a\n  b: [1, [*a]]\n"), growing}) {
        YamlText file(text, "job.yaml");
        const Status set = file.set("model.width", "3");
        ASSERT_FALSE(set.ok());
        EXPECT_NE(set.error().message.find("too large or too deep"), std::string::npos)
            << set.error().message;
        EXPECT_TRUE(file.set("rounds", "3").ok());
    }
    YamlText plain("model: {a: &x [1, 2], b: *x}\n", "job.yaml");
    EXPECT_TRUE(plain.set("model.c", "[3]").ok());
    EXPECT_FALSE(plain.set("model.d", "&y [*y]").ok());
}

}  // namespace
}  // namespace gym
