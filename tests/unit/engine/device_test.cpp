#include "gym/engine/device.hpp"

#include <gtest/gtest.h>

namespace gym::engine {
namespace {

TEST(Device, NamesAreStrict) {
    EXPECT_FALSE(parse_device("cpu")->cuda);
    EXPECT_TRUE(parse_device("cuda")->cuda);
    EXPECT_EQ(parse_device("cuda:3")->index, 3);
    for (const char* name :
         {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:1x", "cuda3", "cuda: 1", "cuda:99999999999"})
        EXPECT_EQ(parse_device(name).error().code, ErrorCode::kInvalidArgument) << name;
    EXPECT_EQ(device_model("cpu").value(), "cpu");
}

TEST(Device, ABuildWithoutCudaIsAConfigurationNotADeviceThatFailed) {
    const auto model = device_model("cuda");
    if (model.ok() || model.error().code == ErrorCode::kNotFound)
        GTEST_SKIP() << "this build has CUDA kernels";
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(model.error().message.find(kHowToBuildCuda), std::string::npos);
}

}  // namespace
}  // namespace gym::engine
