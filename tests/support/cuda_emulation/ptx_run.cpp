#include "ptx_run.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <set>
#include <stdexcept>

#include "checked_memory.hpp"
#include "findings.hpp"

namespace gym::ptx {
namespace {

constexpr std::size_t kLocalBytesMax = 8 * 1024;
constexpr std::size_t kSharedAlignment = 1024;
constexpr std::size_t kStepsMax = 100'000'000;  // of one thread: a loop without end

/// A module, its shared memory, and where its variables are in it.
struct Loaded {
    Module module;
    std::vector<std::uint8_t> memory;
    std::uint8_t* shared = nullptr;
};

struct Library {
    std::list<Loaded> modules;
    std::map<std::string, std::pair<const Kernel*, Loaded*>> kernels;  ///< by name of the type
    std::set<const Kernel*> ran;
    const Kernel* current = nullptr;
    Loaded* owner = nullptr;
    std::vector<std::vector<std::uint64_t>> registers;  ///< of each thread of a block
    std::size_t shared_variables = 0;
};
Library& library();

/// X of "void ..run_kernel<256, X>(X)"; a type's name stays.
std::string type_name(const char* mangled) {
    constexpr std::string_view kEntry = "run_kernel<";
    const std::string text = emulation::demangled(mangled);
    const std::size_t entry = text.find(kEntry);
    if (entry == std::string::npos) return text;
    const std::size_t begin = text.find(", ", entry) + 2;
    std::string name = text.substr(begin, text.rfind(">(") - begin);
    while (name.ends_with(' '))
        name.pop_back();
    return name;
}

std::string describe_site(const void* site) {
    const auto& instruction = *static_cast<const Instruction*>(site);
    const std::string file = library().current->module;
    return file + ":" + std::to_string(instruction.line);
}

void place_shared(Library& all, Loaded& loaded) {
    loaded.memory.resize(loaded.module.shared_bytes + 2 * kSharedAlignment);
    const auto begin = reinterpret_cast<std::uintptr_t>(loaded.memory.data());
    loaded.shared =
        loaded.memory.data() + (kSharedAlignment - begin % kSharedAlignment) % kSharedAlignment;
    for (std::size_t i = 0; i < loaded.module.shared.size(); ++i) {
        emulation::SharedVariable& variable = loaded.module.shared[i];
        variable.begin += reinterpret_cast<std::uintptr_t>(loaded.shared);
        variable.name = loaded.module.shared_names[i].c_str();
        variable.index = all.shared_variables++;
    }
}

void run_thread(const void* arguments) {
    Library& all = library();
    const Kernel& kernel = *all.current;
    alignas(16) std::array<std::uint8_t, kLocalBytesMax> local;
    local.fill(0xCC);
    auto& registers = all.registers[emulation::place.thread.x];
    registers.assign(kernel.registers, 0xDEAD'BEEF'DEAD'BEEF);
    Thread thread{registers.data(),       static_cast<const std::uint8_t*>(arguments),
                  kernel.parameter_bytes, all.owner->shared,
                  local.data(),           0};
    std::size_t steps = 0;
    while (thread.pc < kernel.instructions.size()) {
        const Instruction& i = kernel.instructions[thread.pc++];
        if (++steps > kStepsMax) return emulation::report("a thread does not end", &i);
        if (i.guard >= 0 &&
            ((registers[static_cast<std::size_t>(i.guard)] & 1U) != 0) == i.guard_negated)
            continue;
        i.step(thread, i);
    }
}

emulation::KernelCall translate(const emulation::KernelCall& call) {
    const Kernel* const kernel = find_kernel(call.name);
    if (kernel == nullptr || kernel->parameter_bytes != call.bytes) {
        std::fprintf(stderr, "no PTX of a kernel %s with %zu bytes of arguments\n",
                     emulation::demangled(call.name).c_str(), call.bytes);
        std::abort();
    }
    return call_of(*kernel, call.arguments);
}

void say_what_ran() {
    const Library& all = library();
    std::printf("PTX: %zu of %zu kernels ran\n", all.ran.size(), all.kernels.size());
}

void load_folder(Library& all, const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".ptx") continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        Loaded& loaded = all.modules.emplace_back();
        try {
            loaded.module = parse_module(entry.path().filename().string(), text);
        } catch (const std::runtime_error& error) {
            std::fprintf(stderr, "PTX: %s\n", error.what());
            std::abort();
        }
        place_shared(all, loaded);
        for (const Kernel& kernel : loaded.module.kernels) {
            const std::string name = type_name(kernel.name.c_str());
            if (kernel.local_bytes > kLocalBytesMax ||
                !all.kernels.emplace(name, std::pair(&kernel, &loaded)).second) {
                std::fprintf(stderr, "PTX: %s: twice, or too much local memory\n", name.c_str());
                std::abort();
            }
        }
    }
    if (all.kernels.empty()) {
        std::fprintf(stderr, "PTX: no kernels in %s\n", folder.c_str());
        std::abort();
    }
    std::atexit(say_what_ran);
}

/// Read when it is first asked for, which may be before main().
Library& library() {
    static Library* const instance = [] {
        auto* const all = new Library;
        const char* const folder = std::getenv("GYM_CUDA_PTX");
        if (folder != nullptr) load_folder(*all, folder);
        return all;
    }();
    return *instance;
}

[[maybe_unused]] const bool installed = [] {
    if (library().kernels.empty()) return false;
    emulation::set_translation(translate);
    return true;
}();

}  // namespace

std::vector<std::string> kernels_that_never_ran() {
    const Library& all = library();
    std::vector<std::string> names;
    for (const auto& [name, kernel] : all.kernels)
        if (!all.ran.contains(kernel.first)) names.push_back(name);
    return names;
}

const Kernel* find_kernel(const char* name) {
    const auto at = library().kernels.find(type_name(name));
    return at == library().kernels.end() ? nullptr : at->second.first;
}

emulation::KernelCall call_of(const Kernel& kernel, const void* arguments) {
    Library& all = library();
    all.registers.resize(emulation::kBlockThreadsMax);
    all.current = &kernel;
    all.owner = all.kernels.at(type_name(kernel.name.c_str())).second;
    all.ran.insert(&kernel);
    emulation::running.describe_site = describe_site;
    emulation::set_shared_variables(all.owner->module.shared);
    return {arguments, kernel.parameter_bytes, run_thread, kernel.name.c_str()};
}

}  // namespace gym::ptx
