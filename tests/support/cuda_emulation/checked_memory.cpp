#include "checked_memory.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "emulation.hpp"
#include "findings.hpp"
#include "flips.hpp"
#include "shared_variables.hpp"

namespace gym::emulation {

Running running;

namespace {

/// Addresses for device memory. Pages that nobody touches cost nothing, and no address is used
/// twice, so that a stale pointer is found.
constexpr std::size_t kArenaBytes = std::size_t{1} << 44;
constexpr std::size_t kPage = 4096;
/// Between two allocations: what a kernel reads there belongs to nobody.
constexpr std::size_t kGap = 4 * kPage;
constexpr std::size_t kGranule = 2;  // bytes that one cell tells about

constexpr std::uint32_t kHostBlock = 1;  ///< "block" of what the host wrote
constexpr std::uint64_t kManyThreads = 0x7FF, kManyBlocks = 0x7FE;
constexpr std::uint64_t kEpochMax = (1U << 19) - 1;

/// block 0: never.
struct Stamp {
    std::uint64_t block : 32 = 0;
    std::uint64_t epoch : 19 = 0;
    std::uint64_t thread : 11 = 0;
    std::uint64_t atomic : 1 = 0;
    std::uint64_t pending : 1 = 0;  ///< an asynchronous copy is to write it
};
struct Cell {
    Stamp write, read;
};
static_assert(sizeof(Cell) == 16);

struct Free {
    void operator()(void* p) const { std::free(p); }
};
using Cells = std::unique_ptr<Cell[], Free>;

Cells zero_cells(std::size_t bytes) {
    const std::size_t count = bytes / kGranule + 2;
    auto* cells = static_cast<Cell*>(std::calloc(count, sizeof(Cell)));
    if (cells == nullptr) std::abort();
    return Cells(cells);
}

struct Region {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    int device = 0;
    std::string name;
    Cells cells;

    [[nodiscard]] bool contains(std::uintptr_t at, std::size_t size) const {
        return at >= begin && at + size <= begin + bytes;
    }
    [[nodiscard]] std::string describe(std::uintptr_t at) const {
        const auto offset = static_cast<std::int64_t>(at - begin);
        return "byte " + std::to_string(offset) + " of " + name + ", " + std::to_string(bytes) +
               " bytes";
    }
};

struct Memory {
    std::uintptr_t arena = 0, next = 0;
    std::map<std::uintptr_t, Region> regions;
    Region* last = nullptr;
    std::vector<Cells> shared;  ///< by SharedVariable::index

    Memory() {
        void* const map = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) {
            std::perror("the emulation reserves addresses");
            std::abort();
        }
        arena = reinterpret_cast<std::uintptr_t>(map);
        next = arena + kGap;
    }
    [[nodiscard]] bool in_arena(std::uintptr_t at) const { return at - arena < kArenaBytes; }
    /// The region that begins at or before `at`; null if there is none.
    Region* nearest(std::uintptr_t at) {
        if (last != nullptr && last->contains(at, 1)) return last;
        auto after = regions.upper_bound(at);
        if (after == regions.begin()) return nullptr;
        return last = &std::prev(after)->second;
    }
};
Memory& memory() {
    static Memory instance;
    return instance;
}

Stamp stamp_now() {
    if (running.epoch > kEpochMax) {
        std::fprintf(stderr, "a block has more barriers than the emulation counts\n");
        std::abort();
    }
    Stamp stamp;
    stamp.block = running.block;
    stamp.epoch = running.epoch;
    stamp.thread = running.thread;
    return stamp;
}

bool unordered(const Stamp& other) {
    if (other.block != running.block || other.thread == kManyBlocks) return true;
    return other.epoch == running.epoch && other.thread != running.thread;
}

std::string whose(const Stamp& other) {
    if (other.block != running.block || other.thread == kManyBlocks) return "another block";
    if (other.thread == kManyThreads) return "several threads";
    return "thread " + std::to_string(other.thread);
}

/// What one access means for one cell. `since`: stamps of earlier blocks are of another launch or,
/// in shared memory, of another owner.
class CellCheck {
  public:
    CellCheck(Access access, const void* site, std::uint32_t since)
        : access_(access), site_(site), since_(since) {}

    /// @param describe a function that says where the cell is.
    template <typename Describe>
    void visit(Cell& cell, bool initialised, const Describe& describe) const {
        if (cell.write.pending != 0 && cell.write.block >= since_)
            return report("touches what an asynchronous copy has not written yet", site_,
                          describe());
        const bool both_atomic = access_ == Access::kAtomic && cell.write.atomic != 0;
        if (cell.write.block >= since_ && !both_atomic && unordered(cell.write))
            report(access_ == Access::kRead ? "race: reads what another thread wrote"
                                            : "race: writes what another thread wrote",
                   site_, describe() + ", written by " + whose(cell.write));
        if (access_ != Access::kRead && cell.read.block >= since_ && unordered(cell.read))
            report("race: writes what another thread read", site_,
                   describe() + ", read by " + whose(cell.read));
        if (access_ != Access::kWrite && !initialised)
            report("reads uninitialised memory", site_, describe());
        note(cell);
    }

