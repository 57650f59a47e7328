#include "virtual_compute.hpp"

namespace gym::sim {
namespace {

/// Of one thread that makes the roots of a state (bench_hash).
constexpr double kHashBytesPerSecond = 1.5e9;

}  // namespace

Result<coordinator::Compute::Prepared> VirtualCompute::prepare(
    const std::string& spec_yaml, ByteView dataset, const Digest& dataset_root,
    const Digest& job_seed, const std::optional<GivenState>& given) {
    GYM_TRY(Prepared out, fake_.prepare(spec_yaml, dataset, dataset_root, job_seed, given));
    out.parameters = settings_.parameters;
    out.tokens_per_step = settings_.tokens_per_step;
    out.flops_per_step = settings_.flops_per_step();
    out.delta_bytes = settings_.bytes(settings_.codec.delta);
    return out;
}

Result<coordinator::Compute::RoundRoots> VirtualCompute::round_roots(ByteView program,
                                                                     ByteView base) {
    const auto state = static_cast<double>(settings_.bytes(settings_.codec.base));
    spend_(state / (kHashBytesPerSecond * settings_.operator_threads));
    return fake_.round_roots(program, base);
}

double VirtualCompute::aggregate_seconds(const Settings& settings, std::size_t deltas,
                                         unsigned threads) {
    const double ns = settings.codec.aggregate_ns +
                      settings.codec.aggregate_delta_ns * static_cast<double>(deltas);
    return ns * 1e-9 * static_cast<double>(settings.parameters) / threads;
}

Result<coordinator::Compute::Aggregated> VirtualCompute::aggregate(
    ByteView program, Bytes base, Bytes momentum, const std::vector<DeltaPtr>& deltas,
    Included included) {
    spend_(aggregate_seconds(settings_, deltas.size(), settings_.operator_threads));
    GYM_TRY(Aggregated out,
            fake_.aggregate(program, std::move(base), std::move(momentum), deltas, included));
    if (settings_.codec.update > 0)
        out.update = testing::bytes_of(testing::tagged("update", {out.base.bytes}));
    return out;
}

double VirtualCompute::evaluate_flops(const Settings& settings, std::uint32_t windows) {
    return 2.0 * static_cast<double>(settings.parameters) *
           static_cast<double>(settings.tokens_of_window) * windows;
}

Result<coordinator::Compute::Evaluated> VirtualCompute::evaluate(ByteView evaluate_program,
                                                                 ByteView base, ByteView dataset,
                                                                 const Digest& dataset_root,
                                                                 std::uint32_t windows_max,
                                                                 const std::stop_token& stop) {
    spend_(evaluate_flops(settings_, windows_max) / settings_.operator_flops);
    return fake_.evaluate(evaluate_program, base, dataset, dataset_root, windows_max, stop);
}

Result<coordinator::Compute::Reexecuted> VirtualCompute::run_unit(
    const protocol::RoundRecord& record, std::uint32_t slot, ByteView program, ByteView base,
    ByteView dataset, const crypto::Signature* challenge, const std::stop_token& stop) {
    const double flops = static_cast<double>(record.flops_per_step) * record.slots.at(slot).steps;
    spend_(flops / settings_.operator_flops);
    return fake_.run_unit(record, slot, program, base, dataset, challenge, stop);
}

}  // namespace gym::sim
