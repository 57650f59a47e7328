#include "gym/registry/dataset_names.hpp"

#include <gtest/gtest.h>

namespace gym::registry {
namespace {

TEST(DatasetReference, IsANameWithOrWithoutAVersion) {
    const auto plain = parse_dataset_reference("zoo-dataset-v2");
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->name, "zoo-dataset-v2");
    EXPECT_FALSE(plain->version);
    const auto fixed = parse_dataset_reference("c4.en_1@12");
    ASSERT_TRUE(fixed.ok());
    EXPECT_EQ(fixed->name, "c4.en_1");
    EXPECT_EQ(fixed->version, 12U);
    EXPECT_TRUE(parse_dataset_reference(std::string(64, 'z')).ok());
}

TEST(DatasetReference, CannotBeTakenForARootAndHasNoOddSigns) {
    for (const char* bad :
         {"", "@1", "abc", "0xzoo/", "12345678", "0xfeed", "Zoo", "-zoo", ".zoo", "zoo dataset",
          "zoo@", "zoo@0", "zoo@-1", "zoo@1x", "zoo@1000001", "zoo@1@2", "zo\u00f6"})
        EXPECT_EQ(parse_dataset_reference(bad).error().code, ErrorCode::kInvalidArgument) << bad;
    EXPECT_FALSE(parse_dataset_reference(std::string(65, 'z')).ok());
}

}  // namespace
}  // namespace gym::registry