  private:
    void note(Cell& cell) const {
        const Stamp now = stamp_now();
        if (access_ != Access::kRead) {
            cell.write = now;
            cell.write.atomic = access_ == Access::kAtomic ? 1 : 0;
            return;
        }
        Stamp& read = cell.read;
        if (read.block < since_) {
            read = now;
        } else if (read.block != now.block || read.thread == kManyBlocks) {
            read.thread = kManyBlocks;
        } else if (read.epoch == now.epoch && read.thread != now.thread) {
            read.thread = kManyThreads;
        } else {
            read = now;
        }
    }

    Access access_;
    const void* site_;
    std::uint32_t since_;
};

/// A kernel with wrong arguments ends at the first access that a device refuses.
void end_if_astray() {
    if (!is_astray()) return;
    running.checking = false;  // check_access() is not returned to
    abandon_launch();
}

template <typename Describe>
void check_cells(Cell* first, std::size_t count, const CellCheck& check, bool shared,
                 const Describe& describe) {
    for (std::size_t i = 0; i < count; ++i) {
        Cell& cell = first[i];
        const bool initialised = shared ? cell.write.block == running.block : cell.write.block != 0;
        check.visit(cell, initialised, describe);
    }
}

std::size_t cell_count(std::size_t offset, std::size_t size) {
    return (offset + size - 1) / kGranule - offset / kGranule + 1;
}

void check_region(Access access, std::uintptr_t at, std::size_t size, const void* site) {
    Region* const region = memory().nearest(at);
    if (region == nullptr || !region->contains(at, size)) {
        report("outside of every allocation", site,
               region == nullptr ? std::string() : "nearest is " + region->describe(at));
        return end_if_astray();
    }
    if (region->device != running.device)
        report("memory of another device", site, region->describe(at));
    const std::size_t offset = at - region->begin;
    check_cells(&region->cells[offset / kGranule], cell_count(offset, size),
                CellCheck(access, site, running.first_block), false,
                [&] { return region->describe(at); });
}

/// Cells of shared memory at `at`; null (and a finding) if [at, at + size) is no part of it.
struct SharedPlace {
    Cell* cells = nullptr;
    std::size_t offset = 0;
    const char* name = "";
};
bool find_shared_place(std::uintptr_t at, std::size_t size, const void* site, SharedPlace& out) {
    const SharedVariable* const variable = find_shared(at);
    if (variable == nullptr) return false;
    out.offset = at - variable->begin;
    out.name = variable->name;
    if (out.offset + size > variable->bytes) {
        report("beyond the end of a shared variable", site, out.name);
        end_if_astray();
    }
    auto& all = memory().shared;
    if (all.size() <= variable->index) all.resize(variable->index + 1);
    Cells& cells = all[variable->index];
    if (!cells) cells = zero_cells(variable->bytes + sizeof(std::uint64_t) * 2);
    out.cells = cells.get();
    return true;
}

bool check_shared(Access access, std::uintptr_t at, std::size_t size, const void* site) {
    SharedPlace found;
    if (!find_shared_place(at, size, site, found)) return false;
    check_cells(found.cells + found.offset / kGranule, cell_count(found.offset, size),
                CellCheck(access, site, running.block), true,
                [&] { return "byte " + std::to_string(found.offset) + " of " + found.name; });
    return true;
}

bool within(std::uintptr_t at, const void* begin, std::size_t bytes) {
    return at - reinterpret_cast<std::uintptr_t>(begin) < bytes;
}

void fill_with_garbage(std::uint8_t* data, std::size_t bytes) {
    constexpr std::uint32_t kGarbage = 0x7FA0'BEEF;  // a NaN, and no small integer
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<std::uint8_t>(kGarbage >> (i % sizeof kGarbage * 8));
}

Region& region_of_host_access(const void* address, std::size_t bytes, const char* what) {
    static Region none;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    Region* const region = memory().in_arena(at) ? memory().nearest(at) : nullptr;
    if (region != nullptr && region->contains(at, bytes)) return *region;
    report(std::string(what) + " of what is not device memory", address,
           region == nullptr ? "host memory" : region->describe(at));
    return none;
}

}  // namespace

