#include "gym/engine/device.hpp"

#include <charconv>
#include <map>
#include <mutex>

#ifdef GYM_WITH_CUDA
#include "gym/kernels/cuda/device.hpp"
#endif

namespace gym::engine {
namespace {

constexpr std::string_view kCuda = "cuda";

/// What this process has found out about a device.
struct Record {
    std::vector<std::string> errors;
    std::uint64_t times_without_room = 0;
};
std::mutex records_mutex;

/// "cuda" and "cuda:0" are one device. @pre records_mutex is locked.
Record& record_of(std::string_view device) {
    static std::map<std::string, Record, std::less<>> records;
    return records[std::string(device == kCuda ? "cuda:0" : device)];
}

#ifdef GYM_WITH_CUDA
Result<std::string> cuda_model(int index) {
    std::string error;
    const auto device = kernels::cuda::Device::open(index, error);
    if (!device) return fail(ErrorCode::kNotFound, error);
    return device->name();
}
Result<std::uint64_t> free_cuda_bytes(int index) {
    std::string error;
    const auto device = kernels::cuda::Device::open(index, error);
    if (!device) return fail(ErrorCode::kNotFound, "CUDA device: " + error);
    if (const std::size_t free = device->free_bytes(); free != 0) return free;
    return fail(ErrorCode::kUnavailable, "no memory of CUDA device " + std::to_string(index) +
                                             " is free, or the driver does not say how much is");
}
Status check_cuda(int index) {
    std::string error;
    const auto device = kernels::cuda::Device::open(index, error);
    if (device) {
        device->synchronize();
        error = device->error();
    }
    if (error.empty()) return {};
    return fail(ErrorCode::kNotFound, "CUDA device: " + error);
}
CudaDevices list_cuda() {
    CudaDevices out{.built_in = true, .devices = {}, .none_because = {}};
    int index = 0;
    for (auto& found : kernels::cuda::list_devices(out.none_because))
        out.devices.push_back({index++, std::move(found.name), std::move(found.uuid),
                               found.memory_bytes, std::move(found.unusable_because)});
    return out;
}
#else
CudaDevices list_cuda() {
    return {};
}

Result<std::string> cuda_model(int) {
    return fail(ErrorCode::kInvalidArgument,
                "this build computes on the CPU only: leave --device out, or " +
                    std::string(kHowToBuildCuda));
}
Result<std::uint64_t> free_cuda_bytes(int index) {
    return cuda_model(index).error();
}
Status check_cuda(int index) {
    return cuda_model(index).error();
}
#endif

}  // namespace

Result<DeviceChoice> parse_device(std::string_view name) {
    if (name == "cpu") return DeviceChoice{};
    if (name == kCuda) return DeviceChoice{true, 0};
    int index = -1;
    const std::string_view digits =
        name.starts_with("cuda:") ? name.substr(kCuda.size() + 1) : std::string_view();
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, index);
    if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != end || index < 0)
        return fail(ErrorCode::kInvalidArgument,
                    "unknown device '" + std::string(name) + "': cpu, cuda or cuda:N");
    return DeviceChoice{true, index};
}

CudaDevices cuda_devices() {
    return list_cuda();
}

Result<std::string> device_model(std::string_view name) {
    GYM_TRY(const DeviceChoice choice, parse_device(name));
    if (!choice.cuda) return std::string("cpu");
    return cuda_model(choice.index);
}

Result<std::string> device_identity(std::string_view name) {
    GYM_TRY(const DeviceChoice choice, parse_device(name));
    if (!choice.cuda) return device_model(name);
    for (const CudaDevice& device : cuda_devices().devices)
        if (device.index == choice.index) return device.model + " (" + device.uuid + ")";
    GYM_TRY(const std::string model, device_model(name));  // why it is not listed
    return fail(ErrorCode::kNotFound, "the CUDA driver does not list " + model);
}

Result<std::uint64_t> free_device_bytes(std::string_view name) {
    GYM_TRY(const DeviceChoice choice, parse_device(name));
    if (choice.cuda) return free_cuda_bytes(choice.index);
    return fail(ErrorCode::kInvalidArgument, "device '" + std::string(name) + "' is no GPU");
}

Error device_erred(std::string_view device, const std::string& what) {
    const std::scoped_lock lock(records_mutex);
    record_of(device).errors.push_back(what);
    return fail(ErrorCode::kInternal,
                (device == "cpu" ? "the host erred: " : "the device erred: ") + what);
}

std::vector<std::string> device_errors(std::string_view device) {
    const std::scoped_lock lock(records_mutex);
    return record_of(device).errors;
}

void note_no_room(std::string_view device) {
    const std::scoped_lock lock(records_mutex);
    ++record_of(device).times_without_room;
}

std::uint64_t times_without_room(std::string_view device) {
    const std::scoped_lock lock(records_mutex);
    return record_of(device).times_without_room;
}

Status check_device(std::string_view name) {
    GYM_TRY(const DeviceChoice choice, parse_device(name));
    return choice.cuda ? check_cuda(choice.index) : Status();
}

}  // namespace gym::engine
