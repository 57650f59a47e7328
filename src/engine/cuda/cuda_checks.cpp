#include "cuda_checks.hpp"

#include <algorithm>
#include <utility>

#include "gym/engine/device.hpp"
#include "gym/program/opcode.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;
using program::SlotId;
using program::SlotKind;

constexpr kernels::cuda::Checks::Sum kUnknown = -1;

/// Products check themselves: a second run of them would cost as much as the first.
bool checks_itself(Opcode code) {
    switch (code) {
        case Opcode::kMatmul:
        case Opcode::kAttention:
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocuments:
        case Opcode::kAttentionDocumentsGrad:
            return true;
        default:
            return false;
    }
}

}  // namespace

CudaChecks::CudaChecks(kernels::cuda::Device& device, const program::Program& program,
                       const DevicePointers& memory)
    : device_(device),
      program_(program),
      memory_(memory),
      checks_(device),
      sums_(program.slots().size(), kUnknown) {
    device_.set_checks(&checks_);
}

CudaChecks::~CudaChecks() {
    device_.set_checks(nullptr);
}

kernels::cuda::Region CudaChecks::region_of(SlotId id) const {
    return {memory_[id], static_cast<std::int64_t>(program::size_bytes(program_.slot(id)))};
}

std::vector<SlotId> CudaChecks::inputs_of(const Op& op) const {
    std::vector<SlotId> ids(op.inputs.begin(), op.inputs.end());
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return ids;
}

void CudaChecks::uploaded(SlotId id, ByteView bytes) {
    sums_[id] = checks_.known(kernels::cuda::Checks::sum_on_host(bytes.data(), bytes.size()));
}

/// Sums of an earlier run are only kept of what outlives it.
void CudaChecks::begin_run() {
    checks_.settle();
    std::vector<std::uint64_t> kept(sums_.size(), 0);
    for (SlotId id = 0; id < sums_.size(); ++id)
        if (sums_[id] != kUnknown) kept[id] = checks_.value(sums_[id]);
    checks_.forget();
    for (SlotId id = 0; id < sums_.size(); ++id) {
        const bool lasts = program_.slot(id).kind != SlotKind::kTemp;
        sums_[id] = lasts && sums_[id] != kUnknown ? checks_.known(kept[id]) : kUnknown;
    }
}

kernels::cuda::Checks::Overwritten CudaChecks::overwritten_slot(SlotId id) {
    const auto verify = [this, id, before = sums_[id]](const void* copy) {
        if (before == kUnknown) return;
        checks_.expect_equal(checks_.sum({copy, region_of(id).bytes}), before,
                             "its operand changed in memory");
    };
    return {memory_[id], region_of(id).bytes, verify};
}

void CudaChecks::run_op(std::uint32_t op_index, const std::function<Status()>& execute,
                        Status& outcome) {
    const Op& op = program_.ops()[op_index];
    checks_.set_place("op " + std::to_string(op_index) + " (" +
                      std::string(program::to_string(op.code)) + ")");
    std::vector<kernels::cuda::Region> outputs;
    for (const SlotId id : op.outputs)
        outputs.push_back(region_of(id));
    const auto run = [&] {
        if (outcome.ok()) outcome = execute();
    };
    std::vector<kernels::cuda::Checks::Overwritten> overwritten;
    std::vector<SlotId> kept;
    for (const SlotId id : inputs_of(op)) {
        if (std::ranges::any_of(op.outputs,
                                [&](SlotId out) { return memory_[out] == memory_[id]; }))
            overwritten.push_back(overwritten_slot(id));
        else
            kept.push_back(id);
    }
    std::vector<Sum> written;
    if (checks_itself(op.code)) {
        run();
        written = checks_.sums(outputs);
        checks_.end_op();
    } else {
        written = checks_.twice([&] { return checks_.sums(outputs); }, run, overwritten);
    }
    for (const SlotId id : kept)
        expect_unchanged(id);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
        sums_[op.outputs[i]] = written[i];
}

void CudaChecks::take_next_value(SlotId id) {
    sums_[id] = sums_[program_.slot(id).next];
}

void CudaChecks::expect_unchanged(SlotId id) {
    if (sums_[id] == kUnknown) return;  // a state that nobody loaded
    checks_.expect_equal(checks_.sum(region_of(id)), sums_[id], "its operand changed in memory");
}

void CudaChecks::downloaded(SlotId id, ByteView bytes) {
    if (sums_[id] == kUnknown) return;
    downloads_.push_back(
        {id, sums_[id], kernels::cuda::Checks::sum_on_host(bytes.data(), bytes.size())});
}

Status CudaChecks::settle() {
    checks_.settle();
    const std::vector<Download> downloads = std::exchange(downloads_, {});
    if (!device_.ok()) return {};  // that error is the one to report
    if (!checks_.failure().empty()) return device_erred(checks_.failure());
    for (const Download& download : downloads)
        if (checks_.value(download.sum) != download.found)
            return device_erred("'" + program_.slot(download.id).name +
                                "' changed in memory or on its way to the host");
    return {};
}

}  // namespace gym::engine
