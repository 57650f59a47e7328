// Which device a node computes on, from what users write and what the machine has.

#include "gym/node/gpu_choice.hpp"

#include <gtest/gtest.h>

#include "gym/common/file.hpp"
#include "temporary_folder.hpp"

namespace gym::node {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

Gpus machine(std::vector<std::string> models) {
    Gpus out;
    out.cuda.built_in = true;
    for (std::string& model : models)
        out.cuda.devices.push_back({static_cast<int>(out.cuda.devices.size()), std::move(model),
                                    std::string(), 24 * kGib, std::string()});
    if (out.cuda.devices.empty()) out.cuda.none_because = "the driver is too old: update it";
    return out;
}

std::string refusal(const Gpus& gpus, const std::string& wanted, const std::string& named = "") {
    const auto chosen = choose_device(gpus, wanted, named);
    EXPECT_FALSE(chosen.ok());
    if (chosen.ok()) return {};
    EXPECT_EQ(chosen.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(chosen.error().message.find('\n'), std::string::npos) << "one sentence";
    return chosen.error().message;
}

TEST(MeansGpu, KnowsAModelByWhatPeopleCallIt) {
    for (const char* wanted :
         {"rtx4090", "RTX4090", "rtx 4090", "RTX-4090", "4090", "geforce rtx 4090",
          "nvidia-rtx-4090", "NVIDIA GeForce RTX 4090", "nvidiageforcertx4090"})
        EXPECT_TRUE(means_gpu(wanted, "NVIDIA GeForce RTX 4090")) << wanted;
    EXPECT_TRUE(means_gpu("h100", "NVIDIA H100 80GB HBM3"));
    EXPECT_TRUE(means_gpu("h100-80gb", "NVIDIA H100 80GB HBM3"));
    EXPECT_TRUE(means_gpu("a100-80gb", "NVIDIA A100-SXM4-80GB"));
    EXPECT_TRUE(means_gpu("v100", "Tesla V100-SXM2-16GB"));
    EXPECT_TRUE(means_gpu("gtx1080ti", "NVIDIA GeForce GTX 1080 Ti"));
}

TEST(MeansGpu, DoesNotTakeAPartOfANumberForAll) {
    EXPECT_FALSE(means_gpu("rtx409", "NVIDIA GeForce RTX 4090"));
    EXPECT_FALSE(means_gpu("rtx40", "NVIDIA GeForce RTX 4090"));
    EXPECT_FALSE(means_gpu("090", "NVIDIA GeForce RTX 4090"));
    EXPECT_FALSE(means_gpu("rtx4080", "NVIDIA GeForce RTX 4090"));
    EXPECT_FALSE(means_gpu("a10", "NVIDIA A100-SXM4-40GB"));
    EXPECT_FALSE(means_gpu("a100-80gb", "NVIDIA A100-SXM4-40GB"));
    EXPECT_FALSE(means_gpu("", "NVIDIA A100-SXM4-40GB"));
    EXPECT_FALSE(means_gpu("--", "NVIDIA A100-SXM4-40GB"));
}

TEST(ChooseDevice, FindsTheDeviceThatIsMeant) {
    const Gpus gpus = machine({"NVIDIA GeForce RTX 3060", "NVIDIA GeForce RTX 4090"});
    const auto chosen = choose_device(gpus, "rtx4090", "");
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    EXPECT_EQ(chosen->device, "cuda:1");
    EXPECT_EQ(chosen->model, "NVIDIA GeForce RTX 4090");
    EXPECT_EQ(chosen->memory_bytes, 24 * kGib);
    EXPECT_EQ(chosen->note, "");
    EXPECT_EQ(choose_device(gpus, "rtx3060", "cuda").value().device, "cuda");
}

TEST(ChooseDevice, WithoutAnyWordItIsTheCpuAndAnUnusedGpuIsMentioned) {
    const auto none = choose_device(machine({}), "", "");
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(none->device, "cpu");
    EXPECT_EQ(none->note, "");
    const auto unused = choose_device(machine({"NVIDIA H100"}), "", "");
    ASSERT_TRUE(unused.ok());
    EXPECT_EQ(unused->device, "cpu");
    EXPECT_NE(unused->note.find("NVIDIA H100: --device cuda:0"), std::string::npos);
    EXPECT_EQ(choose_device(machine({"NVIDIA H100"}), "cpu", "").value().note, "");
}

TEST(ChooseDevice, OneOfSeveralEqualOnesIsUsedAndTheOthersAreMentioned) {
    const auto chosen = choose_device(machine({"NVIDIA H100", "NVIDIA H100"}), "h100", "");
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(chosen->device, "cuda:0");
    EXPECT_NE(chosen->note.find("2 of them"), std::string::npos);
    EXPECT_NE(chosen->note.find("--device cuda:1"), std::string::npos);
}

TEST(ChooseDevice, AGpuThatIsNotHereIsToldWithWhatIsAndWhatToDo) {
    const std::string other = refusal(machine({"NVIDIA H100"}), "rtx4090");
    EXPECT_NE(other.find("it has NVIDIA H100 (cuda:0, 24.0 GiB)"), std::string::npos) << other;
    const std::string no_driver = refusal(machine({}), "rtx4090");
    EXPECT_EQ(no_driver,
              "this machine has no rtx4090 that gym can use: the driver is too old: update it, or "
              "leave --gpu-type out to register the CPU");
    Gpus cpu_only;
    cpu_only.driver = {"NVIDIA GeForce RTX 4090"};
    const std::string no_build = refusal(cpu_only, "rtx4090");
    EXPECT_NE(no_build.find("built without CUDA (the driver shows NVIDIA GeForce RTX 4090)"),
              std::string::npos)
        << no_build;
    EXPECT_NE(no_build.find(engine::kHowToBuildCuda), std::string::npos) << no_build;
    EXPECT_NE(no_build.find("cmake --install"), std::string::npos) << "else gym stays the old one";
    for (const std::string& message : {other, no_driver, no_build})
        EXPECT_NE(message.find("leave --gpu-type out to register the CPU"), std::string::npos);
}

TEST(ChooseDevice, ADeviceThatCannotRunTheKernelsIsNotChosen) {
    Gpus old = machine({"NVIDIA GeForce GTX 1080"});
    old.cuda.devices[0].unusable_because = "compute capability 6.1; 8.0 is needed";
    const std::string message = refusal(old, "gtx1080");
    EXPECT_NE(message.find("unusable: compute capability 6.1"), std::string::npos) << message;
    EXPECT_EQ(choose_device(old, "", "").value().note, "");
}

TEST(ChooseDevice, OptionsThatContradictEachOtherAreRefused) {
    const Gpus gpus = machine({"NVIDIA H100", "NVIDIA A100"});
    EXPECT_NE(refusal(gpus, "h100", "cuda:1").find("cuda:1 is NVIDIA A100, not h100"),
              std::string::npos);
    EXPECT_NE(refusal(gpus, "h100", "cpu").find("contradict"), std::string::npos);
    EXPECT_NE(refusal(gpus, "cpu", "cuda").find("contradict"), std::string::npos);
    EXPECT_NE(refusal(gpus, "", "tpu").find("cpu, cuda or cuda:N"), std::string::npos);
}

TEST(DriverGpus, ReadsTheModelsOfTheDriversListing) {
    const testing::TemporaryFolder place;
    EXPECT_TRUE(driver_gpus(place / "none").empty());
    std::filesystem::create_directories(place / "0000:01:00.0");
    ASSERT_TRUE(write_file_atomic(place / "0000:01:00.0" / "information",
                                  as_bytes("Model: \t\t NVIDIA GeForce RTX 4090\nIRQ:  \t 1\n"))
                    .ok());
    EXPECT_EQ(driver_gpus(place.path()), std::vector<std::string>{"NVIDIA GeForce RTX 4090"});
}

}  // namespace
}  // namespace gym::node
