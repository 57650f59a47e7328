#include "provenance.hpp"

#include <dlfcn.h>

#include <fstream>

namespace gym::bench {
namespace {

/// A library's function, if this program is linked with it.
template <typename Function>
Function* linked(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string openblas() {
    auto* const config = linked<const char*()>("openblas_get_config");
    auto* const core = linked<const char*()>("openblas_get_corename");
    if (config == nullptr || core == nullptr) return "";
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the build's options do not matter here.
    const std::string text = config();
    const std::size_t version_end = text.find(' ', text.find(' ') + 1);
    return text.substr(0, version_end) + " " + core();
}

std::string onednn() {
    struct Version {  // dnnl_version_t begins so since 1.0
        int major, minor, patch;
    };
    auto* const version = linked<const Version*()>("dnnl_version");
    if (version == nullptr) return "";
    const Version* const v = version();
    std::string text = "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
                       std::to_string(v->patch);
    auto* const isa = linked<int()>("dnnl_get_effective_cpu_isa");
    auto* const isa_name = linked<const char*(int)>("dnnl_cpu_isa2str");
    if (isa != nullptr && isa_name != nullptr) text += std::string(" ") + isa_name(isa());
    return text;
}

std::string openssl() {
    auto* const version = linked<const char*(int)>("OpenSSL_version");
    if (version == nullptr) return "";
    const std::string text = version(0);  // "OpenSSL 3.0.15 3 Sep 2024"
    return text.substr(0, text.find(' ', text.find(' ') + 1));
}

std::string libtorch() {
#ifdef GYM_TORCH_VERSION
    // libtorch 1.13 exports no function for its version; its CMake package names it.
    // package says.
    return std::string("libtorch ") + GYM_TORCH_VERSION;
#else
    return "";
#endif
}

}  // namespace

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    std::string model, numbers;
    for (std::string line; std::getline(info, line) && !line.empty();) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos || colon + 2 > line.size()) continue;
        const std::string key = line.substr(0, line.find_last_not_of("\t ", colon - 1) + 1);
        const std::string value = line.substr(colon + 2);
        if (key == "model name") model = value;
        if (key == "cpu family") numbers += ", family " + value;
        if (key == "model" || key == "stepping") numbers += ", " + key + " " + value;
    }
    return model.empty() ? "unknown CPU" : model + numbers;
}

std::string linked_libraries() {
    std::string all;
    for (const std::string& library : {libtorch(), openblas(), onednn(), openssl()})
        if (!library.empty()) all += (all.empty() ? "" : "; ") + library;
    return all;
}

bool cpu_has_bf16() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

}  // namespace gym::bench
