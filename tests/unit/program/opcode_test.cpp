#include "gym/program/opcode.hpp"

#include <gtest/gtest.h>

#include <set>

namespace gym::program {
namespace {

TEST(Opcodes, NamesAndNumbersAreUniqueAndFindable) {
    std::set<std::string_view> names;
    for (const OpcodeInfo& op : opcode_table()) {
        EXPECT_TRUE(names.insert(op.name).second) << op.name;
        EXPECT_EQ(find_opcode(static_cast<std::uint16_t>(op.code)), &op);
        EXPECT_EQ(to_string(op.code), op.name);
    }
    EXPECT_EQ(opcode_table().size(), 58U);
}

TEST(Opcodes, NumbersBetweenAndBeyondAreNone) {
    for (const int number : {0, 17, 31, 39, 63, 75, 127, 152, 65535})
        EXPECT_EQ(find_opcode(static_cast<std::uint16_t>(number)), nullptr) << number;
}

TEST(Opcodes, PrimitivesHaveOneOutputAndStayWithinTheLeafRule) {
    for (const OpcodeInfo& op : opcode_table()) {
        if (op.macro) continue;
        EXPECT_EQ(op.outputs, 1) << op.name;
        EXPECT_LE(op.reach.elements, 1024U) << op.name;
        EXPECT_LE(op.reach.chunks, 17U) << op.name;
    }
}

}  // namespace
}  // namespace gym::program
