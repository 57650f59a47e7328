#include "gym/node/gpu_choice.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

namespace gym::node {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGpusMax = 64;
constexpr const char* kCpu = "cpu";
constexpr std::array<std::string_view, 4> kMakersWords{"nvidia", "geforce", "tesla", "quadro"};

/// Lower-case runs of letters and digits.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> out;
    bool inside = false;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = std::isalnum(byte) != 0;
        if (plain && !inside) out.emplace_back();
        if (plain) out.back() += static_cast<char>(std::tolower(byte));
        inside = plain;
    }
    return out;
}

/// "geforcertx4090" without the maker's words in front.
std::string without_makers(std::string word) {
    for (std::size_t i = 0; i < kMakersWords.size(); ++i)
        for (const std::string_view maker : kMakersWords)
            if (word.starts_with(maker)) word.erase(0, maker.size());
    return word;
}

/// Whether `word` is some of `parts`, one after the other and each as a whole.
bool is_run_of(const std::string& word, const std::vector<std::string>& parts) {
    for (std::size_t first = 0; first < parts.size(); ++first) {
        std::string run;
        for (std::size_t i = first; i < parts.size() && run.size() < word.size(); ++i)
            run += parts[i];
        if (run == word) return true;
    }
    return false;
}

std::string gib(std::uint64_t bytes) {
    const std::uint64_t tenths = (bytes >> 20) * 10 / 1024;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

std::string listed(const std::vector<engine::CudaDevice>& devices) {
    std::string out;
    for (const engine::CudaDevice& device : devices)
        out += (out.empty() ? "" : ", ") + device.model + " (" + device.name() + ", " +
               gib(device.memory_bytes) +
               (device.unusable_because.empty() ? "" : "; unusable: " + device.unusable_because) +
               ")";
    return out;
}

/// Why there is no GPU that could be chosen, and what to do; one sentence.
Error no_gpu(const Gpus& gpus, const std::string& wanted) {
    const std::string otherwise = ", or leave --gpu-type out to register the CPU";
    const std::string none = "this machine has no " + wanted + " that gym can use: ";
    if (!gpus.cuda.devices.empty())
        return fail(ErrorCode::kInvalidArgument, none + "it has " + listed(gpus.cuda.devices) +
                                                     "; name one of these" + otherwise);
    std::string driver;
    for (const std::string& model : gpus.driver)
        driver += (driver.empty() ? "" : ", ") + model;
    if (!gpus.cuda.built_in)
        return fail(ErrorCode::kInvalidArgument,
                    none + "this gym is built without CUDA" +
                        (driver.empty() ? "" : " (the driver shows " + driver + ")") + "; " +
                        std::string(engine::kHowToBuildCuda) + otherwise);
    return fail(ErrorCode::kInvalidArgument, none + gpus.cuda.none_because + otherwise);
}

ChosenDevice chosen(const engine::CudaDevice& device, const std::string& name, std::string note) {
    return {name, device.model, device.memory_bytes, std::move(note)};
}

/// The device that `--device` names, checked against `--gpu-type`.
Result<ChosenDevice> named_device(const Gpus& gpus, const std::string& wanted,
                                  const std::string& named) {
    GYM_TRY(const engine::DeviceChoice choice, engine::parse_device(named));
    if (!choice.cuda)
        return fail(ErrorCode::kInvalidArgument, "--device cpu and --gpu-type " + wanted +
                                                     " contradict each other: leave one "
                                                     "of them out");
    const auto device =
        std::ranges::find(gpus.cuda.devices, choice.index, &engine::CudaDevice::index);
    if (device == gpus.cuda.devices.end()) return no_gpu(gpus, wanted);
    if (means_gpu(wanted, device->model)) return chosen(*device, named, "");
    return fail(ErrorCode::kInvalidArgument, named + " is " + device->model + ", not " + wanted +
                                                 ": leave --device out, and gym finds the device");
}

std::string note_about(const std::vector<const engine::CudaDevice*>& same) {
    if (same.size() < 2) return {};
    return "this machine has " + std::to_string(same.size()) +
           " of them, a node uses one: register the others with --device " + same[1]->name() +
           " and so on, each with a --data-dir of its own";
}

/// Without --gpu-type: a GPU that stays unused is worth a word.
std::string unused(const Gpus& gpus) {
    for (const engine::CudaDevice& device : gpus.cuda.devices)
        if (device.unusable_because.empty())
            return "this machine also has " + device.model + ": --device " + device.name() +
                   " registers it instead";
    return {};
}

}  // namespace

bool means_gpu(std::string_view wanted, std::string_view model) {
    std::vector<std::string> parts = words_of(model);
    std::erase_if(parts, [](const std::string& part) { return without_makers(part).empty(); });
    const std::vector<std::string> words = words_of(wanted);
    return !words.empty() && std::ranges::all_of(words, [&](const std::string& word) {
        const std::string meant = without_makers(word);
        return meant.empty() || is_run_of(meant, parts);
    });
}

std::vector<std::string> driver_gpus(const fs::path& listing) {
    constexpr std::string_view kModel = "Model:";
    std::vector<std::string> out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(listing, error)) {
        std::ifstream file(entry.path() / "information");
        for (std::string line; std::getline(file, line);) {
            if (!line.starts_with(kModel)) continue;
            const std::size_t begin = line.find_first_not_of(" \t", kModel.size());
            if (begin != std::string::npos) out.push_back(line.substr(begin));
        }
        if (out.size() >= kGpusMax) break;
    }
    return out;
}

Gpus Gpus::of_this_machine() {
    return {engine::cuda_devices(), driver_gpus()};
}

Result<ChosenDevice> choose_device(const Gpus& gpus, const std::string& wanted,
                                   const std::string& named) {
    const bool cpu = wanted == kCpu || wanted.empty();
    if (cpu && (named.empty() || named == kCpu))
        return ChosenDevice{kCpu, kCpu, 0, wanted.empty() ? unused(gpus) : ""};
    if (wanted == kCpu)
        return fail(ErrorCode::kInvalidArgument, "--device " + named +
                                                     " and --gpu-type cpu contradict each other: "
                                                     "leave one of them out");
    if (wanted.empty()) {
        GYM_TRY(const engine::DeviceChoice choice, engine::parse_device(named));
        for (const engine::CudaDevice& device : gpus.cuda.devices)
            if (device.index == choice.index) return chosen(device, named, "");
        return ChosenDevice{named, "", 0, ""};  // the engine says why there is none
    }
    if (!named.empty()) return named_device(gpus, wanted, named);
    std::vector<const engine::CudaDevice*> same;
    for (const engine::CudaDevice& device : gpus.cuda.devices)
        if (device.unusable_because.empty() && means_gpu(wanted, device.model))
            same.push_back(&device);
    if (same.empty()) return no_gpu(gpus, wanted);
    return chosen(*same.front(), same.front()->name(), note_about(same));
}

}  // namespace gym::node
