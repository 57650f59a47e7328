#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "device_memory.hpp"
#include "random_tensors.hpp"
#include "two_maxima.hpp"

namespace gym::engine {
namespace {

namespace cuda = kernels::cuda;

TEST(Reductions, OneMayFollowAnother) {
    std::string error;
    const auto device = cuda::Device::open(0, error);
    ASSERT_NE(device, nullptr) << error;
    testing::Rng rng(testing::test_seed());
    std::vector<std::uint32_t> x(2 * cuda::kTwoMaximaThreads);
    std::ranges::generate(x, [&] { return static_cast<std::uint32_t>(rng()); });
    auto* const out = testing::poisoned_array<std::uint32_t>(*device, 2);
    two_maxima(*device, testing::uploaded(*device, x), out);
    const auto middle = x.begin() + cuda::kTwoMaximaThreads;
    EXPECT_EQ(
        testing::downloaded(*device, out, 2),
        (std::vector{*std::max_element(x.begin(), middle), *std::max_element(middle, x.end())}));
}

}  // namespace
}  // namespace gym::engine
