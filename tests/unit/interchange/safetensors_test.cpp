#include "gym/interchange/safetensors.hpp"

#include <gtest/gtest.h>

#include <random>

namespace gym::interchange {
namespace {

Bytes file_of(const std::string& header, std::size_t data_bytes) {
    Bytes bytes(8);
    for (std::size_t i = 0; i < 8; ++i)
        bytes[i] = static_cast<std::uint8_t>(header.size() >> (8 * i));
    bytes.insert(bytes.end(), header.begin(), header.end());
    for (std::size_t i = 0; i < data_bytes; ++i)
        bytes.push_back(static_cast<std::uint8_t>(i));
    return bytes;
}

constexpr const char* kTwo =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
    R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
    const Bytes bytes = file_of(kTwo, 11);
    const SafetensorsFile file = parse_safetensors(bytes).value();
    ASSERT_EQ(file.tensors.size(), 2U);
    EXPECT_EQ(file.tensors[0].name, "a");
    EXPECT_EQ(file.tensors[0].dtype, "F32");
    EXPECT_EQ(file.tensors[0].dims, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(file.tensors[1].name, "b");
    EXPECT_EQ(file.tensors[1].bytes[2], 10);
    EXPECT_EQ(file.metadata.at("format"), "pt");
}

TEST(Safetensors, WhatIsWrittenIsReadAgain) {
    const Bytes first = {1, 2, 3, 4}, second = {5, 6};
    const std::vector<SafetensorsEntry> tensors = {{"z \"quoted\"", "F32", {1}, first},
                                                   {"a", "I16", {}, second},
                                                   {"empty", "F64", {0, 7}, {}}};
    Bytes bytes = safetensors_header(tensors, {{"k", "v: \\ \" :"}});
    EXPECT_EQ(bytes.size() % 8, 0U);
    for (const auto& tensor : tensors)
        bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    const SafetensorsFile file = parse_safetensors(bytes).value();
    ASSERT_EQ(file.tensors.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(file.tensors[i].name, tensors[i].name);
        EXPECT_EQ(file.tensors[i].dims, tensors[i].dims);
        EXPECT_TRUE(std::ranges::equal(file.tensors[i].bytes, tensors[i].bytes));
    }
    EXPECT_EQ(file.metadata.at("k"), "v: \\ \" :");
}

struct Bad {
    const char* header;
    std::size_t data_bytes;
    const char* says;
};

TEST(Safetensors, WhatDoesNotFitIsNamed) {
    const char* one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    const Bad cases[] = {
        {one, 7, "truncated"},
        {one, 9, "1 bytes after the last tensor"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}})", 7, "'a'"},
        {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "shape"},
        {R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8, "dtype 'F31'"},
        {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "natural"},
        {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8, "natural"},
        {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", 8,
         "at most 8"},
        {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}})", 0,
         "shape"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "data_offsets"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "data_offsets"},
        {R"({"a":{"dtype":"F32","shape":[2],"offsets":[0,8]}})", 8, "data_offsets"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8, "nothing else"},
        {R"({"a":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})", 8, "dtype"},
        {R"({"a":[]})", 0, "'a'"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
         12, "overlap"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
         R"("b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
         16, "hole"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
         R"("a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})",
         8, "twice"},
        {R"({"a":{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}})", 8, "twice"},
        {R"({"__metadata__":{"a":1}})", 0, "metadata"},
        {R"({"__metadata__":"a"})", 0, "metadata"},
        {R"({"a":{"dtype":"F32","shape":[[[[[2]]]]],"data_offsets":[0,8]}})", 8, "JSON"},
        {R"({"a":)", 0, "JSON"},
        {R"([])", 0, "object"},
        {R"( {})", 0, "object"},
    };
    for (const Bad& bad : cases) {
        const Bytes bytes = file_of(bad.header, bad.data_bytes);
        const auto parsed = parse_safetensors(bytes);
        ASSERT_FALSE(parsed.ok()) << bad.header;
        EXPECT_NE(parsed.error().message.find(bad.says), std::string::npos)
            << bad.header << "\n"
            << parsed.error().message;
    }
}

TEST(Safetensors, SizesBeyondTheFileAreRefused) {
    EXPECT_FALSE(parse_safetensors(Bytes(7)).ok());
    EXPECT_FALSE(parse_safetensors(Bytes(8)).ok());  // an empty header
    Bytes bytes = file_of(kTwo, 11);
    bytes[7] = 0x80;
    EXPECT_EQ(parse_safetensors(bytes).error().code, ErrorCode::kOutOfRange);
    for (std::size_t size = 0; size < file_of(kTwo, 11).size(); ++size) {
        const Bytes whole = file_of(kTwo, 11);
        EXPECT_FALSE(parse_safetensors(ByteView(whole).first(size)).ok()) << size;
    }
}

// Whatever a byte becomes: an error or tensors inside the file, never a read outside it.
TEST(Safetensors, AlteredFilesNeverReachOutside) {
    std::mt19937 random(3);
    const Bytes whole = file_of(kTwo, 11);
    for (int i = 0; i < 20000; ++i) {
        Bytes bytes = whole;
        bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        const auto parsed = parse_safetensors(bytes);
        if (!parsed.ok()) continue;
        for (const SafetensorsEntry& tensor : parsed->tensors) {
            EXPECT_GE(tensor.bytes.data(), bytes.data());
            EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size());
        }
    }
}

}  // namespace
}  // namespace gym::interchange