void check_access(Access access, const void* address, std::size_t size, const void* site,
                  bool aligned) {
    if (running.checking) return;
    const Unchecked unchecked;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const bool device = memory().in_arena(at);
    if (!running.kernel) {
        if (device) report("host code touches device memory", site);
        return;
    }
    if (!device && within(at, running.stack, running.stack_bytes)) return;
    if (strays_for_ever()) end_if_astray();
    if (aligned && at % size != 0) {
        report("misaligned by its size", site, std::to_string(size));
        end_if_astray();
    }
    if (access != Access::kRead && size < kGranule)
        report("writes single bytes, which the checks do not follow", site);
    if (device) {
        check_region(access, at, size, site);
        return pass_access(access, const_cast<void*>(address), size);
    }
    if (within(at, running.arguments, running.argument_bytes)) {
        if (access != Access::kRead) report("writes its arguments", site);
        return;
    }
    if (access == Access::kRead && within(at, &place, sizeof place)) return;
    if (check_shared(access, at, size, site))
        return pass_access(access, const_cast<void*>(address), size);
    if (access == Access::kRead && is_constant(at)) return;
    report(access == Access::kRead ? "a kernel reads host memory" : "a kernel writes host memory",
           site);
    end_if_astray();
}

void begin_copy(void* shared, std::size_t size) {
    SharedPlace found;
    if (!find_shared_place(reinterpret_cast<std::uintptr_t>(shared), size, nullptr, found)) return;
    for (std::size_t i = 0; i < size / kGranule; ++i)
        found.cells[found.offset / kGranule + i].write.pending = 1;
}

void end_copy(void* shared, std::size_t size) {
    SharedPlace found;
    if (!find_shared_place(reinterpret_cast<std::uintptr_t>(shared), size, nullptr, found)) return;
    for (std::size_t i = 0; i < size / kGranule; ++i)
        found.cells[found.offset / kGranule + i].write = stamp_now();
}

std::uint8_t* allocate_device(std::size_t bytes, const std::string& name, int device) {
    Memory& m = memory();
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    Region region;
    region.begin = m.next + kAllocationAlignment;  // no better aligned than it must be
    region.bytes = size;
    region.name = name;
    region.device = device;
    region.cells = zero_cells(size);
    m.next += (size + 2 * kPage - 1) / kPage * kPage + kGap;
    if (m.next > m.arena + kArenaBytes) {
        std::fprintf(stderr, "the emulation has used up its addresses\n");
        std::abort();
    }
    auto* const data = reinterpret_cast<std::uint8_t*>(region.begin);
    fill_with_garbage(data, size);
    m.regions[region.begin] = std::move(region);
    return data;
}

void free_device(std::uint8_t* address) {
    Memory& m = memory();
    const auto at = m.regions.find(reinterpret_cast<std::uintptr_t>(address));
    if (at == m.regions.end()) return report("frees what is not allocated", address);
    const std::uintptr_t begin = at->first / kPage * kPage;
    madvise(reinterpret_cast<void*>(begin), at->first + at->second.bytes - begin, MADV_DONTNEED);
    m.regions.erase(at);
    m.last = nullptr;
}

void check_device_range(Access access, const void* address, std::size_t bytes, const char* what) {
    if (bytes == 0) return;
    const Region& region = region_of_host_access(address, bytes, what);
    if (access != Access::kRead || region.bytes == 0) return;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - region.begin;
    for (std::size_t i = 0; i < cell_count(offset, bytes); ++i) {
        if (region.cells[offset / kGranule + i].write.block != 0) continue;
        return report(std::string(what) + " of uninitialised memory", address,
                      region.describe(region.begin + offset + i * kGranule));
    }
}

void mark_initialised(const void* address, std::size_t bytes) {
    Region* const region = memory().nearest(reinterpret_cast<std::uintptr_t>(address));
    if (bytes == 0 || region == nullptr) return;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - region->begin;
    if (offset + bytes > region->bytes) return;
    Cell written;
    written.write.block = kHostBlock;
    std::fill_n(&region->cells[offset / kGranule], cell_count(offset, bytes), written);
}

void forget_contents(void* address, std::size_t bytes) {
    Region& region = region_of_host_access(address, bytes, "a new use");
    if (bytes == 0 || region.bytes == 0) return;
    fill_with_garbage(static_cast<std::uint8_t*>(address), bytes);
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - region.begin;
    std::fill_n(&region.cells[offset / kGranule], cell_count(offset, bytes), Cell());
}

void mark_copied(const void* to, const void* from, std::size_t bytes) {
    mark_initialised(to, bytes);
    Region* const target = memory().nearest(reinterpret_cast<std::uintptr_t>(to));
    Region* const source = memory().nearest(reinterpret_cast<std::uintptr_t>(from));
    const auto into_address = reinterpret_cast<std::uintptr_t>(to);
    const auto from_address = reinterpret_cast<std::uintptr_t>(from);
    if (bytes == 0 || target == nullptr || !target->contains(into_address, bytes)) return;
    if (source == nullptr || !source->contains(from_address, bytes)) return;
    const std::size_t into = (into_address - target->begin) / kGranule;
    const std::size_t out = (from_address - source->begin) / kGranule;
    for (std::size_t i = 0; i < (bytes + kGranule - 1) / kGranule; ++i)
        if (source->cells[out + i].write.block == 0) target->cells[into + i] = {};
}

}  // namespace gym::emulation
