#include "shared_variables.hpp"

#include <elf.h>
#include <link.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gym::emulation {
namespace {

struct Segment {
    std::uintptr_t begin, end;
    bool writable;
};

/// What is mapped of the program itself.
struct Image {
    std::uintptr_t base = 0;
    std::vector<Segment> segments;
};

int visit_first(dl_phdr_info* info, std::size_t, void* out) {
    auto& image = *static_cast<Image*>(out);
    image.base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        image.segments.push_back({begin, begin + header.p_memsz, (header.p_flags & PF_W) != 0});
    }
    return 1;  // the first one is the program
}

std::vector<char> read_program() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
T read_at(const std::vector<char>& file, std::size_t at) {
    T value;
    if (at + sizeof value > file.size()) std::abort();
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

const SharedVariable* find_in(std::span<const SharedVariable> all, std::uintptr_t address) {
    const auto after = std::ranges::upper_bound(all, address, {}, &SharedVariable::begin);
    if (after == all.begin()) return nullptr;
    const SharedVariable& at = *std::prev(after);
    return address < at.begin + at.bytes ? &at : nullptr;
}

class Program {
  public:
    Program() {
        dl_iterate_phdr(visit_first, &image_);
        read_symbols();
        if (variables_.empty()) {
            std::fprintf(stderr,
                         "the program has no table of symbols, which the emulation needs\n");
            std::abort();
        }
    }
    [[nodiscard]] const SharedVariable* find(std::uintptr_t address) const {
        return find_in(variables_, address);
    }
    [[nodiscard]] bool constant(std::uintptr_t address) const {
        return std::ranges::any_of(image_.segments, [&](const Segment& s) {
            return !s.writable && address >= s.begin && address < s.end;
        });
    }

  private:
    void read_symbols() {
        file_ = read_program();
        const auto header = read_at<ElfW(Ehdr)>(file_, 0);
        const auto section = [&](std::size_t i) {
            return read_at<ElfW(Shdr)>(file_, header.e_shoff + i * header.e_shentsize);
        };
        for (std::size_t i = 0; i < header.e_shnum; ++i) {
            const auto table = section(i);
            if (table.sh_type != SHT_SYMTAB) continue;
            const auto names = section(table.sh_link);
            for (std::size_t at = 0; at < table.sh_size; at += sizeof(ElfW(Sym)))
                add(read_at<ElfW(Sym)>(file_, table.sh_offset + at), names.sh_offset);
        }
        std::ranges::sort(variables_, {}, &SharedVariable::begin);
        for (std::size_t i = 0; i < variables_.size(); ++i)
            variables_[i].index = i;
    }
    void add(const ElfW(Sym) & symbol, std::size_t names) {
        // _ZZ: a name inside a function.
        const char* const name = file_.data() + names + symbol.st_name;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) return;
        if (!std::string_view(name).starts_with("_ZZ")) return;
        const std::uintptr_t begin = image_.base + symbol.st_value;
        if (!constant(begin)) variables_.push_back({begin, symbol.st_size, name, 0});
    }

    std::vector<char> file_;
    Image image_;
    std::vector<SharedVariable> variables_;
};

std::optional<std::span<const SharedVariable>>& given() {
    static std::optional<std::span<const SharedVariable>> variables;
    return variables;
}

const Program& program() {
    static const Program instance;
    return instance;
}

}  // namespace

void set_shared_variables(std::span<const SharedVariable> variables) {
    given() = variables;
}
const SharedVariable* find_shared(std::uintptr_t address) {
    return given() ? find_in(*given(), address) : program().find(address);
}
bool is_constant(std::uintptr_t address) {
    return program().constant(address);
}

}  // namespace gym::emulation
