#include "cuda_checks.hpp"

#include <algorithm>
#include <iterator>
#include <set>
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

std::vector<kernels::cuda::Region> CudaChecks::regions_of(std::span<const SlotId> ids) const {
    std::vector<kernels::cuda::Region> out;
    for (const SlotId id : ids)
        out.push_back(region_of(id));
    return out;
}

std::vector<SlotId> CudaChecks::known(std::vector<SlotId> ids) const {
    std::erase_if(ids, [&](SlotId id) { return sums_[id] == kUnknown; });
    return ids;
}

void CudaChecks::expect(std::span<const Sum> found, std::span<const SlotId> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i)
        checks_.expect_equal(found[i], sums_[ids[i]], "its operand changed in memory");
}

std::vector<SlotId> CudaChecks::inputs_of(const Op& op) const {
    std::vector<SlotId> ids(op.inputs.begin(), op.inputs.end());
    std::ranges::sort(ids);
    // Not std::ranges::unique, whose result clang of Debian 12 does not compile.
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
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

bool CudaChecks::is_computed_again(std::uint32_t op_index) const {
    const auto& ops = program_.ops();
    const Op& op = ops[op_index];
    const bool in_documents = op.code == Opcode::kAttentionDocuments;
    if (op.code != Opcode::kAttention && !in_documents) return false;
    const Opcode gradient = in_documents ? Opcode::kAttentionDocumentsGrad : Opcode::kAttentionGrad;
    return std::any_of(ops.begin() + op_index, ops.end(), [&](const Op& later) {
        return later.code == gradient && later.attributes == op.attributes &&
               later.inputs[0] == op.inputs[0] && later.inputs[2] == op.outputs[1] &&
               (!in_documents || later.inputs.back() == op.inputs.back());
    });
}

void CudaChecks::run_op(std::uint32_t op_index, const std::function<Status()>& execute,
                        Status& outcome) {
    const Op& op = program_.ops()[op_index];
    checks_.set_place("op " + std::to_string(op_index) + " (" +
                      std::string(program::to_string(op.code)) + ")");
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
    kept = known(std::move(kept));
    // What was written, and after the last run what was read, in one launch.
    const std::vector<kernels::cuda::Region> written = regions_of(op.outputs);
    std::vector<kernels::cuda::Region> all = written;
    std::ranges::copy(regions_of(kept), std::back_inserter(all));
    std::vector<Sum> found;
    if (checks_itself(op.code)) {
        checks_.set_computed_again(is_computed_again(op_index));
        run();
        found = checks_.sums(all);
        checks_.end_op();
    } else {
        bool again = false;
        const auto look = [&] { return checks_.sums(std::exchange(again, true) ? all : written); };
        found = checks_.twice(look, run, overwritten);
    }
    expect(std::span(found).subspan(written.size()), kept);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
        sums_[op.outputs[i]] = found[i];
}

/// Nothing is copied: what the steps will write is summed first, from operands that are what they
/// were; an operand that changes afterwards changes what is written.
void CudaChecks::run_adamw(const AdamwGroup& group) {
    checks_.set_place(
        "op " + std::to_string(group.begin) +
        (group.end - group.begin == 1 ? std::string() : " to " + std::to_string(group.end - 1)) +
        " (adamw)");
    std::vector<SlotId> inputs, outputs, kept;
    for (std::uint32_t i = group.begin; i < group.end; ++i) {
        const Op& op = program_.ops()[i];
        inputs.insert(inputs.end(), op.inputs.begin(), op.inputs.end());
        outputs.insert(outputs.end(), op.outputs.begin(), op.outputs.end());
    }
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    inputs = known(std::move(inputs));
    std::set<const std::byte*> written;
    for (const SlotId id : outputs)
        written.insert(memory_[id]);
    std::ranges::copy_if(inputs, std::back_inserter(kept),
                         [&](SlotId id) { return !written.contains(memory_[id]); });
    const std::vector<Sum> made =
        kernels::cuda::sum_adamw(device_, checks_, group.steps, group.scalars);
    expect(checks_.sums(regions_of(inputs)), inputs);
    kernels::cuda::macro_adamw(device_, group.steps, group.scalars);
    std::vector<kernels::cuda::Region> all = regions_of(outputs);
    std::ranges::copy(regions_of(kept), std::back_inserter(all));
    const std::vector<Sum> found = checks_.sums(all);
    expect(std::span(found).subspan(outputs.size()), kept);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        checks_.expect_equal(found[i], made[i], "it gave two results");
        sums_[outputs[i]] = found[i];
    }
}

void CudaChecks::take_next_value(SlotId id) {
    sums_[id] = sums_[program_.slot(id).next];
}

void CudaChecks::expect_unchanged(std::span<const SlotId> ids) {
    const std::vector<SlotId> summed = known({ids.begin(), ids.end()});
    expect(checks_.sums(regions_of(summed)), summed);
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
    if (!checks_.failure().empty()) return device_erred(device_.cuda_name(), checks_.failure());
    for (const Download& download : downloads)
        if (checks_.value(download.sum) != download.found)
            return device_erred(device_.cuda_name(),
                                "'" + program_.slot(download.id).name +
                                    "' changed in memory or on its way to the host");
    return {};
}

}  // namespace gym::engine
